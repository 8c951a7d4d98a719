//! Made-up machines, in folders of their own. What they allow is written here by hand.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;

/// The files of a machine.
struct Machine(PathBuf);

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("locksley-groups-{}-{number}", std::process::id());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let name = format!("{name}-{}", now.as_nanos());
        let machine = Self(std::env::temp_dir().join(name));
        fs::create_dir(&machine.0).unwrap(); // its own, and empty
        for (path, text) in files {
            machine.write(path, text);
        }
        machine
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn watch(&self) -> QuotaWatch {
        QuotaWatch::below(&self.0)
    }

    fn limits(&self) -> (Option<Quota>, Vec<LimitFault>) {
        self.watch().quota()
    }

    /// The quota, if nothing is wrong, and which file says so.
    fn quota(&self) -> Option<(f64, String)> {
        let (quota, faults) = self.limits();
        assert_eq!(faults, []);
        quota.map(|quota| (quota.processors, quota.file.display().to_string()))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SELF: &str = "proc/self/cgroup";
const MOUNTS: &str = "proc/self/mountinfo";
const V2: &str = "22 1 0:2 / / rw - ext4 /dev/vda rw\n\
                  30 22 0:25 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const V1: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                  32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                  34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                  35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

fn hidden(group: &str) -> LimitFault {
    LimitFault::of(MEMBERSHIPS, format!("control group {group} is not mounted here"))
}

fn said(quota: f64, file: &str) -> Option<(f64, String)> {
    Some((quota, file.to_owned()))
}

#[test]
fn the_smallest_quota_of_all_ancestors_counts() {
    let machine = Machine::new(&[
        (MOUNTS, V2),
        (SELF, "0::/outer/inner\n"),
        ("sys/fs/cgroup/outer/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/outer/inner/cpu.max", "400000 100000\n"),
    ]);
    assert_eq!(machine.quota(), said(1.5, "/sys/fs/cgroup/outer/cpu.max"));
    machine.write("sys/fs/cgroup/outer/inner/cpu.max", "20000 50000\n");
    assert_eq!(machine.quota(), said(0.4, "/sys/fs/cgroup/outer/inner/cpu.max"));
    machine.write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
    machine.write("sys/fs/cgroup/outer/cpu.max", "max 100000\n");
    assert_eq!(machine.quota(), None);
}

#[test]
fn a_process_that_is_moved_has_the_quota_of_where_it_is() {
    let machine = Machine::new(&[
        (MOUNTS, V2),
        (SELF, "0::/one\n"),
        ("sys/fs/cgroup/one/cpu.max", "100000 100000\n"),
        ("sys/fs/cgroup/two/cpu.max", "250000 100000\n"),
    ]);
    let watch = machine.watch();
    let quota = || watch.quota().0.map(|quota| quota.processors);
    assert_eq!(quota(), Some(1.0));
    machine.write(SELF, "0::/two\n");
    assert_eq!(quota(), Some(2.5));
    machine.write(SELF, "0::/\n");
    assert_eq!(quota(), None);
}

#[test]
fn version_1_is_understood_too() {
    let machine = Machine::new(&[
        (MOUNTS, V1),
        (SELF, "5:memory:/elsewhere\n4:cpuacct,cpu:/job/part\n3:cpuset:/set\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "75000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "50000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/job/part/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/job/part/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/memory/elsewhere/cpu.cfs_quota_us", "1\n"),
    ]);
    assert_eq!(machine.quota(), said(1.5, "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us"));
    assert_eq!(machine.limits().0.unwrap().period, Duration::from_millis(50));
}

#[test]
fn both_versions_side_by_side() {
    let mounts = format!("{V1}41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    let machine = Machine::new(&[
        (MOUNTS, &mounts),
        (SELF, "1:cpu,cpuacct:/job\n0::/service\n"),
        ("sys/fs/cgroup/unified/service/cpu.stat", "usage_usec 7\n"),
        ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "100000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"),
    ]);
    assert_eq!(machine.quota(), said(1.0, "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us"));
}

