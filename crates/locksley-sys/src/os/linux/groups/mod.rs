//! How much processor time control groups allow (`man 7 cgroups`; the kernel's documents cgroup-v2,
//! cgroup-v1/cpusets and sched-bwc).
//!
//! Nothing that is read here can fail: what makes no sense sets no limit, and is told as a
//! [`LimitFault`]. A file that is not there is no fault, since the root group has none, nor has a
//! group whose controller is switched off.

mod files;
mod group;
mod membership;
mod mounts;
#[cfg(all(test, not(loom)))]
mod tests;
mod watch;

use std::path::{Path, PathBuf};

use super::super::{LimitFault, Quota};
use files::Files;
use group::Group;
use membership::Membership;
use mounts::{Mount, Version};
pub use watch::QuotaWatch;

/// The control groups of this process: where the hierarchies are mounted, which seldom changes. In
/// which groups the process is, and what these allow, is read each time. Who does that often has a
/// [`QuotaWatch`].
#[derive(Debug)]
pub(crate) struct Groups {
    files: Files,
    mounts: Vec<Mount>,
    faults: Vec<LimitFault>,
}

/// What the groups allow in which this process is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// The smallest quota of all groups that it lies in.
    pub quota: Option<Quota>,
    /// The processors that its group may use.
    pub processors: Option<Vec<usize>>,
    pub faults: Vec<LimitFault>,
}

impl Groups {
    /// As they are mounted now.
    pub(crate) fn of_this_process() -> Self {
        Self::below(Path::new("/"))
    }

    /// The same where the files of the machine lie below `root`.
    fn below(root: &Path) -> Self {
        let files = Files::below(root);
        let mut faults = Vec::new();
        let mounts = mounts::read(&files, &mut faults);
        Self { files, mounts, faults }
    }

    /// Those groups in which this process is that may have a quota, the innermost one first.
    fn with_quotas(&self, memberships: &[Membership], faults: &mut Vec<LimitFault>) -> Vec<Group> {
        let folders = self.folders(memberships, "cpu", faults).into_iter();
        folders.map(|(version, folder)| Group::at(&self.files, version, folder)).collect()
    }

    /// What they allow now.
    pub(crate) fn limits(&self) -> Limits {
        let mut faults = self.faults.clone();
        let memberships = membership::read(&self.files, &mut faults);
        let mut with_quotas = self.with_quotas(&memberships, &mut faults);
        let (quota, _) = smallest(&mut with_quotas, &self.files, &mut Vec::new(), &mut faults);
        let processors = self.processors(&memberships, &mut faults);
        Limits { quota, processors, faults }
    }

    /// The processors that the innermost group may use.
    fn processors(
        &self,
        memberships: &[Membership],
        faults: &mut Vec<LimitFault>,
    ) -> Option<Vec<usize>> {
        // What the kernel calls effective is what all the groups above leave, so the innermost one
        // says it; unless it says nothing, because the controller is switched off there.
        let folders = self.folders(memberships, "cpuset", &mut Vec::new());
        let sets = folders
            .iter()
            .map(|(version, folder)| group::processors(&self.files, *version, folder));
        for set in sets {
            match set {
                Ok(None) => {}
                Ok(some) => return some,
                Err(fault) => faults.push(fault),
            }
        }
        None
    }

    /// The folders, as the machine names them, of those groups in which this process is as far as
    /// that controller goes: the innermost first, up to what is mounted.
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

/// The smallest quota of these groups; and whether the first of them, which is the innermost one,
/// is there. `text` is room to read into.
fn smallest(
    groups: &mut [Group],
    files: &Files,
    text: &mut Vec<u8>,
    faults: &mut Vec<LimitFault>,
) -> (Option<Quota>, bool) {
    let mut smallest: Option<Quota> = None;
    let mut is_there = true;
    for (number, group) in groups.iter_mut().enumerate() {
        let quota = group.quota(text).unwrap_or_else(|fault| {
            faults.push(fault);
            None
        });
        if number == 0 {
            is_there = group.is_there(files);
        }
        let is_smaller = |quota: &Quota| {
            smallest.as_ref().is_none_or(|least| quota.processors < least.processors)
        };
        if quota.as_ref().is_some_and(is_smaller) {
            smallest = quota;
        }
    }
    (smallest, is_there)
}
