//! The record of a run: a JSON file in one format for all experiments. The first line has all but
//! the samples; each sample has a line of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use itertools::Itertools;
use locksley_profile::{Grant, GrantMeter};
use serde::{Deserialize, Serialize};

use super::Course;
use super::estimate::{mean, median};
use super::plan::{Cell, Plan};
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::output::note;
use crate::{files, time};

/// The format of a record, which is checked when one is read.
pub const FORMAT: &str = "locksley-record/1";

/// The parameter of a plan that names the model of a machine and a kernel, if nothing was measured on
/// this machine.
pub const SIMULATED: &str = "simulated";

/// The metric of the processors that other programs used while something was measured.
pub const OTHERS: &str = "processors of others";
/// What a meter says of them, as a reading.
pub fn others(grant: &Grant) -> Option<(String, f64)> {
    let used = grant.others?.as_secs_f64() / grant.wall.as_secs_f64();
    Some((OTHERS.to_owned(), used))
}

/// Meters the processors that other programs use while all cells of a subject are measured: the
/// system counts in clock ticks, and single measurements are too short for that.
#[derive(Debug, Default)]
pub struct SubjectMeter(Option<(String, GrantMeter)>);

impl SubjectMeter {
    /// Begins, unless it is metering this subject.
    pub fn begin(&mut self, subject: &str) {
        if self.0.as_ref().is_none_or(|(metered, _)| metered != subject) {
            self.0 = Some((subject.to_owned(), GrantMeter::start()));
        }
    }

    /// The reading, after the last cell.
    pub fn end(&mut self, is_last: bool) -> Option<(String, f64)> {
        let (_, meter) = self.0.take_if(|_| is_last)?;
        others(&meter.finish(Machine::here().processors))
    }
}

/// They are worth a warning from this many on.
const DISTURBANCE: f64 = 0.1;

/// A record of a machine with more processors is not one. Reports calculate with their number.
const MOST_PROCESSORS: usize = 1 << 20;

/// The record of a run, complete or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`FORMAT`].
    pub format: String,
    /// The experiment.
    pub experiment: String,
    /// What was to be measured.
    pub plan: Plan,
    /// The machine that it was measured on.
    pub machine: Machine,
    /// The versions that were measured.
    pub versions: Versions,
    /// When it was begun (UTC).
    pub started: String,
    /// When it was complete, or its time was over (UTC).
    pub finished: Option<String>,
    /// The measurements that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// The numbers, in the order in which they were taken. `Record::to_json` writes them.
    #[serde(skip_serializing)]
    pub samples: Vec<Sample>,
}

/// One number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The experiment.
    pub experiment: String,
    /// What was computed, with its size.
    pub subject: String,
    /// On which runtime.
    pub runtime: String,
    /// With how many workers; 0 if the runtime chooses.
    pub workers: usize,
    /// The repetition, from 0.
    pub repeat: usize,
    /// What the number counts.
    pub metric: String,
    /// The number.
    pub value: f64,
}

/// A measurement that failed, and was not tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What was not measured.
    pub cell: Cell,
    /// The repetition, from 0.
    pub repeat: usize,
    /// Why.
    pub why: String,
}

/// The versions of the runtimes, of the compiler and of this executable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// Locksley's version.
    pub locksley: String,
    /// Rayon's version.
    pub rayon: String,
    /// The compiler's.
    pub rustc: String,
    /// A digest of the executable, which tells two builds of one version apart.
    pub build: String,
}

impl Record {
    /// False for a page about something else.
    pub fn is_measurement(&self) -> bool {
        !self.plan.cells.is_empty()
    }

    /// The model that was simulated, if it was: the figures are none of this machine.
    pub fn simulated(&self) -> Option<&str> {
        self.plan.parameters.get(SIMULATED).map(String::as_str)
    }

