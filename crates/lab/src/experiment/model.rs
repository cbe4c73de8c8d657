//! What an experiment file says, with defaults filled in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use spec::plan::Slices;
use spec::{AskedLimit, Class, Error, FileCommand, Prices};
use toml::Value;
use workloads::{Preparation, Spec};

use super::balanced;
use super::document::Document;
use super::factors::Factors;
use super::values::{Time, Whole, time};
use super::written::{Experiment, Length};
use crate::measure::{LONGEST, SHORTEST};
use crate::values::described;
use protocol::postgres::conninfo::ConnectionString;
use server::settings::Wanted;
use spec::plan::{AskedDriver, CellOrder, Named, TargetSpec, Waiting};

/// What an experiment file asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentFile {
    /// File name without folder and ending.
    pub(crate) name: String,
    /// Relative paths in the file start from its folder.
    pub(crate) path: PathBuf,
    /// Its text, without passwords; with what was asked beside the file, where that was.
    pub(crate) text: String,
    /// As it was written.
    pub(super) written: Experiment,
    pub(crate) question: String,
    /// Why it is only a taste; `None` when it is a measurement.
    pub(crate) taste: Option<String>,
    /// Seed of all randomness; `None` to derive it from the plan.
    pub(crate) seed: Option<u64>,
    pub(crate) target: TargetSpec,
    /// Addresses of the servers given by URL, by their names; that of the target has none. They may hold passwords, and are no
    /// part of the plan.
    pub(crate) logins: BTreeMap<String, ConnectionString>,
    pub(crate) prepare: Preparation,
    pub(crate) workloads: Vec<NamedWorkload>,
    /// What is varied beside the arms.
    pub(crate) factors: Factors,
    /// What runs once a round outside the grid: workloads and clients.
    pub(crate) beside: Option<Factors>,
    pub(crate) compare: Option<Compare>,
    /// Lines of tables and keys of changes, from 1: `change.index.with`, `change.index.with.do`.
    pub(crate) change_lines: BTreeMap<String, usize>,
    /// What the names of levels stand for.
    pub(crate) named: Named,
    /// Base first; empty when nothing is compared.
    pub(crate) arms: Vec<ArmSpec>,
    pub(crate) load: LoadSpec,
    pub(crate) measure: Measure,
    /// What machines cost.
    pub(crate) prices: Option<Prices>,
    /// The commands and programs that it names, in the order of its lines.
    pub(crate) commands: Vec<FileCommand>,
    /// What its author should know, such as a key with a new name.
    pub notes: Vec<String>,
    /// Rounds that were asked for beside the file. Its own decide how long runs of a budget are.
    pub(crate) asked_rounds: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NamedWorkload {
    pub(crate) name: String,
    /// Paths in it start from the file's folder.
    pub(crate) spec: Spec,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Compare {
    pub(crate) factor: String,
    /// The level the others are compared with.
    pub(crate) base: String,
    /// Change that counts as none, as a share.
    pub(crate) margin: f64,
    /// Two arms may be the same: A against A.
    pub(crate) same: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ArmSpec {
    pub(crate) name: String,
    /// As written: values may be shares of the machine.
    pub(crate) settings: Wanted,
    /// Line of the file that each setting stands in, from 1.
    pub(crate) lines: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoadSpec {
    pub(crate) kind: LoadKind,
    /// Slower transactions are late; in an open load, arrivals that are hopelessly late are skipped.
    pub(crate) promise: Option<Duration>,
    /// Share of transactions that may be late, skipped or failed before quality is said to break.
    pub(crate) bound: Option<f64>,
    /// The limit that is looked for, if one is.
    pub(crate) search: Option<AskedLimit>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LoadKind {
    /// As fast as the clients can.
    Closed,
    /// Arrivals on a schedule; the rates are levels of a factor.
    Rate,
    /// Clients that pause: `think` between the end of a transaction and the start of the next, `ramp` between the first
    /// starts of two clients.
    Users { think: Duration, ramp: Duration },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measure {
    /// Load before anything counts.
    pub(crate) warmup: Duration,
    /// Of the measured part of a run.
    pub(crate) duration: DurationSpec,
    /// Passes over all cells and arms.
    pub(crate) rounds: u32,
    /// Of the load generator.
    pub(crate) threads: u32,
    pub(crate) order: CellOrder,
    /// Whether arms take turns in slices; where it is not said, wherever they can.
    pub(crate) slices: Option<Slices>,
    /// How often a block that the machine disturbed is measured again at most, where it is said.
    pub(crate) repeat_disturbed: Option<u32>,
    /// Whether a sample of transactions is explained, where it is said.
    pub(crate) explain: Option<bool>,
    /// Which driver moves the bytes.
    pub(crate) driver: AskedDriver,
    /// What a client thread does that waits for answers.
    pub(crate) wait: Waiting,
}

/// What was asked for beside the file; `None` where pgdyno is to choose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AskedSlices(Option<Slices>);

/// Reads `auto`, `true`, `false` or a length of time.
///
/// # Errors
/// In words, when it is none of them, or out of bounds.
pub fn asked_slices(text: &str) -> Result<AskedSlices, String> {
    let slices = match text {
        "auto" => None,
        "true" => Some(Slices::Always),
        "false" => Some(Slices::Never),
        length => Some(slices_of(&Value::from(length)).ok_or_else(|| {
            format!("must be auto, true, false or a length {} with its unit, such as 100ms", slice_bounds())
        })?),
    };
    Ok(AskedSlices(slices))
}

/// What is asked for beside a file, and then part of the experiment.
#[derive(Debug, Clone, Copy, Default)]
pub struct AskedBeside {
    /// Whether arms take turns in slices.
    pub slices: Option<AskedSlices>,
    /// Rounds, at least 1.
    pub rounds: Option<u32>,
    /// Two arms may be the same.
    pub same: bool,
}

impl ExperimentFile {
    /// Asks for this instead of what the file says. The text that is stored says it too.
    ///
    /// # Errors
    /// Rounds of a search, which repeats its trials by itself.
    pub fn ask(&mut self, AskedBeside { slices, rounds, same }: AskedBeside) -> Result<(), Error> {
        let before = self.written.clone();
        if let Some(AskedSlices(slices)) = slices {
            self.measure.slices = slices;
            self.written.measure.slices = slices.map(value_of);
        }
        if let Some(rounds) = rounds {
            if self.load.search.is_some() {
                let what = "--rounds: a search repeats its trials by itself";
                return Err(Error::new(Class::Usage, what).with_hint("leave it out"));
            }
            let even = rounds + if self.compare.is_some() { rounds % 2 } else { 0 };
            if even != rounds {
                self.notes.push(balanced("--rounds ", rounds));
            }
            self.written.measure.rounds = Some(Whole::new(even));
            self.asked_rounds = Some(even);
        }
        if let (true, Some(compare), Some(written)) = (same, &mut self.compare, &mut self.written.compare) {
            (compare.same, written.same) = (true, true);
        }
        if self.written != before {
            self.write_anew();
        }
        Ok(())
    }

    /// The text that is stored. What follows from a budget is written out where rounds were asked for: runs of another length would
    /// be another experiment.
    pub(crate) fn text_of(&self, duration_s: f64) -> String {
        let mut file = self.clone();
        if let (Some(_), DurationSpec::Sized { .. }) = (self.asked_rounds, self.measure.duration) {
            file.written.measure.budget = None;
            file.written.measure.duration = Some(Length::Fixed(Time::seconds(duration_s)));
            file.write_anew();
        }
        file.text
    }

    /// Its text from what it says, where that is not what the file said.
    pub(super) fn write_anew(&mut self) {
        let text = format!(
            "# {}.toml, with the options of the command that ran it.\n{}",
            self.name,
            self.written.to_toml()
        );
        self.text = Document::parse(&text).kept_text();
    }

    /// Whether two of its arms may be the same.
    #[must_use]
    pub fn allows_same(&self) -> bool {
        self.compare.as_ref().is_some_and(|compare| compare.same)
    }
}

/// What a file says of slices.
pub(super) fn slices(value: &Value) -> Result<Slices, String> {
    match value {
        Value::Boolean(true) => Ok(Slices::Always),
        Value::Boolean(false) => Ok(Slices::Never),
        length => slices_of(length).ok_or_else(|| {
            format!(
                "must be true, false or a length {}, not {}\nslices = \"100ms\", or true and false without quotes; without the \
                 key pgdyno chooses",
                slice_bounds(),
                described(length)
            )
        }),
    }
}

/// Slices as a file has them.
fn value_of(slices: Slices) -> Value {
    match slices {
        Slices::Always => true.into(),
        Slices::Never => false.into(),
        Slices::Length(seconds) => format!("{}ms", (seconds * 1e6).round() / 1e3).into(),
    }
}

/// Slices of a length of time, as it is written; `None` where it is no such length.
fn slices_of(length: &Value) -> Option<Slices> {
    let [least, most] = [SHORTEST, LONGEST].map(|bound| bound.as_micros() as u64);
    Some(Slices::Length(time(length, least, most).ok()?.as_secs_f64()))
}

/// What lengths of slices there are, in words.
fn slice_bounds() -> String {
    format!("from {} ms to {} s", SHORTEST.as_millis(), LONGEST.as_secs())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DurationSpec {
    Fixed(Duration),
    /// As long as the time for all rounds allows, preparation not counted.
    Sized {
        budget: Duration,
        from: Duration,
        to: Duration,
    },
}
