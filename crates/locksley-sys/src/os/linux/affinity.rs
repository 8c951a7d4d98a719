//! Which processors threads may run on (`man 2 sched_setaffinity`).

use std::sync::OnceLock;

use super::{last_error, main_thread, this_thread};

const BITS: usize = libc::c_ulong::BITS as usize;

/// Room for 8192 processors, which is the most that Linux can be built for on x86-64.
const WORDS: usize = 8192 / BITS;

pub(super) type Mask = [libc::c_ulong; WORDS];

/// No processor.
pub(super) const NONE: Mask = [0; WORDS];

/// All processors.
const ANY: Mask = [!0; WORDS];

const THIS_THREAD: libc::pid_t = 0;

fn get(thread: libc::pid_t) -> Option<Mask> {
    let mut mask = NONE;
    // SAFETY: the kernel writes at most the given number of bytes, all of which are in the mask.
    let answer =
        unsafe { libc::sched_getaffinity(thread, size_of::<Mask>(), mask.as_mut_ptr().cast()) };
    (answer == 0).then_some(mask)
}

/// Says whether that was done. It neither allocates nor locks.
fn set(thread: libc::pid_t, mask: &Mask) -> bool {
    // SAFETY: the kernel reads the given number of bytes, all of which are in the mask.
    unsafe { libc::sched_setaffinity(thread, size_of::<Mask>(), mask.as_ptr().cast()) == 0 }
}

fn mask_of(processors: impl Iterator<Item = usize>) -> Mask {
    let mut mask = NONE;
    for processor in processors {
        if let Some(word) = mask.get_mut(processor / BITS) {
            *word |= 1 << (processor % BITS);
        }
    }
    mask
}

fn has(mask: &Mask, processor: usize) -> bool {
    mask.get(processor / BITS).is_some_and(|word| word >> (processor % BITS) & 1 == 1)
}

/// Moves `thread` to `processor`, if it may run there, and lets it run where it could before.
/// Only one caller at a time does so for this thread. `was_all` is asked when it has been seen
/// where the thread may run, and says whether that was all. Says whether it was moved.
///
/// A mask that the thread gives itself between the second call and the third is left alone; one
/// that comes between the first and the second, or the third and the fourth, is lost. What the
/// thread starts between the second and the fourth call inherits the narrow mask.
pub(super) fn move_briefly(
    thread: libc::pid_t,
    processor: usize,
    was_all: impl FnOnce() -> bool,
) -> bool {
    let there = mask_of([processor].into_iter());
    let Some(mask) = get(thread) else { return false };
    if !was_all() || !has(&mask, processor) || mask == there || !set(thread, &there) {
        return false;
    }
    if get(thread) == Some(there) {
        give(thread, &mask);
    }
    true
}

/// Where the calling thread may run.
#[cfg(not(loom))]
pub(super) fn of_this_thread() -> Option<Mask> {
    get(THIS_THREAD)
}

/// How many processors these are.
pub(super) fn count(mask: &Mask) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
}

/// `thread` may run on these from now on, without that one. If that cannot be, it is left as it is.
#[cfg(not(loom))]
pub(super) fn set_without(thread: libc::pid_t, mut mask: Mask, processor: usize) {
    mask[processor / BITS] &= !(1 << (processor % BITS));
    let _ = set(thread, &mask);
}

/// `thread` may run on these again. If that cannot be, since the process may no longer, the kernel
/// has given it others.
///
/// Since Linux 6.2 the kernel remembers what a thread was given, and what the process may use later
/// is only added in so far as that has it. So where these are all that the process may use, and
/// that is all that it can be given, the thread is given any.
pub(super) fn give(thread: libc::pid_t, mask: &Mask) {
    let has_it = any_is_what_the_process_has()
        && of_the_process() == Some(*mask)
        && set(thread, &ANY)
        // It was so at first.
        && get(thread) == Some(*mask);
    if !has_it {
        let _ = set(thread, mask);
    }
}

/// Whether a thread that is given any processor may run where the process's main thread does, and
/// nowhere else: not if the process was bound. Asked once.
fn any_is_what_the_process_has() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    let probe = || {
        let is_so = set(THIS_THREAD, &ANY) && get(THIS_THREAD) == of_the_process();
        is_so.then_some(()).ok_or_else(String::new)
    };
    *ANSWER.get_or_init(|| on_a_throwaway_thread(probe).is_ok())
}

/// Moves the calling thread, as `move_briefly`; not the main thread, since its affinity stands
/// for the process's.
pub fn move_this_thread(processor: usize) -> bool {
    let thread = this_thread();
    thread != main_thread() && move_briefly(thread, processor, || true)
}

/// The mask of the process's main thread: what the process was given when it was started.
fn of_the_process() -> Option<Mask> {
    get(main_thread())
}

