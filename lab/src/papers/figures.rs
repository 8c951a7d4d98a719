//! The figures in the texts of items, and the comparisons that a text claims. A figure is a cell of
//! the report of a record, so that a text says nothing else than the page of its record.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use itertools::Itertools;
use serde::{Deserialize, Serialize};

use super::{Item, Paper};
use crate::experiment::estimate::{Estimate, mean, median};
use crate::experiment::text::number;
use crate::experiment::{Record, Report, Table, record};
use crate::experiments;
use crate::fault::{Fault, Outcome};

/// Cells of a table in the report of a record, or a statistic of them.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The record: a path from the root of the repository [default: the item's].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// The title of the section, if several have a table with this title.
    #[serde(default = "anything", skip_serializing_if = "is_anything")]
    pub section: String,
    /// The title of the table; [`NOTES`] has the report's headline and notes.
    pub table: String,
    /// What the columns with these heads contain in the rows, which are listed in this order
    /// [default: all rows]. An empty cell repeats the one above it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rows: Rows,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// Whether the cells are only quoted: then they need no numbers, and no claim has this figure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_quoted: bool,
    /// The n-th part of each cell, from 0, where it is split at ` / ` [default: the whole cell].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<usize>,
    /// The number within that, from 0 [default: all of the text].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
    /// Whether all numbers within that are added.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sum: bool,
    /// The cells that these are divided by, one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Over>,
    /// What is computed of all cells [default: they are listed].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistic: Option<Statistic>,
    /// The digits after the point [default: as in the table, or three in all if it is computed].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<usize>,
}

/// By the head of a column: what its cells may contain. In each text that is compared, `*` stands
/// for anything.
type Rows = BTreeMap<String, Vec<String>>;

/// The rows and columns of the divisors: what is not stated is as in the figure.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Over {
    /// By the head of a column: what its cells contain.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rows: Rows,
    /// The heads of the columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
}

/// What is computed of numbers.
#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// How many there are.
    Count,
    /// How many are less than this.
    CountBelow(f64),
    /// How many are more than this.
    CountAbove(f64),
    /// The sum.
    Sum,
    /// The smallest.
    Least,
    /// The largest.
    Most,
    /// The mean.
    Mean,
    /// The geometric mean.
    GeometricMean,
    /// The median.
    Median,
    /// The 95 % confidence interval of the median.
    Interval,
}

/// What a figure is.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// As text, one for each cell, or the one of the statistic.
    pub texts: Vec<String>,
    /// As numbers, one for each cell, or those of the statistic; none if it is quoted.
    pub numbers: Vec<f64>,
}

/// What is wrong with a figure, with a text that has one, or with a claim.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FigureError {
    /// Neither the figure nor its item names a record.
    #[error("there is no record")]
    NoRecord,
    /// Not one table has the title, but so many.
    #[error("{found} tables are '{title}'")]
    Tables {
        /// The number of tables.
        found: usize,
        /// The title that the figure names.
        title: String,
    },
    /// No head of a column is as the pattern.
    #[error("there is no column '{0}'")]
    NoColumn(String),
    /// No row has what all these columns should contain.
    #[error("there is no row with {0}")]
    NoRow(String),
    /// The figure has an empty list of rows or columns.
    #[error("no cells are named")]
    NoCells,
    /// What the figure picks of a cell has no number.
    #[error("there is no such number in the cell '{cell}' of the column '{column}'")]
    NoNumber {
        /// The whole cell.
        cell: String,
        /// The head of its column.
        column: String,
    },
    /// The divisors are neither one nor as many as the cells.
    #[error("{cells} cells over {divisors}")]
    Divisors {
        /// The number of cells.
        cells: usize,
        /// The number of divisors.
        divisors: usize,
    },
    /// A cell is divided by 0.
    #[error("{0} is divided by 0")]
    DivisionByZero(f64),
    /// The statistic needs more numbers.
    #[error("there are too few numbers")]
    TooFew,
    /// A text or a claim names a figure that is not there.
    #[error("there is no figure '{0}'")]
    NoFigure(String),
    /// A text has a brace without its other end.
    #[error("a brace is not closed")]
    OpenBrace,
    /// A claim is not two sides with `<` or `>` between them.
    #[error("'{0}' is no comparison")]
    NoComparison(String),
    /// A claim has lists of different lengths.
    #[error("'{claim}' compares {left} numbers with {right}")]
    Lengths {
        /// The claim.
        claim: String,
        /// The length on its left side.
        left: usize,
        /// The length on its right side.
        right: usize,
    },
}

