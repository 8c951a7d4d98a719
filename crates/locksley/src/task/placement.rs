//! Where a task goes that has become ready.

/// Where a task goes that waited and has become ready. Either way any worker may take it from there.
///
/// Both are Nornir's (Vrba, Halvorsen and Griwodz, "A simple improvement of the work-stealing scheduling algorithm", 2010). Where
/// tasks meet at barriers, `Last` keeps them spread over the workers, who then steal less.
///
/// # Examples
/// ```
/// use locksley::{Pool, task::Placement};
///
/// let pool = Pool::builder().workers(2).placement(Placement::Current).build()?;
/// assert_eq!(pool.spawn_future(async { 42 }).join().unwrap(), 42);
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// To the worker that last ran it: Nornir's WS-LAST. But if that one is looking for work, and the worker that made it ready has nothing
    /// else to do, it stays with the latter; whoever looks for work leaves it there for two microseconds, in which that one may begin with it.
    #[default]
    Last,
    /// To the worker that made it ready: WS-CUR. From a thread that is no worker of the pool: to whichever comes first.
    Current,
}
