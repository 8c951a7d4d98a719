//! The command `locksley`: see `locksley --help`.

fn main() -> std::process::ExitCode {
    locksley_lab::main()
}
