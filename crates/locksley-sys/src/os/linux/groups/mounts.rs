//! Where hierarchies of control groups are mounted: `/proc/self/mountinfo` (`man 5
//! proc_pid_mountinfo`).

use std::path::{Path, PathBuf};

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
    pub(super) version: Version,
    /// Whether it may limit processor time.
    pub(super) has_cpu: bool,
    /// The group that is seen at the mount point, by its path as memberships have it.
    root: String,
    at: PathBuf,
}

impl Mount {
    /// The folders of that group and of those that it lies in, as far as they are mounted here, the
    /// innermost first. Where the group cannot be found here: the one that is known to be above it.
    pub(super) fn folders_of(
        &self,
        group: &str,
    ) -> Result<impl Iterator<Item = PathBuf>, Option<PathBuf>> {
        let (root, group) = (components(&self.root), components(group));
        let below = group.strip_prefix(&root[..]).filter(|below| !below.contains(&".."));
        if let Some(below) = below {
            let folder = below.iter().fold(self.at.clone(), |folder, name| folder.join(name));
            let ancestors: Vec<PathBuf> = folder.ancestors().map(Path::to_path_buf).collect();
            return Ok(ancestors.into_iter().take(below.len() + 1));
        }
        // `/../..` are two groups above the root of the namespace, without names. A group that lies
        // less far up lies below that.
        let ups = |path: &[&str]| path.iter().take_while(|&&name| name == "..").count();
        let is_above = root.len() == ups(&root) && ups(&group) < root.len();
        Err(is_above.then(|| self.at.clone()))
    }
}

fn components(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty()).collect()
}

/// Number, parent, device, root, mount point, options, others, a dash, type, source, options of the
/// file system. `Some(None)` is a mount of something else.
pub(super) fn parse(line: &str) -> Option<Option<Mount>> {
    let (place, system) = line.split_once(" - ")?;
    let mut place = place.split(' ');
    let (root, at) = (place.nth(3)?, place.next()?);
    let mut system = system.split(' ');
    let (kind, options) = (system.next()?, system.nth(1));
    let (version, has_cpu) = match kind {
        "cgroup" => (Version::One, options?.split(',').any(|option| option == "cpu")),
        "cgroup2" => (Version::Two, true),
        _ => return Some(None),
    };
    let (root, at) = (unescaped(root)?, unescaped(at)?);
    if !root.starts_with('/') || !at.starts_with('/') {
        return None;
    }
    Some(Some(Mount { version, has_cpu, root, at: at.into() }))
}

/// With the characters for which there are three octal digits.
fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('\\');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(3)?;
        bytes.push(u8::from_str_radix(digits, 8).ok()?);
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}
