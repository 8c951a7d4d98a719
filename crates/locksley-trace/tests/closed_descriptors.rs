//! A program that records closes all descriptors from 3 up, as a daemon does, and opens files of
//! its own. It is alone in its process.
#![cfg(target_os = "linux")]

use std::os::fd::RawFd;
use std::path::Path;
use std::time::Duration;

use locksley::Pool;
use locksley_trace::{Recorder, Recording, Trace, span, tracer};

fn pool() -> Pool {
    Pool::builder().workers(2).tracer(tracer()).build().unwrap()
}

/// Records a span on each worker of a new pool.
fn record() {
    pool().broadcast(|_| drop(span("work")));
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

fn close_all() {
    for number in 3..1024 {
        // SAFETY: no code of this program uses one of these, except for the library under test.
        unsafe { libc::close(number) };
    }
}

fn close_all_during(recording: Recording, folder: &Path) {
    let dump = |name: &str| recording.dump(folder.join(name), Duration::from_secs(1000));
    record();
    dump("before").unwrap();
    close_all();
    let contents: Vec<_> = (0..100_u64).map(u64::to_le_bytes).collect();
    let files: Vec<_> = contents.iter().map(|content| open(content)).collect();
    record();
    let error = dump("after").unwrap_err();
    assert!(error.to_string().contains("closed the descriptor"), "{error}");
    assert!(!folder.join("after").exists());
    assert!(
        Recorder::new().record_in_memory().is_err(),
        "the recording is there until it is dropped"
    );
    drop(recording);
    for (&file, content) in files.iter().zip(&contents) {
        let mut found = [0; 16];
        // SAFETY: the kernel writes at most 16 bytes, for which there is room.
        let length = unsafe { libc::pread(file, found.as_mut_ptr().cast(), 16, 0) };
        assert_eq!(length, 8, "descriptor {file}: {}", std::io::Error::last_os_error());
        assert_eq!(&found[..8], content, "descriptor {file}");
    }
    assert!(Trace::read(folder.join("before")).unwrap().labels.contains(&"work".to_owned()));
}

#[test]
fn a_recording_ends_and_files_of_the_program_stay_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.trace");
    for _ in 0..3 {
        let recorder = Recorder::new().events(256);
        close_all_during(recorder.record_to(&file).unwrap(), folder.path());
        let trace = Trace::read(&file).unwrap();
        assert!(trace.is_stopped && trace.threads.len() >= 2 && trace.threads_without >= 1);
        close_all_during(recorder.record_in_memory().unwrap(), folder.path());
    }
}
