//! Which processors threads may run on (`man 2 sched_setaffinity`).

use std::sync::OnceLock;

use super::last_error;

/// Room for 8192 processors, which is the most that Linux can be built for on x86-64.
const WORDS: usize = 8192 / libc::c_ulong::BITS as usize;

pub(super) type Mask = [libc::c_ulong; WORDS];

/// No processor.
#[cfg(not(loom))]
pub(super) const NONE: Mask = [0; WORDS];

pub(super) const THIS_THREAD: libc::pid_t = 0;

fn get(pid: libc::pid_t) -> Result<Mask, String> {
    let mut mask: Mask = [0; WORDS];
    // SAFETY: the kernel writes at most the given number of bytes, all of which are in the mask.
    let answer =
        unsafe { libc::sched_getaffinity(pid, size_of::<Mask>(), mask.as_mut_ptr().cast()) };
    if answer == 0 { Ok(mask) } else { Err(last_error()) }
}

fn set(thread: libc::pid_t, mask: &Mask) -> Result<(), String> {
    // SAFETY: the kernel reads the given number of bytes, all of which are in the mask.
    let answer =
        unsafe { libc::sched_setaffinity(thread, size_of::<Mask>(), mask.as_ptr().cast()) };
    if answer == 0 { Ok(()) } else { Err(last_error()) }
}

fn set_of_this_thread(mask: &Mask) -> Result<(), String> {
    set(THIS_THREAD, mask)
}

/// Moves `thread` to `processor`, if it may run there, and lets it run where it could before.
/// Whoever calls this is the only one who does so for this thread. It is asked when it has been
/// seen where the thread may run, and says whether that was all. Says whether it was moved.
///
/// A mask that the thread gives itself between the second call and the third is left alone; one
/// that comes between the first and the second, or the third and the fourth, is lost. What the
/// thread starts between the second and the fourth call inherits the narrow mask.
pub(super) fn move_briefly(
    thread: libc::pid_t,
    processor: usize,
    was_all: impl FnOnce() -> bool,
) -> bool {
    let bits = libc::c_ulong::BITS as usize;
    let Ok(mask) = get(thread) else { return false };
    if !was_all() {
        return false;
    }
    let may_run_there =
        mask.get(processor / bits).is_some_and(|w| w >> (processor % bits) & 1 == 1);
    if !may_run_there {
        return false;
    }
    let mut there: Mask = [0; WORDS];
    there[processor / bits] = 1 << (processor % bits);
    if mask == there || set(thread, &there).is_err() {
        return false;
    }
    if get(thread).is_ok_and(|now| now == there) {
        give(thread, &mask);
    }
    true
}

/// Where the calling thread may run.
#[cfg(not(loom))]
pub(super) fn of_this_thread() -> Option<Mask> {
    get(THIS_THREAD).ok()
}

/// How many processors these are.
pub(super) fn count(mask: &Mask) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
}

/// `thread` may run on these from now on, without that one. If that cannot be, it is left as it is.
#[cfg(not(loom))]
pub(super) fn set_without(thread: libc::pid_t, mut mask: Mask, processor: usize) {
    let bits = libc::c_ulong::BITS as usize;
    mask[processor / bits] &= !(1 << (processor % bits));
    let _ = set(thread, &mask);
}

/// `thread` may run on these again. If that cannot be, since the process may no longer, the kernel
/// has given it others.
///
/// Since Linux 6.2 the kernel remembers what a thread was given, and what the process may use later
/// is only added in so far as that has it. So where these are all that the process may use, and
/// that is all that anybody could give it, the thread is given any.
pub(super) fn give(thread: libc::pid_t, mask: &Mask) {
    let has_it = any_is_what_the_process_has()
        && of_the_process().is_ok_and(|all| all == *mask)
        && set(thread, &ANY).is_ok()
        // It was so at first.
        && get(thread).is_ok_and(|now| now == *mask);
    if !has_it {
        let _ = set(thread, mask);
    }
}

const ANY: Mask = [!0; WORDS];

