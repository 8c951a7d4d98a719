//! Writing to stdout and stderr without panicking where the reader has left.

use std::io::{ErrorKind, Write};

use crate::fault::{Fault, Outcome};

/// Writes `text` and a line end to stdout. A reader that has closed the pipe (`| head -1`) has what
/// it wanted: the text is dropped, and the program goes on to its exit code. Any other failure is
/// one of the run.
pub fn say(text: &str) -> Outcome<()> {
    let mut stdout = std::io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Fault::run(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a value to stdout as one line of JSON.
pub fn say_line(line: &impl serde::Serialize) -> Outcome<()> {
    say(&serde_json::to_string(line).map_err(Fault::run)?)
}

/// Writes one line to stderr, whatever `message` contains.
pub fn complain(message: &str) {
    note(&format!("locksley: {message}"));
}

/// Writes one line of news to stderr; it is no failure if none reads it.
pub fn note(message: &str) {
    let line = one_line(message);
    // Where stderr is gone there is nowhere left to say so.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// `text` on one line: arguments may contain line ends and control characters, and are quoted in
/// messages.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
