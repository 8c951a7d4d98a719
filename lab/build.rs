//! Tells the program which compiler built it and with which versions of other runtimes it is
//! compared, so that records can say so.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rustc-env=LAB_RUSTC={}", compiler().unwrap_or_else(|| "rustc".to_owned()));
    let lock = lock_file();
    if let Some(lock) = &lock {
        println!("cargo::rerun-if-changed={}", lock.display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    for package in ["rayon", "chili", "tokio"] {
        let version = lock.as_deref().and_then(|lock| locked_version(lock, package));
        let version = version.unwrap_or_else(|| "unknown".to_owned());
        let variable = package.to_uppercase();
        println!("cargo::rustc-env=LAB_{variable}={version}");
    }
}

fn compiler() -> Option<String> {
    let output = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn lock_file() -> Option<PathBuf> {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
    package.ancestors().map(|folder| folder.join("Cargo.lock")).find(|lock| lock.is_file())
}

fn locked_version(lock: &Path, package: &str) -> Option<String> {
    let text = fs::read_to_string(lock).ok()?;
    let (_, entry) = text.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    Some(entry.split_once('"')?.0.to_owned())
}
