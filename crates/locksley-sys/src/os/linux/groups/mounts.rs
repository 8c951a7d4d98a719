//! Where hierarchies of control groups are mounted: `/proc/self/mountinfo` (`man 5
//! proc_pid_mountinfo`).

use std::path::{Path, PathBuf};

use super::files::Files;
use crate::os::LimitFault;

pub(super) const FILE: &str = "/proc/self/mountinfo";

/// Of the kernel's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// A mounted hierarchy, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    version: Version,
    /// Those of version 1.
    controllers: Vec<String>,
    /// The group that is seen at the mount point, by its path as memberships have it.
    root: String,
    at: PathBuf,
}

impl Mount {
    /// Whether limits of that controller are found here.
    pub(super) fn has(&self, version: Version, controller: &str) -> bool {
        let is_here = || self.controllers.iter().any(|it| it == controller);
        self.version == version && (version == Version::Two || is_here())
    }

    /// The folders of that group and of those that it lies in, as far as they are mounted here.
    /// Where the group cannot be found here: those of groups that are known to be above it.
    pub(super) fn folders_of(&self, group: &str) -> Result<Vec<PathBuf>, Vec<PathBuf>> {
        let (root, group) = (components(&self.root), components(group));
        if let Some(below) = group.strip_prefix(&root[..])
            && !below.contains(&"..")
        {
            let folder = below.iter().fold(self.at.clone(), |folder, name| folder.join(name));
            let up_to_here = folder.ancestors().take(below.len() + 1).map(Path::to_path_buf);
            return Ok(up_to_here.collect());
        }
        // `/../..` are two groups above the root of the namespace, whose names nobody says. A group
        // that lies less far up lies below that.
        let ups = |path: &[&str]| path.iter().take_while(|&&name| name == "..").count();
        let is_above = root.len() == ups(&root) && ups(&group) < root.len();
        Err(if is_above { vec![self.at.clone()] } else { Vec::new() })
    }
}

fn components(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty()).collect()
}

pub(super) fn read(files: &Files, faults: &mut Vec<LimitFault>) -> Vec<Mount> {
    let text = match files.read(FILE.as_ref()) {
        Ok(text) => text.unwrap_or_default(),
        Err(fault) => {
            faults.push(fault);
            return Vec::new();
        }
    };
    let mut mounts = Vec::new();
    for line in text.lines() {
        match parse(line) {
            Some(mount) => mounts.extend(mount),
            None => faults.push(LimitFault::file(FILE, format!("not as expected: {line:?}"))),
        }
    }
    mounts
}

/// Number, parent, device, root, mount point, options, others, a dash, type, source, options of the
/// file system. `Some(None)` is a mount of something else.
fn parse(line: &str) -> Option<Option<Mount>> {
    let (place, system) = line.split_once(" - ")?;
    let mut place = place.split(' ');
    let (root, at) = (place.nth(3)?, place.next()?);
    let mut system = system.split(' ');
    let (kind, options) = (system.next()?, system.nth(1));
    let version = match kind {
        "cgroup" => Version::One,
        "cgroup2" => Version::Two,
        _ => return Some(None),
    };
    let controllers = options?.split(',').map(str::to_owned).collect();
    let (root, at) = (unescaped(root)?, unescaped(at)?);
    if !root.starts_with('/') || !at.starts_with('/') {
        return None;
    }
    Some(Some(Mount { version, controllers, root, at: at.into() }))
}

/// With the characters for which there are three octal digits.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'\\' {
            bytes.push(first);
            continue;
        }
        let digits = after.get(..3)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()?);
        rest = &after[3..];
    }
    String::from_utf8(bytes).ok()
}