/// The numbers of the processors that the process may run on.
pub(crate) fn process_affinity() -> Option<Vec<usize>> {
    let mask = of_the_process()?;
    Some((0..WORDS * BITS).filter(|&processor| has(&mask, processor)).collect())
}

/// The processors that one thread may run on, readable from any other while that thread lives.
#[derive(Debug)]
pub struct ThreadAffinity(libc::pid_t);

impl ThreadAffinity {
    /// That of the calling thread.
    pub fn of_this_thread() -> Self {
        Self(this_thread())
    }

    /// How many processors there are that any of `threads` may run on. `None` if that is known of
    /// none of them. It takes a system call for each.
    pub fn of_any<'a>(threads: impl Iterator<Item = &'a Self>) -> Option<usize> {
        let mut all = NONE;
        for mask in threads.filter_map(|thread| get(thread.0)) {
            all.iter_mut().zip(mask).for_each(|(word, other)| *word |= other);
        }
        Some(count(&all)).filter(|&processors| processors > 0)
    }
}

/// How many processors the machine has that are online, whether or not this process may use
/// them; `None` where the system does not tell.
pub fn online() -> Option<usize> {
    // SAFETY: no memory is involved.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(online).ok().filter(|&online| online > 0)
}

/// Gives the calling thread the process's affinity. Says whether it has it now.
pub fn move_to_process_affinity() -> bool {
    let Some(wanted) = of_the_process() else { return false };
    get(THIS_THREAD) == Some(wanted) || set(THIS_THREAD, &wanted)
}

/// Lets the calling thread run on these of the processors that the process may run on. Says whether
/// that was done: not where it may run on none of them.
pub fn bind_this_thread(processors: &[usize]) -> bool {
    let Some(allowed) = of_the_process() else { return false };
    let wanted = mask_of(processors.iter().copied().filter(|&it| has(&allowed, it)));
    wanted != NONE && set(THIS_THREAD, &wanted)
}

/// Lets the calling thread run on these processors, whatever it was bound to. Says whether that was
/// done. It neither allocates nor locks.
pub fn unbind_this_thread(processors: &[usize]) -> bool {
    set(THIS_THREAD, &mask_of(processors.iter().copied()))
}

/// Whether threads may be moved here: see `probe`.
pub fn moves_threads() -> bool {
    // Both are asked here, where it does no harm: the answers are kept.
    any_is_what_the_process_has();
    probe().is_ok()
}

pub(crate) fn probe() -> Result<(), String> {
    static PROBE: OnceLock<Result<(), String>> = OnceLock::new();
    let there_and_back = || {
        let is_back = get(THIS_THREAD)
            .zip(of_the_process())
            .is_some_and(|(mask, wanted)| set(THIS_THREAD, &wanted) && set(THIS_THREAD, &mask));
        is_back.then_some(()).ok_or_else(last_error)
    };
    PROBE.get_or_init(|| on_a_throwaway_thread(there_and_back)).clone()
}

/// Runs a probe where it can do no harm, though its change might not be undone.
pub(super) fn on_a_throwaway_thread(
    probe: impl FnOnce() -> Result<(), String> + Send,
) -> Result<(), String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, probe);
        let thread = thread.map_err(|error| error.to_string())?;
        thread.join().unwrap_or_else(|_| Err("the probe panicked".to_owned()))
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn of_any(threads: &[&ThreadAffinity]) -> Option<usize> {
        ThreadAffinity::of_any(threads.iter().copied())
    }

    #[test]
    fn threads_may_run_together_where_any_of_them_may() {
        let allowed = process_affinity().unwrap();
        let bound = |processor: usize| {
            std::thread::spawn(move || {
                assert!(bind_this_thread(&[processor]));
                let own = ThreadAffinity::of_this_thread();
                assert_eq!(of_any(&[&own]), Some(1));
                // Read by another thread while this one lives.
                std::thread::scope(|scope| {
                    assert_eq!(scope.spawn(|| of_any(&[&own])).join().unwrap(), Some(1));
                });
            })
        };
        allowed.iter().for_each(|&processor| bound(processor).join().unwrap());
        let free = std::thread::spawn(move || {
            assert!(bind_this_thread(&allowed));
            let own = ThreadAffinity::of_this_thread();
            assert_eq!(of_any(&[&own, &own]), Some(allowed.len()));
            // What changes is seen at once.
            assert!(bind_this_thread(&allowed[..1]));
            assert_eq!(of_any(&[&own, &ThreadAffinity(-1)]), Some(1));
        });
        free.join().unwrap();
        assert_eq!(of_any(&[]), None);
        assert_eq!(of_any(&[&ThreadAffinity(-1)]), None);
    }
}