/// Whether a thread that is given any processor may run where the process's main thread does, and
/// nowhere else: not if somebody has bound the process. Asked once.
fn any_is_what_the_process_has() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    let probe = || {
        set_of_this_thread(&ANY)?;
        if get(THIS_THREAD)? == of_the_process()? { Ok(()) } else { Err(String::new()) }
    };
    *ANSWER.get_or_init(|| on_a_throwaway_thread(probe).is_ok())
}

/// Moves the calling thread, as `move_briefly`; not the main thread, whose affinity stands for
/// the process's.
pub fn move_this_thread(processor: usize) -> bool {
    // SAFETY: no memory is involved.
    let thread = unsafe { libc::gettid() };
    thread != std::process::id().cast_signed() && move_briefly(thread, processor, || true)
}

/// The mask of the process's main thread: what whoever started the process gave it.
fn of_the_process() -> Result<Mask, String> {
    get(std::process::id().cast_signed())
}

/// The numbers of the processors that the process may run on.
pub(crate) fn process_affinity() -> Option<Vec<usize>> {
    let mask = of_the_process().ok()?;
    let bits = libc::c_ulong::BITS as usize;
    // Most of the words are empty.
    let words = mask.iter().enumerate().filter(|&(_, &word)| word != 0);
    let of_word = |(place, &word): (usize, &libc::c_ulong)| {
        (0..bits).filter(move |bit| word >> bit & 1 == 1).map(move |bit| place * bits + bit)
    };
    Some(words.flat_map(of_word).collect())
}

/// The processors that one thread may run on, readable from any other while that thread lives.
#[derive(Debug)]
pub struct ThreadAffinity(libc::pid_t);

impl ThreadAffinity {
    /// That of the calling thread.
    pub fn of_this_thread() -> Self {
        // SAFETY: no memory is involved.
        Self(unsafe { libc::gettid() })
    }

    /// Nothing, if the thread has ended.
    fn mask(&self) -> Mask {
        get(self.0).unwrap_or([0; WORDS])
    }
}

/// Where several threads may run, as far as that was known when somebody last asked.
#[derive(Debug, Default)]
pub struct Affinities {
    /// Each thread's mask, without the zeros at its end. Of who is not known there is nothing left.
    known: Vec<Box<[libc::c_ulong]>>,
    processors: Option<usize>,
    /// Which thread is asked about first the next time.
    next: usize,
}

/// After so many times every thread was asked about.
const TIMES: usize = 10;

impl Affinities {
    /// How many processors there are that any of `threads` may run on. `None` if that is known of
    /// none of them. They are the same threads each time, or are yet to begin.
    ///
    /// It takes a system call, and one more for each ten threads: a few of them are asked about, in
    /// turn, and only where one of those is not what it was, all are. So what changes for all is
    /// seen at once, and what changes for one after ten times.
    pub fn of_any<'a>(
        &mut self,
        threads: impl ExactSizeIterator<Item = Option<&'a ThreadAffinity>> + Clone,
    ) -> Option<usize> {
        let number = threads.len();
        let asked = number.div_ceil(TIMES);
        let mut in_turn = threads.clone().enumerate().cycle().skip(self.next).take(asked);
        let is_as_known = |(n, thread): (usize, Option<&ThreadAffinity>)| {
            *self.known[n] == *without_zeros(&mask_of(thread))
        };
        let is_known = self.known.len() == number;
        if !is_known || !in_turn.all(is_as_known) {
            self.ask_about(threads);
        }
        self.next = (self.next + asked) % number.max(1);
        self.processors
    }

    fn ask_about<'a>(&mut self, threads: impl Iterator<Item = Option<&'a ThreadAffinity>>) {
        let mut all: Mask = [0; WORDS];
        self.known.clear();
        self.known.extend(threads.map(|thread| {
            let mask = mask_of(thread);
            all.iter_mut().zip(mask).for_each(|(word, other)| *word |= other);
            Box::from(without_zeros(&mask))
        }));
        self.processors = Some(count(&all)).filter(|&processors| processors > 0);
    }
}

fn mask_of(thread: Option<&ThreadAffinity>) -> Mask {
    thread.map_or([0; WORDS], ThreadAffinity::mask)
}

