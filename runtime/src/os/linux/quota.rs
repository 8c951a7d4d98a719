//! How much processor time control groups allow (`man 7 cgroups`; the kernel's cgroup-v2 and sched-bwc documents).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The smallest quota among this process's control group and its ancestors, in processors; `None`: no limit.
pub(crate) fn quota() -> Option<f64> {
    let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
    smallest_quota(&membership, Path::new("/sys/fs/cgroup"))
}

/// For how long quotas have kept all of this process's control group, together, from running. `None` where there are none, or the kernel
/// does not tell.
pub(crate) fn throttled() -> Option<Duration> {
    let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
    longest_throttling(&membership, Path::new("/sys/fs/cgroup"))
}

/// Of the group and its ancestors: they may have been kept from running at the same time.
fn longest_throttling(membership: &str, mounted_at: &Path) -> Option<Duration> {
    let mut times = Vec::new();
    for line in membership.lines() {
        if let Some(path) = line.strip_prefix("0::/") {
            times.extend(each_ancestor(mounted_at, path).filter_map(|group| throttling(&group)));
        }
    }
    times.into_iter().max()
}

fn throttling(group: &Path) -> Option<Duration> {
    let stat = fs::read_to_string(group.join("cpu.stat")).ok()?;
    let micros = stat.lines().find_map(|line| line.strip_prefix("throttled_usec "))?;
    micros.trim().parse().ok().map(Duration::from_micros)
}

fn smallest_quota(membership: &str, mounted_at: &Path) -> Option<f64> {
    let mut quotas = Vec::new();
    for line in membership.lines() {
        // hierarchy number : controllers : path
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let path = path.trim_start_matches('/');
        if controllers.is_empty() {
            quotas.extend(each_ancestor(mounted_at, path).filter_map(|group| quota_v2(&group)));
        } else if controllers.split(',').any(|controller| controller == "cpu") {
            // One mount point for the controllers that are mounted together, and usually one for each.
            for mount in [controllers, "cpu"] {
                let root = mounted_at.join(mount);
                quotas.extend(each_ancestor(&root, path).filter_map(|group| quota_v1(&group)));
            }
        }
    }
    quotas.into_iter().reduce(f64::min)
}

/// The folder of the group at `path` and those of the groups that it lies in, up to `root`.
fn each_ancestor(root: &Path, path: &str) -> impl Iterator<Item = PathBuf> {
    Path::new(path).ancestors().map(|ancestor| root.join(ancestor)).collect::<Vec<_>>().into_iter()
}

fn quota_v2(group: &Path) -> Option<f64> {
    let limit = fs::read_to_string(group.join("cpu.max")).ok()?;
    let (quota, period) = limit.trim().split_once(' ')?;
    ratio(quota, period) // "max" is no number: no limit
}

fn quota_v1(group: &Path) -> Option<f64> {
    let quota = fs::read_to_string(group.join("cpu.cfs_quota_us")).ok()?;
    let period = fs::read_to_string(group.join("cpu.cfs_period_us")).ok()?;
    ratio(quota.trim(), period.trim()) // -1 is no limit
}

fn ratio(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A control-group file system in a temporary folder.
    struct Groups(PathBuf);

    impl Groups {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("locksley-{name}-{}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Groups {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_smallest_quota_of_all_ancestors_counts() {
        let files = [
            ("cpu.max", "max 100000\n"),
            ("outer/cpu.max", "150000 100000\n"),
            ("outer/inner/cpu.max", "400000 100000\n"),
        ];
        let groups = Groups::new("v2", &files);
        assert_eq!(smallest_quota("0::/outer/inner\n", &groups.0), Some(1.5));
        assert_eq!(smallest_quota("0::/\n", &groups.0), None);
        assert_eq!(smallest_quota("0::/elsewhere\n", &groups.0), None);
    }

    #[test]
    fn version_1_is_understood_too() {
        let files = [
            ("cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n"),
            ("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"),
            ("cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ];
        let groups = Groups::new("v1", &files);
        let membership = "5:memory:/job\n4:cpu,cpuacct:/job\n";
        assert_eq!(smallest_quota(membership, &groups.0), Some(0.5));
        assert_eq!(smallest_quota("4:cpu,cpuacct:/\n", &groups.0), None);
    }

    #[test]
    fn the_longest_throttling_of_all_ancestors_counts() {
        let files = [
            ("cpu.stat", "usage_usec 77\n"),
            ("outer/cpu.stat", "usage_usec 9\nnr_throttled 4\nthrottled_usec 2500\n"),
            ("outer/inner/cpu.stat", "throttled_usec 700\n"),
            ("odd/cpu.stat", "throttled_usec many\n"),
        ];
        let groups = Groups::new("throttled", &files);
        let longest = |membership| longest_throttling(membership, &groups.0);
        assert_eq!(longest("0::/outer/inner\n"), Some(Duration::from_micros(2500)));
        for none in ["0::/\n", "0::/odd\n", "0::/elsewhere\n", "4:cpu:/outer\n", ""] {
            assert_eq!(longest(none), None, "{none:?}");
        }
    }
}
