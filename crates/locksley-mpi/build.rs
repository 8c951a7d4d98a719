//! Says in one sentence what is missing if there is no MPI.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=MPICC");
    println!("cargo:rerun-if-env-changed=PATH");
    if env::var_os("CARGO_FEATURE_MPI").is_none() {
        return;
    }
    let compiler = env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    if Command::new(&compiler).arg("-show").output().is_err() {
        println!(
            "cargo::error=MPI is not installed ({compiler} cannot be run): install the packages \
             libopenmpi-dev and libclang-dev, or build without the feature `mpi`"
        );
    }
}
