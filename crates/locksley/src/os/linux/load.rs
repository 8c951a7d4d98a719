//! How busy processors were, for all programs together (`man 5 proc_stat`).

use std::time::Duration;

use super::kept::CommonFile;

/// Processor time spent on `processors` since the machine started, by whomever: all programs, interrupts, and what the
/// hypervisor gave to other machines. In steps of a clock tick (10 ms).
pub(crate) fn busy_time(processors: &[usize]) -> Result<Duration, String> {
    static STAT: CommonFile = CommonFile::at("/proc/stat");
    let stat = STAT.read().map_err(|error| error.to_string())?;
    let ticks = busy_ticks(&stat, processors).ok_or("/proc/stat is not as expected")?;
    // SAFETY: no memory is involved.
    let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let ticks_per_second = u32::try_from(ticks_per_second).ok().filter(|&t| t > 0);
    let ticks_per_second = ticks_per_second.ok_or("the clock tick is not known")?;
    Ok(Duration::from_secs(ticks) / ticks_per_second)
}

fn busy_ticks(stat: &str, processors: &[usize]) -> Option<u64> {
    let mut busy = 0;
    for line in stat.lines() {
        let mut words = line.split_ascii_whitespace();
        // They come first, and what comes then is long.
        let Some(cpu) = words.next().and_then(|w| w.strip_prefix("cpu")) else { break };
        let Ok(cpu) = cpu.parse() else { continue }; // the first line is the sum of all
        if !processors.contains(&cpu) {
            continue;
        }
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal (guest time is counted in user and nice already)
        let &[user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = &ticks[..] else {
            return None;
        };
        busy += user + nice + system + irq + softirq + steal;
    }
    Some(busy)
}

pub(crate) fn probe() -> Result<(), String> {
    let processors = super::process_affinity().ok_or("the affinity is not known")?;
    busy_time(&processors).map(drop)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::busy_ticks;

    const STAT: &str = "cpu  10 2 3 100 5 1 1 4 0 0\ncpu0 6 1 2 50 3 1 0 2 7 0\n\
                        cpu1 4 1 1 50 2 0 1 2 0 0\nintr 5\n";

    #[test]
    fn idle_time_and_guests_are_left_out() {
        assert_eq!(busy_ticks(STAT, &[0]), Some(6 + 1 + 2 + 1 + 2));
        assert_eq!(busy_ticks(STAT, &[0, 1]), Some(12 + 9));
        assert_eq!(busy_ticks(STAT, &[]), Some(0));
    }

    #[test]
    fn a_strange_format_is_no_number() {
        assert_eq!(busy_ticks("cpu0 1 2 x", &[0]), None);
    }
}
