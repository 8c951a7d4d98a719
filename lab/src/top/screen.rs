//! Samples on a terminal, again and again.

use std::collections::{BTreeMap, HashMap};
use std::io::{IsTerminal, stdin, stdout};
use std::time::{Duration, Instant};

use locksley_trace::{Command, live_file, trace_file};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Constraint;
use ratatui::style::Style;
use ratatui::widgets::{Block, Row, Table};
use ratatui::{DefaultTerminal, Frame};

use super::{Sample, sample::WorkerSample};
use crate::fault::{Fault, Outcome};

/// The busy shares of a worker in the last intervals.
type History = HashMap<(u32, u32), Vec<f64>>;
const INTERVALS: usize = 30;

/// Its name, its width, and what it says of a worker.
type Column = (&'static str, u16, fn(&WorkerSample) -> String);

const COLUMNS: [Column; 13] = [
    ("worker", 16, |it| it.name.clone()),
    ("state", 10, |it| it.state.to_owned()),
    ("span", 20, |it| it.label.clone().unwrap_or_default()),
    ("cpu", 4, |it| it.processor.map_or(String::new(), |it| it.to_string())),
    ("busy", 6, |it| percent(it.busy)),
    ("search", 6, |it| percent(it.searching)),
    ("asleep", 6, |it| percent(it.asleep)),
    ("wait", 6, |it| percent(it.waiting)),
    ("preempted", 9, |it| percent(it.preempted)),
    ("granted", 7, |it| percent(it.granted)),
    ("queued", 6, |it| it.queued.to_string()),
    ("steals", 7, |it| it.steals.to_string()),
    ("parks", 7, |it| it.parks.to_string()),
];

/// The column of queues.
const QUEUED: usize = 10;

/// Shows samples of the live recording of a process until `q` is pressed, or the program ends.
///
/// # Errors
///
/// [`Fault::Input`] if this is no terminal; [`Fault::Run`] if the terminal fails, or the recording
/// cannot be read any more.
pub fn watch(process: u32, interval: Duration) -> Outcome<()> {
    if !stdout().is_terminal() || !stdin().is_terminal() {
        return Err(Fault::input("this is no terminal; try --once"));
    }
    // Before the screen changes: a recording that cannot be read is refused in one line.
    Sample::read(&live_file(process), interval)?;
    let mut terminal = ratatui::try_init().map_err(fails)?;
    let shown = show(&mut terminal, process, interval);
    ratatui::restore();
    shown
}

fn fails(error: std::io::Error) -> Fault {
    Fault::run(format!("the terminal fails: {error}"))
}

fn show(terminal: &mut DefaultTerminal, process: u32, interval: Duration) -> Outcome<()> {
    let (mut history, mut control) = (History::new(), Control::default());
    let file = live_file(process);
    loop {
        let sample = match Sample::read(&file, interval) {
            Ok(sample) => sample,
            // The recording is removed when the program ends.
            Err(_) if !file.exists() => return Ok(()),
            Err(fault) => return Err(Fault::run(fault)),
        };
        for worker in &sample.workers {
            let shares = history.entry((worker.pool, worker.slot)).or_default();
            shares.push(worker.busy);
            shares.drain(..shares.len().saturating_sub(INTERVALS));
        }
        control.update(&sample);
        let until = Instant::now() + interval;
        loop {
            terminal.draw(|frame| draw(frame, &sample, &history, &control)).map_err(fails)?;
            if !event::poll(until.saturating_duration_since(Instant::now())).map_err(fails)? {
                break;
            }
            if let Event::Key(key) = event::read().map_err(fails)? {
                if is_end(key) {
                    return Ok(());
                }
                // The program may have ended, or forbid that: the next sample shows it.
                if let Some(command) = control.press(key.code) {
                    let _ = command.send(process);
                }
            }
        }
    }
}

/// What keys ask of the program.
#[derive(Debug, Default)]
struct Control {
    /// The pool that is resized.
    pool: u32,
    /// The sizes of all pools, or what they shall be.
    sizes: BTreeMap<u32, u32>,
    is_traced: bool,
    /// What happens with the trace.
    note: String,
}

impl Control {
    fn update(&mut self, sample: &Sample) {
        self.sizes.clone_from(&sample.sizes);
        if !self.sizes.contains_key(&self.pool) {
            self.pool = self.sizes.keys().next().copied().unwrap_or(0);
        }
        self.is_traced = sample.trace.is_some();
        match sample.trace {
            Some(number) => {
                let file = trace_file(sample.process, number);
                self.note = format!("· traces to {} ", file.display());
            }
            None => self.note = self.note.replace("traces to", "traced to"),
        }
    }

    fn press(&mut self, key: KeyCode) -> Option<Command> {
        let pool = self.pool;
        match key {
            KeyCode::Char(change @ ('+' | '-')) => {
                let size = self.sizes.get_mut(&pool)?;
                *size = if change == '+' { *size + 1 } else { (*size - 1).max(1) };
                Some(Command::Resize { pool, size: u16::try_from(*size).ok()? })
            }
            KeyCode::Char('t') if self.is_traced => Some(Command::EndTrace),
            KeyCode::Char('t') => Some(Command::BeginTrace),
            KeyCode::Tab => {
                let next = self.sizes.keys().find(|&&it| it > pool).or(self.sizes.keys().next());
                self.pool = *next?;
                None
            }
            _ => None,
        }
    }
}

fn is_end(key: KeyEvent) -> bool {
    let is_interrupt = key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL;
    is_interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}

fn draw(frame: &mut Frame<'_>, sample: &Sample, history: &History, control: &Control) {
    let Control { pool, sizes, note, .. } = control;
    let size = sizes.get(pool).copied().unwrap_or(0);
    let title = format!(" {} (process {}) {note}", sample.program, sample.process);
    let keys = format!(" q: quit · t: trace · + -: size of pool {pool}, {size} · tab: next pool ");
    let header = COLUMNS.iter().map(|(name, ..)| *name).chain(["busy before"]);
    let widths = COLUMNS.iter().map(|&(_, width, _)| Constraint::Length(width));
    let widths = widths.chain([Constraint::Min(INTERVALS as u16)]);
    let channels = sample.channels.iter().map(|(name, length)| {
        let mut cells = [const { String::new() }; COLUMNS.len()];
        cells[0] = format!("channel {name}");
        cells[QUEUED] = length.to_string();
        Row::new(cells)
    });
    let rows = sample.workers.iter().map(|worker| row(worker, history)).chain(channels);
    let table = Table::new(rows, widths)
        .header(Row::new(header).style(Style::new().bold()))
        .block(Block::bordered().title(title).title_bottom(keys));
    frame.render_widget(table, frame.area());
}

fn row<'w>(worker: &'w WorkerSample, history: &History) -> Row<'w> {
    let style = match worker.state {
        "works" => Style::new().green(),
        "preempted" => Style::new().red(),
        "sleeps" | "over limit" | "monitor" => Style::new().dim(),
        _ => Style::new(),
    };
    let before = history.get(&(worker.pool, worker.slot)).map_or(&[][..], |it| it);
    let before = before.iter().map(|&share| bar(share)).collect();
    Row::new(COLUMNS.iter().map(|(.., cell)| cell(worker)).chain([before])).style(style)
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// A share as a bar of one of eight heights.
fn bar(share: f64) -> char {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    BARS[((share * 8.0) as usize).min(7)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_high_as_the_share() {
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(bar), ['▁', '▅', '█', '█']);
    }

    #[test]
    fn keys_ask_for_sizes_and_traces() {
        let mut control = Control { sizes: [(1, 2), (4, 1)].into(), pool: 1, ..Control::default() };
        let key = KeyCode::Char;
        assert_eq!(control.press(key('+')), Some(Command::Resize { pool: 1, size: 3 }));
        assert_eq!(control.press(KeyCode::Tab), None);
        assert_eq!(control.press(key('-')), Some(Command::Resize { pool: 4, size: 1 }));
        assert_eq!(control.press(KeyCode::Tab), None);
        assert_eq!(control.press(key('-')), Some(Command::Resize { pool: 1, size: 2 }));
        assert_eq!(control.press(key('t')), Some(Command::BeginTrace));
        control.is_traced = true;
        assert_eq!(control.press(key('t')), Some(Command::EndTrace));
        assert_eq!(control.press(key('x')), None);
        assert_eq!(Control::default().press(key('+')), None);
    }

    #[test]
    fn channels_stand_in_the_column_of_queues() {
        assert_eq!(COLUMNS[QUEUED].0, "queued");
    }

    #[test]
    fn q_and_an_interrupt_end_it() {
        let key = |code, modifiers| is_end(KeyEvent::new(code, modifiers));
        assert!(
            key(KeyCode::Char('q'), KeyModifiers::NONE) && key(KeyCode::Esc, KeyModifiers::NONE)
        );
        assert!(key(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert!(!key(KeyCode::Char('c'), KeyModifiers::NONE));
    }
}
