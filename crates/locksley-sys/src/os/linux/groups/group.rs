//! One control group: what its files say of processors.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files::{Files, KeptFile};
use super::mounts::Version;
use crate::os::{LimitFault, Quota};
use crate::processor_set::ProcessorSet;

/// The files of a group that say how much processor time it may have, kept open.
#[derive(Debug)]
pub(super) struct Group {
    version: Version,
    folder: PathBuf,
    quota: KeptFile,
    /// That of version 2 has both in one.
    period: Option<KeptFile>,
    stat: KeptFile,
}

impl Group {
    /// The one in that folder, if it is there.
    pub(super) fn at(files: &Files, version: Version, folder: PathBuf) -> Self {
        let keep = |name: &str| files.keep(folder.join(name));
        let (quota, period) = match version {
            Version::One => (keep("cpu.cfs_quota_us"), Some(keep("cpu.cfs_period_us"))),
            Version::Two => (keep("cpu.max"), None),
        };
        let stat = keep("cpu.stat");
        Self { version, folder, quota, period, stat }
    }

    /// How many processors' worth of time it may have; `None` where it sets no limit. `text` is
    /// room to read into.
    pub(super) fn quota(&mut self, text: &mut Vec<u8>) -> Result<Option<Quota>, LimitFault> {
        let Some(said) = self.quota.read(text)? else { return Ok(None) };
        let none = match self.version {
            Version::One => "-1",
            Version::Two => "max",
        };
        let (quota, period) = match self.version {
            Version::One => (said.trim(), None),
            Version::Two => {
                let (quota, period) = said.trim().split_once(' ').unwrap_or((said.trim(), ""));
                (quota, Some(period))
            }
        };
        if quota == none {
            return Ok(None);
        }
        let quota = micros(quota, self.quota.path())?;
        let period = match (period, &mut self.period) {
            (None, Some(file)) => {
                let path = file.path().clone();
                micros(file.read(text)?.unwrap_or_default(), &path)?
            }
            (period, _) => micros(period.unwrap_or_default(), self.quota.path())?,
        };
        Ok(Some(Quota {
            processors: quota as f64 / period as f64,
            period: Duration::from_micros(period),
            file: self.quota.path().clone(),
        }))
    }

    /// Whether that quota is its own.
    pub(super) fn sets(&self, quota: &Quota) -> bool {
        *self.quota.path() == quota.file
    }

    /// In how many periods its quota was used up; `None` where there is none, or the kernel does
    /// not tell.
    pub(super) fn periods_used_up(&mut self, text: &mut Vec<u8>) -> Option<u64> {
        let mut lines = self.stat.read(text).ok()??.lines();
        lines.find_map(|line| line.strip_prefix("nr_throttled ")?.trim().parse().ok())
    }

    /// Whether it is there, as far as that is to be asked: if its quota could be read, it was.
    pub(super) fn is_there(&self, files: &Files) -> bool {
        !self.quota.is_unknown() || files.has(&self.folder)
    }

    /// Its files are looked for anew.
    pub(super) fn forget(&mut self) {
        let files = [&mut self.quota, &mut self.stat].into_iter().chain(&mut self.period);
        files.for_each(KeptFile::forget);
    }
}

fn micros(text: &str, file: &Path) -> Result<u64, LimitFault> {
    text.trim().parse().ok().filter(|&n: &u64| n > 0).ok_or_else(|| {
        LimitFault::file(file, format!("not a time in microseconds: {:?}", text.trim()))
    })
}

/// The processors that the group in that folder may use; `None` where it does not say.
pub(super) fn processors(
    files: &Files,
    version: Version,
    folder: &Path,
) -> Result<Option<Vec<usize>>, LimitFault> {
    // The second of version 1 is what it was called first.
    let names: &[&str] = match version {
        Version::One => &["cpuset.effective_cpus", "cpuset.cpus"],
        Version::Two => &["cpuset.cpus.effective"],
    };
    for name in names {
        let file = folder.join(name);
        let Some(text) = files.read(&file)? else { continue };
        let set: ProcessorSet = text.trim().parse().map_err(|_| {
            LimitFault::file(&file, format!("not a list of processors: {:?}", text.trim()))
        })?;
        // Threads of a group that has none run where the one above may.
        return Ok((!set.is_empty()).then(|| set.as_slice().to_vec()));
    }
    Ok(None)
}