/// Values by the names of figures.
pub type Values = BTreeMap<String, Value>;

/// The table with the headline and the notes of a report, in one column of this name.
pub const NOTES: &str = "notes";

fn anything() -> String {
    "*".to_owned()
}

fn is_anything(pattern: &str) -> bool {
    pattern == "*"
}

/// The root of the repository, where records are read: that of the source of this program, or if
/// that is gone, the current folder.
pub fn root() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    source.filter(|root| root.is_dir()).unwrap_or(Path::new(".")).to_owned()
}

/// Puts the figures into the texts of all items, and checks their claims.
///
/// # Errors
///
/// [`Fault::Input`] if a record cannot be read, and for each [`FigureError`]; [`Fault::Run`] if a
/// claim does not hold.
pub fn fill(papers: &mut [Paper]) -> Outcome<()> {
    let mut reports = Reports::default();
    papers
        .iter_mut()
        .flat_map(|paper| &mut paper.items)
        .try_for_each(|item| fill_item(item, &mut reports))
}

pub(super) fn fill_item(item: &mut Item, reports: &mut Reports) -> Outcome<()> {
    let values = values(item, reports)?;
    let fault = |why: FigureError| Fault::input(format!("{}: {why}", item.id));
    for claim in &item.claims {
        if !holds(claim, &values).map_err(fault)? {
            return Err(Fault::run(format!("{}: '{claim}' does not hold", item.id)));
        }
    }
    let here = filled(&item.here, &values).map_err(fault)?;
    let because = item.because.as_ref().map(|text| filled(text, &values));
    (item.because, item.here) = (because.transpose().map_err(fault)?, here);
    Ok(())
}

/// The reports of records that were read, by path.
#[derive(Debug, Default)]
pub struct Reports(BTreeMap<String, Report>);

impl Reports {
    fn of(&mut self, path: &str) -> Outcome<&Report> {
        if !self.0.contains_key(path) {
            let report = experiments::report(&read(path)?);
            self.0.insert(path.to_owned(), report);
        }
        Ok(&self.0[path])
    }
}

/// Reads a record at a path from the root of the repository.
///
/// # Errors
///
/// [`Fault::Input`] if it cannot be read.
pub fn read(path: &str) -> Outcome<Record> {
    record::read(&root().join(path))
}

/// The values of an item's figures.
///
/// # Errors
///
/// [`Fault::Input`] if a record cannot be read, and for each [`FigureError`], with the names of the
/// item and the figure.
pub fn values(item: &Item, reports: &mut Reports) -> Outcome<Values> {
    let mut value = |(name, figure): (&String, &Figure)| {
        let fault = |why: FigureError| Fault::input(format!("{}, figure '{name}': {why}", item.id));
        let path = figure.record.as_ref().or(item.record.as_ref());
        let report = reports.of(path.ok_or_else(|| fault(FigureError::NoRecord))?)?;
        let value = figure.value(report).map_err(fault)?;
        Ok((name.clone(), value))
    };
    item.figures.iter().map(&mut value).collect()
}

