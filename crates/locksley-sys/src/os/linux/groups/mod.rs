//! How much processor time control groups allow (`man 7 cgroups`; the kernel's documents cgroup-v2
//! and sched-bwc). The processors that they allow are in the affinity already.
//!
//! Nothing that is read here can fail: what makes no sense sets no limit, and is told as a
//! [`LimitFault`]. A file that is not there is no fault, since the root group has none, nor has a
//! group without its controller.

mod mounts;
#[cfg(all(test, not(loom)))]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::{LimitFault, Quota};
use super::file;
use mounts::{Mount, Version};

const MEMBERSHIPS: &str = "/proc/self/cgroup";

/// The quota of the control groups in which this process is. Where the hierarchies are mounted is
/// read once; in which groups the process is, and what these allow, is read each time. No file
/// stays open.
#[derive(Debug)]
pub struct QuotaWatch {
    /// Where the machine's files are.
    root: PathBuf,
    mounts: Vec<Mount>,
    /// What is wrong with these.
    faults: Vec<LimitFault>,
}

/// A group in one hierarchy.
struct Membership<'a> {
    /// Those of version 1; none stand for the one hierarchy of version 2.
    controllers: &'a str,
    /// Its path from the root of what this process's namespace shows of the hierarchy. It may lead
    /// out of that: `/../other`.
    group: &'a str,
}

impl QuotaWatch {
    /// That of the calling process.
    pub fn of_this_process() -> Self {
        Self::below(Path::new("/"))
    }

    /// The same where the files of the machine lie below `root`.
    pub fn below(root: &Path) -> Self {
        let mut faults = Vec::new();
        let mounts = lines(root, mounts::FILE, mounts::parse, &mut faults);
        let mounts = mounts.into_iter().flatten().collect();
        Self { root: root.to_owned(), mounts, faults }
    }

    /// The smallest quota of all groups that the process lies in, and what could not be read.
    pub fn quota(&self) -> (Option<Quota>, Vec<LimitFault>) {
        let mut faults = self.faults.clone();
        let folders = |text: &str| Some(self.folders(&Membership::parse(text)?));
        let memberships = lines(&self.root, MEMBERSHIPS, folders, &mut faults);
        let mut quotas = Vec::new();
        for folder in memberships.into_iter().flatten() {
            match folder.and_then(|(version, folder)| self.quota_of(version, &folder)) {
                Ok(quota) => quotas.extend(quota),
                Err(fault) => faults.push(fault),
            }
        }
        (quotas.into_iter().min_by(|a, b| a.processors.total_cmp(&b.processors)), faults)
    }

    /// In how many periods that was used up, which was the quota a moment ago. `None` where the
    /// kernel does not tell.
    pub fn periods_used_up(&self, quota: &Quota) -> Option<u64> {
        let text = read(&self.root, &quota.file.with_file_name("cpu.stat")).ok()??;
        text.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.trim().parse().ok())
    }

    /// For how long that quota has stopped the processes of its group. `None` where the kernel does
    /// not tell.
    pub fn throttled(&self, quota: &Quota) -> Option<Duration> {
        let text = read(&self.root, &quota.file.with_file_name("cpu.stat")).ok()??;
        let value =
            |key: &str| text.lines().find_map(|it| it.strip_prefix(key)?.trim().parse().ok());
        let of_version_two = value("throttled_usec ").map(Duration::from_micros);
        of_version_two.or_else(|| value("throttled_time ").map(Duration::from_nanos))
    }

    /// The folders, as the machine names them, of that group and of those that it lies in, as far
    /// as they are mounted and may have a quota: the innermost first.
    fn folders(&self, it: &Membership<'_>) -> Vec<Result<(Version, PathBuf), LimitFault>> {
        let version = if it.controllers.is_empty() { Version::Two } else { Version::One };
        let is_for_time = |mount: &&Mount| mount.version == version && mount.has_cpu;
        if version == Version::One && !it.controllers.split(',').any(|it| it == "cpu") {
            return Vec::new();
        }
        let mut hidden = None;
        for mount in self.mounts.iter().filter(is_for_time) {
            match mount.folders_of(it.group) {
                Ok(found) => return found.map(|folder| Ok((version, folder))).collect(),
                // Another mount may show it.
                Err(above) => hidden = Some(above),
            }
        }
        let Some(above) = hidden else { return Vec::new() };
        let problem = format!("control group {} is not mounted here", it.group);
        let fault = Err(LimitFault::of(MEMBERSHIPS, problem));
        std::iter::once(fault).chain(above.map(|folder| Ok((version, folder)))).collect()
    }

    /// The quota of the group in that folder; `None` where it sets no limit.
    fn quota_of(&self, version: Version, folder: &Path) -> Result<Option<Quota>, LimitFault> {
        let (name, unlimited) = match version {
            Version::One => ("cpu.cfs_quota_us", "-1"),
            Version::Two => ("cpu.max", "max"),
        };
        let file = folder.join(name);
        let Some(text) = read(&self.root, &file)? else { return Ok(None) };
        let (quota, period) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if quota == unlimited {
            return Ok(None);
        }
        let quota = micros(quota, &file)?;
        let period = match version {
            Version::One => {
                let file = folder.join("cpu.cfs_period_us");
                micros(&read(&self.root, &file)?.unwrap_or_default(), &file)?
            }
            Version::Two => micros(period, &file)?,
        };
        Ok(Some(Quota {
            processors: quota as f64 / period as f64,
            period: Duration::from_micros(period),
            file: file.into(),
        }))
    }
}

impl<'a> Membership<'a> {
    /// Number of the hierarchy, controllers, path.
    fn parse(line: &'a str) -> Option<Self> {
        let (number, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        let _: u32 = number.parse().ok()?;
        // A group that was removed keeps its limits, but they cannot be read any more.
        let group = group.strip_suffix(" (deleted)").unwrap_or(group);
        group.starts_with('/').then_some(Self { controllers, group })
    }
}

/// What the lines of the file say. Those that make no sense are left out.
fn lines<T>(
    root: &Path,
    file: &str,
    parse: impl Fn(&str) -> Option<T>,
    faults: &mut Vec<LimitFault>,
) -> Vec<T> {
    let text = read(root, file.as_ref()).unwrap_or_else(|fault| {
        faults.push(fault);
        None
    });
    let mut parsed = Vec::new();
    for line in text.unwrap_or_default().lines() {
        match parse(line) {
            Some(value) => parsed.push(value),
            None => faults.push(LimitFault::of(file, format!("not as expected: {line:?}"))),
        }
    }
    parsed
}

/// `None` if there is no such file, or its group was removed meanwhile.
fn read(root: &Path, path: &Path) -> Result<Option<String>, LimitFault> {
    let is_absent = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            || error.raw_os_error() == Some(libc::ENODEV)
    };
    match file::read_to_string(&root.join(path.strip_prefix("/").unwrap_or(path))) {
        Ok(text) => Ok(Some(text)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(LimitFault::of(path, error.to_string())),
    }
}

fn micros(text: &str, file: &Path) -> Result<u64, LimitFault> {
    text.trim().parse().ok().filter(|&n: &u64| n > 0).ok_or_else(|| {
        LimitFault::of(file, format!("not a time in microseconds: {:?}", text.trim()))
    })
}
