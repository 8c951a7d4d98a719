//! Atomics for the stall harness: each operation is a step at which a thread can be held.
//!
//! A test *arms* the current thread with a number of steps. When the thread is about to take the
//! step after those, it stops there until the test opens the [`Gate`], which a test does only once
//! it has seen that all others finished: for them the thread stands still for ever, as one that the
//! kernel has suspended.

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Where held threads wait, and where a test learns that a thread is held.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    open: bool,
    held: bool,
    passed: bool,
}

impl Gate {
    /// Lets the held thread go on.
    pub fn open(&self) {
        self.state.lock().unwrap().open = true;
        self.changed.notify_all();
    }

    /// Waits until the armed thread is held (`true`) or has disarmed itself (`false`).
    pub fn wait_until_held(&self) -> bool {
        let state = self.state.lock().unwrap();
        let state = self.changed.wait_while(state, |s| !s.held && !s.passed);
        state.unwrap().held
    }

    /// Whether a thread is held here now.
    pub fn is_held(&self) -> bool {
        self.state.lock().unwrap().held
    }

    fn hold(&self) {
        let mut state = self.state.lock().unwrap();
        state.held = true;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |s| !s.open).unwrap());
    }

    fn pass(&self) {
        self.state.lock().unwrap().passed = true;
        self.changed.notify_all();
    }
}

/// Whether a thread of this process has been armed. Until then no thread uses `ARMED`: it would
/// register its destructor with the dynamic linker, and wait there for a thread that opens a
/// library.
static IS_USED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

thread_local! {
    static ARMED: RefCell<Option<(usize, Arc<Gate>)>> = const { RefCell::new(None) };
}

/// Holds this thread at `gate` once it has taken `steps` more steps.
pub fn arm(steps: usize, gate: &Arc<Gate>) {
    IS_USED.store(true, Ordering::Relaxed);
    ARMED.with(|a| *a.borrow_mut() = Some((steps, Arc::clone(gate))));
}

/// Takes the arming back: this thread did all that the test asked for without being held.
pub fn disarm() {
    if let Some((_, gate)) = ARMED.with(|a| a.borrow_mut().take()) {
        gate.pass();
    }
}

/// What the others have got through with while a thread is held: waits until it is at least so
/// much, or for as long as any test can take: 20 seconds. Time in which the machine stands still,
/// or in which this thread has no processor, counts little: the others may have had none, either.
pub fn wait_for(count: &std::sync::atomic::AtomicUsize, least: usize) -> usize {
    const LONGEST_LOOK: Duration = Duration::from_millis(10);
    let (mut patience, mut looked) = (Duration::from_secs(20), Instant::now());
    while count.load(Ordering::Acquire) < least && !patience.is_zero() {
        thread::sleep(Duration::from_micros(100));
        let elapsed = looked.elapsed();
        looked += elapsed;
        patience = patience.saturating_sub(elapsed.min(LONGEST_LOOK));
    }
    count.load(Ordering::Acquire)
}

/// One step of a protocol. Public so that a system call can be a step too.
pub fn step() {
    // Relaxed: a thread that is armed has stored it itself.
    if !IS_USED.load(Ordering::Relaxed) {
        return;
    }
    // `try_with`: threads that are being torn down are never armed.
    let due = ARMED.try_with(|armed| {
        let mut armed = armed.borrow_mut();
        match armed.as_mut() {
            None => None,
            Some((0, _)) => armed.take().map(|(_, gate)| gate),
            Some((left, _)) => {
                *left -= 1;
                None
            }
        }
    });
    if let Ok(Some(gate)) = due {
        gate.hold();
    }
}

/// A fence is a step like any other.
pub fn fence(order: Ordering) {
    step();
    std::sync::atomic::fence(order);
}

macro_rules! stepped {
    ($name:ident $(<$t:ident>)?, $value:ty: $($change:ident)*) => {
        #[derive(Debug)]
        pub struct $name $(<$t>)?(std::sync::atomic::$name $(<$t>)?);

        impl $(<$t>)? Default for $name $(<$t>)? {
            fn default() -> Self {
                Self(Default::default())
            }
        }

        impl $(<$t>)? $name $(<$t>)? {
            pub const fn new(value: $value) -> Self {
                Self(std::sync::atomic::$name::new(value))
            }
            pub fn load(&self, order: Ordering) -> $value {
                step();
                self.0.load(order)
            }
            pub fn store(&self, value: $value, order: Ordering) {
                step();
                self.0.store(value, order);
            }
            $(pub fn $change(&self, value: $value, order: Ordering) -> $value {
                step();
                self.0.$change(value, order)
            })*
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                step();
                self.0.compare_exchange(current, new, success, failure)
            }
            pub fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut before = self.load(failure);
                while let Some(after) = change(before) {
                    match self.compare_exchange(before, after, success, failure) {
                        Ok(_) => return Ok(before),
                        Err(now) => before = now,
                    }
                }
                Err(before)
            }
            #[cfg(all(target_os = "linux", not(locksley_portable)))]
            pub fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }
        }
    };
}

stepped!(AtomicBool, bool: swap);
stepped!(AtomicI64, i64: swap fetch_add fetch_sub fetch_max);
stepped!(AtomicPtr<T>, *mut T: swap);
stepped!(AtomicU32, u32: swap fetch_add fetch_sub fetch_or fetch_and);
stepped!(AtomicU64, u64: swap fetch_add fetch_sub fetch_or fetch_and fetch_max);
stepped!(AtomicUsize, usize: swap fetch_add fetch_sub fetch_or fetch_and fetch_max);
