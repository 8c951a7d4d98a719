//! The critical path, as far as the recording tells: the chain of steals and completions that led
//! to the last end of a task.

use super::{FlowKind, SliceKind, Timeline};

impl Timeline {
    /// The parts of the critical path, the last one first: the track, and from when to when.
    ///
    /// It goes back from the last end of a task that was stolen or sent. On a track it goes back to
    /// the last effect there, and on to the cause of that. What a task did before its own forks
    /// were stolen counts as one part.
    #[must_use]
    pub fn critical_path(&self) -> Vec<(usize, u64, u64)> {
        let ends = self.tracks.iter().enumerate().flat_map(|(track, it)| {
            let is_task = |kind| matches!(kind, SliceKind::Sent | SliceKind::Stolen(_));
            it.slices.iter().filter(move |it| is_task(it.kind)).map(move |it| (it.end, track))
        });
        let Some((mut at, mut track)) = ends.max() else { return Vec::new() };
        let is_cause = |kind| matches!(kind, FlowKind::Steal | FlowKind::Signal);
        let mut into = vec![Vec::new(); self.tracks.len()];
        for flow in self.flows.iter().filter(|flow| is_cause(flow.kind)) {
            into[flow.to.0].push(flow);
        }
        let mut path = Vec::new();
        loop {
            let before = into[track].partition_point(|flow| flow.to.1 <= at);
            let Some(flow) = before.checked_sub(1).map(|last| into[track][last]) else {
                let first = self.tracks[track].slices.first().map_or(at, |it| it.begin);
                path.push((track, first.min(at), at));
                return path;
            };
            path.push((track, flow.to.1, at));
            // The cause is earlier than the effect, so this ends.
            if (flow.from.1, flow.from.0) == (at, track) || flow.from.1 > flow.to.1 {
                return path;
            }
            into[track].truncate(before - 1);
            (track, at) = flow.from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Flow, Slice, Track};
    use super::*;

    #[test]
    fn the_path_follows_causes_back() {
        let slice = |begin, end| Slice { begin, end, depth: 0, kind: SliceKind::Sent };
        let track = |slices: &[Slice]| Track { slices: slices.to_vec(), ..Track::default() };
        let flow = |kind, from, to| Flow { kind, from, to };
        let timeline = Timeline {
            tracks: vec![track(&[slice(0, 100)]), track(&[slice(10, 90)])],
            flows: vec![
                flow(FlowKind::Steal, (0, 9), (1, 10)),
                flow(FlowKind::Wake, (1, 50), (0, 60)),
                flow(FlowKind::Signal, (1, 90), (0, 91)),
            ],
            ..Timeline::default()
        };
        assert_eq!(timeline.critical_path(), [(0, 91, 100), (1, 10, 90), (0, 0, 9)]);
        assert_eq!(Timeline::default().critical_path(), []);
    }
}
