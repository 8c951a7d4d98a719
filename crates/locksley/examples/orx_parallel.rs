//! Runs the iterators of `orx-parallel` on a pool of Locksley. `Orx` and `OrxScope` are all that a
//! program needs for that.

use std::num::NonZeroUsize;

use locksley::Pool;
use orx_parallel::{IntoParIter, Par, Runner, ThreadPool};

/// A pool, as `orx-parallel` sees it.
#[derive(Clone, Copy)]
struct Orx<'p>(&'p Pool);

impl ThreadPool for Orx<'_> {
    type ScopeRef<'s, 'env, 'scope>
        = OrxScope<'s, 'scope>
    where
        'scope: 's,
        'env: 'scope + 's;

    fn scope<'env, 'scope, F>(&'env self, body: F)
    where
        'env: 'scope,
        for<'s> F: FnOnce(OrxScope<'s, 'scope>) + Send,
    {
        self.0.install(|_| locksley::scope(|scope| body(OrxScope(scope))));
    }

    fn max_num_threads(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.0.size()).unwrap_or(NonZeroUsize::MIN)
    }
}

/// A scope, as `orx-parallel` sees it.
#[derive(Clone, Copy)]
struct OrxScope<'s, 'scope>(&'s locksley::Scope<'scope>);

impl<'s, 'env, 'scope> orx_parallel::Scope<'s, 'env, 'scope> for OrxScope<'s, 'scope> {
    fn run<W>(self, work: W)
    where
        'scope: 's,
        'env: 'scope + 's,
        W: FnOnce() + Send + 'scope + 'env,
    {
        self.0.spawn(|_| work());
    }
}

fn sum_of_squares(pool: &Pool) -> u64 {
    let numbers = (0..1000_usize).into_par().runner(Runner::adaptive_with_pool(Orx(pool)));
    numbers.map(|n| (n * n) as u64).sum()
}

fn main() -> Result<(), locksley::BuildError> {
    println!("{}", sum_of_squares(&Pool::builder().build()?));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use locksley::Worker;
    use orx_parallel::{TaskQueue, tasks};

    use super::*;

    #[test]
    fn iterators_and_tasks_run_on_the_pool() {
        let pool = Pool::builder().workers(2).own_threads_only().build().unwrap();
        assert_eq!(sum_of_squares(&pool), 332_833_500);
        let index = |_| Worker::with_current(|worker| worker.map(Worker::index));
        let numbers = (0..1000).into_par().runner(Runner::adaptive_with_pool(Orx(&pool)));
        let indices: Vec<_> = numbers.map(index).collect();
        let indices = BTreeSet::from_iter(indices);
        assert!(indices.iter().all(|index| index.is_some_and(|it| it < 2)), "{indices:?}");

        let sums = Mutex::new(Vec::new());
        let nested = || sums.lock().unwrap().push(sum_of_squares(&pool));
        Orx(&pool).run_all(tasks![nested, nested]);
        assert_eq!(sums.into_inner().unwrap(), [332_833_500; 2]);
    }
}
