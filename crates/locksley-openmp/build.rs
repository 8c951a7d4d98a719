//! Sets the library's soname, and makes two links beside the library: its soname, which cargo
//! cannot give to a file, and an older name.

use std::path::Path;
use std::{env, fs};

/// A name that begins with `libgomp`, by which threadpoolctl knows OpenMP libraries.
const SONAME: &str = "libgomp-locksley.so.1";
const FILE: &str = "libgomp_locksley.so";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
    // Unloading would unmap code that threads and registered handlers still run.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    let output = env::var_os("OUT_DIR").unwrap_or_default();
    // The folder of the profile: OUT_DIR is its build/locksley-openmp-0123/out.
    let Some(folder) = Path::new(&output).ancestors().nth(3) else { return };
    for name in [SONAME, "liblocksley_gomp.so"] {
        let link = folder.join(name);
        let _ = fs::remove_file(&link);
        #[cfg(unix)]
        if let Err(error) = std::os::unix::fs::symlink(FILE, &link) {
            println!("cargo::warning={}: {error}", link.display());
        }
    }
}
