//! The system layer of a virtual multiprocessor (the crate `manycore`). Its kernel has all assists.

use std::ops::Range;
use std::time::Duration;

use ::manycore::os::{self as machine, CpuSet};
use ::manycore::{Cpu, ThreadId, thread};

use super::board::Seat;
use super::{Assists, LimitFault, LoggedSwitch, Progress, Quota, RunState};
use crate::primitive::AtomicU32;

/// A word that one thread may block on.
#[derive(Debug, Default)]
pub struct Futex {
    pub word: AtomicU32,
}

impl Futex {
    pub fn wait(&self, expected: u32, timeout: Option<Duration>) {
        machine::futex_wait(&self.word, expected, timeout);
    }

    pub fn wake(&self) {
        machine::futex_wake(&self.word, 1);
    }
}

/// A barrier of the program itself: the compiler's order is that of the machine.
pub fn light_barrier() {}

pub fn heavy_barrier() -> bool {
    machine::membarrier();
    true
}

pub fn heavy_barrier_works() -> bool {
    true
}

fn this_thread() -> ThreadId {
    thread::current().id()
}

/// What the kernel tells of one thread.
macro_rules! of_thread {
    ($($name:ident)*) => {
        $(
            #[derive(Debug)]
            pub struct $name(ThreadId);

            impl $name {
                pub fn of_this_thread() -> Self {
                    Self(this_thread())
                }
            }
        )*
    };
}

of_thread! { ThreadAffinity ThreadClock ThreadDelay ThreadProgress }

impl ThreadAffinity {
    pub fn count_union<'a>(threads: impl Iterator<Item = &'a Self>) -> Option<usize> {
        let mut union = CpuSet::new();
        for thread in threads {
            machine::affinity(thread.0).iter().for_each(|cpu| union.insert(cpu));
        }
        Some(union.len()).filter(|&count| count > 0)
    }
}

impl ThreadClock {
    pub fn read(&self) -> Option<Duration> {
        Some(Duration::from_nanos(machine::run_time(self.0)))
    }
}

impl ThreadDelay {
    pub fn read(&self) -> Option<Duration> {
        Some(Duration::from_nanos(machine::times(self.0).delay))
    }

    pub fn retire(&self) {}
}

impl ThreadProgress {
    pub fn read(&self) -> Option<Progress> {
        let processor_time = Duration::from_nanos(machine::times(self.0).run);
        let state = machine::observe(self.0).state;
        let is_blocked = state == machine::ThreadState::Blocked;
        (state != machine::ThreadState::Exited).then_some(Progress { processor_time, is_blocked })
    }
}

/// A thread as others see it: by its processor, and by the records of its switches.
#[derive(Debug)]
pub struct ThreadWatch {
    thread: ThreadId,
    assists: Assists,
}

impl ThreadWatch {
    pub fn with_assists(assists: Assists) -> Self {
        Self { thread: this_thread(), assists }
    }

    pub fn processor(&self) -> Option<usize> {
        let is_told = self.assists.has(Assists::RUN_STATE);
        is_told.then(|| machine::observe(self.thread).cpu.index())
    }

    pub fn run_state(&self, here: Option<usize>) -> RunState {
        let seen = machine::observe(self.thread);
        let is_here = self.assists.has(Assists::RUN_STATE) && here == Some(seen.cpu.index());
        let has_records = self.assists.has(Assists::SWITCH_RECORDS);
        match seen.state {
            machine::ThreadState::Exited => RunState::Unknown,
            machine::ThreadState::Blocked if has_records => RunState::Blocked,
            _ if is_here => RunState::WaitsHere,
            machine::ThreadState::Running if has_records => RunState::Runs,
            machine::ThreadState::Ready | machine::ThreadState::Throttled if has_records => {
                RunState::WaitsElsewhere
            }
            _ => RunState::Unknown,
        }
    }

    pub fn switches(&self) -> Option<u64> {
        let has_records = self.assists.has(Assists::SWITCH_RECORDS);
        has_records.then(|| machine::observe(self.thread).switches)
    }

    pub fn retire(&self) {}
}

/// The bandwidth of the program's control group.
#[derive(Debug)]
pub struct QuotaWatch;

impl QuotaWatch {
    pub fn of_this_process() -> Self {
        Self
    }

