//! Live recordings, which obey other processes: one test, since it sets a variable.
#![cfg(target_os = "linux")]

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use locksley::Pool;
use locksley_trace::{Command, Recorder, Trace, live_file, span, trace_file, tracer};

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn commands_are_obeyed_and_lies_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    // SAFETY: the only test of this program, and no other thread reads variables.
    unsafe { std::env::set_var("XDG_RUNTIME_DIR", folder.path()) };
    let process = std::process::id();
    assert!(Command::BeginTrace.send(process).is_err(), "it does not record");
    // The number of a pool does not fit into a byte.
    (0..300).for_each(|_| drop(tracer()));
    let pool = Pool::builder().workers(3).tracer(tracer()).build().unwrap();
    let ended = Pool::builder().workers(1).tracer(tracer()).build().unwrap();
    drop(ended);
    let recording = Recorder::new().record_live().unwrap();
    let read = || Trace::read(live_file(process)).unwrap();

    Command::Resize { pool: 44, size: 1 }.send(process).unwrap(); // 300 modulo 256
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(pool.size(), 3);
    Command::Resize { pool: 300, size: 2 }.send(process).unwrap();
    wait_until("a new size", || pool.size() == 2);
    wait_until("its size is told", || read().sizes == [(300, 2)]);
    // What is no command, no pool or no size changes nothing.
    let file = OpenOptions::new().write(true).open(live_file(process)).unwrap();
    for lie in
        [u64::MAX, 4, 2 | 1 << 16, 1 | 9 << 16 | 1 << 48, 1 | 300 << 16, 1 | 300 << 16 | 4 << 48]
    {
        file.write_all_at(&lie.to_le_bytes(), 13 * 8).unwrap();
        std::thread::sleep(Duration::from_millis(30));
    }
    // Nor do the other words of the header, nor those of rings.
    drop(span("before"));
    for word in (0..32).chain(8192..8200) {
        let mut old = [0; 8];
        let read = OpenOptions::new().read(true).open(live_file(process)).unwrap();
        if read.read_exact_at(&mut old, word * 8).is_ok() {
            file.write_all_at(&[0xff; 8], word * 8).unwrap();
            pool.install(|_| drop(span("beside a liar")));
            let _ = Trace::read(live_file(process));
            file.write_all_at(&old, word * 8).unwrap();
        }
    }
    assert_eq!(pool.size(), 2);

    Command::EndTrace.send(process).unwrap(); // there is none
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(read().command_trace, None);
    for number in [1, 2] {
        Command::BeginTrace.send(process).unwrap();
        wait_until("a trace", || read().command_trace == Some(number));
        (0..5_000).for_each(|_| drop(span("traced")));
        Command::EndTrace.send(process).unwrap();
        wait_until("its end", || read().command_trace.is_none());
        let trace = Trace::read(trace_file(process, number)).unwrap();
        assert!(trace.is_stopped && trace.labels.contains(&"traced".to_owned()));
        let longest = trace.threads.iter().map(|it| it.records.len()).max();
        assert!(longest >= Some(10_000), "more than a live recording keeps: {longest:?}");
    }
    drop(recording);
    assert!(!live_file(process).exists() && trace_file(process, 2).exists());
    assert!(Command::BeginTrace.send(process).is_err());
}
