//! When the clock is looked at more closely, and what is taken out of a strand then: by the rules, on a clock on which a thread waits when the test says so.

use std::thread;

use super::*;
use crate::meter::virtually::{adjust, shown, spend};

/// Which stretches are long.
const LONG: i64 = 1000;

/// On a thread, and so a clock, of its own, where one glance in so many fails, or none.
fn on_a_clock(one_fails_in: u32, test: impl FnOnce() + Send) {
    thread::scope(|threads| {
        let test = || {
            adjust(|clock| {
                clock.long = LONG;
                clock.one_fails_in = one_fails_in;
            });
            test();
        };
        threads.spawn(test).join().unwrap();
    });
}

/// A worker that runs one strand after the other, each on a path of its own.
struct Alone {
    running: Running<()>,
    region: Arc<Region>,
    room: Room,
}

impl Alone {
    fn new() -> Self {
        let region = Arc::new(Region::new(Clock::Virtual, 1));
        Self { running: Running::nothing(), region, room: Room::new() }
    }

    fn begin(&self) {
        // SAFETY: no strand runs.
        let stay = unsafe { self.room.put(&Path::default()) };
        let length = Length::default();
        let footing = Footing { length, stay, room: NonNull::from(&self.room) };
        // SAFETY: what it stands on is not moved before the strand ends, and nobody else uses it.
        unsafe { self.running.begin(&self.region, ptr::null(), footing) };
    }

    fn end(&self) -> Path {
        self.running.end(&self.region, 0)
    }
}

/// Until the clock is read next, the thread runs for so long, and then waits for so long.
fn pass(runs: i64, waits: i64) {
    spend(runs);
    adjust(|clock| clock.wait(waits));
}

/// What the README says of waits. Here the clock is looked at closely each time.
struct Rules {
    taken: i64,
    read: i64,
    delay: i64,
    due: i64,
    asked: u32,
}

impl Rules {
    fn new() -> Self {
        Self { taken: 0, read: 0, delay: 0, due: i64::MIN, asked: 0 }
    }

    /// How much it has waited since that was asked last.
    fn ask(&mut self, now: i64) -> i64 {
        let delay = shown().delay.unwrap().as_nanos() as i64;
        self.asked += 1;
        self.due = now + PARTS * LONG;
        delay - mem::replace(&mut self.delay, delay)
    }

    fn begin(&mut self) -> i64 {
        let now = shown().now - self.taken;
        if (now - self.read) * PARTS > LONG || now > self.due {
            self.ask(now);
        }
        self.read = now;
        now
    }

    fn read(&mut self) -> i64 {
        let mut now = shown().now - self.taken;
        let stretch = now - self.read;
        if stretch > LONG {
            let waited = self.ask(now).min(stretch);
            self.taken += waited;
            self.due -= waited;
            now -= waited;
        } else if now > self.due {
            self.ask(now);
        }
        self.read = now;
        now
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as i64
    }
}

#[test]
fn strands_are_shorter_by_what_the_rules_say() {
    for one_fails_in in [0, 1, 3] {
        on_a_clock(one_fails_in, || {
            let mut random = Random(83 + u64::from(one_fails_in));
            let (alone, mut rules) = (Alone::new(), Rules::new());
            let (mut began, mut work) = (None, 0);
            for _ in 0..50_000 {
                // Long ones are so rare that others are asked after, too.
                let stretch = match random.below(150) {
                    0 => LONG + random.below(3 * LONG),
                    1 => LONG - 2 + random.below(5),
                    _ => random.below(LONG / 5),
                };
                let waits = if random.below(4) == 0 { random.below(stretch + 1) } else { 0 };
                pass(stretch - waits, waits);
                began = match began {
                    None => {
                        alone.begin();
                        Some(rules.begin())
                    }
                    Some(began) if random.below(40) == 0 => {
                        let length = rules.read() - began;
                        assert_eq!(alone.end().span, length);
                        work += length;
                        None
                    }
                    Some(began) => {
                        assert_eq!(alone.running.now(), rules.read());
                        Some(began)
                    }
                };
                assert_eq!(shown().asked, rules.asked);
                // Whoever has looked closely need not do so at once again.
                if one_fails_in == 0 && began.is_some() {
                    assert_eq!(alone.running.at_a_glance(), Some(rules.read));
                }
            }
            if let Some(began) = began {
                let length = rules.read() - began;
                assert_eq!(alone.end().span, length);
                work += length;
            }
            let figures = alone.region.figures();
            assert_eq!((figures.work, figures.taken), (work, Some(rules.taken)));
            assert!(rules.taken > 0);
        });
    }
}

/// However many there are: a look once in what is long, and a question once in ten times that.
#[test]
fn short_stretches_are_read_at_a_glance() {
    const STRETCH: i64 = LONG / 100;
    const STRETCHES: i64 = 100_000;
    on_a_clock(0, || {
        let alone = Alone::new();
        alone.begin();
        let before = shown();
        for _ in 0..STRETCHES {
            spend(STRETCH);
            alone.running.now();
        }
        let after = shown();
        let asked = i64::from(after.asked - before.asked);
        let looks = i64::from(after.looks - before.looks);
        let longs = STRETCHES * STRETCH / LONG;
        assert!((longs / PARTS - 10..=longs / PARTS).contains(&asked), "{asked}");
        // Whoever asks looks before that and after it, too.
        assert!(looks <= longs + 3 * asked, "{looks}");
        assert_eq!(alone.end().span, STRETCHES * STRETCH);
    });
}

/// What the thread waits for while it asks is asked for again; so all that it has waited for is taken out, and nothing else.
#[test]
fn who_is_interrupted_when_it_asks_asks_again() {
    for interruptions in 0..3 {
        on_a_clock(3, || {
            let alone = Alone::new();
            alone.begin();
            adjust(|clock| clock.interruptions = (interruptions, 300));
            pass(5 * LONG, 700);
            assert_eq!(alone.running.now() - alone.running.since.get(), 5 * LONG);
            pass(LONG / 2, 0);
            assert_eq!(alone.end().span, 5 * LONG + LONG / 2);
            let taken = 700 + 300 * i64::from(interruptions);
            assert_eq!(alone.region.figures().taken, Some(taken));
        });
    }
}

/// Nothing is taken out then, and that is said.
#[test]
fn where_the_system_does_not_tell_waits_are_a_part_of_strands() {
    on_a_clock(3, || {
        adjust(|clock| clock.delay = None);
        let alone = Alone::new();
        alone.begin();
        pass(100, 5 * LONG);
        assert_eq!(alone.end().span, 100 + 5 * LONG);
        assert_eq!(alone.region.figures().taken, None);
    });
}

/// What it stood on may be gone.
#[test]
fn a_worker_without_a_strand_is_nowhere() {
    on_a_clock(3, || {
        let alone = Alone::new();
        for _ in 0..2 {
            assert!(alone.running.site().is_none() && !alone.running.notes_in(&[Room::new()]));
            alone.begin();
            alone.running.turns_to(Some(Site::here()), alone.running.now());
            assert!(alone.running.site().is_some());
            assert!(alone.running.notes_in(std::slice::from_ref(&alone.room)));
            alone.end();
            assert!(!alone.running.notes_in(std::slice::from_ref(&alone.room)));
        }
    });
}
