//! Files for Perfetto, a viewer of timelines: <https://ui.perfetto.dev>.
//!
//! The format is a sequence of `TracePacket` messages in Google's protocol buffers. So few of its
//! fields are used that they are written here; the numbers are those of
//! `protos/perfetto/trace/perfetto_trace.proto`.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::record::Kind;
use crate::timeline::{FlowKind, SliceKind, Timeline, Track};

mod message;

use message::Message;

/// Fields of `TracePacket`.
const TIMESTAMP: u32 = 8;
const SEQUENCE: u32 = 10;
const TRACK_EVENT: u32 = 11;
const TRACK_DESCRIPTOR: u32 = 60;

/// Values of `TrackEvent.Type`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// Numbers of tracks, which must be unique.
const PROCESS: u64 = 1;
const THREADS: u64 = 1 << 16;
const PROCESSORS: u64 = 2 << 16;
const COUNTERS: u64 = 3 << 16;

/// Writes a timeline of the process with this name and number.
///
/// # Errors
/// Those of the writer.
pub fn write(
    timeline: &Timeline,
    program: &str,
    process: u32,
    to: &mut impl Write,
) -> io::Result<()> {
    let mut to = Packets { to };
    to.descriptor(PROCESS, program, None, |it| {
        it.message(3, |it| it.number(1, process.into()).text(6, program))
    })?;
    for (track, number) in timeline.tracks.iter().zip(THREADS..) {
        let name = track.worker.map_or_else(
            || track.name.clone(),
            |(pool, slot)| format!("{} (pool {pool}, slot {slot})", track.name),
        );
        to.descriptor(number, &name, Some(PROCESS), |it| it)?;
    }
    for (track, number) in timeline.processors.iter().zip(PROCESSORS..) {
        to.descriptor(number, &track.name, Some(PROCESS), |it| it)?;
    }
    let flows = Flows::new(timeline);
    for (index, track) in timeline.tracks.iter().enumerate() {
        to.track(timeline, track, THREADS + index as u64, |at| flows.at(index, at))?;
    }
    for (track, number) in timeline.processors.iter().zip(PROCESSORS..) {
        to.track(timeline, track, number, |_| &[])?;
    }
    for (counter, number) in timeline.counters.iter().zip(COUNTERS..) {
        to.descriptor(number, &counter.name, Some(PROCESS), |it| it.message(8, |it| it))?;
        for &(at, value) in &counter.values {
            to.event(at, number, COUNTER, |it| it.number(30, value.into()))?;
        }
    }
    Ok(())
}

/// The arrows that are attached to what a track has at a moment, by their numbers: to the begin of
/// a stolen task, or to the instant at which a thread wakes or signals another one.
struct Flows(HashMap<(usize, u64), Vec<u64>>);

impl Flows {
    fn new(timeline: &Timeline) -> Self {
        let mut flows: HashMap<_, Vec<u64>> = HashMap::new();
        for (number, flow) in (1..).zip(&timeline.flows) {
            let is_steal = flow.kind == FlowKind::Steal;
            let end = if is_steal { flow.to } else { flow.from };
            flows.entry(end).or_default().push(number);
        }
        Self(flows)
    }

    fn at(&self, track: usize, at: u64) -> &[u64] {
        self.0.get(&(track, at)).map_or(&[], |it| it)
    }
}

struct Packets<'w, W: Write> {
    to: &'w mut W,
}

impl<W: Write> Packets<'_, W> {
    fn packet(&mut self, body: impl FnOnce(Message) -> Message) -> io::Result<()> {
        let packet = Message::default().message(1, |packet| body(packet.number(SEQUENCE, 1)));
        self.to.write_all(packet.bytes())
    }

    fn descriptor(
        &mut self,
        number: u64,
        name: &str,
        parent: Option<u64>,
        kind: impl FnOnce(Message) -> Message,
    ) -> io::Result<()> {
        self.packet(|packet| {
            packet.message(TRACK_DESCRIPTOR, |it| {
                let it = it.number(1, number).text(2, name);
                kind(parent.into_iter().fold(it, |it, parent| it.number(5, parent)))
            })
        })
    }

    fn event(
        &mut self,
        at: u64,
        track: u64,
        kind: u64,
        rest: impl FnOnce(Message) -> Message,
    ) -> io::Result<()> {
        self.packet(|packet| {
            let packet = packet.number(TIMESTAMP, at);
            packet.message(TRACK_EVENT, |it| rest(it.number(9, kind).number(11, track)))
        })
    }

    /// Slices and instants in the order of time, as the viewer wants them.
    fn track<'f>(
        &mut self,
        timeline: &Timeline,
        track: &Track,
        number: u64,
        flows: impl Fn(u64) -> &'f [u64],
    ) -> io::Result<()> {
        let with_flows = |it: Message, at| flows(at).iter().fold(it, |it, &id| it.fixed(47, id));
        let (mut open, mut instants) = (Vec::new(), track.instants.iter().peekable());
        // A slice that ends at infinity closes all others.
        for slice in track.slices.iter().map(Some).chain([None]) {
            let begin = slice.map_or(u64::MAX, |it| it.begin);
            let depth = slice.map_or(0, |it| usize::from(it.depth));
            loop {
                let end = open.last().filter(|_| open.len() > depth).copied();
                let next = instants.peek().map(|it| it.at).filter(|&at| at <= begin);
                match (end, next) {
                    (Some(end), next) if next.is_none_or(|next| end <= next) => {
                        open.pop();
                        self.event(end, number, SLICE_END, |it| it)?;
                    }
                    (_, Some(at)) => {
                        let instant = instants.next().expect("it was seen");
                        let name = timeline.name_of_instant(instant);
                        let is_cause =
                            matches!(instant.kind, Kind::Wakes | Kind::Signals | Kind::HandsOver);
                        self.event(at, number, INSTANT, |it| {
                            let it = it.text(23, &name);
                            if is_cause { with_flows(it, at) } else { it }
                        })?;
                    }
                    _ => break,
                }
            }
            if let Some(slice) = slice {
                open.push(slice.end);
                let name = timeline.name_of(slice);
                let is_stolen = matches!(slice.kind, SliceKind::Stolen(_));
                self.event(begin, number, SLICE_BEGIN, |it| {
                    let it = it.text(23, &name);
                    if is_stolen { with_flows(it, begin) } else { it }
                })?;
            }
        }
        self.other_ends(timeline, number)
    }

    /// The other ends of arrows, where the thread recorded nothing.
    fn other_ends(&mut self, timeline: &Timeline, number: u64) -> io::Result<()> {
        for (id, flow) in (1..).zip(&timeline.flows) {
            let (here, there, what) = match flow.kind {
                FlowKind::Steal => (flow.from, flow.to, "stolen by"),
                FlowKind::Wake => (flow.to, flow.from, "woken by"),
                FlowKind::Signal => (flow.to, flow.from, "resumed by"),
                FlowKind::HandOver => (flow.to, flow.from, "has the processor of"),
            };
            if THREADS + here.0 as u64 == number {
                let name = format!("{what} {}", timeline.tracks[there.0].name);
                self.event(here.1, number, INSTANT, |it| it.text(23, &name).fixed(47, id))?;
            }
        }
        Ok(())
    }
}
