//! What this program says of itself.

use std::thread;

use crate::workload::Workload;

/// The version of rayon, which `Cargo.toml` demands.
const RAYON: &str = "1.12.0";

/// One line of JSON: the core that the program was built on, and its workloads.
pub(crate) fn line(workloads: &[Workload]) -> String {
    let workloads: Vec<String> = workloads
        .iter()
        .map(|workload| {
            let (name, size, about) = (workload.name, workload.size, workload.about);
            format!(r#"{{"name":"{name}","size":{size},"about":"{about}"}}"#)
        })
        .collect();
    let (core, workloads) = (core(), workloads.join(","));
    format!(r#"{{"version":"rayon {RAYON}","core":"{core}","workloads":[{workloads}]}}"#)
}

/// Locksley's global pool gives its threads names, which rayon's does not
/// (`crates/rayon-core/README.md`).
fn core() -> &'static str {
    let names = rayon::broadcast(|_| thread::current().name().map(str::to_owned));
    let is_locksleys = |name: &str| name.starts_with("locksley-");
    match names.iter().all(|name| name.as_deref().is_some_and(is_locksleys)) {
        true => "locksley",
        false => "rayon",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_that_cargo_is_asked_for() {
        let manifest = include_str!("../Cargo.toml");
        assert!(manifest.contains(&format!("rayon = \"={RAYON}\"\n")));
    }
}