impl Figure {
    /// Its value. Each row and column that it names is there, and each of its cells has a number:
    /// so the n-th number of a list is always that of the same cell.
    ///
    /// # Errors
    ///
    /// If that is not so, or if there are too few numbers for its statistic.
    pub fn value(&self, report: &Report) -> Result<Value, FigureError> {
        let table = self.table_of(report)?;
        if self.is_quoted {
            let cells = cells(&table, &self.rows, &self.columns)?;
            let texts = cells.into_iter().map(|(_, cell)| cell.to_owned()).collect();
            return Ok(Value { texts, numbers: Vec::new() });
        }
        let mut all = self.picked(&table, &self.rows, &self.columns)?;
        if let Some(over) = &self.over {
            let mut rows = self.rows.clone();
            rows.extend(over.rows.clone());
            let columns = over.columns.as_ref().unwrap_or(&self.columns);
            let base = self.picked(&table, &rows, columns)?;
            let (cells, divisors) = (all.len(), base.len());
            if ![1, cells].contains(&divisors) {
                return Err(FigureError::Divisors { cells, divisors });
            }
            let ratio = |((_, one), (_, base)): (&(String, f64), &(String, f64))| match one / base {
                ratio if ratio.is_finite() => Ok((self.text(ratio), ratio)),
                _ => Err(FigureError::DivisionByZero(*one)),
            };
            all = all.iter().zip(base.iter().cycle()).map(ratio).collect::<Result<_, _>>()?;
        }
        let (texts, numbers): (Vec<String>, Vec<f64>) = all.into_iter().unzip();
        let Some(statistic) = self.statistic else {
            let texts = match self.digits {
                Some(_) => numbers.iter().map(|&number| self.text(number)).collect(),
                None => texts,
            };
            return Ok(Value { texts, numbers });
        };
        let numbers = statistic.of(&numbers).ok_or(FigureError::TooFew)?;
        let texts = numbers.iter().map(|&number| match statistic {
            Statistic::Count | Statistic::CountAbove(_) | Statistic::CountBelow(_) => {
                number.to_string()
            }
            _ => self.text(number),
        });
        Ok(Value { texts: vec![texts.collect_vec().join(" to ")], numbers })
    }

    fn text(&self, value: f64) -> String {
        self.digits.map_or_else(|| number(value), |digits| format!("{value:.digits$}"))
    }

    fn table_of(&self, report: &Report) -> Result<Table, FigureError> {
        if self.table == NOTES {
            let mut notes = Table::new(NOTES, [NOTES]);
            [&report.headline].into_iter().chain(&report.notes).for_each(|note| notes.row([note]));
            return Ok(notes);
        }
        let sections = report.sections.iter().filter(|it| is_like(&self.section, &it.title));
        let tables = sections.flat_map(|section| &section.tables);
        let found = tables.filter(|table| is_like(&self.table, &table.title)).collect_vec();
        match found[..] {
            [table] => Ok(table.clone()),
            _ => Err(FigureError::Tables { found: found.len(), title: self.table.clone() }),
        }
    }

    /// What is picked of each cell, with its number.
    fn picked(
        &self,
        table: &Table,
        rows: &Rows,
        columns: &[String],
    ) -> Result<Vec<(String, f64)>, FigureError> {
        let picked = cells(table, rows, columns)?.into_iter().map(|(column, cell)| {
            let no_number =
                || FigureError::NoNumber { cell: cell.to_owned(), column: column.to_owned() };
            self.pick(cell).filter(|(_, number)| number.is_finite()).ok_or_else(no_number)
        });
        picked.collect()
    }

    fn pick(&self, cell: &str) -> Option<(String, f64)> {
        let side = self.side.map_or(Some(cell), |side| cell.split(" / ").nth(side))?;
        if self.sum {
            let all = numbers(side).map(str::parse).collect::<Result<Vec<f64>, _>>().ok()?;
            let sum = (!all.is_empty()).then(|| all.iter().sum())?;
            return Some((self.text(sum), sum));
        }
        let text = self.part.map_or(Some(side), |part| numbers(side).nth(part))?;
        Some((text.to_owned(), numbers(text).find_map(|number| number.parse().ok())?))
    }
}

