//! Sets the soname of the library. Versions 0.x are compatible if x is the same.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let version = env!("CARGO_PKG_VERSION");
    let compatible = version.rsplit_once('.').map_or(version, |(compatible, _patch)| compatible);
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liblocksley.so.{compatible}");
    // Unloading would unmap code that threads still run.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
