//! The source files of packages, for tests that read them.

use std::fs;
use std::path::{Path, PathBuf};

/// The root folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the laboratory lies in the root").into()
}

/// Adds all source files below a folder.
pub(crate) fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

/// True if a file has nothing but tests or models, by its path in its package.
pub(crate) fn is_test(path: &Path) -> bool {
    path.iter().filter_map(|part| part.to_str()).any(|part| {
        let name = part.trim_end_matches(".rs");
        ["test", "tests", "models", "suite"].contains(&name) || name.starts_with("stall")
    })
}

/// The code of a file up to its tests, without comments.
pub(crate) fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.lines().map(str::trim).take_while(|line| !line.starts_with("mod tests {"));
    let code = code.filter(|line| !line.starts_with("//"));
    code.map(|line| line.split(" // ").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}
