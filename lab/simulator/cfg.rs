//! Chooses the virtual multiprocessor for the sources that a package compiles.

fn main() {
    println!("cargo::rustc-cfg=manycore");
    println!("cargo::rerun-if-changed=../cfg.rs");
}