/// In a container without a namespace of its own: the group is mounted, and the path is the
/// machine's.
#[test]
fn what_is_mounted_may_be_a_part() {
    let mounts = "50 40 0:25 /docker/4f /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
    let machine = Machine::new(&[
        (MOUNTS, mounts),
        (SELF, "0::/docker/4f/job\n"),
        ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/job/cpu.max", "max 100000\n"),
    ]);
    assert_eq!(machine.quota(), said(0.5, "/sys/fs/cgroup/cpu.max"));
    // A name that only begins like that.
    machine.write(SELF, "0::/docker/4f2\n");
    assert_eq!(machine.limits(), (None, vec![hidden("/docker/4f2")]));
}

#[test]
fn what_lies_outside_of_the_namespace_is_hidden() {
    let machine = Machine::new(&[
        (MOUNTS, V2),
        (SELF, "0::/../other\n"),
        ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/other/cpu.max", "10000 100000\n"),
    ]);
    // What is mounted is no group that it lies in.
    assert_eq!(machine.limits(), (None, vec![hidden("/../other")]));

    // What is mounted lies two groups above the namespace's, by names that are not known here; but
    // it is above.
    machine.write(MOUNTS, "50 40 0:25 /../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
    machine.write(SELF, "0::/job\n");
    let (quota, faults) = machine.limits();
    assert_eq!(quota.map(|quota| quota.processors), Some(0.5));
    assert_eq!(faults, [hidden("/job")]);

    // It can be named from there.
    machine.write(SELF, "0::/../../other\n");
    assert_eq!(machine.quota(), said(0.1, "/sys/fs/cgroup/other/cpu.max"));

    // Further out than what is mounted.
    machine.write(SELF, "0::/../../../other\n");
    assert_eq!(machine.limits(), (None, vec![hidden("/../../../other")]));
}

/// A second mount shows what the first does not.
#[test]
fn every_mount_is_looked_at() {
    let mounts = "50 40 0:25 /docker /first ro - cgroup2 cgroup2 rw\n\
                  51 40 0:25 / /second\\040one ro - cgroup2 cgroup2 rw\n";
    let machine = Machine::new(&[
        (MOUNTS, mounts),
        (SELF, "0::/job\n"),
        ("first/cpu.max", "10000 100000\n"),
        ("second one/job/cpu.max", "300000 100000\n"),
    ]);
    assert_eq!(machine.quota(), said(3.0, "/second one/job/cpu.max"));
}

#[test]
fn nothing_sets_no_limit() {
    for files in [
        &[][..],
        &[(SELF, "0::/job\n")],
        &[(MOUNTS, V2)],
        &[(MOUNTS, ""), (SELF, "")],
        &[(MOUNTS, V2), (SELF, "0::/\n")],
        &[(MOUNTS, V2), (SELF, "0::/gone (deleted)\n")],
        &[(MOUNTS, V1), (SELF, "4:cpu,cpuacct:/\n3:cpuset:/\n1:name=systemd:/\n")],
    ] {
        let machine = Machine::new(files);
        assert_eq!(machine.limits(), (None, Vec::new()), "{files:?}");
    }
}

#[test]
fn what_makes_no_sense_is_told_and_sets_no_limit() {
    let path = "sys/fs/cgroup/job/cpu.max";
    let machine =
        Machine::new(&[(MOUNTS, V2), (SELF, "0::/job\n"), ("sys/fs/cgroup/cpu.max", "max 1\n")]);
    for garbage in [
        "",
        "\n",
        "100000",
        "x 100000",
        "100000 x",
        "0 100000",
        "100000 0",
        "-1 100000",
        "max100000",
        "1e5 100000",
        "100000 100000 1",
        "99999999999999999999999999 1",
        "\u{fffd}",
    ] {
        machine.write(path, garbage);
        let (quota, faults) = machine.limits();
        assert_eq!(quota, None, "{garbage:?}");
        let [LimitFault { path: told, problem }] = &faults[..] else {
            panic!("{garbage:?}: {faults:?}")
        };
        assert_eq!(told, &Path::new("/").join(path));
        assert!(!problem.is_empty());
    }
    // The other group still counts.
    machine.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
    let (quota, faults) = machine.limits();
    assert_eq!((quota.map(|quota| quota.processors), faults.len()), (Some(2.0), 1));
    fs::write(machine.0.join(path), [0xFF, 0xFE]).unwrap();
    assert_eq!(machine.limits().1.len(), 1, "no text");
    fs::remove_file(machine.0.join(path)).unwrap();
    fs::create_dir(machine.0.join(path)).unwrap();
    assert_eq!(machine.limits().1.len(), 1, "no file");
}

#[test]
fn garbage_of_version_1_is_told() {
    let machine = Machine::new(&[(MOUNTS, V1), (SELF, "4:cpu:/\n3:cpuset:/\n")]);
    let folder = "sys/fs/cgroup/cpu,cpuacct";
    machine.write(&format!("{folder}/cpu.cfs_quota_us"), "50000\n");
    assert_eq!(machine.limits().1.len(), 1, "a quota of no period");
    for (quota, period) in [("many", "100000"), ("50000", "0"), ("0", "100000"), ("-2", "100000")] {
        machine.write(&format!("{folder}/cpu.cfs_quota_us"), quota);
        machine.write(&format!("{folder}/cpu.cfs_period_us"), period);
        let (quota, faults) = machine.limits();
        assert_eq!((quota, faults.len()), (None, 1), "{faults:?}");
    }
    machine.write(&format!("{folder}/cpu.cfs_quota_us"), "50000");
    machine.write(&format!("{folder}/cpu.cfs_period_us"), "100000");
    assert_eq!(machine.limits().0.map(|quota| quota.processors), Some(0.5));
}

#[test]
fn lines_that_make_no_sense_are_told_and_passed_over() {
    let machine = Machine::new(&[
        (MOUNTS, &format!("nonsense\n{V2}60 1 0:9 relative /x rw - cgroup2 none rw\n")),
        (SELF, "\n0:\n0::relative\nx::/\n0::/job\n"),
        ("sys/fs/cgroup/job/cpu.max", "100000 100000\n"),
    ]);
    let (quota, faults) = machine.limits();
    assert_eq!(quota.map(|quota| quota.processors), Some(1.0));
    assert_eq!(faults.len(), 2 + 4, "{faults:?}");
}

#[test]
fn periods_used_up_are_those_of_the_quotas_group() {
    let machine = Machine::new(&[
        (MOUNTS, V1),
        (SELF, "4:cpu:/job\n"),
        ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"),
        (
            "sys/fs/cgroup/cpu,cpuacct/job/cpu.stat",
            "nr_periods 9\nnr_throttled 4\nthrottled_time 2500000\n",
        ),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 9\nnr_throttled 5\nthrottled_time 1\n"),
    ]);
    let watch = machine.watch();
    let quota = watch.quota().0.unwrap();
    assert_eq!(watch.periods_used_up(&quota), Some(4));
    assert_eq!(watch.throttled(&quota), Some(Duration::from_micros(2500)));
    machine.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.stat", "throttled_usec 7\n");
    assert_eq!(watch.throttled(&quota), Some(Duration::from_micros(7)));
    fs::remove_file(machine.0.join("sys/fs/cgroup/cpu,cpuacct/job/cpu.stat")).unwrap();
    assert_eq!((watch.periods_used_up(&quota), watch.throttled(&quota)), (None, None));
    assert_eq!(watch.periods_used_up(&Quota { file: Path::new("/another").into(), ..quota }), None);
}

/// A file may be longer than a page.
#[test]
fn a_file_is_read_to_its_end() {
    let machine = Machine::new(&[(MOUNTS, V2)]);
    let many: String = (1..3000).map(|n| format!("{n}:name=n{n}:/somewhere\n")).collect();
    machine.write(SELF, &format!("{many}0::/job\n"));
    machine.write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
    let watch = machine.watch();
    for _ in 0..2 {
        assert_eq!(watch.quota().0.map(|quota| quota.processors), Some(1.5));
    }
    machine.write(SELF, "0::/\n");
    assert_eq!(watch.quota(), (None, Vec::new()));
}

/// Whatever it is on this machine.
#[test]
fn this_machine_can_be_read() {
    assert!(QuotaWatch::of_this_process().quota().0.is_none_or(|quota| quota.processors > 0.0));
}
