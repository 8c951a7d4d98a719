//! What a process holds, as `/proc` tells.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use itertools::Itertools;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::progress::{folders, processes, stat};
use crate::experiments::memory;
use crate::fault::{Fault, Outcome};

/// Threads end, and their files close, some time after they were joined. They have the time of so
/// many looks, which are a millisecond apart, or more if processors are busy.
const LOOKS: usize = 5000;

/// Files that a process with pools keeps open: `/proc/loadavg`.
const KEPT: usize = 1;

/// The resources of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Resources {
    /// Its threads.
    pub(super) threads: usize,
    /// Its open files.
    pub(super) files: usize,
    /// Its resident memory, in bytes.
    pub(super) memory: u64,
}

impl Resources {
    pub(super) fn now() -> Outcome<Resources> {
        let count = |folder: &str| match fs::read_dir(folder) {
            Ok(entries) => Ok(entries.count()),
            Err(error) => Err(Fault::run(format!("{folder}: {error}"))),
        };
        Ok(Resources {
            threads: count("/proc/self/task")?,
            files: count("/proc/self/fd")?,
            memory: memory::resident()?,
        })
    }

    /// Whether threads and files are as few as at the start.
    pub(super) fn is_back_at(self, start: Resources) -> bool {
        self.threads <= start.threads && self.files <= start.files + KEPT
    }

    /// The resources when threads and files are as few as here again, or have had the time.
    pub(super) fn after_return(self) -> Outcome<Resources> {
        let mut now = Resources::now()?;
        for _ in 0..LOOKS {
            if now.is_back_at(self) {
                break;
            }
            sleep(Duration::from_millis(1));
            now = Resources::now()?;
        }
        Ok(now)
    }
}

/// Which threads of the process group are in which state, and where in the kernel.
pub(super) fn thread_states(group: Pid) -> String {
    let state = |thread: PathBuf| {
        let read = |file: &str| fs::read_to_string(thread.join(file)).unwrap_or_default();
        let state = stat(&thread).map_or("?".to_owned(), |fields| fields[0].clone());
        format!("{} {state} {}", read("comm").trim(), read("wchan"))
    };
    let processes = processes(Path::new("/proc"), group.as_raw_nonzero().get());
    processes.map(|it| folders(&it.0.join("task")).map(state).join("; ")).join("; in a child: ")
}
