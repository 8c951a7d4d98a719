//! The same small programs on the host and on the virtual machine: what the model is fitted to.
//!
//! Prints, for each, nanoseconds on both, and their ratio. It needs two processors that are idle.

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
const REPEATS: usize = 9;

fn main() {
    println!("{:32} {:>10} {:>10} {:>8}", "nanoseconds", "host", "model", "ratio");
    for (index, (name, measure)) in host::ALL.iter().enumerate() {
        let mut times: Vec<f64> = (0..REPEATS).map(|_| measure()).collect();
        times.sort_by(f64::total_cmp);
        let on_host = times[REPEATS / 2];
        let virtual_time = manycore::Machine::builder().cores(2).run(model::ALL[index].1).value;
        println!("{name:32} {on_host:10.1} {virtual_time:10.1} {:8.2}", virtual_time / on_host);
    }
}
