//! The number of threads of a pool whose builder sets none.

use std::env;

use locksley::BuildError;
use locksley::extend::MAX_SLOTS;
use locksley::os::Processors;

/// The value of the first of these variables that is set: `LOCKSLEY_WORKERS`, `RAYON_NUM_THREADS`,
/// `RAYON_RS_NUM_CPUS`. Or else the number of processors that affinity and quota allow.
///
/// # Errors
/// [`BuildError::Environment`] if `LOCKSLEY_WORKERS` is not a positive number.
pub(crate) fn default_threads() -> Result<usize, BuildError> {
    match env::var_os("LOCKSLEY_WORKERS").filter(|value| !value.is_empty()) {
        Some(value) => locksley_workers(&value.to_string_lossy()),
        None => {
            let threads = rayon_threads().unwrap_or_else(|| Processors::allowed().count());
            Ok(threads.min(MAX_SLOTS))
        }
    }
}

fn locksley_workers(value: &str) -> Result<usize, BuildError> {
    let number = value.trim().parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| BuildError::Environment { value: value.to_owned() })
}

/// Reads rayon's variables as rayon does: 0 means the default, and a value that is not a number is
/// ignored.
fn rayon_threads() -> Option<usize> {
    let number = |name| env::var(name).ok()?.parse::<usize>().ok();
    let threads = number("RAYON_NUM_THREADS").or_else(|| number("RAYON_RS_NUM_CPUS"))?;
    (threads > 0).then_some(threads)
}
