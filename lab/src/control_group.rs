//! Control groups, where the system lets this program make some.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use locksley::os::Processors;

/// What the names of the groups that are made here begin with.
const NAME: &str = "locksley-lab-";
/// In microseconds: the kernel's own choice.
const PERIOD: u64 = 100_000;

/// A group below the one that this process was in. Dropping it moves this process back and removes
/// the group.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Of the kernel's interface: 1 or 2. In version 2, a process is in one group for all
    /// controllers.
    pub(crate) version: u8,
    home: PathBuf,
    folder: PathBuf,
}

/// How a quota has been kept: numbers that grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Periods in which a thread of the group was runnable.
    pub(crate) periods: u64,
    /// Those in which the quota was used up.
    pub(crate) used_up: u64,
    /// For how long that kept processors from running what there was, together.
    pub(crate) stopped: Duration,
}

impl Kept {
    /// Reads `cpu.stat`, of either version.
    fn of(stat: &str) -> Option<Kept> {
        let number = |name: &str| -> Option<u64> {
            let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
            stat.lines().find_map(value)
        };
        let stopped = number("throttled_usec").map(Duration::from_micros);
        let stopped = stopped.or_else(|| number("throttled_time").map(Duration::from_nanos))?;
        Some(Kept { periods: number("nr_periods")?, used_up: number("nr_throttled")?, stopped })
    }
}

