//! How runs are measured, and calibrations.

use std::time::Duration;

use super::Builder;
use crate::experiment::model::{DurationSpec, Measure, slices};
use spec::experiment::value::whole_number;
use spec::experiment::{self as written, CellOrder, LengthOrBounds};
use spec::plan::PlannedCalibration;

const WARMUP: Duration = Duration::from_secs(2);
const DURATION: Duration = Duration::from_secs(10);
const ROUNDS: u32 = 8;
/// Rounds of a set, and sets of a level, of a factor that is set by hand.
pub(super) const ROUNDS_OF_SET: u32 = 2;
const SETS: u32 = 3;
const CALIBRATION_TIME: Duration = Duration::from_secs(30);
const MOST_CLIENTS: u64 = 100_000;
const CALIBRATION_CLIENTS: [u32; 3] = [1, 8, 64];
/// Tables that describe the runs of other experiments.
const OF_OTHERS: [&str; 13] = [
    "by_hand",
    "server",
    "version",
    "workload",
    "factors",
    "beside",
    "compare",
    "settings",
    "change",
    "pooler",
    "placement",
    "storage",
    "load",
];

impl Builder<'_, '_> {
    pub(super) fn measure(
        &mut self,
        written: written::Measure,
        load: &written::LoadShape,
        (is_compared, by_hand, calibrates): (bool, bool, bool),
    ) -> Measure {
        let searches = load.search.is_some();
        if written.transactions.is_some() {
            self.only_by_length(&written, load, is_compared);
        }
        if written.sets.is_some() && !by_hand {
            let message = "sets are of a factor that is set by hand".to_owned();
            let hint =
                "add it: [by_hand] memory = [2133, 3200]; else rounds = 8 says how often all is repeated";
            self.document.wrong_key(&["measure", "sets"], message, Some(hint));
        }
        if searches && written.rounds.is_some() {
            let message = "a search repeats its trials by itself".to_owned();
            self.document.wrong_key(&["measure", "rounds"], message, Some("leave it out"));
        }
        Measure {
            // A calibration chooses the lengths of its runs.
            warmup: match calibrates {
                true => Duration::ZERO,
                false => written.warmup.map_or(WARMUP, |warmup| warmup.0),
            },
            duration: match calibrates || written.transactions.is_some() {
                true => DurationSpec::Fixed(Duration::ZERO),
                false => self.duration(written.duration, written.budget),
            },
            transactions: written.transactions.map(|number| number.0),
            sets: written.sets.map_or(SETS, |sets| sets.0 as u32),
            rounds: match searches || calibrates {
                // A search repeats its trials itself, and a calibration its runs.
                true => 1,
                false => written
                    .rounds
                    .map_or(if by_hand { ROUNDS_OF_SET } else { ROUNDS }, |rounds| rounds.0 as u32),
            },
            threads: written.threads.map_or(1, |threads| threads.0 as u32),
            order: written.order.unwrap_or(CellOrder::Random),
            slices: written.slices.and_then(|written| self.noted(&["measure", "slices"], slices(&written))),
            keep_sessions: written.keep_sessions,
            repeat_disturbed: written.repeat_disturbed.map(|times| times.0 as u32),
            explain: written.explain,
            check_time: written.check_time.map(|time| time.0),
            try_first: written.try_first,
            counting: written.counting.unwrap_or_default(),
            driver: written.driver.unwrap_or_default(),
            wait: written.wait.unwrap_or_default(),
        }
    }

    /// Refuses a number of transactions where runs need a length.
    pub(super) fn only_by_length(
        &mut self,
        written: &written::Measure,
        load: &written::LoadShape,
        is_compared: bool,
    ) {
        let why = if written.duration.is_some() || written.budget.is_some() {
            "a run ends after a number of transactions or after a duration, not both"
        } else if is_compared {
            "arms are compared over runs of one length"
        } else if load.search.is_some() {
            "a limit is looked for in runs of one length"
        } else if load.users.is_some() {
            "users work for a length of time"
        } else {
            return;
        };
        let hint = Some("write duration = \"10s\" in its place");
        self.document.wrong_key(&["measure", "transactions"], why.to_owned(), hint);
    }

    /// A calibration, whose runs no other table describes.
    pub(super) fn calibrate(
        &mut self,
        read: &written::Calibrate,
        all: &written::Experiment,
    ) -> PlannedCalibration {
        for table in OF_OTHERS {
            if self.document.value(&[table]).is_none() {
                continue;
            }
            let message = format!("`[{table}]` and `[calibrate]` cannot be combined");
            self.document.wrong_key(&[table], message, Some("a calibration chooses its runs itself"));
        }
        for key in self.document.names(&["measure"]).iter().filter(|key| *key != "driver") {
            let message = format!("`measure.{key}` and `[calibrate]` cannot be combined");
            let hint = "a calibration chooses its runs itself; measure.driver can be given";
            self.document.wrong_key(&["measure", key], message, Some(hint));
        }
        let is_managed = all.target.as_ref().is_none_or(|target| target.managed.is_some());
        if !is_managed && !self.document.is_wrong(&["target"]) {
            let message = "a calibration measures a private server of this host".to_owned();
            self.document.wrong_key(&["target"], message, Some("write managed = { name = \"calibrate\" }"));
        }
        if self.document.value(&["prepare", "pgbench"]).is_none() && !self.document.is_wrong(&["prepare"]) {
            let message = "a calibration reads pgbench's tables".to_owned();
            self.document.wrong_key(&["calibrate"], message, Some("add [prepare.pgbench]"));
        }
        let mut clients = self.each(&["calibrate", "clients"], &read.clients, |_, _, value| {
            whole_number(value, 1, MOST_CLIENTS).map(|clients| clients as u32)
        });
        clients.sort_unstable();
        clients.dedup();
        PlannedCalibration {
            time_s: read.time.map_or(CALIBRATION_TIME, |time| time.0).as_secs_f64(),
            clients: if read.clients.is_empty() { CALIBRATION_CLIENTS.to_vec() } else { clients },
        }
    }

    /// `duration = "10s"`, or `budget = "4min"` with `duration = { from = "1s", to = "10s" }`.
    pub(super) fn duration(
        &mut self,
        length: Option<LengthOrBounds>,
        budget: Option<written::PartLength>,
    ) -> DurationSpec {
        match (length, budget) {
            (Some(LengthOrBounds::Fixed(duration)), None) => return DurationSpec::Fixed(duration.0),
            (Some(LengthOrBounds::Bounds(bounds)), Some(budget)) => {
                if bounds.to.0 < bounds.from.0 {
                    let message = "`to` is shorter than `from`".to_owned();
                    self.document.wrong(&["measure", "duration", "to"], message, None);
                }
                return DurationSpec::Sized { budget: budget.0, from: bounds.from.0, to: bounds.to.0 };
            }
            // One of the two could not be read.
            _ if ["duration", "budget"].iter().any(|key| self.document.is_wrong(&["measure", key])) => {}
            (Some(LengthOrBounds::Bounds(_)), None) => {
                let message = "a duration with bounds needs the time there is".to_owned();
                let hint = "add budget = \"4min\", or write duration = \"10s\"";
                self.document.wrong(&["measure", "duration"], message, Some(hint));
            }
            (_, Some(_)) => {
                let message = "a budget needs bounds for the length of a run".to_owned();
                let hint = "duration = { from = \"1s\", to = \"10s\" }";
                self.document.wrong(&["measure", "budget"], message, Some(hint));
            }
            (None, None) => {}
        }
        DurationSpec::Fixed(DURATION)
    }
}
