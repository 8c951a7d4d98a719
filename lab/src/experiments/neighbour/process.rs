//! The processes that are measured: this very program, under other commands.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::fault::{Fault, Outcome};

/// A process that ends when this is dropped, if it has not ended before.
pub(super) struct Process {
    child: Child,
    name: String,
}

impl Process {
    /// Starts `program` with these arguments.
    pub(super) fn start(program: &Path, arguments: &[String]) -> Outcome<Process> {
        let name = format!("the process '{}'", arguments.join(" "));
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Fault::run(format!("{name} cannot be started: {error}")))?;
        Ok(Process { child, name })
    }

    /// A fault if it has ended already, for whatever reason.
    pub(super) fn must_be_running(&mut self) -> Outcome<()> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => {
                let complaint = self.complaint();
                Err(Fault::run(format!("{} ended too early; {complaint}", self.name)))
            }
        }
    }

    /// Waits for its end, and returns what it printed. Both fit into a pipe: they are a line.
    pub(super) fn finish(mut self) -> Outcome<String> {
        let mut text = String::new();
        let read = self.child.stdout.take().map(|mut stdout| stdout.read_to_string(&mut text));
        let status = self.child.wait();
        match (read, status) {
            (Some(Ok(_)), Ok(status)) if status.success() => Ok(text),
            (_, Ok(status)) => {
                let complaint = self.complaint();
                Err(Fault::run(format!("{} failed ({status}); {complaint}", self.name)))
            }
            (_, Err(error)) => Err(Fault::run(format!("{} was lost: {error}", self.name))),
        }
    }

    /// What it has to say for itself.
    fn complaint(&mut self) -> String {
        let mut text = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut text);
        }
        match text.trim() {
            "" => "it said nothing".to_owned(),
            said => format!("it said: {said}"),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail where it has ended and been waited for; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        Process::start(Path::new("/bin/sh"), &["-c".to_owned(), script.to_owned()]).unwrap()
    }

    #[test]
    fn what_a_process_printed_is_returned() {
        assert_eq!(shell("echo a line").finish().unwrap(), "a line\n");
    }

    #[test]
    fn a_process_that_fails_or_dies_is_a_fault_of_the_run() {
        let fault = shell("echo a line; echo no luck >&2; exit 3").finish().unwrap_err();
        assert!(matches!(&fault, Fault::Run(message) if message.contains("no luck")), "{fault}");
        let fault = shell("kill -9 $$").finish().unwrap_err();
        assert!(fault.to_string().contains("failed"), "{fault}");
        assert!(Process::start(Path::new("/nowhere/at/all"), &[]).is_err());
    }

    #[test]
    fn a_process_that_ends_too_early_is_noticed() {
        let mut process = shell("exec sleep 60");
        process.must_be_running().unwrap();
        let mut ended = shell("exit 0");
        let _ = ended.child.wait();
        assert!(ended.must_be_running().is_err());
    }
}
