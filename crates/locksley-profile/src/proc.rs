//! Readings of Linux's files. On other systems they do not exist, and everything is `None`.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// The unit of `/proc/stat` in all ABIs but Alpha's: `USER_HZ` is 100.
const TICK_MILLIS: u64 = 10;

/// Processor time spent on `processors` since the machine started: by all programs, by interrupts,
/// and stolen by the hypervisor (`man 5 proc_stat`).
pub(crate) fn busy_time(processors: &[usize]) -> Option<Duration> {
    let ticks = busy_ticks(&fs::read_to_string("/proc/stat").ok()?, processors)?;
    Some(time_of(ticks))
}

fn time_of(ticks: u64) -> Duration {
    Duration::from_millis(ticks.saturating_mul(TICK_MILLIS))
}

fn busy_ticks(stat: &str, processors: &[usize]) -> Option<u64> {
    let mut busy = 0;
    for line in stat.lines() {
        let mut words = line.split_ascii_whitespace();
        // The lines of processors come first.
        let Some(cpu) = words.next().and_then(|w| w.strip_prefix("cpu")) else { break };
        // The first line is the sum of all.
        let Ok(cpu) = cpu.parse() else { continue };
        if !processors.contains(&cpu) {
            continue;
        }
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        // Guest time is in user and nice already.
        let &[user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = &ticks[..] else {
            return None;
        };
        busy += user + nice + system + irq + softirq + steal;
    }
    Some(busy)
}

/// The time in which quotas of this process's control group (version 2), and of its ancestors,
/// stopped it. `None` if the system does not tell.
pub(crate) fn throttled() -> Option<Duration> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let times = Path::new(group).ancestors().filter_map(|group| {
        let stat = fs::read_to_string(Path::new("/sys/fs/cgroup").join(group).join("cpu.stat"));
        throttled_time(&stat.ok()?)
    });
    times.reduce(|all, one| all + one)
}

fn throttled_time(stat: &str) -> Option<Duration> {
    let micros = stat.lines().find_map(|line| line.strip_prefix("throttled_usec "))?;
    micros.trim().parse().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  10 2 3 100 5 1 1 4 0 0\ncpu0 6 1 2 50 3 1 0 2 7 0\n\
                        cpu1 4 1 1 50 2 0 1 2 0 0\nintr 5\n";

    #[test]
    fn idle_time_and_guests_are_left_out() {
        assert_eq!(busy_ticks(STAT, &[0]), Some(6 + 1 + 2 + 1 + 2));
        assert_eq!(busy_ticks(STAT, &[0, 1]), Some(12 + 9));
        assert_eq!(busy_ticks(STAT, &[]), Some(0));
        assert_eq!(busy_ticks("cpu0 1 2 x", &[0]), None);
    }

    /// 192 processors reach this in half a year.
    #[test]
    fn ticks_may_exceed_32_bits() {
        assert_eq!(time_of(u64::from(u32::MAX) + 1), Duration::from_millis(10 << 32));
    }

    #[test]
    fn throttled_time_is_read_from_cpu_stat() {
        let stat = "usage_usec 9\nnr_throttled 4\nthrottled_usec 2500\n";
        assert_eq!(throttled_time(stat), Some(Duration::from_micros(2500)));
        for without in ["usage_usec 9\n", "throttled_usec many\n", ""] {
            assert_eq!(throttled_time(without), None);
        }
    }
}
