//! A program closes all descriptors from 3 up, as a daemon does, and opens files of its own. It is
//! alone in its process.
#![cfg(all(target_os = "linux", not(any(loom, shuttle, locksley_portable))))]

use std::fs;
use std::os::fd::RawFd;
use std::time::Duration;

use locksley_sys::os::{
    self, Assists, Futex, Processors, QuotaWatch, SwitchLog, ThreadAffinity, ThreadClock,
    ThreadDelay, ThreadProgress, ThreadWatch,
};
use locksley_sys::places::Topology;

/// All that keeps something between calls.
struct Kept {
    affinity: ThreadAffinity,
    clock: ThreadClock,
    delay: ThreadDelay,
    futex: Futex,
    log: Option<SwitchLog>,
    progress: ThreadProgress,
    quota: QuotaWatch,
    watch: ThreadWatch,
}

impl Kept {
    fn new() -> Self {
        Self {
            affinity: ThreadAffinity::of_this_thread(),
            clock: ThreadClock::of_this_thread(),
            delay: ThreadDelay::of_this_thread(),
            futex: Futex::default(),
            log: SwitchLog::of_this_thread().ok(),
            progress: ThreadProgress::of_this_thread(),
            quota: QuotaWatch::of_this_process(),
            watch: ThreadWatch::with_assists(Assists::ALL),
        }
    }

    /// Reads everything, from this thread and from another one. Returns whether each value is
    /// known.
    fn read(&mut self) -> Vec<bool> {
        std::thread::sleep(Duration::from_millis(1)); // A switch.
        let logged = self.log.as_mut().map(|log| log.new_switches().count() > 0);
        // The log belongs to this thread alone.
        let Self { affinity, clock, delay, futex, log: _, progress, quota, watch } = self;
        futex.wait(1, None);
        futex.wait(0, Some(Duration::from_micros(1)));
        futex.wake();
        let mut known = vec![
            logged == Some(true),
            !Topology::of_this_machine().levels().is_empty(),
            Processors::allowed().count() > 0,
            ThreadAffinity::count_union([&*affinity].into_iter()).is_some(),
            os::heavy_barrier_works() && os::heavy_barrier(),
            os::online_processors().is_some(),
            os::preempt_all(),
            os::process_time().is_some(),
            os::runnable_threads().is_some(),
            os::stack().is_some(),
        ];
        os::shorten_time_slice(Duration::from_millis(1));
        known.extend(os::assists().iter().map(|it| it.state.is_ok()));
        let mut read = || {
            let (quota_now, _) = quota.quota();
            let throttled = quota_now.as_ref().and_then(|it| quota.throttled(it));
            let periods = quota_now.as_ref().and_then(|it| quota.periods_used_up(it));
            known.extend([
                clock.read().is_some(),
                delay.read().is_some(),
                os::involuntary_switches().is_some(),
                os::process_involuntary_switches().is_some(),
                progress.read().is_some(),
                quota_now.is_some(),
                throttled.is_some(),
                periods.is_some(),
                watch.processor().is_some(),
                watch.switches().is_some_and(|it| it > 0),
            ]);
            let _ = watch.run_state(None);
        };
        read();
        std::thread::scope(|scope| scope.spawn(read).join().unwrap());
        known
    }
}

/// The open descriptors of this process, and what they name.
fn descriptors() -> Vec<(RawFd, String)> {
    let entries = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    // The folder that is being read is closed afterwards.
    let open = entries.filter_map(|path| {
        let number = path.file_name()?.to_str()?.parse().ok()?;
        Some((number, fs::read_link(&path).ok()?.display().to_string()))
    });
    let mut open: Vec<_> = open.filter(|(_, name)| !name.ends_with("/fd")).collect();
    open.sort_unstable();
    open
}

/// Opens a file of the program's own, without a name.
fn open(content: &[u8]) -> RawFd {
    // SAFETY: the name ends with a zero, and is only read.
    let file = unsafe { libc::memfd_create(c"own".as_ptr(), 0) };
    // SAFETY: the kernel reads as many bytes as there are.
    let written = unsafe { libc::write(file, content.as_ptr().cast(), content.len()) };
    assert_eq!(written, content.len() as isize);
    file
}

#[test]
fn files_of_the_program_stay_whole() {
    let before = descriptors();
    let mut kept = Kept::new();
    let known = kept.read();
    assert_eq!(descriptors(), before, "no descriptor is kept");

    for number in 3..1024 {
        // SAFETY: no code of this program uses one of these, except for the library under test.
        unsafe { libc::close(number) };
    }
    let contents: Vec<_> = (0..100_u64).map(u64::to_le_bytes).collect();
    let files: Vec<_> = contents.iter().map(|content| open(content)).collect();
    assert_eq!(files, (3..103).collect::<Vec<_>>());

    assert_eq!(kept.read(), known, "what was made before still works");
    let mut later = Kept::new();
    assert_eq!(later.read(), known, "what is made later works, too");
    kept.watch.retire();
    kept.delay.retire();
    drop((kept, later));

    let is_ours = |(number, name): &(RawFd, String)| *number < 3 || name.contains("memfd:own");
    assert!(descriptors().iter().all(is_ours), "{:?}", descriptors());
    for (&file, content) in files.iter().zip(&contents) {
        let mut found = [0; 16];
        // SAFETY: the kernel writes at most 16 bytes, for which there is room.
        let length = unsafe { libc::pread(file, found.as_mut_ptr().cast(), 16, 0) };
        assert_eq!(length, 8, "descriptor {file}: {}", std::io::Error::last_os_error());
        assert_eq!(&found[..8], content, "descriptor {file}");
        // SAFETY: no memory is involved.
        let position = unsafe { libc::lseek(file, 0, libc::SEEK_CUR) };
        assert_eq!(position, 8, "the position of descriptor {file}");
    }
}
