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
    /// To the worker that last ran it: Nornir's WS-LAST. But if that one does nothing, and the worker that made it ready has nothing
    /// else to do, it stays with the latter: for two microseconds, unless that one begins with it before. Then whoever looks for work
    /// takes it.
    #[default]
    Last,
    /// To the worker that made it ready: WS-CUR. From a thread that is no worker of the pool: to whichever comes first.
    Current,
}
