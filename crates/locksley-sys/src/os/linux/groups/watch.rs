//! The quota of the groups in which this process is, read again and again.

use super::files::KeptFile;
use super::group::Group;
use super::membership::{self, Membership};
use super::{Groups, smallest};
use crate::os::{LimitFault, Quota};

/// After so many readings all files are looked for anew: there may be some that were not there, or
/// others of the same names.
pub(super) const LOOKED_FOR_AFTER: u32 = 10;

/// What a pool follows. The files that it reads ten times a second are kept open: as many as there
/// are groups in which this process is, times two or three, and one. In which groups that is, is
/// read each time, and if it has changed, others are opened.
///
/// A child of the process has these files open, too, and they are its parent's. But a pool that is
/// used after a fork is built again.
#[derive(Debug)]
pub struct QuotaWatch {
    groups: Groups,
    membership: KeptFile,
    /// What that said last.
    said: Option<Vec<u8>>,
    memberships: Vec<Membership>,
    /// Those that may have a quota, the innermost one first.
    followed: Vec<Group>,
    /// What is wrong with what these are known by.
    faults: Vec<LimitFault>,
    /// Room to read into.
    text: Vec<u8>,
    readings: u32,
}

impl QuotaWatch {
    /// That of the calling process.
    pub fn of_this_process() -> Self {
        Self::of(Groups::of_this_process())
    }

    pub(super) fn of(groups: Groups) -> Self {
        let membership = groups.files.keep(membership::FILE.into());
        Self {
            groups,
            membership,
            said: None,
            memberships: Vec::new(),
            followed: Vec::new(),
            faults: Vec::new(),
            text: Vec::new(),
            readings: 0,
        }
    }

    /// The quota now, and what could not be read of it.
    pub fn quota(&mut self) -> (Option<Quota>, Vec<LimitFault>) {
        self.readings = self.readings.wrapping_add(1);
        if self.readings.is_multiple_of(LOOKED_FOR_AFTER) {
            self.membership.forget();
            self.followed.iter_mut().for_each(Group::forget);
        }
        let (quota, is_there, faults) = self.quota_now();
        if is_there {
            return (quota, faults);
        }
        // It may have been moved meanwhile, and the group removed where it was.
        let (quota, _, faults) = self.quota_now();
        (quota, faults)
    }

    /// Sees in which groups the process is now.
    fn follow(&mut self) -> Result<(), LimitFault> {
        let said = self.membership.read(&mut self.text)?.unwrap_or_default();
        if self.said.as_deref() != Some(said.as_bytes()) {
            let mut faults = self.groups.faults.clone();
            self.memberships = membership::parse(said, &mut faults);
            self.followed = self.groups.with_quotas(&self.memberships, &mut faults);
            self.faults = faults;
            self.said = Some(said.as_bytes().to_vec());
        }
        Ok(())
    }

    /// And whether its group is there, as far as that is known.
    fn quota_now(&mut self) -> (Option<Quota>, bool, Vec<LimitFault>) {
        if let Err(fault) = self.follow() {
            let mut faults = self.groups.faults.clone();
            faults.push(fault);
            return (None, true, faults);
        }
        let mut faults = self.faults.clone();
        let files = &self.groups.files;
        let (quota, is_there) = smallest(&mut self.followed, files, &mut self.text, &mut faults);
        (quota, is_there, faults)
    }

    /// In how many periods that was used up, which was the quota a moment ago.
    pub fn periods_used_up(&mut self, quota: &Quota) -> Option<u64> {
        let group = self.followed.iter_mut().find(|group| group.sets(quota))?;
        group.periods_used_up(&mut self.text)
    }
}