    /// An empty record of `plan` on this machine.
    pub fn new(experiment: &str, plan: Plan) -> Record {
        Record {
            format: FORMAT.to_owned(),
            experiment: experiment.to_owned(),
            plan,
            machine: Machine::here(),
            versions: Versions {
                locksley: env!("CARGO_PKG_VERSION").to_owned(),
                rayon: env!("LAB_RAYON").to_owned(),
                rustc: env!("LAB_RUSTC").to_owned(),
                build: files::digest_of_this_program(),
            },
            started: time::now(),
            finished: None,
            missing: Vec::new(),
            samples: Vec::new(),
        }
    }

    /// The values of a metric, in the order in which they were taken.
    pub fn values(&self, subject: &str, runtime: &str, workers: usize, metric: &str) -> Vec<f64> {
        self.by_repetition(subject, runtime, workers, metric).map(|(_, value)| value).collect()
    }

    /// Pairs of a repetition and the value of a metric, in the order in which they were taken.
    pub fn by_repetition<'a>(
        &'a self,
        subject: &'a str,
        runtime: &'a str,
        workers: usize,
        metric: &'a str,
    ) -> impl Iterator<Item = (usize, f64)> + 'a {
        let is_wanted = move |sample: &&Sample| {
            sample.subject == subject
                && sample.runtime == runtime
                && sample.workers == workers
                && sample.metric == metric
        };
        self.samples.iter().filter(is_wanted).map(|sample| (sample.repeat, sample.value))
    }

    /// The median of a metric; `None` if it was not measured.
    pub fn median(
        &self,
        subject: &str,
        runtime: &str,
        workers: usize,
        metric: &str,
    ) -> Option<f64> {
        median(self.values(subject, runtime, workers, metric))
    }

    /// Paired ratios: for each repetition that has both, the value on `runtime` over that on
    /// `base`. The two were taken shortly after each other, so disturbances change both.
    pub fn ratios(
        &self,
        subject: &str,
        [runtime, base]: [&str; 2],
        workers: usize,
        metric: &str,
    ) -> Vec<f64> {
        let ratios = self.paired(subject, [(runtime, workers), (base, workers)], metric);
        ratios.into_iter().map(|(_, ratio)| ratio).collect()
    }

    /// The ratios of a runtime with a number of workers to another runtime or number, each with its
    /// repetition.
    pub fn paired(&self, subject: &str, of: [(&str, usize); 2], metric: &str) -> Vec<(usize, f64)> {
        let [one, base] =
            of.map(|(runtime, workers)| self.by_repetition(subject, runtime, workers, metric));
        let base: BTreeMap<usize, f64> = base.collect();
        one.filter_map(|(repeat, value)| Some((repeat, value / base.get(&repeat)?))).collect()
    }

    /// The subjects and numbers of workers for which a metric was measured, each once, in the order
    /// of their first samples.
    pub fn groups(&self, metric: &str) -> Vec<(&str, usize)> {
        let samples = self.samples.iter().filter(|sample| sample.metric == metric);
        samples.map(|sample| (sample.subject.as_str(), sample.workers)).unique().collect()
    }

    /// The runtimes for which there are samples, in the order of the plan, then of measurement.
    pub fn runtimes(&self) -> Vec<&str> {
        let planned = self.plan.runtimes.iter().map(|runtime| runtime.name.as_str());
        let measured = self.samples.iter().map(|sample| sample.runtime.as_str());
        let has_samples = |name: &str| self.samples.iter().any(|sample| sample.runtime == name);
        planned.filter(|name| has_samples(name)).chain(measured).unique().collect()
    }

    /// A warning, if other programs used much of the machine meanwhile.
    pub fn disturbance(&self) -> Option<String> {
        let others = self.samples.iter().filter(|sample| sample.metric == OTHERS);
        let others = mean(others.map(|sample| sample.value));
        others.filter(|&others| others > DISTURBANCE).map(|others| {
            format!("Other programs used {others:.2} processors: all figures suffer from that")
        })
    }

    fn is_of_the_same_run(&self, other: &Record) -> bool {
        self.experiment == other.experiment
            && self.plan == other.plan
            && self.machine == other.machine
            && self.versions == other.versions
    }

    /// The text of its file.
    ///
    /// # Errors
    ///
    /// [`Fault::Run`] if it cannot be written as JSON.
    pub fn to_json(&self) -> Outcome<String> {
        let fault = |error: serde_json::Error| Fault::run(error.to_string());
        let samples = self.samples.iter().map(serde_json::to_string);
        let samples = samples.collect::<Result<Vec<_>, _>>().map_err(fault)?.join(",\n");
        let rest = serde_json::to_string(self).map_err(fault)?;
        let rest = rest.strip_suffix('}').expect("a struct is an object");
        Ok(format!("{rest},\"samples\":[\n{samples}]}}\n"))
    }
}

