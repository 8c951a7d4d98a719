//! Pools that compute at the same time divide the processors.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use locksley::os::{Assists, Processors, assists};
use locksley::{Pool, PoolBuilder, Worker};

/// In the environment of the child that computes.
const CHILD: &str = "LOCKSLEY_TEST_SHARES";
const SOON: Duration = Duration::from_secs(60);

fn tree(worker: &Worker, leaves: usize) {
    if leaves > 1 {
        let half = leaves / 2;
        worker.join(|worker| tree(worker, half), |worker| tree(worker, leaves - half));
        return;
    }
    let end = Instant::now() + Duration::from_micros(20);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

fn board() -> PoolBuilder {
    Pool::builder().assists(Assists::ALL.with(Assists::BOARD))
}

/// Computes until the size of the pool is as wanted. Returns false if it is not for long.
fn computes_until(pool: &Pool, is_wanted: impl Fn(usize) -> bool) -> bool {
    let end = Instant::now() + SOON;
    while Instant::now() < end {
        pool.install(|worker| tree(worker, 200));
        if is_wanted(pool.size()) {
            return true;
        }
    }
    false
}

/// A process whose pool computes until it is killed.
struct Neighbour(Child);

impl Neighbour {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "a_child_computes", "--nocapture"]);
        child.env(CHILD, "1").env("LOCKSLEY_ASSISTS", "all,board");
        Self(child.stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_child_computes() {
    if std::env::var_os(CHILD).is_some() {
        let pool = Pool::builder().build().unwrap();
        computes_until(&pool, |_| false);
    }
}

fn can_divide() -> bool {
    let can = |name| assists().iter().any(|assist| assist.name == name && assist.state.is_ok());
    let can_divide = Processors::allowed().count() > 1 && can("board") && can("runnable threads");
    if !can_divide {
        println!("skipped: there is one processor, or no board");
    }
    can_divide
}

#[test]
fn a_pool_takes_its_share_beside_another_process_and_all_after_it() {
    if !can_divide() {
        return;
    }
    let pool = board().build().unwrap();
    let all = pool.size();
    let neighbour = Neighbour::start();
    assert!(computes_until(&pool, |size| size <= all.div_ceil(2)), "half: {}", pool.size());
    drop(neighbour);
    assert!(computes_until(&pool, |size| size >= all), "all again: {}", pool.size());
}

#[test]
fn tasks_that_wait_for_one_another_are_not_held_up_again_and_again() {
    if !can_divide() {
        return;
    }
    let pool = board().workers(2).own_threads_only().build().unwrap();
    let _neighbour = Neighbour::start();
    assert!(computes_until(&pool, |size| size == 1), "its share: {}", pool.size());
    let end = Instant::now() + SOON;
    // If each took as long as it takes to notice that there is no progress, it would be too late.
    for meeting in 0..1000 {
        let flags = [AtomicBool::new(false), AtomicBool::new(false)];
        let meet = |own: usize| {
            flags[own].store(true, Ordering::Release);
            while !flags[1 - own].load(Ordering::Acquire) {
                assert!(Instant::now() < end, "{meeting} meetings");
            }
        };
        pool.install(|worker| worker.join(|_| meet(0), |_| meet(1)));
    }
}

#[test]
fn a_task_that_forks_may_wait_for_another() {
    if !can_divide() {
        return;
    }
    let pool = board().workers(2).own_threads_only().build().unwrap();
    let _neighbour = Neighbour::start();
    assert!(computes_until(&pool, |size| size == 1), "its share: {}", pool.size());
    for _ in 0..5 {
        let is_set = AtomicBool::new(false);
        let end = Instant::now() + SOON;
        let wait = |worker: &Worker| {
            while !is_set.load(Ordering::Acquire) {
                tree(worker, 64);
                assert!(Instant::now() < end);
            }
        };
        pool.install(|worker| worker.join(wait, |_| is_set.store(true, Ordering::Release)));
    }
}

#[test]
fn a_pool_without_a_board_keeps_what_the_system_grants() {
    if !can_divide() {
        return;
    }
    let pool = Pool::builder().build().unwrap();
    let all = pool.size();
    let _neighbour = Neighbour::start();
    let end = Instant::now() + Duration::from_millis(500);
    assert!(computes_until(&pool, |size| size < all || Instant::now() > end));
    assert!(pool.size() >= all);
}
