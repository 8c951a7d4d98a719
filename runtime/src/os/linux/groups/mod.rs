//! How much processor time control groups allow (`man 7 cgroups`; the kernel's documents cgroup-v2, cgroup-v1/cpusets and
//! sched-bwc).
//!
//! Nothing that is read here can fail: what makes no sense sets no limit, and is told as a [`LimitFault`]. A file that is not there is
//! no fault, since the root group has none, nor has a group whose controller is switched off.

mod files;
mod kept;
mod membership;
mod mounts;
#[cfg(all(test, not(loom)))]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::{LimitFault, Quota};
use files::Files;
pub(crate) use kept::{limits_now, throttled};
use membership::Membership;
use mounts::{Mount, Version};

/// The control groups of this process: where the hierarchies are mounted, which seldom changes. In which groups the process is, and what
/// these allow, is read each time.
#[derive(Debug)]
pub(crate) struct Groups {
    files: Files,
    mounts: Vec<Mount>,
    faults: Vec<LimitFault>,
}

/// What the groups allow in which this process is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Limits {
    /// The smallest quota of all groups that it lies in.
    pub(crate) quota: Option<Quota>,
    /// The processors that its group may use.
    pub(crate) processors: Option<Vec<usize>>,
    pub(crate) faults: Vec<LimitFault>,
}

/// How a quota was kept: numbers that grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Throttling {
    /// Periods in which the quota was used up.
    pub(crate) periods: u64,
    /// For how long all threads of the group, together, were kept from running.
    pub(crate) time: Duration,
}

impl Groups {
    /// As they are mounted now.
    pub(crate) fn of_this_process() -> Self {
        Self::below(Path::new("/"))
    }

    /// The same where the files of the machine lie below `root`.
    fn below(root: &Path) -> Self {
        Self::of(Files::below(root))
    }

    fn of(files: Files) -> Self {
        let mut faults = Vec::new();
        let mounts = mounts::read(&files, &mut faults);
        Self { files, mounts, faults }
    }

    /// The quota of which [`limits`](Self::limits) tell, and what could not be read of it.
    pub(crate) fn quota(&self) -> (Option<Quota>, Vec<LimitFault>) {
        let quota_now = || {
            let mut faults = self.faults.clone();
            let memberships = membership::read(&self.files, &mut faults);
            let (quota, is_there) = self.quota_of(&memberships, &mut faults);
            (quota, is_there, faults)
        };
        let (quota, is_there, faults) = quota_now();
        if is_there {
            return (quota, faults);
        }
        // It may have been moved meanwhile, and the group removed where it was.
        let (quota, _, faults) = quota_now();
        (quota, faults)
    }

    /// And whether its group is there, as far as that is known.
    fn quota_of(
        &self,
        memberships: &[Membership],
        faults: &mut Vec<LimitFault>,
    ) -> (Option<Quota>, bool) {
        let folders = self.folders(memberships, "cpu", faults);
        let quota = self.smallest_quota(&folders, faults);
        (quota, folders.first().is_none_or(|(_, innermost)| self.files.has(innermost)))
    }

    fn smallest_quota(
        &self,
        folders: &[(Version, PathBuf)],
        faults: &mut Vec<LimitFault>,
    ) -> Option<Quota> {
        let quotas = folders.iter().filter_map(|(version, folder)| {
            let quota = self.files.quota(*version, folder);
            quota.unwrap_or_else(|fault| {
                faults.push(fault);
                None
            })
        });
        quotas.min_by(|a, b| a.processors.total_cmp(&b.processors))
    }

    /// What they allow now.
    pub(crate) fn limits(&self) -> Limits {
        let mut faults = self.faults.clone();
        let memberships = membership::read(&self.files, &mut faults);
        let folders = self.folders(&memberships, "cpu", &mut faults);
        let quota = self.smallest_quota(&folders, &mut faults);
        // What the kernel calls effective is what all the groups above leave, so the innermost one says it; unless it says nothing, because
        // the controller is switched off there.
        let folders = self.folders(&memberships, "cpuset", &mut Vec::new());
        let sets = folders.iter().map(|(version, folder)| self.files.processors(*version, folder));
        let mut processors = None;
        for set in sets {
            match set {
                Ok(None) => {}
                Ok(some) => {
                    processors = some;
                    break;
                }
                Err(fault) => faults.push(fault),
            }
        }
        Limits { quota, processors, faults }
    }

    /// How the quota was kept that `quota` is.
    pub(crate) fn throttling_of(&self, quota: &Quota) -> Option<Throttling> {
        self.files.throttling(quota.file.parent()?)
    }

    /// That of the group and its ancestors that was kept from running for longest: they may have been at the same time.
    fn longest_throttling(&self) -> Option<Duration> {
        let memberships = membership::read(&self.files, &mut Vec::new());
        let folders = self.folders(&memberships, "cpu", &mut Vec::new());
        let times = folders.iter().filter_map(|(_, folder)| self.files.throttling(folder));
        times.map(|throttling| throttling.time).max()
    }

    /// The folders, as the machine names them, of those groups in which this process is as far as that controller goes: the innermost first, up to
    /// what is mounted.
    fn folders(
        &self,
        memberships: &[Membership],
        controller: &str,
        faults: &mut Vec<LimitFault>,
    ) -> Vec<(Version, PathBuf)> {
        let mut folders = Vec::new();
        for membership in memberships {
            let Some(version) = membership.version_for(controller) else { continue };
            let mounts = self.mounts.iter().filter(|mount| mount.has(version, controller));
            let mut hidden = None;
            for mount in mounts {
                match mount.folders_of(&membership.group) {
                    Ok(found) => {
                        folders.extend(found.into_iter().map(|folder| (version, folder)));
                        hidden = None;
                        break;
                    }
                    // Another mount may show it.
                    Err(below) => hidden = Some(below),
                }
            }
            if let Some(above) = hidden {
                faults.push(LimitFault::Hidden { group: membership.group.clone() });
                folders.extend(above.into_iter().map(|folder| (version, folder)));
            }
        }
        folders
    }
}
