//! What a bag of tasks is.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A bag of tasks that create more tasks: the part of a program that is the same on all ranks.
///
/// [`Ranks::run`](crate::Ranks::run) processes it on all of them. Tasks must not depend on each
/// other: any of them may run next, on any rank.
///
/// # Examples
/// The number of ways to tile a strip with pieces of length 1 and 2:
/// ```
/// use locksley::Pool;
/// use locksley_mpi::{Bag, Ranks, Simulation};
///
/// struct Tilings;
///
/// impl Bag for Tilings {
///     type Tasks = Vec<u32>; // the lengths that are left
///     type Output = u64;
///
///     fn process(&self, tasks: &mut Vec<u32>, items: usize, found: &mut u64) -> bool {
///         for _ in 0..items {
///             match tasks.pop() {
///                 None => return false,
///                 Some(0 | 1) => *found += 1,
///                 Some(length) => tasks.extend([length - 1, length - 2]),
///             }
///         }
///         !tasks.is_empty()
///     }
///
///     fn split(&self, tasks: &mut Vec<u32>) -> Option<Vec<u32>> {
///         // The first ones are the largest.
///         (tasks.len() > 1).then(|| tasks.drain(..tasks.len() / 2).collect())
///     }
///
///     fn merge(&self, found: &mut u64, more: u64) {
///         *found += more;
///     }
/// }
///
/// let pool = Pool::new(2)?;
/// let mut ranks = Ranks::connect(Simulation::new(1, 0).ranks().remove(0))?;
/// assert_eq!(ranks.run(&pool, Tilings, Some(vec![20]))?, Some(10946));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Bag: Send + Sync + 'static {
    /// Tasks, as they lie in memory and move between ranks.
    type Tasks: Serialize + DeserializeOwned + Send + 'static;

    /// What the tasks come to. The default is that of no task.
    type Output: Serialize + DeserializeOwned + Default + Send + 'static;

    /// Processes at most `items` tasks, and puts in what they create. Returns true if any are left.
    fn process(&self, tasks: &mut Self::Tasks, items: usize, output: &mut Self::Output) -> bool;

    /// Splits off about half of the work, if it can be divided.
    fn split(&self, tasks: &mut Self::Tasks) -> Option<Self::Tasks>;

    /// Adds another output. Outputs come in any order, so this is associative and commutative.
    fn merge(&self, output: &mut Self::Output, other: Self::Output);
}
