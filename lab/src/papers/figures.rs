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
    /// As numbers.
    pub numbers: Vec<f64>,
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
/// [`Fault::Input`] if a record cannot be read or has no such cells, or a text or a claim names no
/// figure; [`Fault::Run`] if a claim does not hold.
pub fn fill(papers: &mut [Paper]) -> Outcome<()> {
    let mut reports = Reports::default();
    for item in papers.iter_mut().flat_map(|paper| &mut paper.items) {
        let values = values(item, &mut reports)?;
        let fault = |why: String| Fault::input(format!("{}: {why}", item.id));
        for claim in &item.claims {
            if !holds(claim, &values).map_err(fault)? {
                return Err(Fault::run(format!("{}: '{claim}' does not hold", item.id)));
            }
        }
        let here = filled(&item.here, &values).map_err(fault)?;
        let because = item.because.as_ref().map(|text| filled(text, &values));
        (item.because, item.here) = (because.transpose().map_err(fault)?, here);
    }
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
/// [`Fault::Input`] if a record cannot be read or has no such cells.
pub fn values(item: &Item, reports: &mut Reports) -> Outcome<Values> {
    let mut value = |(name, figure): (&String, &Figure)| {
        let fault = |why: &str| Fault::input(format!("{}, figure '{name}': {why}", item.id));
        let path = figure.record.as_ref().or(item.record.as_ref());
        let report = reports.of(path.ok_or_else(|| fault("there is no record"))?)?;
        let value = figure.value(report).map_err(|why| fault(&why))?;
        Ok((name.clone(), value))
    };
    item.figures.iter().map(&mut value).collect()
}

impl Figure {
    /// Its value.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn value(&self, report: &Report) -> Result<Value, String> {
        let table = self.table_of(report)?;
        let mut all = self.picked(&table, &self.rows, &self.columns)?;
        if let Some(over) = &self.over {
            let mut rows = self.rows.clone();
            rows.extend(over.rows.clone());
            let columns = over.columns.as_ref().unwrap_or(&self.columns);
            let base = self.picked(&table, &rows, columns)?;
            if ![1, all.len()].contains(&base.len()) {
                return Err(format!("{} cells over {}", all.len(), base.len()));
            }
            let pairs = all.iter().zip(base.iter().cycle());
            let ratios = pairs.filter_map(|((_, one), (_, base))| Some((*one)? / (*base)?));
            all = ratios.map(|ratio| (self.text(ratio), Some(ratio))).collect();
        }
        all.retain(|(text, _)| !text.is_empty());
        let numbers = all.iter().filter_map(|(_, number)| *number).collect_vec();
        if all.is_empty() || !numbers.iter().all(|number| number.is_finite()) {
            return Err("there are no such cells".to_owned());
        }
        let Some(statistic) = self.statistic else {
            let text = |(text, number): (String, Option<f64>)| match number {
                Some(number) if self.digits.is_some() => self.text(number),
                _ => text,
            };
            return Ok(Value { texts: all.into_iter().map(text).collect(), numbers });
        };
        let numbers = statistic.of(&numbers).ok_or("there are too few numbers")?;
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

    fn table_of(&self, report: &Report) -> Result<Table, String> {
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
            _ => Err(format!("{} tables are '{}'", found.len(), self.table)),
        }
    }

    /// What is picked of each cell, with its number.
    fn picked(
        &self,
        table: &Table,
        rows: &Rows,
        columns: &[String],
    ) -> Result<Vec<(String, Option<f64>)>, String> {
        let pick = |cell: &str| {
            let side = self.side.map_or(Some(cell), |side| cell.split(" / ").nth(side));
            let side = side.unwrap_or_default();
            if self.sum {
                let all = numbers(side).map(str::parse).collect::<Result<Vec<f64>, _>>();
                let sum = all.ok().filter(|all| !all.is_empty()).map(|all| all.iter().sum());
                return (sum.map_or_else(String::new, |sum| self.text(sum)), sum);
            }
            let text = self.part.map_or(Some(side), |part| numbers(side).nth(part));
            let text = text.unwrap_or_default();
            (text.to_owned(), numbers(text).find_map(|number| number.parse().ok()))
        };
        Ok(cells(table, rows, columns)?.map(pick).collect())
    }
}

