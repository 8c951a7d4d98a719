//! Defaults that environment variables set.

use std::env;
use std::ffi::OsString;

use super::error::BuildError;
use crate::os::Assists;

/// The number of workers that `LOCKSLEY_WORKERS` sets, or `None` if it is not set.
pub(super) fn default_workers() -> Result<Option<usize>, BuildError> {
    variable("LOCKSLEY_WORKERS").map(|value| parse(&value.to_string_lossy())).transpose()
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
