//! A pool in a forked child, which has the memory of its parent but only the thread that forked.

use std::sync::OnceLock;

use super::Pool;
use super::start::{self, Plan, spawn_worker};

/// The pool that replaces one from before a fork. It is built at its first use in the child.
pub(super) struct Rebuild {
    plan: Option<Plan>,
    pool: OnceLock<Box<Pool>>,
}

impl Rebuild {
    /// Without a plan, which needs to have `threads`, a pool cannot be used in a child.
    pub(super) fn new(plan: Option<Plan>) -> Self {
        Self { plan, pool: OnceLock::new() }
    }

    /// The new pool, if it has been built.
    pub(super) fn pool(&self) -> Option<&Pool> {
        self.pool.get().map(|pool| &**pool)
    }

    /// Detaches the new pool, if it has been built.
    pub(super) fn detach(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.detach();
        }
    }

    /// The new pool, resized to `size` if the program had chosen one.
    ///
    /// # Panics
    /// If it cannot be built.
    #[cold]
    pub(super) fn get_or_build(&self, size: Option<usize>) -> &Pool {
        self.pool.get_or_init(|| {
            let lost =
                "the pool's threads were lost in a fork, and the program created them itself";
            let plan = self.plan.clone().expect(lost);
            let pool = start::start(plan, spawn_worker).unwrap_or_else(|error| {
                panic!("a pool could not be built again after a fork: {error}")
            });
            size.inspect(|&size| pool.shared.resize(size));
            Box::new(pool)
        })
    }
}
