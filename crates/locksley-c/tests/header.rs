//! The header is what cbindgen makes of the source code.

use std::path::Path;
use std::{env, fs};

/// The order of the header.
const SOURCES: [&str; 8] =
    ["version", "error", "callback", "pool", "fork", "scope", "task", "cancellation"];

#[test]
fn the_header_is_generated() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).unwrap();
    let sources = SOURCES.iter().map(|name| here.join(format!("src/{name}.rs")));
    let builder = sources.fold(cbindgen::Builder::new(), cbindgen::Builder::with_src);
    let mut made = Vec::new();
    builder.with_config(config).generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();

    let header = here.join("include/locksley.h");
    if env::var_os("LOCKSLEY_WRITE_HEADER").is_some() {
        fs::write(&header, &made).unwrap();
    }
    let is_same = fs::read_to_string(&header).is_ok_and(|known| known == made);
    assert!(is_same, "LOCKSLEY_WRITE_HEADER=1 cargo test -p locksley-c --test header writes it");
    assert!(made.lines().all(|line| line.chars().count() <= 100), "lines end at 100 columns");
}
