//! What a program sets for its threads and processes stays as it is.

use std::fmt;
use std::fs;
use std::mem;

use super::*;

fn allowed_list(status: &str) -> &str {
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.expect("each process has a mask").trim()
}

#[test]
fn child_processes_of_tasks_have_the_mask_of_the_process() {
    assert_ends(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let expected = allowed_list(&status);
        let settings = Settings::of_this_thread();
        // What a child would inherit.
        let check = || assert_eq!(Settings::of_this_thread(), settings);
        let item = |number: u32| {
            check();
            if number % 4 == 0 {
                let output = Command::new("cat").arg("/proc/self/status").output().unwrap();
                let status = String::from_utf8(output.stdout).unwrap();
                assert_eq!(allowed_list(&status), expected);
            }
            // Threads fall asleep and are woken.
            let sleep = || {
                check();
                thread::sleep(Duration::from_micros(100));
            };
            rayon_core::join(|| spin(50), sleep);
        };
        let pool = pool(4);
        for _ in 0..20 {
            pool.install(|| for_each(0..80, &item));
        }
    });
}

/// What a program can set for a thread.
#[derive(Clone, Copy, PartialEq)]
struct Settings {
    processors: [bool; PROCESSORS],
    policy: i32,
    niceness: i32,
}

const PROCESSORS: usize = libc::CPU_SETSIZE as usize;

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, niceness, .. } = self;
        write!(f, "processors {:?}, policy {policy}, niceness {niceness}", self.ids())
    }
}

impl Settings {
    fn of_this_thread() -> Self {
        // SAFETY: zeros are a valid set of processors.
        let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
        // SAFETY: the pointer is to a set of this size; 0 is the calling thread.
        let result = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) };
        assert_eq!(result, 0);
        // SAFETY: the set is initialized, and has so many processors.
        let processors = std::array::from_fn(|n| unsafe { libc::CPU_ISSET(n, &set) });
        // SAFETY: 0 is the calling thread.
        let policy = unsafe { libc::sched_getscheduler(0) };
        // SAFETY: 0 is the calling thread.
        let niceness = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        Self { processors, policy, niceness }
    }

    fn ids(&self) -> Vec<usize> {
        (0..PROCESSORS).filter(|&n| self.processors[n]).collect()
    }

    fn set(&self) {
        // SAFETY: zeros are a valid set of processors.
        let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
        for n in self.ids() {
            // SAFETY: the set has so many processors.
            unsafe { libc::CPU_SET(n, &mut set) };
        }
        // SAFETY: the pointer is to a set of this size; 0 is the calling thread.
        let result = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
        assert_eq!(result, 0);
        // SAFETY: zeros are valid parameters.
        let parameters: libc::sched_param = unsafe { mem::zeroed() };
        // SAFETY: the pointer is to parameters; 0 is the calling thread.
        let result = unsafe { libc::sched_setscheduler(0, self.policy, &parameters) };
        assert_eq!(result, 0);
        // SAFETY: 0 is the calling thread.
        let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, self.niceness) };
        assert_eq!(result, 0);
    }
}

thread_local! {
    static SET: Cell<Option<Settings>> = const { Cell::new(None) };
}

fn assert_unchanged() {
    assert_eq!(Some(Settings::of_this_thread()), SET.get());
}

#[test]
fn a_thread_keeps_the_mask_the_policy_and_the_priority_that_its_handler_sets() {
    assert_ends(|| {
        let allowed = Settings::of_this_thread();
        let all = allowed.ids();
        // To lower it would need a privilege.
        let niceness = (allowed.niceness + 1).min(19);
        let start = move |index: usize| {
            // Threads with one processor, and threads with all.
            let is_bound = index % 2 == 0;
            let own = all[index / 2 % all.len()];
            let processors =
                std::array::from_fn(|n| if is_bound { n == own } else { all.contains(&n) });
            let settings = Settings { processors, policy: libc::SCHED_BATCH, niceness };
            settings.set();
            SET.set(Some(Settings::of_this_thread()));
            assert_eq!(SET.get(), Some(settings));
        };
        let pool = builder(4).start_handler(start).build().unwrap();
        let other = super::pool(1);
        let item = |number: u32| {
            assert_unchanged();
            rayon_core::join(|| thread::sleep(Duration::from_micros(100)), assert_unchanged);
            if number % 8 == 0 {
                other.install(|| thread::sleep(Duration::from_micros(500)));
            }
            assert_unchanged();
        };
        for _ in 0..10 {
            pool.install(|| for_each(0..80, &item));
            pool.broadcast(|_| assert_unchanged());
        }
    });
}

/// A wait ends while another task computes under the index, for longer than a holder may block.
pub(super) fn without_descriptors() {
    let (only, other) = (pool(1), pool(1));
    // A replacement starts.
    only.install(|| other.install(|| thread::sleep(Duration::from_millis(5))));
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to limits.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &none) }, 0);
    assert!(fs::File::open("/proc/self/stat").is_err());
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let task = || {
        most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
        spin(400_000);
        running.fetch_sub(1, SeqCst);
    };
    only.scope(|scope| {
        scope.spawn(|_| task());
        other.install(|| thread::sleep(Duration::from_millis(20)));
        task();
    });
    println!("at most {} at once", most.into_inner());
}

#[test]
fn a_thread_that_computes_keeps_the_index_although_no_file_can_be_opened() {
    let (text, succeeded) = child("no file can be opened");
    assert!(succeeded && text.contains("at most 1 at once"), "{text}");
}

fn blocks_signals() -> bool {
    // SAFETY: zeros are a valid set of signals.
    let mut signals: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: without a new mask none is set, and the pointer is to a set.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut signals) };
    // SAFETY: the set is initialized.
    unsafe { libc::sigismember(&signals, libc::SIGUSR1) == 1 }
}

/// Another thread goes on in the place of one that waits. It begins as the pool's threads did.
#[test]
fn a_task_does_not_see_the_mask_that_a_waiting_one_has_set_for_its_thread() {
    assert_ends(|| {
        let (only, other, seen) = (pool(1), pool(1), Mutex::new(Vec::new()));
        let look = || (Settings::of_this_thread().ids(), blocks_signals());
        let before = only.install(look);
        only.scope(|scope| {
            scope.spawn(|_| seen.lock().unwrap().push(look()));
            // SAFETY: zeros are a valid set of signals.
            let mut signals: libc::sigset_t = unsafe { mem::zeroed() };
            // SAFETY: the set is initialized, and the signal exists.
            unsafe { libc::sigaddset(&mut signals, libc::SIGUSR1) };
            let mask = |how| {
                // SAFETY: the mask is read, and the old one is not written.
                unsafe { libc::pthread_sigmask(how, &signals, std::ptr::null_mut()) };
            };
            let allowed = Settings::of_this_thread();
            let first = allowed.ids()[0];
            mask(libc::SIG_BLOCK);
            Settings { processors: std::array::from_fn(|n| n == first), ..allowed }.set();
            other.install(|| until(|| !seen.lock().unwrap().is_empty()));
            allowed.set();
            mask(libc::SIG_UNBLOCK);
        });
        assert_eq!(seen.into_inner().unwrap(), [before]);
    });
}

#[test]
fn a_call_leaves_no_token_that_ends_the_next_park() {
    let (text, succeeded) = child("a pool is built and used");
    assert!(succeeded && text.contains("no token was left"), "{text}");
}