impl Group {
    /// An empty group of a controller.
    pub(crate) fn of_controller(controller: &str, name: &str) -> Result<Group, String> {
        let (mounts, groups) = (read("/proc/self/mountinfo")?, read("/proc/self/cgroup")?);
        let (version, home) = own_group(&mounts, &groups, controller)?;
        if version == 2 {
            // It may be done already, by another user.
            let _ = fs::write(home.join("cgroup.subtree_control"), format!("+{controller}"));
        }
        let folder = home.join(format!("{NAME}{}-{controller}-{name}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Group { version, home, folder })
    }

    /// A group with that quota, in hundredths of a processor, and this process in it.
    pub(crate) fn with_quota(hundredths: u64, name: &str) -> Result<Group, String> {
        let group = Group::of_controller("cpu", name)?;
        group.set_quota(Some(hundredths))?;
        group.admit(std::process::id())?;
        Ok(group)
    }

    /// Makes a group with a quota to see whether that works, and removes those of processes that
    /// were killed.
    pub(crate) fn probe() -> Result<(), String> {
        // Another thread's probe has the same name.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let group = Group::with_quota(all_hundredths(), "probe")?;
        for entry in fs::read_dir(&group.home).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(NAME) {
                // This fails while a process is in it.
                let _ = fs::remove_dir(entry.path());
            }
        }
        Ok(())
    }

    /// Moves a process here.
    pub(crate) fn admit(&self, process: u32) -> Result<(), String> {
        self.write("cgroup.procs", &process.to_string())
    }

    /// Sets a quota in hundredths of a processor, or none.
    pub(crate) fn set_quota(&self, hundredths: Option<u64>) -> Result<(), String> {
        let quota = hundredths.map(|hundredths| (hundredths * PERIOD / 100).to_string());
        if self.version == 1 {
            self.write("cpu.cfs_period_us", &PERIOD.to_string())?;
            return self.write("cpu.cfs_quota_us", quota.as_deref().unwrap_or("-1"));
        }
        self.write("cpu.max", &format!("{} {PERIOD}", quota.as_deref().unwrap_or("max")))
    }

    /// Stops all processes of the group, or lets them go on.
    pub(crate) fn freeze(&self, is_frozen: bool) -> Result<(), String> {
        match self.version {
            1 => self.write("freezer.state", if is_frozen { "FROZEN" } else { "THAWED" }),
            _ => self.write("cgroup.freeze", if is_frozen { "1" } else { "0" }),
        }
    }

    /// How its quota has been kept.
    pub(crate) fn kept(&self) -> Result<Kept, String> {
        let path = self.folder.join("cpu.stat");
        Kept::of(&read(&path)?).ok_or_else(|| format!("{} is not as expected", path.display()))
    }

    fn write(&self, file: &str, text: &str) -> Result<(), String> {
        let path = self.folder.join(file);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::write(self.home.join("cgroup.procs"), std::process::id().to_string());
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The version and the folder of the group that this process is in, by the mounts and the groups of
/// the process.
fn own_group(mounts: &str, groups: &str, controller: &str) -> Result<(u8, PathBuf), String> {
    let has_it = |list: &str| list.split(',').any(|it| it == controller);
    let group_of = |is_it: &dyn Fn(&str) -> bool| {
        let mut lines = groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let found = lines.find(|(controllers, _)| is_it(controllers));
        found.map(|(_, path)| path.trim_start_matches('/').to_owned())
    };
    let mount_of = |is_it: &dyn Fn(&str, &str) -> bool| {
        mounts.lines().find_map(|line| {
            let (place, system) = line.split_once(" - ")?;
            let (kind, options) = (system.split(' ').next()?, system.split(' ').nth(2)?);
            let (root, at) = (place.split(' ').nth(3)?, place.split(' ').nth(4)?);
            // A part of a hierarchy has other paths.
            (is_it(kind, options) && root == "/").then(|| PathBuf::from(at))
        })
    };
    let one = mount_of(&|kind, options| kind == "cgroup" && has_it(options));
    let two = mount_of(&|kind, _| kind == "cgroup2");
    let one = one.zip(group_of(&has_it)).map(|(at, group)| (1, at.join(group)));
    let two = two.zip(group_of(&str::is_empty)).map(|(at, group)| (2, at.join(group)));
    one.or(two).ok_or_else(|| format!("no control groups with {controller} are mounted"))
}

/// What this process may use now, in hundredths of a processor. Such a quota takes nothing away:
/// other threads of this process may look meanwhile.
fn all_hundredths() -> u64 {
    ((Processors::allowed().capacity() * 100.0) as u64).max(1)
}

fn read(path: impl AsRef<Path>) -> Result<String, String> {
    let path = path.as_ref();
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;

    const ONE: &str = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
    const TWO: &str = "30 22 0:25 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn groups_are_made_where_the_quotas_are() {
        let of = |mounts: &str, groups: &str| {
            let (version, folder) = own_group(mounts, groups, "cpu").ok()?;
            Some((version, folder.display().to_string()))
        };
        let found = |version, folder: &str| Some((version, folder.to_owned()));
        assert_eq!(of(TWO, "0::/job\n"), found(2, "/sys/fs/cgroup/job"));
        assert_eq!(of(ONE, "4:cpuacct,cpu:/job\n"), found(1, "/sys/fs/cgroup/cpu,cpuacct/job"));
        // With both, the quotas are those of version 1.
        let both = format!("{TWO}{ONE}");
        let groups = "3:memory:/m\n2:cpu,cpuacct:/\n0::/job\n";
        assert_eq!(of(&both, groups), found(1, "/sys/fs/cgroup/cpu,cpuacct/"));
        let part = TWO.replace(" / /sys", " /job /sys");
        for (mounts, groups) in
            [("", "0::/\n"), (TWO, ""), (TWO, "4:cpu:/\n"), (&part, "0::/job\n")]
        {
            assert_eq!(of(mounts, groups), None, "{mounts} {groups}");
        }
    }

    #[test]
    fn both_versions_say_how_a_quota_was_kept() {
        let one = "nr_periods 9\nnr_throttled 4\nthrottled_time 2500000\nnr_bursts 0\n";
        let two = "usage_usec 7\nnr_periods 9\nnr_throttled 4\nthrottled_usec 2500\n";
        let kept = Kept { periods: 9, used_up: 4, stopped: Duration::from_micros(2500) };
        assert_eq!([one, two].map(Kept::of), [Some(kept); 2]);
        assert_eq!(["", "usage_usec 7\n"].map(Kept::of), [None; 2]);
    }

    #[test]
    fn a_group_can_be_used_and_leaves_all_as_it_was() {
        // On most machines there is a reason why not.
        match Group::with_quota(all_hundredths(), "test") {
            Err(why) => assert!(!why.is_empty()),
            Ok(group) => {
                let folder = group.folder.clone();
                assert!(folder.is_dir());
                group.kept().unwrap();
                drop(group);
                // Processes that other tests have started meanwhile are in it until they end.
                let began = Instant::now();
                while folder.exists() {
                    assert!(began.elapsed() < Duration::from_secs(60), "this process is in it");
                    let _ = fs::remove_dir(&folder);
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }
}
