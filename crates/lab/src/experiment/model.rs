//! The content of an experiment file, with defaults.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use spec::plan::{Slices, WorkMetric};
use spec::{AskedLimit, Class, Error, FileCommand, Prices};
use toml::Value;
use workloads::{Preparation, Spec};

use super::balanced;
use super::document::Document;
use super::factors::Factors;
use crate::measure::{LONGEST, SHORTEST};
use protocol::postgres::conninfo::ConnectionString;
use server::settings::SettingValues;
use spec::experiment::value::described;
use spec::experiment::value::time;
use spec::experiment::{BoundedDuration, Whole};
use spec::experiment::{Experiment, LengthOrBounds};
use spec::plan::{
    AskedCounting, AskedDriver, CellOrder, Content, Named, PlannedCalibration, PlannedUsers, ProbeOptions,
    TargetSpec, Waiting,
};

/// An experiment as its file describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentFile {
    /// File name without folder and extension.
    pub(crate) name: String,
    /// Its folder is the base of relative paths.
    pub(crate) path: PathBuf,
    /// Its text, without passwords; includes what the command line set.
    pub(crate) text: String,
    pub(super) written: Experiment,
    pub(crate) question: String,
    pub(crate) taste: Option<String>,
    /// Seed of all randomness; `None` to derive it from the plan.
    pub(crate) seed: Option<u64>,
    pub(crate) target: TargetSpec,
    /// Addresses of the servers given by URL, by name; the target's name is empty. They may hold passwords,
    /// and are not part of the plan.
    pub(crate) logins: BTreeMap<String, ConnectionString>,
    /// Of the replicas of a server given by URL, in their order.
    pub(crate) replica_logins: BTreeMap<String, Vec<ConnectionString>>,
    pub(crate) prepare: Preparation,
    pub(crate) probe: Option<ProbeOptions>,
    pub(crate) workloads: Vec<NamedWorkload>,
    pub(crate) factors: Factors,
    /// Runs once per round outside the grid: workloads and clients.
    pub(crate) beside: Option<Factors>,
    pub(crate) compare: Option<Compare>,
    /// Lines of tables and keys of changes, from 1: `change.index.with`, `change.index.with.do`.
    pub(crate) change_lines: BTreeMap<String, usize>,
    pub(crate) named: Named,
    /// Base first; empty without a comparison.
    pub(crate) arms: Vec<ArmSpec>,
    pub(crate) load: LoadSpec,
    pub(crate) measure: Measure,
    pub(crate) prices: Option<Prices>,
    /// If it is a calibration.
    pub(crate) calibrate: Option<PlannedCalibration>,
    pub(crate) commands: Vec<FileCommand>,
    /// Notes for its author, such as a renamed key.
    pub notes: Vec<String>,
    /// Rounds set on the command line. The file's own rounds decide how long runs of a budget are.
    pub(crate) asked_rounds: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NamedWorkload {
    pub(crate) name: String,
    pub(crate) spec: Spec,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Compare {
    pub(crate) factor: String,
    pub(crate) base: String,
    /// Smallest change that matters, as a share.
    pub(crate) margin: f64,
    pub(crate) metric: WorkMetric,
    /// How often the verdict may be looked at while rounds are added.
    pub(crate) looks: u32,
    /// Two arms may be the same: A against A.
    pub(crate) same: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ArmSpec {
    pub(crate) name: String,
    /// As written: values may be shares of the machine.
    pub(crate) settings: SettingValues,
    /// Line of each setting, from 1.
    pub(crate) lines: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoadSpec {
    pub(crate) kind: LoadKind,
    /// Slower transactions are late; in an open load, arrivals that are already too late are skipped.
    pub(crate) promise: Option<Duration>,
    /// Share of transactions that may be late, skipped or failed before quality counts as broken.
    pub(crate) bound: Option<f64>,
    pub(crate) search: Option<AskedLimit>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LoadKind {
    /// As fast as the clients can.
    Closed,
    /// Arrivals on a schedule; the rates are levels of a factor.
    Rate,
    /// Clients that are users.
    Users(PlannedUsers),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measure {
    pub(crate) warmup: Duration,
    pub(crate) duration: DurationSpec,
    /// Transactions of each client, in place of a duration.
    pub(crate) transactions: Option<u64>,
    pub(crate) rounds: u32,
    /// Sets of each level of a factor that is set by hand.
    pub(crate) sets: u32,
    pub(crate) threads: u32,
    pub(crate) order: CellOrder,
    /// Whether arms take turns in slices; `None` for wherever possible.
    pub(crate) slices: Option<Slices>,
    /// Whether sessions are kept from round to round; `None` for the default.
    pub(crate) keep_sessions: Option<bool>,
    /// Most repetitions of a disturbed block; `None` for the default.
    pub(crate) repeat_disturbed: Option<u32>,
    /// Whether a sample of transactions is explained; `None` for the default.
    pub(crate) explain: Option<bool>,
    /// Longest time for the check of a workload, and for the plans after a run, each; `None` for the default.
    pub(crate) check_time: Option<Duration>,
    /// Whether scripts are executed once before the first run; `None` for the default.
    pub(crate) try_first: Option<bool>,
    pub(crate) counting: AskedCounting,
    pub(crate) driver: AskedDriver,
    /// What a client thread does while it waits for answers.
    pub(crate) wait: Waiting,
}

/// The command line's choice; `None` lets pgdyno choose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AskedSlices(Option<Slices>);

/// Reads `auto`, `true`, `false` or a length of time.
///
/// # Errors
/// As text, when it is none of them, or out of bounds.
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

/// Options of the command line that become part of the experiment.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExperimentOverrides {
    pub slices: Option<AskedSlices>,
    /// Whether sessions of arms in slices are kept from round to round.
    pub keep_sessions: Option<bool>,
    /// Longest time for the check of a workload, and for the plans after a run, each.
    pub check_time: Option<Duration>,
    pub rounds: Option<u32>,
    /// Sets of each level of a factor that is set by hand.
    pub sets: Option<u32>,
    /// Two arms may be the same: A against A.
    pub same: bool,
    pub metric: Option<WorkMetric>,
    /// How often the verdict may be looked at while rounds are added.
    pub looks: Option<u32>,
}

impl ExperimentFile {
    /// Overrides the file. The stored text shows the new values too.
    ///
    /// # Errors
    /// Rounds of a search or a calibration, which repeat their runs themselves; options of runs where there are none;
    /// a metric where nothing is compared.
    pub fn ask(
        &mut self,
        ExperimentOverrides { slices, keep_sessions, check_time, rounds, sets, same, metric, looks }: ExperimentOverrides,
    ) -> Result<(), Error> {
        if self.has_only_jobs() && (slices.is_some() || rounds.is_some() || keep_sessions.is_some()) {
            let what = "--rounds, --slices and --keep-sessions are about runs, and without a workload there are none";
            return Err(Error::new(Class::Usage, what).with_hint("leave them out"));
        }
        let before = self.written.clone();
        if let Some(AskedSlices(slices)) = slices {
            self.measure.slices = slices;
            self.written.measure.slices = slices.map(value_of);
        }
        if keep_sessions.is_some() {
            self.measure.keep_sessions = keep_sessions;
            self.written.measure.keep_sessions = keep_sessions;
        }
        if let Some(time) = check_time {
            self.measure.check_time = Some(time);
            self.written.measure.check_time = Some(BoundedDuration::seconds(time.as_secs_f64()));
        }
        if let Some(sets) = sets {
            if self.by_hand().is_none() {
                let what = "--sets: no factor is set by hand";
                return Err(Error::new(Class::Usage, what).with_hint("--rounds N gives the number of rounds"));
            }
            self.measure.sets = sets;
            self.written.measure.sets = Some(Whole::new(sets));
        }
        if let Some(rounds) = rounds {
            let has_no_rounds = match self.calibrate {
                _ if self.by_hand().is_some() => {
                    Some("--rounds: the rounds of a set are part of the experiment; --sets N adds sets")
                }
                _ if self.load.search.is_some() => Some("--rounds: a search repeats its trials by itself"),
                Some(_) => Some("--rounds: a calibration repeats its measurements by itself"),
                None => None,
            };
            if let Some(what) = has_no_rounds {
                return Err(Error::new(Class::Usage, what).with_hint("leave it out"));
            }
            let even = rounds + if self.compare.is_some() { rounds % 2 } else { 0 };
            if even != rounds {
                self.notes.push(balanced(rounds));
            }
            self.written.measure.rounds = Some(Whole::new(even));
            self.asked_rounds = Some(even);
        }
        if let (true, Some(compare), Some(written)) = (same, &mut self.compare, &mut self.written.compare) {
            (compare.same, written.same) = (true, true);
        }
        match (metric, &mut self.compare, &mut self.written.compare) {
            (None, ..) => {}
            (Some(metric), Some(compare), Some(written)) => {
                (compare.metric, written.metric) = (metric, Some(metric));
            }
            (Some(_), ..) => {
                let what = "--metric: this experiment has no [compare], so no metric gives an answer";
                let hint = "pgdyno compare --metric shows any metric of stored runs";
                return Err(Error::new(Class::Usage, what).with_hint(hint));
            }
        }
        if let (Some(looks), Some(compare), Some(written)) =
            (looks, &mut self.compare, &mut self.written.compare)
        {
            (compare.looks, written.looks) = (looks, (looks > 1).then(|| Whole::new(looks)));
        }
        if self.written != before {
            self.write_anew();
        }
        Ok(())
    }

    /// The stored text. With rounds from the command line the length that follows from a budget is written
    /// out: runs of another length would be another experiment. `rounds` replaces the number of rounds. Levels that are
    /// set by hand come from the plan.
    pub(crate) fn text_of(&self, content: &Content, rounds: Option<u32>) -> String {
        let mut file = self.clone();
        let by_hand = content.by_hand().and_then(|(factor, _)| Some((factor, content.factors.get(factor)?)));
        if let Some((factor, levels)) =
            by_hand.filter(|(factor, levels)| self.factors.levels(factor) != **levels)
        {
            file.written.by_hand.insert(factor.to_owned(), levels.iter().map(String::as_str).collect());
            file.write_anew();
        }
        if let Some(rounds) = rounds.filter(|rounds| *rounds != self.measure.rounds) {
            file.written.measure.rounds = Some(Whole::new(rounds));
            file.write_anew();
        }
        if let (Some(_), DurationSpec::Sized { .. }) = (self.asked_rounds, self.measure.duration) {
            file.written.measure.budget = None;
            file.written.measure.duration =
                Some(LengthOrBounds::Fixed(BoundedDuration::seconds(content.measure.duration_s)));
            file.write_anew();
        }
        file.text
    }

    /// Creates the text from the values, if they differ from the file.
    pub(super) fn write_anew(&mut self) {
        let text = format!(
            "# {}.toml, with the options of the command that ran it.\n{}",
            self.name,
            self.written.to_toml()
        );
        self.text = Document::parse(&text).kept_text();
    }

    /// Whether it measures nothing: it has no workload, and its jobs are done at each invocation.
    #[must_use]
    pub fn has_only_jobs(&self) -> bool {
        self.workloads.is_empty() && self.calibrate.is_none()
    }

    /// Whether nothing is lost if its runs are stopped at once.
    #[must_use]
    pub fn goes_on_at_any_time(&self) -> bool {
        self.calibrate.is_none() && self.workloads.iter().all(|workload| workload.spec.goes_on())
    }

    /// The factor that is set by hand.
    #[must_use]
    pub fn by_hand(&self) -> Option<&str> {
        self.named.by_hand.keys().next().map(String::as_str)
    }

    /// The metric that gives its answer.
    #[must_use]
    pub fn metric(&self) -> WorkMetric {
        self.compare.as_ref().map_or(WorkMetric::default(), |compare| compare.metric)
    }

    /// Its name: the stem of its file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it searches limits.
    #[must_use]
    pub fn searches_limits(&self) -> bool {
        self.load.search.is_some()
    }

    /// Whether it has a table `[compare]`.
    #[must_use]
    pub fn names_a_base(&self) -> bool {
        self.written.compare.is_some()
    }

    /// The level that the machine is at, from a text such as `memory=3200`. With levels in the file it is one of them.
    ///
    /// # Errors
    /// What it must be.
    pub fn level(&self, text: &str) -> Result<String, Error> {
        let wrong = |what: String, hint: String| Err(Error::new(Class::Usage, what).with_hint(hint));
        let Some(factor) = self.by_hand() else {
            let what = format!("--level {text}: no factor of this experiment is set by hand");
            return wrong(what, "add it to the file: [by_hand] memory = [2133, 3200]".to_owned());
        };
        let levels = self.factors.levels(factor);
        let all = levels.join(", ");
        let Some(level) =
            text.split_once('=').filter(|(name, _)| name.trim() == factor).map(|(_, level)| level.trim())
        else {
            let what = format!("--level {text}: it is {factor} that is set by hand");
            return wrong(
                what,
                format!("--level {factor}={}", levels.first().map_or("LEVEL", |level| level)),
            );
        };
        if levels.iter().any(|known| known == level) {
            return Ok(level.to_owned());
        }
        wrong(
            format!("--level {text}: {factor} cannot be \"{level}\""),
            format!("known here: {all}; more can be added to [by_hand] {factor}, and the experiment goes on"),
        )
    }

    /// Whether two of its arms may be the same.
    #[must_use]
    pub fn allows_same(&self) -> bool {
        self.compare.as_ref().is_some_and(|compare| compare.same)
    }
}

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

fn value_of(slices: Slices) -> Value {
    match slices {
        Slices::Always => true.into(),
        Slices::Never => false.into(),
        Slices::Length(seconds) => format!("{}ms", (seconds * 1e6).round() / 1e3).into(),
    }
}

/// Slices of a length of time, as written; `None` if it is not such a length.
fn slices_of(length: &Value) -> Option<Slices> {
    let [least, most] = [SHORTEST, LONGEST].map(|bound| bound.as_micros() as u64);
    Some(Slices::Length(time(length, least, most).ok()?.as_secs_f64()))
}

fn slice_bounds() -> String {
    format!("from {} ms to {} s", SHORTEST.as_millis(), LONGEST.as_secs())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DurationSpec {
    Fixed(Duration),
    /// As long as the time for all rounds allows, without preparation.
    Sized {
        budget: Duration,
        from: Duration,
        to: Duration,
    },
}
