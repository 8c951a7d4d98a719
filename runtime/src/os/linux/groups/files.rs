//! The files of a control group.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::kept::{KeptFiles, whole};
use super::Throttling;
use super::mounts::Version;
use crate::os::{LimitFault, Quota};
use crate::places::ProcessorSet;

/// The machine's files, or those of another one.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
    /// Those that are read again, if they stay open.
    kept: Option<KeptFiles>,
}

impl Files {
    /// Their paths begin with a stroke, which stands for `root`.
    pub(super) fn below(root: &Path) -> Self {
        Self { root: root.to_owned(), kept: None }
    }

    /// The machine's, which stay open when they have been read.
    pub(super) fn kept_open() -> Self {
        Self { root: "/".into(), kept: Some(KeptFiles::new()) }
    }

    /// `None` if there is no such file.
    pub(super) fn read(&self, path: &Path) -> Result<Option<String>, LimitFault> {
        let below = self.root.join(path.strip_prefix("/").unwrap_or(path));
        let text = match &self.kept {
            Some(kept) => kept.read(&below),
            None => File::open(&below).and_then(|file| whole(&file)),
        };
        match text {
            Ok(text) => Ok(Some(text)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(LimitFault::file(path, error.to_string())),
        }
    }

    pub(super) fn has(&self, folder: &Path) -> bool {
        self.root.join(folder.strip_prefix("/").unwrap_or(folder)).exists()
    }

    /// How many processors' worth of time the group in that folder may have; `None` where it sets no limit.
    pub(super) fn quota(
        &self,
        version: Version,
        folder: &Path,
    ) -> Result<Option<Quota>, LimitFault> {
        let (file, period_file) = match version {
            Version::One => (folder.join("cpu.cfs_quota_us"), folder.join("cpu.cfs_period_us")),
            Version::Two => (folder.join("cpu.max"), folder.join("cpu.max")),
        };
        let Some(text) = self.read(&file)? else { return Ok(None) };
        let (quota, period, none) = match version {
            Version::One => (text, self.read(&period_file)?.unwrap_or_default(), "-1"),
            Version::Two => {
                let (quota, period) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
                (quota.to_owned(), period.to_owned(), "max")
            }
        };
        if quota.trim() == none {
            return Ok(None);
        }
        let micros = |text: &str, file: &Path| {
            text.trim().parse().ok().filter(|&n: &u64| n > 0).ok_or_else(|| {
                LimitFault::file(file, format!("not a time in microseconds: {:?}", text.trim()))
            })
        };
        let (quota, period) = (micros(&quota, &file)?, micros(&period, &period_file)?);
        let (processors, period) = (quota as f64 / period as f64, Duration::from_micros(period));
        Ok(Some(Quota { processors, period, file }))
    }

    /// The processors that the group in that folder may use; `None` where it does not say.
    pub(super) fn processors(
        &self,
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
            let Some(text) = self.read(&file)? else { continue };
            let set: ProcessorSet = text.trim().parse().map_err(|_| {
                LimitFault::file(&file, format!("not a list of processors: {:?}", text.trim()))
            })?;
            // Threads of a group that has none run where the one above may.
            return Ok((!set.is_empty()).then(|| set.as_slice().to_vec()));
        }
        Ok(None)
    }

    /// How the quota of the group in that folder was kept; `None` where there is none, or the kernel does not tell.
    pub(super) fn throttling(&self, folder: &Path) -> Option<Throttling> {
        let stat = self.read(&folder.join("cpu.stat")).ok()??;
        let number = |name: &str| {
            let mut lines = stat.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
        };
        // Of version 2, and of version 1.
        let time = number("throttled_usec").map(Duration::from_micros);
        let time = time.or_else(|| number("throttled_time").map(Duration::from_nanos))?;
        Some(Throttling { periods: number("nr_throttled").unwrap_or(0), time })
    }
}

/// A file that is not there, or whose group has been removed meanwhile.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(libc::ENODEV)
}