/// A record, and the file that it is kept in.
pub(super) struct RecordFile {
    path: PathBuf,
    pub(super) record: Record,
    /// While this is open, another run into the same file is refused.
    _lock: Option<files::Lock>,
}

impl RecordFile {
    /// Writes the record.
    pub(super) fn save(&self) -> Outcome<()> {
        files::replace(&self.path, self.record.to_json()?)
    }
}

/// Opens the file at `path` for the record of a run of `plan`. An earlier record there of the same
/// run is continued, unless a fresh one is asked for. One of another run gets a name with its date,
/// or, if the file was named, the run is refused. A file that is no record is never overwritten.
pub(super) fn open(path: &Path, name: &str, plan: Plan, course: &Course) -> Outcome<RecordFile> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        files::make_folder(folder)?;
    }
    files::check_writable(path)?;
    let lock = files::lock(path)?;
    let mut record = Record::new(name, plan);
    if let Some(earlier) = earlier(path)? {
        if course.fresh {
            note(&format!("replacing the record of {}", earlier.started));
        } else if earlier.is_of_the_same_run(&record) {
            record = earlier;
        } else if course.json.is_some() {
            return Err(Fault::input(format!(
                "{} holds another run, of {} begun on {}: name another file, or replace it with \
                 --fresh",
                path.display(),
                earlier.experiment,
                earlier.started
            )));
        } else {
            move_aside(path, &earlier)?;
        }
    }
    Ok(RecordFile { path: path.to_owned(), record, _lock: lock })
}

/// The record that the file at `path` holds, if it holds anything.
pub(super) fn earlier(path: &Path) -> Outcome<Option<Record>> {
    // A terminal or a null device is written to, not read.
    let has_content = fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() > 0);
    let because =
        |fault| Fault::input(format!("{fault}. It is not overwritten: name another file"));
    has_content.then(|| read(path)).transpose().map_err(because)
}

/// Gives the file of an earlier record a name with its date.
fn move_aside(path: &Path, earlier: &Record) -> Outcome<()> {
    let date: String = earlier.started.chars().filter(char::is_ascii_digit).collect();
    let aside = path.with_file_name(format!("{}-{date}.json", earlier.experiment));
    fs::rename(path, &aside)
        .map_err(|error| Fault::run(format!("cannot rename {}: {error}", path.display())))?;
    note(&format!("the record of an earlier run is now {}", aside.display()));
    Ok(())
}

