//! Going through the plan. Within a rotation the runtimes take turns.

use std::time::Duration;

use super::cost::Cost;
use super::peer::FLOW;
use super::plan;
use super::record::{Measurement, Plan, Reading, if_sound};
use super::{Header, Programs};
use crate::experiments::cells;
use crate::experiments::cliff::subject::Subject;
use crate::experiments::course::Rotations;
use crate::experiments::journal::Journal;
use crate::experiments::missing::Missing;
use crate::fault::Outcome;
use crate::record::{Cell, Input};
use crate::runtimes;

/// After so long, whatever a process of its own measures has failed.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over. Returns what failed.
pub(super) fn all(
    header: &Header,
    programs: &Programs,
    journal: &mut Journal<Measurement>,
) -> Outcome<Vec<Missing>> {
    let plan = &header.plan;
    let rotations = Rotations {
        name: "intervals",
        news: plan.times.quick.then(|| plan::subset(plan)).into_iter().collect(),
        budget_seconds: plan.times.budget_seconds,
    };
    let mut prepared = Prepared::default();
    cells::measure(
        &rotations,
        plan.cells()?,
        |_| plan.times.repeats,
        journal,
        |cell, repeat| {
            let reading = match &programs.peer {
                Some(peer) if cell.runtime == FLOW => peer.time(cell, plan.times.seed),
                _ if Cost::find(&cell.app).is_some() => {
                    programs.this.finds(&[&cell.app, &cell.size], LIMIT)
                }
                _ => Ok(prepared.time(plan, cell)?),
            };
            let measurement =
                reading.map(|reading| Measurement { cell: cell.clone(), repeat, reading });
            Ok(measurement.and_then(if_sound))
        },
    )
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