/// Cells of a table, row by row.
fn cells<'t>(
    table: &'t Table,
    rows: &Rows,
    columns: &[String],
) -> Result<impl Iterator<Item = &'t str>, String> {
    let places = |pattern: &str| {
        let heads = table.columns.iter().enumerate();
        let found = heads.filter(|(_, head)| is_like(pattern, head)).map(|(place, _)| place);
        let found = found.collect_vec();
        if found.is_empty() { Err(format!("there is no column '{pattern}'")) } else { Ok(found) }
    };
    let columns = columns.iter().map(|pattern| places(pattern));
    let columns = columns.collect::<Result<Vec<_>, _>>()?.concat();
    let wanted = rows.iter().map(|(head, patterns)| Ok((places(head)?[0], patterns)));
    let wanted = wanted.collect::<Result<Vec<_>, String>>()?;
    let mut above = vec![""; table.columns.len()];
    let mut found = Vec::new();
    for row in &table.rows {
        for (above, cell) in above.iter_mut().zip(row).filter(|(_, cell)| !cell.is_empty()) {
            *above = cell;
        }
        let place = |(column, patterns): &(usize, &Vec<String>)| {
            patterns.iter().position(|pattern| is_like(pattern, above[*column]))
        };
        if let Some(places) = wanted.iter().map(place).collect::<Option<Vec<_>>>() {
            found.push((places, row));
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    let of_row = move |(_, row): (Vec<usize>, &'t Vec<String>)| {
        columns.iter().map(|&column| row[column].as_str()).collect_vec()
    };
    Ok(found.into_iter().flat_map(of_row))
}

impl Statistic {
    /// One number, or the two of an interval.
    fn of(self, numbers: &[f64]) -> Option<Vec<f64>> {
        let count = |is_it: &dyn Fn(f64) -> bool| {
            Some(numbers.iter().filter(|&&number| is_it(number)).count() as f64)
        };
        let one = match self {
            _ if numbers.is_empty() => None,
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
fn filled(text: &str, values: &Values) -> Result<String, String> {
    let (mut rest, mut all) = (text, String::new());
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or("a brace is not closed")?;
        let texts = find(name, values)?.texts;
        let (last, others) = texts.split_last().ok_or_else(|| format!("'{name}' is empty"))?;
        let others = others.join(", ");
        let and = if others.is_empty() { "" } else { " and " };
        all += &format!("{before}{others}{and}{last}");
        rest = after;
    }
    Ok(all + rest)
}

/// A figure, or one of its list.
fn find(name: &str, values: &Values) -> Result<Value, String> {
    let unknown = || format!("there is no figure '{name}'");
    if let Some(value) = values.get(name) {
        return Ok(value.clone());
    }
    let (list, place) = name.rsplit_once('.').ok_or_else(unknown)?;
    let place = place.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
    let (value, place) = values.get(list).zip(place).ok_or_else(unknown)?;
    let texts = value.texts.get(place).cloned().into_iter().collect();
    let numbers = value.numbers.get(place).copied().into_iter().collect();
    Ok(Value { texts, numbers })
}

/// Whether a claim holds: two figures or numbers with `<` or `>` between them. Lists are compared
/// element by element, and all comparisons must hold.
fn holds(claim: &str, values: &Values) -> Result<bool, String> {
    let numbers = |name: &str| match name.parse() {
        Ok(number) => Ok(vec![number]),
        Err(_) => find(name, values).map(|value| value.numbers),
    };
    let [left, sign, right] = claim.split(' ').collect_vec()[..] else {
        return Err(format!("'{claim}' is no comparison"));
    };
    let (left, right) = (numbers(left)?, numbers(right)?);
    let all = left.len().max(right.len());
    if [&left, &right].iter().any(|side| side.is_empty() || ![1, all].contains(&side.len())) {
        return Err(format!("'{claim}' compares {} numbers with {}", left.len(), right.len()));
    }
    let mut pairs = left.iter().cycle().zip(right.iter().cycle()).take(all);
    match sign {
        "<" => Ok(pairs.all(|(left, right)| left < right)),
        ">" => Ok(pairs.all(|(left, right)| left > right)),
        _ => Err(format!("'{claim}' has no sign")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut table = Table::new("times, in ms", ["", "runtime", "P = 2", "P = 4", "95 %"]);
        table.row(["heat 1", "ours", "1.00", "2.00", "0.90 to 1.10"]);
        table.row(["", "theirs", "4.00", "noise", ""]);
        table.row(["mm 2", "ours", "3.00", "6.00e-2", "2.9 to 3.1"]);
        table.row(["", "theirs", "6.00", "", "5 + 1 / 7 + 2"]);
        let section = crate::experiment::Section::new("Times", "", [table.clone()]);
        let other = crate::experiment::Section::new("Other times", "", [table]);
        let notes = vec!["3 of 20 points lie (1.25, 2).".to_owned()];
        let headline = "All is well".to_owned();
        Report { headline, notes, sections: vec![section, other], ..Report::default() }
    }

    fn value(figure: &str) -> Result<Value, String> {
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
        let found = of_times(r#""columns": ["95 %"], "part": 1"#);
        assert_eq!(found.numbers, [1.1, 3.1, 1.0]);
        // Of the last cell alone: it has two sides.
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
        // 1, 2, 4, 3, 0.06 and 6: noise is no number.
        assert_eq!(of(r#""count""#), [6.0]);
        assert_eq!(of(r#"{"count-above": 2}"#), [3.0]);
        assert_eq!(of(r#"{"count-below": 2}"#), [2.0]);
        assert_eq!([of(r#""least""#), of(r#""most""#)], [[0.06], [6.0]]);
        assert_eq!([of(r#""median""#), of(r#""interval""#)].concat(), [2.5, 0.06, 6.0]);
        assert!((of(r#""sum""#)[0] - 16.06).abs() < 1e-9);
        assert!((of(r#""mean""#)[0] - 16.06 / 6.0).abs() < 1e-9);
        assert!((of(r#""geometric-mean""#)[0] - 8.64_f64.powf(1.0 / 6.0)).abs() < 1e-9);
        let figure = of_times(r#""columns": ["P = *"], "statistic": "median", "digits": 3"#);
        assert_eq!(figure.texts, ["2.500"]);
    }

    #[test]
    fn ratios_are_of_cells_in_the_same_order() {
        let ours = r#""rows": {"runtime": ["ours"]}, "columns": ["P = 2"]"#;
        let over = |rows: &str| of_times(&format!(r#"{ours}, "over": {{{rows}}}"#));
        assert_eq!(over(r#""rows": {"runtime": ["theirs"]}"#).numbers, [0.25, 0.5]);
        assert_eq!(over(r#""rows": {"": ["mm 2"]}"#).texts, ["0.33", "1.00"]);
        assert_eq!(over(r#""columns": ["P = 4"]"#).texts, ["0.50", "50.0"]);
        // A cell without a number has no ratio, and the others keep their divisors.
        let theirs = r#""rows": {"runtime": ["*"]}, "columns": ["P = 4"]"#;
        let found = of_times(&format!(r#"{theirs}, "over": {{"columns": ["P = 2"]}}"#));
        assert_eq!(found.numbers, [2.0, 0.02]);
    }

    #[test]
    fn what_is_not_in_the_report_is_refused() {
        let refused = |figure: &str, why: &str| assert_eq!(value(figure).unwrap_err(), why);
        refused(r#"{"table": "times*", "columns": ["P = 2"]}"#, "2 tables are 'times*'");
        refused(r#"{"table": "times", "columns": ["P = 2"]}"#, "0 tables are 'times'");
        let times = r#""section": "Times", "table": "times, in ms""#;
        refused(&format!(r#"{{{times}, "columns": ["P = 3"]}}"#), "there is no column 'P = 3'");
        let nothing = r#""rows": {"": ["lu"]}, "columns": ["P = 2"]"#;
        refused(&format!("{{{times}, {nothing}}}"), "there are no such cells");
        let words = r#""columns": ["runtime"], "statistic": "median""#;
        refused(&format!("{{{times}, {words}}}"), "there are too few numbers");
        let of_few = r#""columns": ["P = 2"], "statistic": "interval""#;
        refused(&format!("{{{times}, {of_few}}}"), "there are too few numbers");
        let over = r#""columns": ["P = 2"], "over": {"rows": {"runtime": ["ours"]}}"#;
        refused(&format!("{{{times}, {over}}}"), "4 cells over 2");
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
        for wrong in ["{two}", "{one.2}", "{list.0}", "{one"] {
            assert!(filled(wrong, &values).is_err(), "{wrong}");
        }
        for (claim, expected) in [
            ("one < list", true),
            ("list > 3", false),
            ("list.3 > list.2", true),
            ("list < list", false),
            ("one > 0.9", true),
        ] {
            assert_eq!(holds(claim, &values), Ok(expected), "{claim}");
        }
        for wrong in ["one", "one = 1", "one < two", "list.4 < 1", "one < 2 < 3"] {
            assert!(holds(wrong, &values).is_err(), "{wrong}");
        }
    }
}
