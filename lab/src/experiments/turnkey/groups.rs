//! Control groups with processor quotas, where the system lets this program make some.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::corunner::processor_seconds;
use crate::experiment::{Readings, named};
use crate::fault::{Fault, Outcome};

/// What the names of the groups that are made here begin with.
const NAME: &str = "locksley-turnkey-";
/// In microseconds: the kernel's own choice.
const PERIOD: u64 = 100_000;

/// Where groups can be made: the group that this process is in, of the hierarchy that has quotas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ground {
    /// Of the kernel's interface: 1 or 2.
    pub(crate) version: u8,
    pub(crate) folder: PathBuf,
}

/// A group, with this process in it. Dropping it moves the process back and removes the group.
pub(super) struct Group<'g> {
    ground: &'g Ground,
    folder: PathBuf,
}

/// How a quota has been kept: numbers that grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    /// Periods in which a thread of the group was runnable.
    pub(super) periods: u64,
    /// Those in which the quota was used up.
    used_up: u64,
    /// For how long that kept processors from running what there was, together.
    stopped: Duration,
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

impl Ground {
    /// Makes a group to see whether that works; else returns why not.
    pub(super) fn find() -> Result<Ground, String> {
        let ground = Ground::of_controller("cpu")?;
        ground.sweep();
        ground.group("probe", Some(100)).map_err(|fault| fault.to_string())?;
        Ok(ground)
    }

    /// Where groups with this controller can be made, if they can.
    pub(crate) fn of_controller(controller: &str) -> Result<Ground, String> {
        let mounts = read(Path::new("/proc/self/mountinfo"))?;
        Ground::of(&mounts, &read(Path::new("/proc/self/cgroup"))?, controller)
    }

    /// A ground that does not exist.
    #[cfg(test)]
    pub(super) fn of_version(version: u8) -> Ground {
        Ground { version, folder: PathBuf::new() }
    }

    /// Reads the mounts, and the groups that this process is in.
    fn of(mounts: &str, groups: &str, controller: &str) -> Result<Ground, String> {
        let has_it = |list: &str| list.split(',').any(|it| it == controller);
        let group_of = |is_it: &dyn Fn(&str) -> bool| {
            let mut lines =
                groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
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
        let one = one.zip(group_of(&has_it)).map(|found| (1, found));
        let two = two.zip(group_of(&str::is_empty)).map(|found| (2, found));
        let (version, (at, group)) = one
            .or(two)
            .ok_or_else(|| format!("no control groups with {controller} are mounted"))?;
        Ok(Ground { version, folder: at.join(group) })
    }

    /// Makes a group with that quota, in hundredths of a processor, and moves this process there.
    pub(super) fn group(&self, name: &str, hundredths: Option<u64>) -> Outcome<Group<'_>> {
        if self.version == 2 {
            // It may be done already, by another user.
            let _ = fs::write(self.folder.join("cgroup.subtree_control"), "+cpu");
        }
        let folder = self.folder.join(format!("{NAME}{}-{name}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| fault(&folder, &error))?;
        // From here on it is removed again.
        let group = Group { ground: self, folder };
        let quota = hundredths.map(|hundredths| (hundredths * PERIOD / 100).to_string());
        if self.version == 1 {
            group.write("cpu.cfs_period_us", &PERIOD.to_string())?;
            group.write("cpu.cfs_quota_us", quota.as_deref().unwrap_or("-1"))?;
        } else {
            let quota = quota.as_deref().unwrap_or("max");
            group.write("cpu.max", &format!("{quota} {PERIOD}"))?;
        }
        group.enter()?;
        Ok(group)
    }

    /// Removes the groups of processes that were killed.
    fn sweep(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries.filter(|it| it.file_name().to_string_lossy().starts_with(NAME)) {
            // This fails while a process is in it.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

impl Group<'_> {
    /// Moves this process here.
    pub(super) fn enter(&self) -> Outcome<()> {
        self.write("cgroup.procs", &std::process::id().to_string())
    }

    /// How its quota has been kept.
    pub(super) fn kept(&self) -> Outcome<Kept> {
        let path = self.folder.join("cpu.stat");
        let stat = fs::read_to_string(&path).map_err(|error| fault(&path, &error))?;
        Kept::of(&stat).ok_or_else(|| Fault::run(format!("{} is not as expected", path.display())))
    }

    /// What `run` returns, and how the quota was kept meanwhile.
    pub(super) fn watch<T>(&self, run: impl FnOnce() -> Outcome<T>) -> Outcome<(T, Readings)> {
        let used = || processor_seconds().unwrap_or_default();
        let (begun, before, used_before) = (Instant::now(), self.kept()?, used());
        let done = run()?;
        let (wall, after, used) = (begun.elapsed().as_secs_f64(), self.kept()?, used());
        let used_up = after.used_up - before.used_up;
        // The kernel counts a period when it ends: in a short time there may have been none.
        let periods = (after.periods - before.periods).max(used_up).max(1);
        let readings = [
            ("used up per s", used_up as f64 / wall),
            ("share of periods", used_up as f64 / periods as f64),
            ("stopped", after.stopped.saturating_sub(before.stopped).as_secs_f64() / wall),
            ("worked", (used - used_before).max(0.0) / wall),
        ];
        Ok((done, named(readings)))
    }

    fn write(&self, file: &str, text: &str) -> Outcome<()> {
        let path = self.folder.join(file);
        fs::write(&path, text).map_err(|error| fault(&path, &error))
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        let home = self.ground.folder.join("cgroup.procs");
        let _ = fs::write(home, std::process::id().to_string());
        let _ = fs::remove_dir(&self.folder);
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn fault(path: &Path, error: &io::Error) -> Fault {
    Fault::run(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
    const TWO: &str = "30 22 0:25 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn groups_are_made_where_the_quotas_are() {
        let of = |mounts: &str, groups: &str| {
            let ground = Ground::of(mounts, groups, "cpu").ok()?;
            Some((ground.version, ground.folder.display().to_string()))
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
    fn a_ground_that_is_found_can_be_used_and_is_left_as_it_was() {
        // On most machines there is a reason why not.
        match Ground::find() {
            Err(why) => assert!(!why.is_empty()),
            Ok(ground) => {
                let group = ground.group("test", Some(150)).unwrap();
                let folder = group.folder.clone();
                assert!(folder.is_dir());
                group.kept().unwrap();
                drop(group);
                assert!(!folder.exists());
            }
        }
    }
}
