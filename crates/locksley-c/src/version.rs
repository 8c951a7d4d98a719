//! The version of the interface.

/// The major version of this header.
pub const LOCKSLEY_VERSION_MAJOR: u32 = 0;
/// The minor version of this header. Versions 0.x are compatible if x is the same.
pub const LOCKSLEY_VERSION_MINOR: u32 = 1;
/// The patch version of this header.
pub const LOCKSLEY_VERSION_PATCH: u32 = 0;
/// The version as one number. cbindgen.toml has the macro, for which the line would be too long.
const VERSION: u32 =
    LOCKSLEY_VERSION_MAJOR * 1_000_000 + LOCKSLEY_VERSION_MINOR * 1000 + LOCKSLEY_VERSION_PATCH;

/// Returns the version of the library that the program has loaded, as `LOCKSLEY_VERSION` gives that
/// of the header.
#[unsafe(no_mangle)]
pub extern "C" fn locksley_version() -> u32 {
    VERSION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_macros_have_the_version_of_the_package() {
        let macros = [LOCKSLEY_VERSION_MAJOR, LOCKSLEY_VERSION_MINOR, LOCKSLEY_VERSION_PATCH];
        assert_eq!(macros.map(|it| it.to_string()).join("."), env!("CARGO_PKG_VERSION"));
    }
}
