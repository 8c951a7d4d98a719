//! What a program's lock file names if rayon's core is replaced by this package.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn a_program_gets_few_packages() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("weight");
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"program\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\nrayon = \"1.12\"\n\
         [patch.crates-io]\nrayon-core = {{ path = {:?} }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("src/main.rs"), "fn main() {}").unwrap();
    let _ = fs::remove_file(folder.join("Cargo.lock"));
    let mut cargo = Command::new(env!("CARGO"));
    let locked = cargo.args(["generate-lockfile", "--offline"]).current_dir(&folder).output();
    let locked = locked.unwrap();
    assert!(locked.status.success(), "{}", String::from_utf8_lossy(&locked.stderr));
    let lock = fs::read_to_string(folder.join("Cargo.lock")).unwrap();
    let mut names: Vec<_> = lock.lines().filter_map(|line| line.strip_prefix("name = ")).collect();
    names.sort_unstable();
    let ours = ["\"locksley\"", "\"locksley-sys\"", "\"program\"", "\"rayon\"", "\"rayon-core\""];
    let others = ["\"either\"", "\"libc\""];
    assert!(names.iter().all(|name| ours.contains(name) || others.contains(name)), "{names:?}");
}
