//! What becomes of a pool in a child process: a fork takes along the memory, and of the threads only the one that forks.

use std::sync::{Arc, OnceLock};

use super::Pool;
use super::start::{self, Begin, spawn_worker};
use crate::scheduler::config::{Configuration, Hooks, Threads};

/// How to build a pool like one whose threads are gone.
pub(super) struct Recipe {
    pub(super) workers: usize,
    pub(super) begin: Begin,
    pub(super) hooks: Arc<Hooks>,
    pub(super) configuration: Configuration,
    pub(super) threads: Threads,
}

/// The pool that takes the place of one from before a fork, when that is first used after it.
pub(super) struct Rebuild {
    recipe: Option<Recipe>,
    pool: OnceLock<Box<Pool>>,
}

impl Rebuild {
    /// Without a recipe it is not possible.
    pub(super) fn by(recipe: Option<Recipe>) -> Self {
        Self { recipe, pool: OnceLock::new() }
    }

    /// The new pool, if the old one was used since the fork.
    pub(super) fn pool(&self) -> Option<&Pool> {
        self.pool.get().map(|pool| &**pool)
    }

    /// Lets go of the new pool, if there is one.
    pub(super) fn detach(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.detach();
        }
    }

    /// The new pool, in which so many workers may be at work, if somebody has chosen how many.
    ///
    /// # Panics
    /// If it cannot be built.
    #[cold]
    pub(super) fn rebuilt(&self, size: Option<usize>) -> &Pool {
        self.pool.get_or_init(|| {
            let Some(recipe) = &self.recipe else {
                panic!(
                    "the pool's threads were lost in a fork, and it was not the pool that made them"
                );
            };
            match recipe.build() {
                Ok(pool) => {
                    if let Some(size) = size {
                        pool.shared.resize(size);
                    }
                    Box::new(pool)
                }
                Err(error) => panic!("a pool could not be built again after a fork: {error}"),
            }
        })
    }
}

impl Recipe {
    fn build(&self) -> Result<Pool, super::BuildError> {
        let (hooks, configuration) = (Arc::clone(&self.hooks), self.configuration.clone());
        let spawn = |worker| spawn_worker(&self.threads, worker).map(Some);
        let threads = Some(self.threads.clone());
        start::start(self.workers, self.begin, hooks, configuration, threads, spawn)
    }
}