    pub fn quota(&self) -> (Option<Quota>, Vec<LimitFault>) {
        let quota = machine::bandwidth().map(|(bandwidth, _)| Quota {
            processors: bandwidth.quota as f64 / bandwidth.period as f64,
            period: Duration::from_nanos(bandwidth.period),
            file: std::path::Path::new("cpu.max").into(),
        });
        (quota, Vec::new())
    }

    pub fn periods_used_up(&self, _quota: &Quota) -> Option<u64> {
        machine::bandwidth().map(|(_, times)| times.throttled_periods)
    }
}

/// Never made here.
#[derive(Debug)]
pub enum SwitchLog {}

impl SwitchLog {
    pub fn of_this_thread() -> Result<Self, String> {
        Err("not modelled".to_owned())
    }

    pub fn new_switches(&mut self) -> impl Iterator<Item = LoggedSwitch> + '_ {
        std::iter::empty()
    }

    pub fn has_new(&self) -> bool {
        match *self {}
    }
}

/// The affinity that new threads take over.
#[derive(Clone, Debug)]
pub struct ThreadSettings(CpuSet);

impl ThreadSettings {
    pub fn of_this_thread() -> Self {
        Self(machine::affinity(this_thread()))
    }

    pub fn apply(&self) {
        machine::set_affinity(this_thread(), &self.0);
    }
}

pub fn bind_this_thread(processors: &[usize]) -> bool {
    let allowed = machine::program_affinity();
    let mut set = CpuSet::new();
    let wanted = processors.iter().filter_map(|&cpu| u16::try_from(cpu).ok()).map(Cpu);
    wanted.filter(|&cpu| allowed.contains(cpu)).for_each(|cpu| set.insert(cpu));
    machine::set_affinity(this_thread(), &set)
}

pub fn unbind_this_thread(_bound: &[usize]) -> bool {
    move_to_process_affinity()
}

pub fn move_to_process_affinity() -> bool {
    machine::set_affinity(this_thread(), &machine::program_affinity())
}

pub fn current_processor() -> Option<usize> {
    Some(machine::current_cpu().index())
}

pub fn runnable_threads() -> Option<usize> {
    Some(machine::runnable_threads())
}

pub fn involuntary_switches() -> Option<u64> {
    Some(machine::times(this_thread()).involuntary_switches)
}

pub fn process_involuntary_switches() -> Option<u64> {
    Some(machine::program_times().involuntary_switches)
}

pub fn process_time() -> Option<Duration> {
    Some(Duration::from_nanos(machine::program_times().run))
}

pub fn online_processors() -> Option<usize> {
    Some(machine::processors())
}

pub(super) fn process_affinity() -> Option<Vec<usize>> {
    Some(machine::program_affinity().iter().map(Cpu::index).collect())
}

pub fn preempt_all() -> bool {
    false
}

pub fn shorten_time_slice(time_slice: Duration) {
    machine::set_slice(this_thread(), time_slice);
}

pub fn stack() -> Option<Range<usize>> {
    Some(0..usize::MAX)
}

/// The numbers of the processors that share each core, last-level cache and socket.
pub fn shared_hardware() -> [Vec<Vec<usize>>; 3] {
    let topology = machine::topology();
    let groups = |of: &dyn Fn(Cpu) -> usize| {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for cpu in topology.all() {
            if groups.len() == of(cpu) {
                groups.push(Vec::new());
            }
            groups[of(cpu)].push(cpu.index());
        }
        groups
    };
    [
        groups(&|cpu| topology.core(cpu)),
        groups(&|cpu| topology.cluster(cpu)),
        groups(&|cpu| topology.socket(cpu)),
    ]
}

/// Programs do not fork here.
pub fn generation() -> u32 {
    0
}

pub fn watch_for_forks(_in_the_child: fn()) {}

pub(super) fn probe(_assist: &str) -> Result<(), String> {
    Ok(())
}

pub fn niceness() -> Option<i32> {
    Some(machine::nice(this_thread()).into())
}

pub fn set_niceness(niceness: i32) -> bool {
    let nice = i8::try_from(niceness.clamp(-20, 19)).expect("it is clamped");
    machine::set_nice(this_thread(), nice);
    true
}

/// All virtual programs are in one process. It runs one machine with boards: a later one would find
/// notes of the earlier one.
pub(super) fn seats() -> Option<&'static [Seat]> {
    static SEATS: [Seat; 256] = [const { Seat::new() }; 256];
    Some(&SEATS)
}

pub(super) fn monotonic_time() -> Duration {
    Duration::from_nanos(crate::primitive::Instant::now().as_nanos())
}
