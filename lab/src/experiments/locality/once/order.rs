//! In which order tasks are spawned for which nobody names a place: a scheduler that knows nothing of their data takes them by that.

use super::shared_deques::Task;
use crate::random::{Random, mix};

/// A task that waits for nothing.
pub(super) struct Placed<'t> {
    /// Its best place, and by how much the worst is behind that.
    pub(super) where_to: (usize, usize),
    /// Which data it uses.
    pub(super) data: usize,
    pub(super) task: Task<'t>,
}

/// An order of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As the program has them.
    AsGiven,
    /// One after the other those that use the same data.
    ByData,
    /// One of each data in turn.
    InTurn,
    /// By chance.
    Shuffled,
}

impl Order {
    /// Puts tasks in this order.
    pub(super) fn arrange(self, tasks: &mut Vec<Placed<'_>>, seed: u64) {
        match self {
            Order::AsGiven => {}
            Order::ByData => tasks.sort_by_key(|task| task.data),
            Order::InTurn => {
                tasks.sort_by_key(|task| task.data);
                let mut round = (usize::MAX, 0);
                let in_rounds = tasks.drain(..).map(|task| {
                    let number = if round.0 == task.data { round.1 + 1 } else { 0 };
                    round = (task.data, number);
                    (number, task)
                });
                let mut in_rounds: Vec<(usize, Placed<'_>)> = in_rounds.collect();
                in_rounds.sort_by_key(|(number, _)| *number);
                tasks.extend(in_rounds.into_iter().map(|(_, task)| task));
            }
            Order::Shuffled => shuffle(tasks, seed),
        }
    }
}

/// Into an order by chance: that of Fisher and Yates, as Durstenfeld has it ("Algorithm 235", 1964).
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut random = Random::new(mix(seed));
    for last in (1..items.len()).rev() {
        items.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffled_is_everything_in_another_order() {
        let in_order: Vec<usize> = (0..1000).collect();
        let mut first = vec![0_u32; 10];
        for seed in 0..1000 {
            let mut shuffled = in_order.clone();
            shuffle(&mut shuffled, seed);
            first[shuffled[0] / 100] += 1;
            shuffled.sort_unstable();
            assert_eq!(shuffled, in_order);
        }
        assert!(first.iter().all(|times| (50..200).contains(times)), "{first:?}");
    }

    #[test]
    fn tasks_come_by_their_data_or_in_turn() {
        let arranged = |order: Order| -> Vec<(usize, usize)> {
            let given = [(1, 0), (0, 1), (1, 2), (2, 3), (0, 4), (1, 5)];
            let placed = |(data, turn)| Placed { where_to: (0, turn), data, task: Box::new(|| ()) };
            let mut tasks = given.map(placed).into_iter().collect();
            order.arrange(&mut tasks, 7);
            tasks.iter().map(|task| (task.data, task.where_to.1)).collect()
        };
        let given = [(1, 0), (0, 1), (1, 2), (2, 3), (0, 4), (1, 5)];
        assert_eq!(arranged(Order::AsGiven), given);
        assert_eq!(arranged(Order::ByData), [(0, 1), (0, 4), (1, 0), (1, 2), (1, 5), (2, 3)]);
        assert_eq!(arranged(Order::InTurn), [(0, 1), (1, 0), (2, 3), (0, 4), (1, 2), (1, 5)]);
        let mut shuffled = arranged(Order::Shuffled);
        shuffled.sort_by_key(|task| task.1);
        assert_eq!(shuffled, given);
    }
}
