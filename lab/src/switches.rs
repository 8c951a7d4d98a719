//! How often the kernel took the processor from this process's threads, and how often they gave it up.

use std::fs;
use std::ops::Sub;

use serde::{Deserialize, Serialize};

/// Context switches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switches {
    /// A thread waited for something.
    pub voluntary: u64,
    /// The kernel gave its processor to another, or it let another have it (a yield).
    pub involuntary: u64,
}

impl Switches {
    /// Those of all threads that live, since each began; `None` where the system does not tell.
    pub fn of_this_process() -> Option<Switches> {
        let threads = fs::read_dir("/proc/self/task").ok()?;
        let mut all = Switches::default();
        for thread in threads.flatten() {
            // A thread that has just ended is none of ours.
            let Ok(status) = fs::read_to_string(thread.path().join("status")) else { continue };
            let counts = parse(&status)?;
            all.voluntary += counts.voluntary;
            all.involuntary += counts.involuntary;
        }
        Some(all)
    }
}

impl Sub for Switches {
    type Output = Switches;

    fn sub(self, earlier: Switches) -> Switches {
        Switches {
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
        }
    }
}

fn parse(status: &str) -> Option<Switches> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some(Switches {
        voluntary: field("voluntary_ctxt_switches:")?,
        involuntary: field("nonvoluntary_ctxt_switches:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_are_read() {
        let status = "Name:\tx\nThreads:\t3\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t345\n";
        assert_eq!(parse(status), Some(Switches { voluntary: 12, involuntary: 345 }));
        assert_eq!(parse("Name:\tx\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn sleeping_is_a_voluntary_switch() {
        let before = Switches::of_this_process().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let now = Switches::of_this_process().unwrap();
        assert!((now - before).voluntary >= 1);
    }
}
