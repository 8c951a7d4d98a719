//! In which groups this process is: `/proc/self/cgroup`.

use super::files::Files;
use super::mounts::Version;
use crate::os::LimitFault;

pub(super) const FILE: &str = "/proc/self/cgroup";

/// A line of the file: a group in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Membership {
    /// Those of version 1; none stand for the one hierarchy of version 2.
    controllers: Vec<String>,
    /// Its path from the root of what this process's namespace shows of the hierarchy. It may lead
    /// out of that: `/../other`.
    pub(super) group: String,
}

impl Membership {
    /// Of which version the limits of that controller are, if this hierarchy may have them.
    pub(super) fn version_for(&self, controller: &str) -> Option<Version> {
        if self.controllers.is_empty() {
            return Some(Version::Two);
        }
        self.controllers.iter().any(|it| it == controller).then_some(Version::One)
    }
}

pub(super) fn read(files: &Files, faults: &mut Vec<LimitFault>) -> Vec<Membership> {
    let text = match files.read(FILE.as_ref()) {
        Ok(text) => text.unwrap_or_default(),
        Err(fault) => {
            faults.push(fault);
            return Vec::new();
        }
    };
    parse(&text, faults)
}

/// What the file says.
pub(super) fn parse(text: &str, faults: &mut Vec<LimitFault>) -> Vec<Membership> {
    let mut memberships = Vec::new();
    for line in text.lines() {
        match parse_line(line) {
            Some(membership) => memberships.push(membership),
            None => faults.push(LimitFault::file(FILE, format!("not as expected: {line:?}"))),
        }
    }
    memberships
}

/// Number of the hierarchy, controllers, path.
fn parse_line(line: &str) -> Option<Membership> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, group) = (fields.next()?, fields.next()?, fields.next()?);
    let _: u32 = number.parse().ok()?;
    if !group.starts_with('/') {
        return None;
    }
    let controllers = controllers.split(',').filter(|it| !it.is_empty()).map(str::to_owned);
    // What was removed while the process was in it; it keeps its limits, but nobody can read them.
    let group = group.strip_suffix(" (deleted)").unwrap_or(group).to_owned();
    Some(Membership { controllers: controllers.collect(), group })
}
