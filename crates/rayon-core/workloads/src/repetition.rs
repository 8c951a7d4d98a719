//! A workload again and again, behind the start gate of the laboratory's co-runs (`locksley repeat`
//! does the same for its applications).

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

use rayon::ThreadPool;

use crate::clock;
use crate::workload::Instance;

/// Computes once, so that all memory has been touched and the answer has been checked by other
/// means. Then says `ready`, and begins when a line comes in on stdin. Prints a line after each
/// computation, at least one, with the clock's times between which it ran; after another line on
/// stdin, finishes the one that it is at, and prints the stretch of all of them. Ends when stdin
/// does.
///
/// Answers are compared between computations, where inputs are reset as well: neither is part of a
/// time.
pub(crate) fn repeat(instance: &mut dyn Instance, pool: &ThreadPool) -> Result<(), String> {
    pool.install(|| instance.run());
    check(instance)?;
    say("ready")?;
    wait_for_start()?;
    let told = listen()?;
    let (begun, used) = (clock::now(), clock::processor_seconds());
    loop {
        instance.reset();
        let begun = clock::now();
        pool.install(|| instance.run());
        let ended = clock::now();
        check(instance)?;
        say(&format!(r#"{{"computation":{{"begun":{begun},"ended":{ended}}}}}"#))?;
        if told.try_recv() != Err(TryRecvError::Empty) {
            break;
        }
    }
    let used = used.zip(clock::processor_seconds());
    let used = used.map_or("null".to_owned(), |(before, now)| format!("{:.9}", now - before));
    let ended = clock::now();
    let switches = r#""voluntary":null,"involuntary":null"#;
    say(&format!(
        r#"{{"end":{{"begun":{begun},"ended":{ended},"processor_seconds":{used},{switches}}}}}"#
    ))?;
    while told.recv().is_ok() {}
    Ok(())
}

fn check(instance: &mut dyn Instance) -> Result<(), String> {
    if instance.check() { Ok(()) } else { Err("the answer is wrong".to_owned()) }
}

fn say(line: &str) -> Result<(), String> {
    let mut stdout = io::stdout().lock();
    let written = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    written.map_err(|error| format!("cannot write to stdout: {error}"))
}

fn wait_for_start() -> Result<(), String> {
    match io::stdin().lock().read_line(&mut String::new()) {
        Ok(0) => Err("the start gate stays closed: stdin has ended".to_owned()),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("the start gate cannot be watched: {error}")),
    }
}

/// Hears each line on stdin; is disconnected when it ends.
fn listen() -> Result<Receiver<()>, String> {
    let (sender, told) = mpsc::channel();
    let listener = move || {
        while matches!(io::stdin().read_line(&mut String::new()), Ok(1..)) {
            if sender.send(()).is_err() {
                return;
            }
        }
    };
    let started = thread::Builder::new().name("listener".to_owned()).spawn(listener);
    started.map(|_| told).map_err(|error| format!("nobody can listen to stdin: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Wrong;

    impl Instance for Wrong {
        fn reset(&mut self) {}
        fn run(&mut self) {}
        fn check(&mut self) -> bool {
            false
        }
    }

    #[test]
    fn nobody_is_ready_with_a_wrong_answer() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert!(repeat(&mut Wrong, &pool).unwrap_err().contains("wrong"));
    }
}
