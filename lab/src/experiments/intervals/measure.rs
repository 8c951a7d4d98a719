//! Going through the plan. Within a rotation the runtimes take turns.

use super::Header;
use super::cost::Cost;
use super::peer::{FLOW, Peer};
use super::plan;
use super::record::{Measurement, Plan, Reading};
use crate::experiments::cliff::subject::Subject;
use crate::experiments::course::{Rotations, Turn};
use crate::experiments::journal::Journal;
use crate::fault::{Fault, Outcome};
use crate::record::{Cell, Input};
use crate::runtimes;

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over.
pub(super) fn all(
    header: &Header,
    peer: Option<&Peer>,
    journal: &mut Journal<Measurement>,
) -> Outcome<()> {
    let plan = &header.plan;
    let repeats = plan.times.repeats;
    let turns: Vec<OfCell> =
        plan.cells()?.into_iter().map(|cell| OfCell { cell, repeats }).collect();
    let rotations = Rotations {
        name: "intervals",
        news: plan.times.quick.then(|| plan::subset(plan)).into_iter().collect(),
        budget_seconds: plan.times.budget_seconds,
    };
    let mut prepared = Prepared::default();
    rotations.go(&turns, journal, |turn, repeat| {
        let cell = &turn.cell;
        let reading = match (Cost::find(&cell.app), peer) {
            (_, Some(peer)) if cell.runtime == FLOW => {
                Reading::Time { seconds: peer.time(cell, plan.times.seed)? }
            }
            (Some(cost), _) => cost.read(number(&cell.size)?)?,
            (None, _) => prepared.time(plan, cell)?,
        };
        Ok(Measurement { cell: cell.clone(), repeat, reading })
    })
}

/// How many intervals a cost is that of.
pub(super) fn number(size: &str) -> Outcome<usize> {
    let number = size.parse().ok().filter(|&number: &usize| number > 0);
    number.ok_or_else(|| Fault::input(format!("'{size}' is no number of intervals")))
}

/// What is measured in each rotation, and how often.
struct OfCell {
    cell: Cell,
    repeats: usize,
}

impl Turn<Measurement> for OfCell {
    fn name(&self) -> String {
        let Cell { app, size, runtime, workers } = &self.cell;
        format!("{app} {size} on {runtime}, P = {workers}")
    }

    fn repeats(&self) -> usize {
        self.repeats
    }

    fn has_made(&self, measurement: &Measurement, rotation: usize) -> bool {
        measurement.cell == self.cell && measurement.repeat == rotation
    }
}

/// The input that was measured last: the next runtime computes with the same.
#[derive(Default)]
struct Prepared(Option<(Input, Subject)>);

impl Prepared {
    fn time(&mut self, plan: &Plan, cell: &Cell) -> Outcome<Reading> {
        let crew = runtimes::find(&cell.runtime)?.start(cell.workers)?;
        let metered = self.subject(plan, cell)?.metered_on(&crew, || ())?;
        Ok(Reading::Time { seconds: metered.seconds })
    }

    fn subject(&mut self, plan: &Plan, cell: &Cell) -> Outcome<&mut Subject> {
        let is_it = |input: &Input| input.app == cell.app && input.size == cell.size;
        if !self.0.as_ref().is_some_and(|(input, _)| is_it(input)) {
            // The memory of one at a time.
            self.0 = None;
            let input = plan.times.inputs.iter().find(|input| is_it(input));
            let input = input.expect("a cell of the plan has an input of the plan").clone();
            let subject = Subject::prepare(&input, &plan.times)?;
            self.0 = Some((input, subject));
        }
        let (_, subject) = self.0.as_mut().expect("it was prepared");
        Ok(subject)
    }
}