/// Cells of a table, each with the head of its column: row by row, in the order of the patterns.
fn cells<'t>(
    table: &'t Table,
    rows: &Rows,
    columns: &[String],
) -> Result<Vec<(&'t str, &'t str)>, FigureError> {
    let places = |pattern: &str| {
        let heads = table.columns.iter().enumerate();
        let found = heads.filter(|(_, head)| is_like(pattern, head)).map(|(place, _)| place);
        let found = found.collect_vec();
        if found.is_empty() { Err(FigureError::NoColumn(pattern.to_owned())) } else { Ok(found) }
    };
    let columns = columns.iter().map(|pattern| places(pattern));
    let columns = columns.collect::<Result<Vec<_>, _>>()?.concat();
    let wanted = rows.iter().map(|(head, patterns)| {
        let column = places(head)?[0];
        Ok(patterns.iter().map(move |pattern| (head, column, pattern)))
    });
    let wanted = wanted.collect::<Result<Vec<_>, FigureError>>()?;
    let whole_rows = table.rows.iter().scan(vec![""; table.columns.len()], |above, row| {
        for (above, cell) in above.iter_mut().zip(row).filter(|(_, cell)| !cell.is_empty()) {
            *above = cell;
        }
        Some(above.clone())
    });
    let whole_rows = whole_rows.collect_vec();
    let mut found = Vec::new();
    for wanted in wanted.into_iter().multi_cartesian_product() {
        let is_wanted = |whole: &Vec<&str>| {
            wanted.iter().all(|(_, column, pattern)| is_like(pattern, whole[*column]))
        };
        let rows = table.rows.iter().zip(&whole_rows).filter(|(_, whole)| is_wanted(whole));
        let before = found.len();
        found.extend(
            rows.cartesian_product(&columns)
                .map(|((row, _), &column)| (table.columns[column].as_str(), row[column].as_str())),
        );
        if found.len() == before {
            let cells = wanted.iter().map(|(head, _, pattern)| format!("'{head}': '{pattern}'"));
            return Err(FigureError::NoRow(cells.collect_vec().join(", ")));
        }
    }
    if found.is_empty() { Err(FigureError::NoCells) } else { Ok(found) }
}

impl Statistic {
    /// One number, or the two of an interval.
    fn of(self, numbers: &[f64]) -> Option<Vec<f64>> {
        let count = |is_it: &dyn Fn(f64) -> bool| {
            Some(numbers.iter().filter(|&&number| is_it(number)).count() as f64)
        };
        let one = match self {
            Statistic::Count => count(&|_| true),
            Statistic::CountBelow(limit) => count(&|number| number < limit),
            Statistic::CountAbove(limit) => count(&|number| number > limit),
            Statistic::Sum => Some(numbers.iter().sum()),
            Statistic::Least => numbers.iter().copied().reduce(f64::min),
            Statistic::Most => numbers.iter().copied().reduce(f64::max),
            Statistic::Mean => mean(numbers),
            Statistic::GeometricMean => mean(numbers.iter().map(|it| it.ln())).map(f64::exp),
            Statistic::Median => median(numbers),
            Statistic::Interval => {
                let found = Estimate::of_median(numbers).filter(Estimate::is_bounded)?;
                return Some(vec![found.low, found.high]);
            }
        };
        Some(vec![one?])
    }
}

/// The numbers in a text: what stands between blanks and brackets and begins with a digit or a
/// sign.
pub fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || "()/;:".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', ',']));
    words.filter(|word| {
        word.trim_start_matches(['+', '-', '−', '±']).starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Whether a text is a pattern's, in which `*` stands for anything.
fn is_like(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(place, _)| place).chain([rest.len()]);
            ends.into_iter().any(|place| is_like(after, &rest[place..]))
        }),
    }
}

/// The text with figures in the places of their names in braces; `{name.2}` is the second one of a
/// list.
fn filled(text: &str, values: &Values) -> Result<String, FigureError> {
    let (mut rest, mut all) = (text, String::new());
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or(FigureError::OpenBrace)?;
        let texts = find(name, values)?.texts;
        let no_figure = || FigureError::NoFigure(name.to_owned());
        let (last, others) = texts.split_last().ok_or_else(no_figure)?;
        let others = others.join(", ");
        let and = if others.is_empty() { "" } else { " and " };
        all += &format!("{before}{others}{and}{last}");
        rest = after;
    }
    Ok(all + rest)
}

/// A figure, or one of its list.
fn find(name: &str, values: &Values) -> Result<Value, FigureError> {
    let no_figure = || FigureError::NoFigure(name.to_owned());
    if let Some(value) = values.get(name) {
        return Ok(value.clone());
    }
    let (list, place) = name.rsplit_once('.').ok_or_else(no_figure)?;
    let place = place.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
    let (value, place) = values.get(list).zip(place).ok_or_else(no_figure)?;
    let texts = value.texts.get(place).cloned().into_iter().collect();
    let numbers = value.numbers.get(place).copied().into_iter().collect();
    Ok(Value { texts, numbers })
}

