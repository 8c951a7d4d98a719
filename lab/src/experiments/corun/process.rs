//! The processes of a co-run: started, ready, begun together, heard line by line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::corunner::READY;
use crate::experiment::child::{remove_settings, this_program};
use crate::experiment::prelude::*;

/// Processes that run at the same time. They end when this is dropped, if they have not ended
/// before.
pub(in crate::experiments) struct Company {
    processes: Vec<Process>,
    said: Receiver<Said>,
}

struct Process {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    stderr: Receiver<String>,
}

/// What the process with this number printed; `None` when its output ended.
pub(in crate::experiments) type Said = (usize, Option<String>);

impl Company {
    /// Starts these commands, without settings of runtimes; names say what they are in complaints.
    pub(in crate::experiments) fn start(commands: Vec<(String, Command)>) -> Outcome<Company> {
        let (sender, said) = mpsc::channel();
        let mut company = Company { processes: Vec::with_capacity(commands.len()), said };
        for (number, (name, mut command)) in commands.into_iter().enumerate() {
            remove_settings(&mut command);
            let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let cannot = |error| Fault::run(format!("{name} cannot be started: {error}"));
            let mut child = piped.spawn().map_err(cannot)?;
            let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
            // Read meanwhile: a process that has filled the pipe would wait.
            let stderr = child::read(child.stderr.take()).map_err(cannot)?;
            company.processes.push(Process { name: name.clone(), child, stdin, stderr });
            let sender = sender.clone();
            let reader = move || listen(number, stdout, &sender);
            // It ends with the output that it reads.
            thread::Builder::new().spawn(reader).map_err(cannot)?;
        }
        Ok(company)
    }

    /// A cycler that runs until this is dropped, or told to end: see [`crate::cycler::Cycler`].
    pub(in crate::experiments) fn of_cycler(p: usize, w: u64, seed: u64) -> Outcome<Company> {
        let mut command = Command::new(this_program()?);
        let numbers = [format!("--workers={p}"), format!("--increments={w}")];
        command.args(["cycler", "--gate"]).args(numbers).arg(format!("--seed={seed}"));
        let mut company = Company::start(vec![("the cycler".to_owned(), command)])?;
        company.wait_until_ready(Duration::from_secs(30))?;
        company.signal()?;
        Ok(company)
    }

    /// How many there are.
    pub(in crate::experiments) fn len(&self) -> usize {
        self.processes.len()
    }

    /// Waits until all are ready.
    pub(in crate::experiments) fn wait_until_ready(&mut self, limit: Duration) -> Outcome<()> {
        let deadline = Instant::now() + limit;
        for _ in 0..self.len() {
            let (number, line) = self.hear(deadline)?;
            let Some(line) = line else { return Err(self.complaint(number)) };
            if line != READY {
                let name = &self.processes[number].name;
                return Err(Fault::run(format!("{name} printed '{line}' before it was started")));
            }
        }
        Ok(())
    }

    /// Sends all a line, which opens the start gate, or tells those to stop that need it.
    pub(in crate::experiments) fn signal(&mut self) -> Outcome<()> {
        (0..self.len()).try_for_each(|number| self.tell(number))
    }

    /// Sends a line to the process with this number.
    pub(in crate::experiments) fn tell(&mut self, number: usize) -> Outcome<()> {
        let stdin = self.processes[number].stdin.as_mut();
        let sent = stdin.map(|stdin| stdin.write_all(b"\n").and_then(|()| stdin.flush()));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(self.complaint(number)),
        }
    }

    /// The next line of any process, or that the output of one has ended. Silence until the
    /// deadline is a fault.
    pub(in crate::experiments) fn hear(&mut self, deadline: Instant) -> Outcome<Said> {
        match self.said.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(said) => Ok(said),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let names = self.processes.iter().map(|process| &process.name).join(", ");
                Err(Fault::run(format!("nothing was heard in time from {names}")))
            }
        }
    }

    /// Ends the stdin of each, and waits until all have ended, and well.
    pub(in crate::experiments) fn finish(mut self) -> Outcome<()> {
        for process in &mut self.processes {
            process.stdin = None;
        }
        for number in 0..self.len() {
            let process = &mut self.processes[number];
            match process.child.wait() {
                Ok(status) if status.success() => {}
                _ => return Err(self.complaint(number)),
            }
        }
        Ok(())
    }

    /// How a process has ended too early, and what it has to say for itself. It has closed its
    /// output, so it ends soon.
    pub(in crate::experiments) fn complaint(&mut self, number: usize) -> Fault {
        let Process { name, child, stdin, stderr } = &mut self.processes[number];
        *stdin = None;
        let said = match stderr.recv().unwrap_or_default().trim() {
            "" => "it said nothing".to_owned(),
            said => format!("it said: {said}"),
        };
        match child.wait() {
            Ok(status) => Fault::run(format!("{name} ended too early ({status}); {said}")),
            Err(error) => Fault::run(format!("{name} was lost ({error}); {said}")),
        }
    }
}