/// Reads a record.
///
/// # Errors
///
/// [`Fault::Input`] if the file cannot be read, or holds something else.
pub fn read(path: &Path) -> Outcome<Record> {
    let display = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| Fault::input(format!("cannot read {display}: {error}")))?;
    let record: Record = serde_json::from_str(&text).map_err(|error| {
        Fault::input(format!("{display} is not a record of this laboratory: {error}"))
    })?;
    if record.format != FORMAT {
        let format = &record.format;
        return Err(Fault::input(format!("{display} has the format '{format}', not '{FORMAT}'")));
    }
    let is_sound =
        |sample: &Sample| sample.experiment == record.experiment && sample.value.is_finite();
    match record.samples.iter().position(|sample| !is_sound(sample)) {
        Some(place) => Err(Fault::input(format!("{display}: sample {place} is not a measurement"))),
        None if !(1..=MOST_PROCESSORS).contains(&record.machine.processors) => {
            Err(Fault::input(format!("{display}: the machine has no processors, or too many")))
        }
        None => Ok(record),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> Course {
        Course { fresh: true, ..Course::default() }
    }

    fn named() -> Course {
        Course { json: Some(PathBuf::new()), ..Course::default() }
    }

    fn plan(seed: u64) -> Plan {
        let mut plan = Plan { seed, ..Plan::default() };
        plan.add("a", "r", 1, 2);
        plan
    }

    fn sample(runtime: &str, repeat: usize, value: f64) -> Sample {
        Sample {
            experiment: "e".into(),
            subject: "a \"{\"experiment\":".into(),
            runtime: runtime.into(),
            workers: 1,
            repeat,
            metric: "ns".into(),
            value,
        }
    }

    fn record() -> Record {
        let mut record = Record::new("e", plan(1));
        let values = [("r", 0, 2.0), ("b", 0, 1.0), ("r", 1, 9.0), ("r", 2, 0.75), ("b", 2, 3.0)];
        let samples = values.map(|(runtime, repeat, value)| sample(runtime, repeat, value));
        record.samples = samples.into();
        record
    }

    fn file(folder: &Path, record: &Record) -> PathBuf {
        let path = folder.join("record.json");
        let file = RecordFile { path: path.clone(), record: record.clone(), _lock: None };
        file.save().unwrap();
        path
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_has_a_line_for_each_sample() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), &record());
        assert_eq!(read(&path).unwrap(), record());
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1 + record().samples.len(), "{text}");
    }

    #[test]
    fn ratios_are_of_the_same_repetition() {
        let (record, subject) = (record(), sample("", 0, 0.0).subject);
        assert_eq!(record.ratios(&subject, ["r", "b"], 1, "ns"), [2.0, 0.25]);
        assert_eq!(record.median(&subject, "r", 1, "ns"), Some(2.0));
        assert_eq!(record.median(&subject, "r", 2, "ns"), None);
        assert_eq!(record.groups("ns"), [(subject.as_str(), 1)]);
        assert_eq!(record.runtimes(), ["r", "b"]);
    }

    #[test]
    fn a_file_that_is_not_a_sound_record_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let spoilt = |spoil: fn(&mut Record)| {
            let mut record = record();
            spoil(&mut record);
            assert!(matches!(read(&file(folder.path(), &record)), Err(Fault::Input(_))));
        };
        spoilt(|record| record.format = "locksley-record/0".into());
        spoilt(|record| record.machine.processors = 0);
        spoilt(|record| record.machine.processors = usize::MAX);
        spoilt(|record| record.samples[2].experiment = "other".into());
        fs::write(folder.path().join("record.json"), "text").unwrap();
        let path = folder.path().join("record.json");
        let Err(Fault::Input(why)) = open(&path, "e", plan(1), &fresh()).map(drop) else {
            panic!("a text is not a record")
        };
        assert!(why.contains("name another file"), "{why}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
    }

    #[test]
    fn the_same_run_goes_on_and_another_is_refused_or_moved_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), &record());
        let opened = open(&path, "e", plan(1), &named()).unwrap();
        assert_eq!(opened.record, record());
        drop(opened);
        let Err(Fault::Input(why)) = open(&path, "e", plan(2), &named()).map(drop) else {
            panic!("the file holds another run")
        };
        assert!(why.contains("--fresh"), "{why}");
        assert_eq!(read(&path).unwrap(), record());
        let aside = open(&path, "e", plan(2), &Course::default()).unwrap();
        assert!(aside.record.samples.is_empty() && !path.exists());
        let others = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
        let kept = others.filter(|file| file.extension().is_some_and(|it| it == "json"));
        assert_eq!(kept.map(|file| read(&file).unwrap()).collect::<Vec<_>>(), [record()]);
    }

    #[test]
    fn a_fresh_run_replaces_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), &record());
        let fresh = open(&path, "e", plan(1), &fresh()).unwrap();
        assert!(fresh.record.samples.is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_second_run_into_the_same_file_is_refused_while_the_first_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.json");
        let first = open(&path, "e", plan(1), &named()).unwrap();
        let Err(Fault::Input(why)) = open(&path, "e", plan(1), &named()).map(drop) else {
            panic!("two runs write one file")
        };
        assert!(why.contains("another run is writing"), "{why}");
        drop(first);
        open(&path, "e", plan(1), &named()).unwrap();
    }
}
