//! Which processors threads may run on (`man 2 sched_setaffinity`).

use std::sync::OnceLock;

use super::last_error;

/// Room for 8192 processors, which is the most that Linux can be built for on x86-64.
const WORDS: usize = 8192 / libc::c_ulong::BITS as usize;

type Mask = [libc::c_ulong; WORDS];

fn get(pid: libc::pid_t) -> Result<Mask, String> {
    let mut mask: Mask = [0; WORDS];
    // SAFETY: the kernel writes at most the given number of bytes, all of which are in the mask.
    let answer =
        unsafe { libc::sched_getaffinity(pid, size_of::<Mask>(), mask.as_mut_ptr().cast()) };
    if answer == 0 { Ok(mask) } else { Err(last_error()) }
}

fn set_of_this_thread(mask: &Mask) -> Result<(), String> {
    // SAFETY: the kernel reads the given number of bytes, all of which are in the mask.
    let answer = unsafe { libc::sched_setaffinity(0, size_of::<Mask>(), mask.as_ptr().cast()) };
    if answer == 0 { Ok(()) } else { Err(last_error()) }
}

/// The mask of the process's main thread: what whoever started the process gave it.
fn of_the_process() -> Result<Mask, String> {
    get(std::process::id().cast_signed())
}

/// The numbers of the processors that the process may run on.
pub(crate) fn process_affinity() -> Option<Vec<usize>> {
    let mask = of_the_process().ok()?;
    let bits = libc::c_ulong::BITS as usize;
    let is_in = |&cpu: &usize| mask[cpu / bits] >> (cpu % bits) & 1 == 1;
    Some((0..WORDS * bits).filter(is_in).collect())
}

/// Gives the calling thread the process's affinity. Says whether it has it now.
pub(crate) fn move_to_process_affinity() -> bool {
    let Ok(wanted) = of_the_process() else { return false };
    get(0).is_ok_and(|mask| mask == wanted) || set_of_this_thread(&wanted).is_ok()
}

pub(crate) fn probe() -> Result<(), String> {
    static PROBE: OnceLock<Result<(), String>> = OnceLock::new();
    let probe = || {
        let there_and_back = || {
            let mask = get(0)?;
            set_of_this_thread(&of_the_process()?)?;
            set_of_this_thread(&mask)
        };
        on_a_throwaway_thread(there_and_back)
    };
    PROBE.get_or_init(probe).clone()
}

/// Runs a probe whose change might not be undone where it can do no harm.
pub(super) fn on_a_throwaway_thread(
    probe: impl FnOnce() -> Result<(), String> + Send,
) -> Result<(), String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, probe);
        let thread = thread.map_err(|error| error.to_string())?;
        thread.join().unwrap_or_else(|_| Err("the probe panicked".to_owned()))
    })
}
