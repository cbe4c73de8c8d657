//! A plan as a table, for `--dry-run`.

use results::{Table, Value};

use super::{Plan, PlannedRun, Scheme};
use crate::experiment::shown_value;

const COLUMNS: [&str; 9] =
    ["step", "round", "workload", "clients", "rate_per_s", "arm", "warmup_s", "duration_s", "seed"];

/// A rate as it was asked for: a measured figure would have digits behind the point.
fn rate(asked: Option<f64>) -> Value {
    match asked {
        Some(rate) if rate.fract() == 0.0 => Value::Int(rate as i64),
        other => other.into(),
    }
}

impl Plan {
    /// One row per step in order: switches of arm, and runs.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table::new(&COLUMNS);
        let mut in_force = None;
        for run in &self.runs {
            if !run.beside && run.arm.is_some() && in_force != Some(&run.arm) {
                in_force = Some(&run.arm);
                table.push(self.switch(run));
            }
            let step = if run.beside { "run beside the grid" } else { "run" };
            table.push(vec![
                Value::from(step),
                run.round.into(),
                run.workload.clone().into(),
                run.clients.into(),
                rate(run.rate),
                run.arm.clone().into(),
                self.content.warmup_s.into(),
                self.content.duration_s.into(),
                run.seed.into(),
            ]);
        }
        table
    }

    /// The same for people: the seed of each run, 19 digits that follow from the plan's, is left out.
    #[must_use]
    pub fn short_table(&self) -> Table {
        let whole = self.table();
        let mut short = Table::new(&COLUMNS[..COLUMNS.len() - 1]);
        for mut row in whole.rows {
            row.pop();
            short.push(row);
        }
        short
    }

    /// The row of a change of arm before a run.
    fn switch(&self, run: &PlannedRun) -> Vec<Value> {
        let step = match self.content.scheme {
            Scheme::HalfRounds => "switch, restart",
            Scheme::Pairs | Scheme::Single => "switch",
        };
        let mut row = vec![Value::Null; COLUMNS.len()];
        (row[0], row[1], row[5]) = (step.into(), run.round.into(), run.arm.clone().into());
        row
    }

    /// What will be done, in words, a line each: target, preparation, arms, order, time.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut lines = vec![self.question.clone()];
        lines.extend(self.taste.iter().map(|taste| format!("a taste: {taste}")));
        lines.push(format!("target: {}", self.target_words()));
        lines.extend(self.preparation_words());
        for arm in self.content.arms.iter().filter(|arm| arm.name.is_some()) {
            lines.push(arm_words(arm));
        }
        lines.push(self.order_words());
        lines.push(format!("seed {}; each run's own is made from it", self.seed));
        let estimate = self.estimate();
        lines.push(format!(
            "{} of {} s (warm-up {} s), about {} in all, preparation not counted",
            crate::words::count(self.runs.len(), "run"),
            self.content.duration_s,
            self.content.warmup_s,
            crate::words::duration(estimate.total),
        ));
        lines
    }

    fn target_words(&self) -> String {
        use crate::experiment::TargetSpec;
        match &self.content.target {
            TargetSpec::Managed { name, version, extensions, redis } => {
                let mut words = format!("managed server {name:?}");
                if let Some(version) = version {
                    words += &format!(", PostgreSQL {version}");
                }
                if !extensions.is_empty() {
                    words += &format!(", with {}", extensions.join(", "));
                }
                if *redis {
                    words += ", and a private Redis";
                }
                words
            }
            TargetSpec::Url { shown, redis, .. } => {
                let redis = redis.as_ref().map(|redis| format!(", and {redis}")).unwrap_or_default();
                format!("{shown}{redis}")
            }
        }
    }

    fn preparation_words(&self) -> Vec<String> {
        self.content.prepare.jobs.jobs().iter().map(|job| format!("prepare: {}", job.what())).collect()
    }

    fn order_words(&self) -> String {
        let rounds = crate::words::count(self.rounds as usize, "round");
        match self.content.scheme {
            Scheme::Single => format!("{rounds}; nothing is compared"),
            Scheme::Pairs => {
                format!("{rounds}; the arms of a cell run next to each other, the base first in odd rounds")
            }
            Scheme::HalfRounds => format!(
                "{rounds}; switching arms takes a restart, so all cells run in one arm and then in the next, the base first in odd rounds"
            ),
        }
    }
}

fn arm_words(arm: &crate::setup::Arm) -> String {
    let name = arm.name.as_deref().unwrap_or_default();
    let settings: Vec<_> =
        arm.settings.iter().map(|(name, value)| format!("{name} = {}", shown_value(value))).collect();
    let what = if settings.is_empty() { "the server's own settings".to_owned() } else { settings.join(", ") };
    let safety =
        if arm.weakens.is_empty() { String::new() } else { format!("; weakens: {}", arm.weakens.join(", ")) };
    format!("arm {name}: {what}{safety}")
}
