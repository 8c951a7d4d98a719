//! How many workers a pool has if nobody says.

use super::error::BuildError;
use crate::os::Assists;
#[cfg(feature = "rayon-variables")]
use crate::sleep::MAX_WORKERS;

/// The environment variable that says it.
const WORKERS: &str = "LOCKSLEY_WORKERS";

/// What `LOCKSLEY_WORKERS` says; or what rayon's variables say, with the feature `rayon-variables`; `None` if nobody says it.
pub(super) fn default_workers() -> Result<Option<usize>, BuildError> {
    match std::env::var_os(WORKERS) {
        Some(value) => parse(&value.to_string_lossy()).map(Some),
        None => Ok(rayon_workers()),
    }
}

/// What `LOCKSLEY_ASSISTS` says; or all.
pub(super) fn default_assists() -> Result<Assists, BuildError> {
    match std::env::var_os("LOCKSLEY_ASSISTS") {
        Some(value) => value.to_string_lossy().parse().map_err(BuildError::Assists),
        None => Ok(Assists::ALL),
    }
}

fn parse(value: &str) -> Result<usize, BuildError> {
    let number = value.trim().parse().ok().filter(|&n| n > 0);
    number.ok_or_else(|| BuildError::Environment { value: value.to_owned() })
}

#[cfg(not(feature = "rayon-variables"))]
fn rayon_workers() -> Option<usize> {
    None
}

/// As rayon reads its variables: a number of 0 leaves it to the runtime, what is no number is passed over, and more than
/// there can be is as many as there can be.
#[cfg(feature = "rayon-variables")]
fn rayon_workers() -> Option<usize> {
    let number = |variable| std::env::var(variable).ok()?.parse::<usize>().ok();
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
