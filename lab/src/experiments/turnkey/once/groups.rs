//! Control groups of our own, where the system lets us make some.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::fault::{Fault, Outcome};

/// What the names of the groups that are made here begin with.
const NAME: &str = "locksley-turnkey-";
/// In microseconds: the kernel's own choice.
const PERIOD: u64 = 100_000;

/// Where groups can be made: the group in which this process is, of the hierarchy that has processor quotas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// Of the kernel's interface: 1 or 2.
    pub version: u8,
    folder: PathBuf,
}

/// A group, with this process in it. When it is dropped, the process is where it was, and the group is gone.
pub(super) struct Group<'g> {
    ground: &'g Ground,
    folder: PathBuf,
}

/// How a quota has been kept: numbers that grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    /// Periods in which somebody of the group wanted to run.
    pub(super) periods: u64,
    /// Those in which the quota was used up.
    pub(super) used_up: u64,
    /// For how long that kept processors from running what there was, together.
    pub(super) stopped: Duration,
}

impl Kept {
    /// As `cpu.stat` has it, of either version.
    fn of(stat: &str) -> Option<Kept> {
        let number = |name: &str| -> Option<u64> {
            let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
            stat.lines().find_map(value)
        };
        let stopped = number("throttled_usec").map(Duration::from_micros);
        let stopped = stopped.or_else(|| number("throttled_time").map(Duration::from_nanos))?;
        let (periods, used_up) = (number("nr_periods")?, number("nr_throttled")?);
        Some(Kept { periods, used_up, stopped })
    }
}

impl Ground {
    /// Finds out by making a group; says why there is none.
    pub fn find() -> Result<Ground, String> {
        let mounts = read(Path::new("/proc/self/mountinfo"))?;
        let groups = read(Path::new("/proc/self/cgroup"))?;
        let ground = Ground::of(&mounts, &groups)?;
        ground.sweep();
        let group = ground.group("probe", Some(100)).map_err(|fault| fault.to_string())?;
        drop(group);
        Ok(ground)
    }

    /// One that there is not.
    #[cfg(test)]
    pub(in crate::experiments::turnkey) fn of_version(version: u8) -> Ground {
        Ground { version, folder: PathBuf::new() }
    }

    /// By what the system says of mounts, and of the groups in which this process is.
    fn of(mounts: &str, groups: &str) -> Result<Ground, String> {
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
                let mut place = place.split(' ').skip(3);
                let (root, at) = (place.next()?, place.next()?);
                // A part of a hierarchy has other paths.
                (is_it(kind, options) && root == "/").then(|| PathBuf::from(at))
            })
        };
        let has_cpu = |list: &str| list.split(',').any(|it| it == "cpu");
        let one = mount_of(&|kind, options| kind == "cgroup" && has_cpu(options));
        if let (Some(at), Some(group)) = (one, group_of(&has_cpu)) {
            return Ok(Ground { version: 1, folder: at.join(group) });
        }
        let two = mount_of(&|kind, _| kind == "cgroup2");
        match (two, group_of(&str::is_empty)) {
            (Some(at), Some(group)) => Ok(Ground { version: 2, folder: at.join(group) }),
            _ => Err("no control groups for processors are mounted".to_owned()),
        }
    }

    /// Makes a group with that quota, in hundredths of a processor, and moves this process there.
    pub(super) fn group(&self, name: &str, hundredths: Option<u64>) -> Outcome<Group<'_>> {
        if self.version == 2 {
            // Where that is done already, it may not be ours to do.
            let _ = fs::write(self.folder.join("cgroup.subtree_control"), "+cpu");
        }
        let folder = self.folder.join(format!("{NAME}{}-{name}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| fault(&folder, &error))?;
        // From here on it is removed again.
        let group = Group { ground: self, folder };
        group.limit(hundredths)?;
        group.enter()?;
        Ok(group)
    }

    /// Removes what processes have left that were killed.
    fn sweep(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries.filter(|it| it.file_name().to_string_lossy().starts_with(NAME)) {
            // Not while a process is in it.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

impl Group<'_> {
    /// Sets its quota.
    fn limit(&self, hundredths: Option<u64>) -> Outcome<()> {
        let quota = hundredths.map(|hundredths| hundredths * PERIOD / 100);
        if self.ground.version == 1 {
            let quota = quota.map_or("-1".to_owned(), |quota| quota.to_string());
            self.write("cpu.cfs_period_us", &PERIOD.to_string())?;
            return self.write("cpu.cfs_quota_us", &quota);
        }
        let quota = quota.map_or("max".to_owned(), |quota| quota.to_string());
        self.write("cpu.max", &format!("{quota} {PERIOD}"))
    }

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
            let ground = Ground::of(mounts, groups).ok()?;
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
        // On most machines it is not ours; then there is a reason.
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
