//! Which worker a task goes to when it becomes ready.

/// Which worker a task goes to when it has waited and becomes ready. Any worker may take it from
/// there.
///
/// Both policies are Nornir's (Vrba, Halvorsen and Griwodz, "A simple improvement of the
/// work-stealing scheduling algorithm", 2010). Where tasks meet at barriers, `Last` keeps them
/// spread over the workers, which then steal less.
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
    /// WS-LAST: the worker that ran it last. The task stays with the worker that made it ready if
    /// polls take less than two microseconds there, on average: to move it would take longer. So it
    /// does if that worker has no other task, and the one that ran it last searches for work. A
    /// thief leaves it there for two microseconds, so that its owner can begin with it.
    #[default]
    Last,
    /// WS-CUR: the worker that made it ready. A task that another thread made ready goes to the
    /// first worker that takes it.
    Current,
}
