//! Which processors threads may run on (`man 2 sched_setaffinity`).

use std::sync::OnceLock;

use super::{last_error, main_thread, this_thread};

const BITS: usize = libc::c_ulong::BITS as usize;

/// Room for 8192 processors, which is the most that Linux can be built for on x86-64.
const WORDS: usize = 8192 / BITS;

pub(super) type Mask = [libc::c_ulong; WORDS];

pub(super) const NO_PROCESSORS: Mask = [0; WORDS];

const ALL_PROCESSORS: Mask = [!0; WORDS];

pub(super) const THIS_THREAD: libc::pid_t = 0;

pub(super) fn get(thread: libc::pid_t) -> Option<Mask> {
    let mut mask = NO_PROCESSORS;
    // SAFETY: the kernel writes at most the given number of bytes, all of which are in the mask.
    let answer =
        unsafe { libc::sched_getaffinity(thread, size_of::<Mask>(), mask.as_mut_ptr().cast()) };
    (answer == 0).then_some(mask)
}

/// Returns true on success. Neither allocates nor locks.
pub(super) fn set(thread: libc::pid_t, mask: &Mask) -> bool {
    // SAFETY: the kernel reads the given number of bytes, all of which are in the mask.
    unsafe { libc::sched_setaffinity(thread, size_of::<Mask>(), mask.as_ptr().cast()) == 0 }
}

pub(super) fn mask_of(processors: impl Iterator<Item = usize>) -> Mask {
    let mut mask = NO_PROCESSORS;
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

/// The number of processors in `mask`.
pub(super) fn count(mask: &Mask) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
}

/// The current mask of the main thread, which stands for the mask of the process.
fn process_mask() -> Option<Mask> {
    get(main_thread())
}

/// The numbers of the processors that the process may run on.
pub(crate) fn process_affinity() -> Option<Vec<usize>> {
    Some(members(&process_mask()?))
}

fn members(mask: &Mask) -> Vec<usize> {
    (0..WORDS * BITS).filter(|&processor| has(mask, processor)).collect()
}

/// Has the calling thread run on each processor where a thread of this process may run, in
/// sequence. Calls `check` with the number of each.
pub(super) fn visit_processors(check: impl Fn(usize) -> bool) -> Result<(), String> {
    let mask = if set(THIS_THREAD, &ALL_PROCESSORS) { get(THIS_THREAD) } else { None };
    let processors = members(&mask.ok_or_else(last_error)?);
    let visit = |processor| set(THIS_THREAD, &mask_of([processor].into_iter())) && check(processor);
    let is_done = processors.into_iter().all(visit);
    is_done.then_some(()).ok_or_else(|| "not moved".to_owned())
}

/// A handle of a thread. Other threads read the thread's affinity with it while the thread lives.
#[derive(Debug)]
pub struct ThreadAffinity(libc::pid_t);

impl ThreadAffinity {
    /// The handle of the calling thread.
    pub fn of_this_thread() -> Self {
        Self(this_thread())
    }

    /// The number of processors that at least one of `threads` may run on. `None` if no affinity
    /// can be read. Makes one system call for each thread.
    pub fn count_union<'a>(threads: impl Iterator<Item = &'a Self>) -> Option<usize> {
        let mut union = NO_PROCESSORS;
        for mask in threads.filter_map(|thread| get(thread.0)) {
            union.iter_mut().zip(mask).for_each(|(word, other)| *word |= other);
        }
        Some(count(&union)).filter(|&processors| processors > 0)
    }
}

/// The number of processors of the machine that are online, including those that this process may
/// not use. `None` if the system does not report it.
pub fn online_processors() -> Option<usize> {
    // SAFETY: no memory is involved.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(online).ok().filter(|&online| online > 0)
}

/// Gives the calling thread the mask of the process. Returns true on success.
pub fn move_to_process_affinity() -> bool {
    let Some(wanted) = process_mask() else { return false };
    get(THIS_THREAD) == Some(wanted) || set(THIS_THREAD, &wanted)
}

/// Binds the calling thread to those of `processors` that the process may run on. Returns true on
/// success. Fails if the process may run on none of them.
pub fn bind_this_thread(processors: &[usize]) -> bool {
    let Some(allowed) = process_mask() else { return false };
    let wanted = mask_of(processors.iter().copied().filter(|&it| has(&allowed, it)));
    wanted != NO_PROCESSORS && set(THIS_THREAD, &wanted)
}

/// Undoes [`bind_this_thread`]: sets the affinity of the calling thread to `processors`, even if
/// the main thread may not run on them. Returns true on success. Neither allocates nor locks.
pub fn unbind_this_thread(processors: &[usize]) -> bool {
    set(THIS_THREAD, &mask_of(processors.iter().copied()))
}

/// Checks, on a new thread, that the kernel accepts the mask of the process and then the thread's
/// own mask. Probed once.
pub(crate) fn probe() -> Result<(), String> {
    static RESULT: OnceLock<Result<(), String>> = OnceLock::new();
    let change_and_restore = || {
        let masks = get(THIS_THREAD).zip(process_mask());
        let (own, process) = masks.ok_or_else(last_error)?;
        if set(THIS_THREAD, &process) && set(THIS_THREAD, &own) {
            Ok(())
        } else {
            Err(last_error())
        }
    };
    RESULT.get_or_init(|| on_a_throwaway_thread(change_and_restore)).clone()
}

/// Runs `probe` on a new thread, whose affinity and priority need not be restored.
///
/// (A scoped thread would unpark the calling one in the end, whose next `park` would return at
/// once.)
pub(super) fn on_a_throwaway_thread(
    probe: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> Result<(), String> {
    // Boxed, so that the rest is compiled once.
    run_on_a_new_thread(Box::new(probe))
}

fn run_on_a_new_thread(
    probe: Box<dyn FnOnce() -> Result<(), String> + Send>,
) -> Result<(), String> {
    let thread = std::thread::Builder::new().spawn(probe).map_err(|error| error.to_string())?;
    thread.join().unwrap_or_else(|_| Err("the probe panicked".to_owned()))
}

/// The processor that the calling thread runs on.
#[inline]
pub fn current_processor() -> Option<usize> {
    // SAFETY: no memory is involved.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn count_union(threads: &[&ThreadAffinity]) -> Option<usize> {
        ThreadAffinity::count_union(threads.iter().copied())
    }

    #[test]
    fn processors_of_several_threads_are_counted_once() {
        let allowed = process_affinity().unwrap();
        let bound = |processor: usize| {
            std::thread::spawn(move || {
                assert!(bind_this_thread(&[processor]));
                let own = ThreadAffinity::of_this_thread();
                assert_eq!(count_union(&[&own]), Some(1));
                // Another thread reads the affinity while this one lives.
                std::thread::scope(|scope| {
                    assert_eq!(scope.spawn(|| count_union(&[&own])).join().unwrap(), Some(1));
                });
            })
        };
        allowed.iter().for_each(|&processor| bound(processor).join().unwrap());
        let free = std::thread::spawn(move || {
            assert!(bind_this_thread(&allowed));
            let own = ThreadAffinity::of_this_thread();
            assert_eq!(count_union(&[&own, &own]), Some(allowed.len()));
            // A change is seen at once.
            assert!(bind_this_thread(&allowed[..1]));
            assert_eq!(count_union(&[&own, &ThreadAffinity(-1)]), Some(1));
        });
        free.join().unwrap();
        assert_eq!(count_union(&[]), None);
        assert_eq!(count_union(&[&ThreadAffinity(-1)]), None);
    }
}
