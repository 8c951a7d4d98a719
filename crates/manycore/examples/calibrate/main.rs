//! The same small programs on the host and on the virtual machine: what the model is fitted to.
//!
//! Prints, for each, nanoseconds on both, and their ratio. It needs two processors that are idle.
//! `--fit FILE` finds costs with which the model takes as long as the host, and writes them to
//! FILE, as lines of the form `cluster=38`.

use std::collections::BTreeMap;
use std::process::ExitCode;

/// The host.
mod host {
    mod platform {
        pub(super) use std::sync::Mutex;
        pub(super) use std::sync::atomic;
        pub(super) use std::thread;
        pub(super) use std::time::Instant;

        /// Lets this thread run on one of the first processors alone.
        pub(super) fn pin(cpu: usize) {
            // SAFETY: a set of processors is bits, which may be 0.
            let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            // SAFETY: the set has room for the processor.
            unsafe { libc::CPU_SET(cpu, &mut set) };
            // SAFETY: the kernel reads the set.
            unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
        }

        /// A private, expedited `membarrier`; registered by the first call.
        pub(super) fn membarrier() {
            use std::sync::Once;
            static REGISTERED: Once = Once::new();
            let call = |command: libc::c_int| {
                // SAFETY: no memory is involved.
                unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
            };
            REGISTERED.call_once(|| {
                call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
            });
            call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        }

        pub(super) use std::hint::spin_loop;
    }
    include!("micro.rs");
}

/// The virtual machine.
mod model {
    mod platform {
        pub(super) use manycore::hint::spin_loop;
        pub(super) use manycore::sync::{Mutex, atomic};
        pub(super) use manycore::thread;
        pub(super) use manycore::time::Instant;

        pub(super) fn pin(cpu: usize) {
            let mut set = manycore::os::CpuSet::new();
            set.insert(manycore::Cpu(cpu as u16));
            manycore::os::set_affinity(thread::current().id(), &set);
        }

        pub(super) use manycore::os::membarrier;
    }
    include!("micro.rs");
}

#[global_allocator]
static ALLOCATOR: manycore::Allocator = manycore::Allocator;

/// How often each program runs on the host; the median counts.
const REPEATS: usize = 15;

/// What each program is fitted by, in the order of fitting: the others do not depend on later ones,
/// or little. The remaining program, the contended lock, shows what the fit is worth.
const FITTED: [(&str, &[&str]); 11] = [
    ("add to an owned word", &["read_modify_write"]),
    ("store and fence", &["fence"]),
    ("read the clock", &["clock"]),
    ("ping-pong of two lines", &["cluster"]),
    ("contended add, two threads", &["lease"]),
    ("yield, nothing else to run", &["system_call"]),
    ("yield to a thread of the processor", &["context_switch"]),
    ("membarrier, the other thread sleeps", &["membarrier"]),
    ("membarrier, the other thread runs", &["membarrier_each"]),
    ("park and unpark, one processor", &["wake_up"]),
    ("park and unpark, two processors", &["idle_exit", "deep_idle_exit"]),
];
/// A fit may change what an earlier one has found.
const PASSES: usize = 2;
/// No cost is above this, in nanoseconds.
const MOST: u64 = 1_000_000;

type Costs = BTreeMap<&'static str, u64>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let file = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => None,
        ["--fit", file] => Some(file),
        _ => {
            eprintln!("usage: calibrate [--fit FILE], where FILE is to be written");
            return ExitCode::from(2);
        }
    };
    let host: Vec<f64> = host::ALL.iter().map(|(_, program)| on_host(*program)).collect();
    let mut costs = Costs::new();
    if let Some(file) = file {
        fit(&host, &mut costs);
        let lines: String = costs.iter().map(|(name, cost)| format!("{name}={cost}\n")).collect();
        if let Err(error) = std::fs::write(file, lines) {
            eprintln!("{file}: {error}");
            return ExitCode::FAILURE;
        }
    }
    println!("{:36} {:>10} {:>10} {:>8}", "nanoseconds", "host", "model", "ratio");
    for (index, (name, _)) in host::ALL.iter().enumerate() {
        let (on_host, modelled) = (host[index], on_model(index, &costs));
        println!("{name:36} {on_host:10.1} {modelled:10.1} {:8.2}", modelled / on_host);
    }
    ExitCode::SUCCESS
}

fn on_host(program: fn() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..REPEATS).map(|_| program()).collect();
    times.sort_by(f64::total_cmp);
    times[REPEATS / 2]
}

fn on_model(index: usize, costs: &Costs) -> f64 {
    let machine = manycore::Machine::builder().cores(2);
    let machine = costs.iter().try_fold(machine, |machine, (name, cost)| machine.cost(name, *cost));
    machine.expect("these costs exist").run(model::ALL[index].1).value
}

/// Finds the costs with which the model takes as long as the host: each by bisection.
fn fit(host: &[f64], costs: &mut Costs) {
    for (name, parameters) in (0..PASSES).flat_map(|_| FITTED) {
        let index = model::ALL.iter().position(|it| it.0 == name).expect("it is a program");
        let with = |cost: u64| {
            let mut tried = costs.clone();
            tried.extend(parameters.iter().map(|parameter| (*parameter, cost)));
            on_model(index, &tried)
        };
        let (mut least, mut most) = (1, MOST);
        // A line that stays longer with its owner is transferred less often.
        let falls = with(1_000) < with(least);
        while least < most {
            let middle = least.midpoint(most);
            let is_too_long = with(middle) > host[index];
            if is_too_long != falls { most = middle } else { least = middle + 1 }
        }
        costs.extend(parameters.iter().map(|parameter| (*parameter, least)));
    }
}
