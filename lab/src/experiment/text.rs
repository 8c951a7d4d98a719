//! A report as text.

use super::{Record, Report, Table};
use crate::machine::Machine;

/// The headline and all tables, for a terminal.
pub fn tables(record: &Record, report: &Report) -> String {
    let machine = &record.machine;
    let mut text = String::new();
    if record.is_measurement() {
        let place = match record.simulated() {
            Some(model) => format!("simulated: {model}"),
            None => {
                let Machine { processor, kernel, .. } = machine;
                format!("{} processors ({processor}), {kernel}", machine.capacity())
            }
        };
        let finished = record.finished.as_deref().unwrap_or("not finished");
        text = format!("{place}, seed {}, {finished}\n", record.plan.seed);
    }
    text += &format!("{}\n", report.headline);
    let left_out = record.plan.left_out.iter().map(|(name, why)| format!("without {name}: {why}"));
    for line in left_out.chain(notes(record, report)) {
        text += &format!("{line}\n");
    }
    let tables = report.sections.iter().flat_map(|section| &section.tables);
    text.extend(tables.filter(|table| !table.rows.is_empty()).map(table_as_text));
    text
}

/// What must be known to read a report, and a line for each measurement that failed.
pub fn notes<'r>(record: &'r Record, report: &'r Report) -> impl Iterator<Item = String> + 'r {
    let missing = record.missing.iter().map(|missing| {
        let after = match missing.repeat {
            0 => String::new(),
            1 => ", after one repetition".to_owned(),
            repeats => format!(", after {repeats} repetitions"),
        };
        format!("missing: {}{after}: {}", missing.cell, missing.why)
    });
    let notes = record.plan.notes.iter().chain(&report.notes).cloned();
    notes.chain(record.disturbance()).chain(missing)
}

/// A table, its columns aligned.
pub fn table_as_text(table: &Table) -> String {
    let lines = || std::iter::once(&table.columns).chain(&table.rows);
    let width = |column: usize| {
        let cells = lines().filter_map(|line| line.get(column));
        // A width is 16 bits wide.
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0).min(u16::MAX.into())
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let mut text = format!("\n{}\n", table.title);
    for line in lines() {
        let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            // Names to the left, numbers to the right.
            if column < 1 || cell.parse::<f64>().is_err() && is_name(table, column) {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        text += &format!("  {}\n", line.trim_end());
    }
    text
}

/// True if a column holds words: most of its cells begin with no number.
pub fn is_name(table: &Table, column: usize) -> bool {
    let cells = table.rows.iter().filter_map(|row| row.get(column));
    let cells: Vec<_> = cells.filter(|cell| !cell.is_empty()).collect();
    let is_number = |cell: &&&String| {
        cell.trim_start_matches(['-', '+', '−']).starts_with(|c: char| c.is_ascii_digit())
    };
    2 * cells.iter().filter(is_number).count() <= cells.len()
}

/// A number with three digits, or all those before the point.
pub fn number(number: f64) -> String {
    match number.abs() {
        n if n >= 99.95 => format!("{number:.0}"),
        n if n >= 9.995 => format!("{number:.1}"),
        n if n >= 0.095 || n == 0.0 => format!("{number:.2}"),
        _ => format!("{number:.2e}"),
    }
}

/// The number, or nothing if it is not known.
pub fn known(number: Option<f64>) -> String {
    number.map_or_else(String::new, self::number)
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_may_be_wider_than_a_width_can_be() {
        let mut table = Table::new("title", ["", "number"]);
        let name = "n".repeat(70_000);
        table.row([name.clone(), "1".to_owned()]);
        assert!(table_as_text(&table).contains(&name));
    }
}
