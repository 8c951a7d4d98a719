//! Where tasks are put.

use super::{Kind, Order};
use crate::fault::{Fault, Outcome};
use crate::random::mix;

/// Where tasks are put: the variants of LASSI's study (Weibel, "An Advanced Scheduler for Intervals", 2010, "Best and Worst
/// Locality"), and one without places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Where what they need is.
    Best,
    /// Where it is not, as far as that can be had.
    Worst,
    /// At places by chance.
    Random,
    /// Where what they need is, and with the spawning worker's own tasks as well: the first to come to one runs it.
    Mailboxes,
    /// Where what they need is, in one deque for each place.
    SharedDeques,
    /// Nobody says, and tasks come in an order by chance.
    Ignorant,
    /// Nobody says, and those that use the same data come one after the other.
    IgnorantByData,
    /// Nobody says, and tasks come by the data in turn.
    IgnorantInTurn,
    /// Nobody says, tasks come by chance, and the pool has one place.
    Undivided,
}

impl Placement {
    /// All of them, in the order of their turns.
    pub const ALL: [Placement; 9] = [
        Placement::Best,
        Placement::Worst,
        Placement::Random,
        Placement::Mailboxes,
        Placement::SharedDeques,
        Placement::Ignorant,
        Placement::IgnorantByData,
        Placement::IgnorantInTurn,
        Placement::Undivided,
    ];

    /// Its name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Placement::Best => "best",
            Placement::Worst => "worst",
            Placement::Random => "random",
            Placement::Mailboxes => "mailboxes",
            Placement::SharedDeques => "shared-deques",
            Placement::Ignorant => "ignorant",
            Placement::IgnorantByData => "ignorant-by-data",
            Placement::IgnorantInTurn => "ignorant-in-turn",
            Placement::Undivided => "undivided",
        }
    }

    /// What it is, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Placement::Best => "tasks that use the same data go to the same place",
            Placement::Worst => {
                "tasks that use the same data go to different places, one after the other"
            }
            Placement::Random => "tasks go to places by chance",
            Placement::Mailboxes => {
                "as the best, but each task is also with the own ones of the worker that spawns it, for whoever comes first (Acar, Blelloch and Blumofe 2000)"
            }
            Placement::SharedDeques => {
                "as the best, but by a scheduler with one deque for each place, which its workers share (LASSI)"
            }
            Placement::Ignorant => {
                "no place is named, and tasks are spawned in an order by chance; the workers are divided into places and bound all the same"
            }
            Placement::IgnorantByData => {
                "the same, but tasks that use the same data are spawned one after the other: then a thief, who takes the oldest, and their owner, who takes the newest, come to different data"
            }
            Placement::IgnorantInTurn => {
                "the same, but tasks are spawned by their data in turn: then everybody comes to all data"
            }
            Placement::Undivided => {
                "no place is named, and tasks are spawned in an order by chance; the pool has one place, and its workers are not bound"
            }
        }
    }

    /// Whether tasks of this kind can be put like this. Those of the sort wait for others, which shared deques cannot have, and come as those
    /// that wait for them do.
    pub fn suits(self, kind: Kind) -> bool {
        let is_for_independent_tasks = matches!(
            self,
            Placement::SharedDeques | Placement::IgnorantByData | Placement::IgnorantInTurn
        );
        !is_for_independent_tasks || kind != Kind::Sort
    }

    /// Whether nobody says where a task goes.
    pub fn is_ignorant(self) -> bool {
        self.place(0, 0, 1, 0).is_none()
    }

    /// In which order tasks are spawned that wait for nothing.
    pub fn order(self) -> Order {
        match self {
            Placement::Ignorant | Placement::Undivided => Order::Shuffled,
            Placement::IgnorantByData => Order::ByData,
            Placement::IgnorantInTurn => Order::InTurn,
            _ => Order::AsGiven,
        }
    }

    /// The placement of that name.
    pub fn find(name: &str) -> Outcome<Placement> {
        Placement::ALL.into_iter().find(|placement| placement.name() == name).ok_or_else(|| {
            let known = Placement::ALL.map(Placement::name).join(", ");
            Fault::input(format!("unknown placement '{name}'; there are {known}"))
        })
    }

    /// The place of a task, of so many places: the best would be `best`, and `turn` is different for tasks that use the same data one
    /// after the other. `None` where nobody says.
    pub(super) fn place(self, best: usize, turn: usize, places: usize, seed: u64) -> Option<usize> {
        match self {
            Placement::Best | Placement::Mailboxes | Placement::SharedDeques => Some(best),
            Placement::Worst => Some((best + turn) % places),
            Placement::Random => {
                let random = mix(seed ^ mix((best as u64) << 32 | turn as u64));
                Some((random % places as u64) as usize)
            }
            Placement::Ignorant
            | Placement::IgnorantByData
            | Placement::IgnorantInTurn
            | Placement::Undivided => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for placement in Placement::ALL {
            assert_eq!(Placement::find(placement.name()), Ok(placement));
        }
        assert!(matches!(Placement::find("good"), Err(Fault::Input(_))));
    }

    #[test]
    fn the_best_stays_the_worst_goes_round_and_chance_is_even() {
        for best in 0..3 {
            let places = |placement: Placement| -> Vec<_> {
                (0..3000).map(|turn| placement.place(best, turn, 3, 7)).collect()
            };
            assert!(places(Placement::Best).iter().all(|&place| place == Some(best)));
            let worst = places(Placement::Worst);
            assert!(worst.windows(2).all(|two| two[0] != two[1]));
            let random = places(Placement::Random);
            for place in 0..3 {
                let times = random.iter().filter(|&&it| it == Some(place)).count();
                assert!((900..1100).contains(&times), "{times}");
            }
            assert!(places(Placement::Ignorant).iter().all(Option::is_none));
            for placement in Placement::ALL {
                let is_none =
                    placement.name().starts_with("ignorant") || placement == Placement::Undivided;
                assert_eq!(placement.is_ignorant(), is_none);
                assert_eq!(placement.order() != Order::AsGiven, is_none);
            }
        }
    }
}
