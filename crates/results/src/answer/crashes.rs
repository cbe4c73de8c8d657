//! Arms whose servers crashed.

use std::collections::BTreeSet;

use spec::{MOST_CRASHES, Reason, Run, RunEvent};

use crate::data::ReportData;

/// The crashes of an arm's server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crashes {
    /// The arm; the server under a workload if nothing is compared.
    pub name: String,
    pub rounds: BTreeSet<u32>,
    /// The signals, as text: `signal 6`.
    pub signals: BTreeSet<String>,
    /// The server's own lines about the first one.
    pub lines: Vec<String>,
    /// Whether its other runs were left out.
    pub is_left_out: bool,
    /// The base, if its server did not crash: then the arm is worse, whatever its speed.
    pub worse_than: Option<String>,
}

impl Crashes {
    /// By arm, in the order of the first crash of each.
    pub(crate) fn of(data: &ReportData) -> Vec<Self> {
        let mut found = Self::among(data.measured_runs(), data.experiment.rounds);
        let base = data.experiment.base.clone();
        let base = base.filter(|base| !found.iter().any(|crashed| crashed.name == *base));
        found.iter_mut().for_each(|crashed| crashed.worse_than.clone_from(&base));
        found
    }

    /// The same of an experiment's runs, of this number of rounds, without a look at its base.
    pub(crate) fn among<'a>(runs: impl IntoIterator<Item = &'a Run>, rounds: u32) -> Vec<Self> {
        let mut found: Vec<(Self, usize)> = Vec::new();
        for run in runs {
            let mut signals = crashes_of(run).peekable();
            if signals.peek().is_none() {
                continue;
            }
            let name = run.arm.clone().unwrap_or_else(|| format!("the server under {}", run.workload));
            let at = found.iter().position(|(known, _)| known.name == name).unwrap_or_else(|| {
                found.push((Self::first(&name, run), 0));
                found.len() - 1
            });
            let (crashes, runs) = &mut found[at];
            crashes.rounds.insert(run.round);
            crashes.signals.extend(signals);
            *runs += 1;
            crashes.is_left_out = *runs >= MOST_CRASHES && run.round < rounds;
        }
        found.into_iter().map(|(crashes, _)| crashes).collect()
    }

    fn first(name: &str, run: &Run) -> Self {
        let told = run.events.iter().find(|event| event.kind == RunEvent::CRASH);
        let lines = told.iter().flat_map(|event| event.detail.lines()).map(str::to_owned).collect();
        let (rounds, signals) = Default::default();
        Self { name: name.to_owned(), rounds, signals, lines, is_left_out: false, worse_than: None }
    }

    /// `patched crashed in round 1 (signal 6), and stock did not`.
    #[must_use]
    pub fn words(&self) -> String {
        let rounds: Vec<String> = self.rounds.iter().map(u32::to_string).collect();
        let rounds = match &rounds[..] {
            [one] => format!("round {one}"),
            [first @ .., last] => format!("rounds {} and {last}", first.join(", ")),
            [] => String::new(),
        };
        let signals: Vec<&str> = self.signals.iter().map(String::as_str).collect();
        let left_out = if self.is_left_out { "; its other runs were left out" } else { "" };
        let base = self.worse_than.as_ref().map(|base| format!(", and {base} did not")).unwrap_or_default();
        format!("{} crashed in {rounds} ({}){base}{left_out}", self.name, signals.join(", "))
    }
}

fn crashes_of(run: &Run) -> impl Iterator<Item = String> {
    let crashes = run.doubts.iter().filter(|doubt| doubt.reason == Reason::Crashed);
    crashes.map(|doubt| doubt.detail.clone())
}