/// Whether a claim holds: two figures or numbers with `<` or `>` between them. Lists are compared
/// element by element, and all comparisons must hold.
fn holds(claim: &str, values: &Values) -> Result<bool, FigureError> {
    let numbers = |name: &str| match name.parse() {
        Ok(number) => Ok(vec![number]),
        Err(_) => find(name, values).map(|value| value.numbers),
    };
    let [left, sign @ ("<" | ">"), right] = claim.split(' ').collect_vec()[..] else {
        return Err(FigureError::NoComparison(claim.to_owned()));
    };
    let (left, right) = (numbers(left)?, numbers(right)?);
    let all = left.len().max(right.len());
    if [&left, &right].iter().any(|side| side.is_empty() || ![1, all].contains(&side.len())) {
        let (claim, left, right) = (claim.to_owned(), left.len(), right.len());
        return Err(FigureError::Lengths { claim, left, right });
    }
    let mut pairs = left.iter().cycle().zip(right.iter().cycle()).take(all);
    Ok(pairs.all(|(left, right)| if sign == "<" { left < right } else { left > right }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let heads = ["", "runtime", "P = 2", "P = 4", "95 %", "lost"];
        let mut table = Table::new("times, in ms", heads);
        table.row(["heat 1", "ours", "1.00", "2.00", "0.90 to 1.10", "0"]);
        table.row(["", "theirs", "4.00", "8.00", "noise", ""]);
        table.row(["mm 2", "ours", "3.00", "6.00e-2", "2.9 to 3.1", "0"]);
        table.row(["", "theirs", "6.00", "12.0", "5 + 1 / 7 + 2", ""]);
        let section = crate::experiment::Section::new("Times", "", [table.clone()]);
        let other = crate::experiment::Section::new("Other times", "", [table]);
        let notes = vec!["3 of 20 points lie (1.25, 2).".to_owned()];
        let headline = "All is well".to_owned();
        Report { headline, notes, sections: vec![section, other], ..Report::default() }
    }

    fn value(figure: &str) -> Result<Value, FigureError> {
        let figure: Figure = serde_json::from_str(figure).unwrap();
        figure.value(&report())
    }

    /// Of the first table.
    fn of_times(rest: &str) -> Value {
        value(&format!(r#"{{"section": "Times", "table": "times*", {rest}}}"#)).unwrap()
    }

    #[test]
    fn cells_are_listed_in_the_order_that_is_asked_for() {
        let rows = r#""rows": {"": ["mm *", "heat *"], "runtime": ["ours"]}"#;
        let found = of_times(&format!(r#"{rows}, "columns": ["P = *"]"#));
        assert_eq!(found.texts, ["3.00", "6.00e-2", "1.00", "2.00"]);
        assert_eq!(found.numbers, [3.0, 0.06, 1.0, 2.0]);
        // A row below a name is of that name.
        let rows = r#""rows": {"": ["heat 1"]}"#;
        assert_eq!(of_times(&format!(r#"{rows}, "columns": ["P = 2"]"#)).numbers, [1.0, 4.0]);
        let interval = of_times(r#""rows": {"runtime": ["ours"]}, "columns": ["95 %"]"#);
        assert_eq!(interval.texts, ["0.90 to 1.10", "2.9 to 3.1"]);
    }

    #[test]
    fn a_part_of_a_cell_is_one_of_its_numbers() {
        let ours = r#""rows": {"runtime": ["ours"]}, "columns": ["95 %"]"#;
        assert_eq!(of_times(&format!(r#"{ours}, "part": 1"#)).numbers, [1.1, 3.1]);
        // Of a cell with two sides.
        let of_side = |rest: &str| {
            let rows = r#""rows": {"": ["mm 2"], "runtime": ["theirs"]}, "columns": ["95 %"]"#;
            of_times(&format!("{rows}, {rest}")).numbers
        };
        assert_eq!(
            [of_side(r#""side": 1, "part": 0"#), of_side(r#""sum": true"#)],
            [[7.0], [15.0]]
        );
        assert_eq!(of_side(r#""side": 1, "sum": true"#), [9.0]);
        let note = |part: usize| {
            let notes = r#""table": "notes", "rows": {"notes": ["*lie*"]}, "columns": ["notes"]"#;
            value(&format!(r#"{{{notes}, "part": {part}}}"#)).unwrap().texts
        };
        assert_eq!([note(0), note(1), note(2)], [["3"], ["20"], ["1.25"]]);
    }

    #[test]
    fn statistics_are_of_all_numbers() {
        let of = |statistic: &str| {
            of_times(&format!(r#""columns": ["P = *"], "statistic": {statistic}"#)).numbers
        };
        // 1, 2, 4, 8, 3, 0.06, 6 and 12.
        assert_eq!(of(r#""count""#), [8.0]);
        assert_eq!(of(r#"{"count-above": 2}"#), [5.0]);
        assert_eq!(of(r#"{"count-below": 2}"#), [2.0]);
        assert_eq!([of(r#""least""#), of(r#""most""#)], [[0.06], [12.0]]);
        assert_eq!([of(r#""median""#), of(r#""interval""#)].concat(), [3.5, 0.06, 12.0]);
        assert!((of(r#""sum""#)[0] - 36.06).abs() < 1e-9);
        assert!((of(r#""mean""#)[0] - 36.06 / 8.0).abs() < 1e-9);
        assert!((of(r#""geometric-mean""#)[0] - 829.44_f64.powf(1.0 / 8.0)).abs() < 1e-9);
        let figure = of_times(r#""columns": ["P = *"], "statistic": "median", "digits": 3"#);
        assert_eq!(figure.texts, ["3.500"]);
    }

    #[test]
    fn ratios_are_of_cells_in_the_same_order() {
        let ours = r#""rows": {"runtime": ["ours"]}, "columns": ["P = 2"]"#;
        let over = |rows: &str| of_times(&format!(r#"{ours}, "over": {{{rows}}}"#));
        assert_eq!(over(r#""rows": {"runtime": ["theirs"]}"#).numbers, [0.25, 0.5]);
        assert_eq!(over(r#""rows": {"": ["mm 2"]}"#).texts, ["0.33", "1.00"]);
        assert_eq!(over(r#""columns": ["P = 4"]"#).texts, ["0.50", "50.0"]);
        let all = r#""rows": {"runtime": ["*"]}, "columns": ["P = 4"]"#;
        let found = of_times(&format!(r#"{all}, "over": {{"columns": ["P = 2"]}}"#));
        assert_eq!(found.numbers, [2.0, 2.0, 0.02, 2.0]);
    }

    #[test]
    fn what_is_not_in_the_report_is_refused() {
        let refused = |figure: &str, why: FigureError| assert_eq!(value(figure), Err(why));
        let tables = |found, title: &str| FigureError::Tables { found, title: title.to_owned() };
        refused(r#"{"table": "times*", "columns": ["P = 2"]}"#, tables(2, "times*"));
        refused(r#"{"table": "times", "columns": ["P = 2"]}"#, tables(0, "times"));
        let refused = |rest: &str, why: FigureError| {
            refused(&format!(r#"{{"section": "Times", "table": "times, in ms", {rest}}}"#), why);
        };
        let no_column = |pattern: &str| FigureError::NoColumn(pattern.to_owned());
        refused(r#""columns": ["P = 2", "P = 3"]"#, no_column("P = 3"));
        refused(r#""rows": {"policy": ["ours"]}, "columns": ["P = 2"]"#, no_column("policy"));
        let few = r#""columns": ["P = 2"], "statistic": "interval""#;
        refused(few, FigureError::TooFew);
        let over = r#""columns": ["P = 2"], "over": {"rows": {"runtime": ["ours"]}}"#;
        refused(over, FigureError::Divisors { cells: 4, divisors: 2 });
        let zero = r#""rows": {"runtime": ["ours"]}, "columns": ["P = 2"]"#;
        let zero = format!(r#"{zero}, "over": {{"columns": ["lost"]}}"#);
        refused(&zero, FigureError::DivisionByZero(1.0));
    }

    #[test]
    fn a_row_that_is_missing_is_refused_and_not_left_out() {
        let of = |rows: &str| {
            let table = r#""section": "Times", "table": "times*""#;
            value(&format!(r#"{{{table}, "rows": {{{rows}}}, "columns": ["P = 2"]}}"#))
        };
        let no_row = |cells: &str| Err(FigureError::NoRow(cells.to_owned()));
        assert_eq!(of(r#""": ["heat 1", "mm *"]"#).unwrap().numbers, [1.0, 4.0, 3.0, 6.0]);
        assert_eq!(of(r#""": ["heat 1", "lu *", "mm *"]"#), no_row("'': 'lu *'"));
        // Each pattern has a row, but not both of them together.
        let both = r#""P = 4": ["2.00"], "runtime": ["ours", "theirs"]"#;
        assert_eq!(of(both), no_row("'P = 4': '2.00', 'runtime': 'theirs'"));
        assert_eq!(of(r#""runtime": []"#), Err(FigureError::NoCells));
    }

    #[test]
    fn a_cell_without_a_number_is_refused_and_not_left_out() {
        let of =
            |rest: &str| value(&format!(r#"{{"section": "Times", "table": "times*", {rest}}}"#));
        let no_number = |column: &str, cell: &str| {
            let (column, cell) = (column.to_owned(), cell.to_owned());
            Err(FigureError::NoNumber { cell, column })
        };
        assert_eq!(of(r#""columns": ["95 %"]"#), no_number("95 %", "noise"));
        assert_eq!(of(r#""columns": ["95 %"], "statistic": "count""#), no_number("95 %", "noise"));
        assert_eq!(of(r#""columns": ["lost"]"#), no_number("lost", ""));
        let over = r#""columns": ["P = 2"], "over": {"columns": ["lost"]}"#;
        assert_eq!(of(over), no_number("lost", ""));
        let ours = r#""rows": {"runtime": ["ours"]}, "columns": ["95 %"]"#;
        for rest in [r#""part": 2"#, r#""side": 1"#, r#""side": 1, "sum": true"#] {
            assert_eq!(of(&format!("{ours}, {rest}")), no_number("95 %", "0.90 to 1.10"));
        }
        assert_eq!(of(r#""columns": ["runtime"]"#), no_number("runtime", "ours"));
        let quoted = of(r#""columns": ["runtime"], "is_quoted": true"#).unwrap();
        assert_eq!(quoted.texts, ["ours", "theirs", "ours", "theirs"]);
        assert!(quoted.numbers.is_empty());
    }

    #[test]
    fn figures_stand_in_the_places_of_their_names() {
        let value = |texts: &[&str]| Value {
            texts: texts.iter().map(ToString::to_string).collect(),
            numbers: texts.iter().map(|text| text.parse().unwrap()).collect(),
        };
        let named = [("one", value(&["1.0"])), ("list", value(&["3", "4", "5"]))];
        let values: Values = named.into_iter().map(|(name, it)| (name.to_owned(), it)).collect();
        let text = filled("{one}: {list}, not {list.2}", &values);
        assert_eq!(text.unwrap(), "1.0: 3, 4 and 5, not 4");
        let no_figure = |name: &str| FigureError::NoFigure(name.to_owned());
        for wrong in ["two", "one.2", "list.0"] {
            assert_eq!(filled(&format!("{{{wrong}}}"), &values), Err(no_figure(wrong)));
        }
        assert_eq!(filled("{one", &values), Err(FigureError::OpenBrace));
        for (claim, expected) in [
            ("one < list", true),
            ("list > 3", false),
            ("list.3 > list.2", true),
            ("list < list", false),
            ("one > 0.9", true),
        ] {
            assert_eq!(holds(claim, &values), Ok(expected), "{claim}");
        }
        for wrong in ["one", "one = 1", "one < 2 < 3"] {
            assert_eq!(holds(wrong, &values), Err(FigureError::NoComparison(wrong.to_owned())));
        }
        assert_eq!(holds("one < two", &values), Err(no_figure("two")));
        let (claim, left, right) = ("list.4 < 1".to_owned(), 0, 1);
        assert_eq!(holds(&claim, &values), Err(FigureError::Lengths { claim, left, right }));
    }
}
