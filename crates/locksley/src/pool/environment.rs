//! Defaults that environment variables set.

use std::env;
use std::ffi::OsString;

use super::error::BuildError;
use crate::os::Assists;
use crate::sleep::MAX_WORKERS;

/// The number of workers that `LOCKSLEY_WORKERS` sets, or, with the feature `rayon-variables`, one
/// of rayon's variables. `None` if none of them is set.
pub(super) fn default_workers() -> Result<Option<usize>, BuildError> {
    match variable("LOCKSLEY_WORKERS") {
        Some(value) => parse(&value.to_string_lossy()).map(Some),
        None => Ok(rayon_workers()),
    }
}

/// The assists that `LOCKSLEY_ASSISTS` names, or all if it is not set.
pub(super) fn default_assists() -> Result<Assists, BuildError> {
    match variable("LOCKSLEY_ASSISTS") {
        Some(value) => value.to_string_lossy().parse().map_err(BuildError::Assists),
        None => Ok(Assists::ALL),
    }
}

/// The value of an environment variable. An empty one counts as unset.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

fn parse(value: &str) -> Result<usize, BuildError> {
    let number = value.trim().parse().ok().filter(|&n| n > 0);
    number.ok_or_else(|| BuildError::Environment { value: value.to_owned() })
}

/// With the feature `rayon-variables`, reads rayon's variables as rayon does: 0 means the default,
/// a value that is no number is ignored, and a number over the limit means the limit.
fn rayon_workers() -> Option<usize> {
    if !cfg!(feature = "rayon-variables") {
        return None;
    }
    let number = |name| env::var(name).ok()?.parse::<usize>().ok();
    let workers = number("RAYON_NUM_THREADS").or_else(|| number("RAYON_RS_NUM_CPUS"))?;
    (workers > 0).then(|| workers.min(MAX_WORKERS))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_variable_must_be_a_number_of_workers() {
        assert_eq!(parse(" 12 ").unwrap(), 12);
        for wrong in ["", "0", "-1", "two", "1.5", "99999999999999999999999"] {
            let error = parse(wrong).unwrap_err();
            assert!(matches!(&error, BuildError::Environment { value } if value == wrong));
            assert!(error.to_string().contains("LOCKSLEY_WORKERS"), "{error}");
        }
    }
}