fn without_zeros(mask: &Mask) -> &[libc::c_ulong] {
    let length = mask.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
    &mask[..length]
}

/// How many processors the machine has that are switched on, whoever may use them; `None` where the
/// system does not tell.
pub fn online() -> Option<usize> {
    // SAFETY: no memory is involved.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(online).ok().filter(|&online| online > 0)
}

/// Gives the calling thread the process's affinity. Says whether it has it now.
pub fn move_to_process_affinity() -> bool {
    let Ok(wanted) = of_the_process() else { return false };
    get(0).is_ok_and(|mask| mask == wanted) || set_of_this_thread(&wanted).is_ok()
}

/// Lets the calling thread run on these of the processors that the process may run on. Says whether
/// that was done: not where it may run on none of them.
pub fn bind_this_thread(processors: &[usize]) -> bool {
    let Ok(allowed) = of_the_process() else { return false };
    let bits = libc::c_ulong::BITS as usize;
    let mut wanted: Mask = [0; WORDS];
    for &processor in processors {
        if let (Some(word), Some(allowed)) =
            (wanted.get_mut(processor / bits), allowed.get(processor / bits))
        {
            *word |= allowed & 1 << (processor % bits);
        }
    }
    wanted.iter().any(|&word| word != 0) && set_of_this_thread(&wanted).is_ok()
}

/// Lets the calling thread run on these processors, whatever it was bound to. Says whether that was
/// done. It neither allocates nor locks.
pub fn unbind_this_thread(processors: &[usize]) -> bool {
    let bits = libc::c_ulong::BITS as usize;
    let mut wanted: Mask = [0; WORDS];
    for &processor in processors {
        if let Some(word) = wanted.get_mut(processor / bits) {
            *word |= 1 << (processor % bits);
        }
    }
    // SAFETY: the kernel reads the given number of bytes, all of which are in the mask.
    unsafe { libc::sched_setaffinity(THIS_THREAD, size_of::<Mask>(), wanted.as_ptr().cast()) == 0 }
}

/// Whether threads may be moved here: see `probe`.
pub fn moves_threads() -> bool {
    // Both are asked here, where it does no harm: the answers are kept.
    any_is_what_the_process_has();
    probe().is_ok()
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn of_any(threads: &[&ThreadAffinity]) -> Option<usize> {
        Affinities::default().of_any(threads.iter().map(|&thread| Some(thread)))
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
            let none = Affinities::default().of_any([None, Some(&own)].into_iter());
            assert_eq!(none, Some(allowed.len()));
        });
        free.join().unwrap();
        assert_eq!(of_any(&[]), None);
        assert_eq!(of_any(&[&ThreadAffinity(-1)]), None);
        assert_eq!(Affinities::default().of_any([None].into_iter()), None);
    }

    /// What changes for all is seen at once, and what changes for one when its turn comes.
    #[test]
    fn who_asks_again_sees_what_has_changed() {
        let allowed = process_affinity().unwrap();
        let &[first, .., last] = &allowed[..] else { return };
        std::thread::spawn(move || {
            let own = ThreadAffinity::of_this_thread();
            let bind = |processors: &[usize]| assert!(bind_this_thread(processors));
            // Of one hundred threads each is this one, or unknown.
            let (mut affinities, all) = (Affinities::default(), vec![Some(&own); 100]);
            let mut of_all =
                |threads: &[Option<&ThreadAffinity>]| affinities.of_any(threads.iter().copied());
            bind(&[first]);
            assert_eq!(of_all(&all), Some(1));
            bind(&[first, last]);
            assert_eq!(of_all(&all), Some(2));
            bind(&[last]);
            assert_eq!(of_all(&all), Some(1));
            // The one that stays behind is seen when its turn comes, wherever that is.
            for alone in [0, 42, 99] {
                for known in [None, Some(&own)] {
                    let mut threads = vec![None; 100];
                    threads[alone] = known;
                    let seen = (0..TIMES).any(|_| of_all(&threads) == known.map(|_| 1));
                    assert!(seen, "{alone}");
                }
            }
        })
        .join()
        .unwrap();
    }
}
