//! What the compiler says of a mistake: one error, about a name that a user knows.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The errors of a program: the lines that begin with `error`, but for cargo's last one.
fn errors(name: &str, program: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"{name}\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\nlocksley = {{ path = {:?} }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("src/main.rs"), program).unwrap();
    let checked = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--quiet"])
        .current_dir(&folder)
        // Shared by these programs, so that the library is compiled once.
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("checked"))
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .output()
        .unwrap();
    let text = String::from_utf8(checked.stderr).unwrap();
    let errors = text.lines().filter(|it| it.starts_with("error"));
    let errors: Vec<_> = errors.filter(|it| !it.contains("could not compile")).collect();
    assert_eq!(errors.is_empty(), checked.status.success(), "{text}");
    errors.into_iter().map(str::to_owned).collect()
}

#[test]
fn a_captured_worker_is_one_error() {
    let program = "fn main() {
        locksley::Pool::new(2).unwrap().install(|worker| {
            worker.join(|_| (), |_| worker.index())
        });
    }";
    let errors = errors("captured_worker", program);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert!(errors[0].contains("StaysOnItsThread"), "{errors:?}");
}

#[test]
fn a_pool_may_be_used_where_panics_are_caught() {
    let program = "fn main() {
        let pool = locksley::Pool::new(2).unwrap();
        let _ = std::panic::catch_unwind(|| pool.install(|_| 1));
        let token = locksley::Cancellation::new();
        let _ = std::panic::catch_unwind(|| token.cancel());
        pool.install(|worker| {
            let _ = std::panic::catch_unwind(|| worker.index());
        });
    }";
    assert_eq!(errors("caught_panic", program), [""; 0]);
}

#[test]
fn the_first_error_names_what_no_loop_takes() {
    for (name, items) in [("text", "\"text\""), ("vector", "vec![1, 2]")] {
        let program = format!("fn main() {{ locksley::loops::par({items}).for_each(|_| ()); }}");
        let errors = errors(name, &program);
        assert!(errors[0].contains("`par` cannot divide"), "{errors:#?}");
    }
}