impl Drop for Company {
    fn drop(&mut self) {
        for Process { child, .. } in &mut self.processes {
            // Both fail where it has ended and been waited for; then there is nothing to do.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn listen(number: usize, stdout: Option<ChildStdout>, said: &Sender<Said>) {
    if let Some(stdout) = stdout {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if said.send((number, Some(line))).is_err() {
                return;
            }
        }
    }
    let _ = said.send((number, None));
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shells(scripts: &[&str]) -> Company {
        let command = |script: &&str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            (format!("the script '{script}'"), command)
        };
        Company::start(scripts.iter().map(command).collect()).unwrap()
    }

    #[test]
    fn no_process_begins_before_all_are_ready() {
        let folder = tempfile::tempdir().unwrap();
        let begun = folder.path().join("begun");
        let quick = format!("echo ready; read go; echo > '{}'; echo one", begun.display());
        let late =
            format!("sleep 0.1; test ! -e '{}' && echo ready; read go; echo two", begun.display());
        let mut company = shells(&[&quick, &late]);
        company.wait_until_ready(LONG).unwrap();
        company.signal().unwrap();
        let deadline = Instant::now() + LONG;
        let mut lines: Vec<Said> = Vec::new();
        while lines.len() < 2 {
            let said = company.hear(deadline).unwrap();
            lines.extend(said.1.is_some().then_some(said));
        }
        lines.sort();
        assert_eq!(lines, [(0, Some("one".to_owned())), (1, Some("two".to_owned()))]);
        company.finish().unwrap();
    }

    #[test]
    fn one_that_dies_is_a_fault_with_its_last_words() {
        let mut company =
            shells(&["echo ready; read go; sleep 60", "echo no luck >&2; kill -9 $$"]);
        let fault = company.wait_until_ready(LONG).unwrap_err();
        let Fault::Run(words) = &fault else { panic!("{fault}") };
        assert!(words.contains("no luck") && words.contains("kill -9"), "{words}");
        drop(company); // and the other one with it, at once

        let mut company = shells(&["echo ready; read go; echo lost >&2; exit 3"]);
        company.wait_until_ready(LONG).unwrap();
        company.signal().unwrap();
        assert_eq!(company.hear(Instant::now() + LONG).unwrap(), (0, None));
        let fault = company.complaint(0);
        assert!(fault.to_string().contains("lost"), "{fault}");
        let mut company = shells(&["echo ready; read go; echo line; exit 3"]);
        company.wait_until_ready(LONG).unwrap();
        company.signal().unwrap();
        assert_eq!(company.hear(Instant::now() + LONG).unwrap().1.unwrap(), "line");
        assert!(company.finish().is_err(), "it ended with 3");
    }

    #[test]
    fn complaints_that_fill_a_pipe_stop_nothing() {
        let mut company = shells(&["echo ready; read go; head -c 200000 /dev/zero >&2; echo line"]);
        company.wait_until_ready(LONG).unwrap();
        company.signal().unwrap();
        assert_eq!(company.hear(Instant::now() + LONG).unwrap().1.unwrap(), "line");
        company.finish().unwrap();
    }

    #[test]
    fn silence_and_nonsense_are_faults() {
        let mut company = shells(&["exec sleep 60"]);
        let fault = company.wait_until_ready(Duration::from_millis(20)).unwrap_err();
        assert!(fault.to_string().contains("sleep 60"), "{fault}");
        let mut company = shells(&["echo steady"]);
        assert!(company.wait_until_ready(LONG).unwrap_err().to_string().contains("steady"));
        assert!(Company::start(vec![("nothing".into(), Command::new("/nowhere/at/all"))]).is_err());
    }
}
