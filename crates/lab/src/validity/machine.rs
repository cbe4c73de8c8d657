//! What the machine under the test did to a run: throttled it, took CPU time from it, or was not steady. All the rules
//! and their limits; which of these runs are measured again says `strategies`.
//!
//! A *step* is a change of level of the run's seconds ([`stats::levels`]). One downwards that lasts to the end is
//! throttling where something else shows it, too: CPU time that was taken, a server that had to wait for its CPU quota, or
//! an idle server that is slow. A server that is very slow right after the run was throttled, step or not.

use record::{Profile, Reason, SeriesPoint, Validity};
use stats::Level;

use super::{Evidence, Finding};

/// CPU time taken by the hypervisor, percent.
pub const STEAL_PCT: f64 = 2.0;
/// Share of the periods of its CPU quota in which the server had to wait, percent.
pub const WAITED_PCT: f64 = 2.0;
/// The least of the idle probe is this much slower than usual where the processor is, as a share.
pub const SLOW_LEAST: f64 = 0.05;
/// The same of its mean.
pub const SLOW_MEAN: f64 = 0.25;
/// So many times as slow as usual in the mean, right after the run, that nothing else need show it: no host without credits has
/// 40 % of its speed left, and a process beside it on one CPU leaves it half.
pub const SLOW_ALONE: f64 = 2.4;
/// A step downwards that lasts, as a share of what was before: with something else that shows it.
pub const STEP: f64 = 0.05;
/// A step of whatever kind and cause, as a share.
pub const UNSTEADY: f64 = 0.15;
/// Fewest whole seconds in which steadiness can be judged.
pub const STEADY_SECONDS: usize = 10;
/// Longest stretch that a level must have to be one, seconds; in short runs a quarter of them, three at least.
pub const LEVEL_SECONDS: usize = 10;
/// More steps are not told.
const TOLD: usize = 3;

/// The idle probe around a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Probes {
    /// The median of those before earlier runs on this server with these settings.
    pub usual: Option<Probe>,
    pub before: Option<Probe>,
    pub after: Option<Probe>,
}

pub use crate::fixed_cost::Probe;

/// What is known of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Machine {
    /// Steal during the run, percent: of the server's machine, where that is known, else of this one.
    pub steal_pct: Option<f64>,
    /// Share of the periods of its CPU quota in which the server had to wait, percent.
    pub waited_pct: Option<f64>,
    pub probes: Probes,
}

pub(super) fn steal(evidence: &Evidence<'_>) -> Finding {
    let steal = evidence.machine.stolen()?;
    Some((Validity::Suspect, Reason::Steal, steal))
}

/// One of the two at most: what is throttled is not steady. A cold run heats: that is what it shows.
pub(super) fn throttled_or_unsteady(evidence: &Evidence<'_>) -> Finding {
    let steps = if evidence.cold_pct.is_some() {
        Steps::default()
    } else {
        Steps::of(evidence.series, evidence.profile)
    };
    let machine = &evidence.machine;
    let causes = [machine.stolen(), machine.waited(), machine.probes.slow()];
    let causes: Vec<String> = causes.into_iter().flatten().collect();
    let suspect = |reason, detail| Some((Validity::Suspect, reason, detail));
    match steps.lasting_drop() {
        Some(drop) if drop >= STEP && !causes.is_empty() => {
            suspect(Reason::Throttled, format!("{}; {}", steps.words(), causes.join("; ")))
        }
        _ => match machine.probes.very_slow() {
            Some(slow) => suspect(Reason::Throttled, slow),
            None if steps.largest() >= UNSTEADY => suspect(Reason::Unsteady, steps.words()),
            None => None,
        },
    }
}

/// What of it can be said of a job, of whose seconds nothing is known.
pub(super) fn of_job(machine: &Machine) -> [Finding; 2] {
    let suspect = |reason| move |detail| (Validity::Suspect, reason, detail);
    let slowed = machine.probes.very_slow().or_else(|| machine.waited());
    [machine.stolen().map(suspect(Reason::Steal)), slowed.map(suspect(Reason::Throttled))]
}

impl Machine {
    fn stolen(&self) -> Option<String> {
        let steal = self.steal_pct.filter(|steal| *steal > STEAL_PCT)?;
        Some(format!("the hypervisor took {steal:.1} % of the CPU time"))
    }

    fn waited(&self) -> Option<String> {
        let waited = self.waited_pct.filter(|waited| *waited > WAITED_PCT)?;
        Some(format!("the server had to wait in {waited:.0} % of the periods of its CPU quota"))
    }
}

impl Probes {
    /// What the idle server usually needs for it.
    fn usual(&self) -> Option<Probe> {
        self.usual.or(self.before)
    }

    /// Before or after the run, in its least or in its mean.
    fn slow(&self) -> Option<String> {
        let usual = self.usual()?;
        let sides = [("before", self.before), ("after", self.after)];
        sides.into_iter().find_map(|(side, probe)| {
            let probe = probe?;
            let told = |what, now, usual| {
                format!("the idle probe took {now:.1} ms {what} {side} the run, usually {usual:.1} ms")
            };
            if probe.mean_ms > usual.mean_ms * (1.0 + SLOW_MEAN) {
                Some(told("in the mean", probe.mean_ms, usual.mean_ms))
            } else if probe.least_ms > usual.least_ms * (1.0 + SLOW_LEAST) {
                Some(told("at least", probe.least_ms, usual.least_ms))
            } else {
                None
            }
        })
    }

    /// Right after the run: before the next one credits may have come in.
    fn very_slow(&self) -> Option<String> {
        let (usual, after) = (self.usual()?, self.after?);
        let times = after.mean_ms / usual.mean_ms;
        (times > SLOW_ALONE).then(|| {
            let (usual, after) = (usual.mean_ms, after.mean_ms);
            format!(
                "right after the run the idle probe took {after:.1} ms in the mean, usually {usual:.1} ms"
            )
        })
    }
}

/// The levels of a run's seconds.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    levels: Vec<Level>,
    /// When each of the seconds began, s.
    starts: Vec<f64>,
}

impl Steps {
    /// None in short runs. Where the rate changes, they are those of what was done of what was asked for, as if that had been
    /// even.
    pub(crate) fn of(series: &[SeriesPoint], profile: Option<&Profile>) -> Self {
        let mut seconds: std::collections::BTreeMap<i64, (u64, u64)> = std::collections::BTreeMap::new();
        for point in series {
            let second = seconds.entry(point.start_us).or_insert((0, point.length_us));
            second.0 += point.ok + point.late;
        }
        seconds.retain(|_, (_, length_us)| *length_us >= 900_000);
        if seconds.len() < STEADY_SECONDS {
            return Self::default();
        }
        let changing = profile.filter(|profile| !profile.is_constant());
        let until = |(start, (_, length)): (&i64, &(u64, u64))| (*start as f64 + *length as f64) / 1e6;
        let end = seconds.iter().next_back().map_or(0.0, until);
        let even = |start: f64, length: f64| {
            let profile = changing?;
            Some((profile.arrivals(start + length) - profile.arrivals(start)) / profile.mean(end))
        };
        let rate = |(start, (done, length_us)): (&i64, &(u64, u64))| {
            let (start, length) = (*start as f64 / 1e6, *length_us as f64 / 1e6);
            *done as f64 / even(start, length).unwrap_or(length)
        };
        let rates: Vec<f64> = seconds.iter().map(rate).collect();
        // While nothing was to arrive, nothing is known.
        if rates.iter().any(|rate| !rate.is_finite()) {
            return Self::default();
        }
        // The steps of a long run are longer than a second.
        let longest = seconds.values().map(|(_, length_us)| *length_us).max().unwrap_or(1_000_000);
        let of_level = (LEVEL_SECONDS as u64 * 1_000_000).div_ceil(longest) as usize;
        let fewest = (rates.len() / 4).clamp(3, of_level.max(3));
        Self {
            levels: stats::levels(&rates, fewest, STEP),
            starts: seconds.keys().map(|us| *us as f64 / 1e6).collect(),
        }
    }

    /// By how much the last level is below all that was before, as a share; `None` where the last step is no drop.
    pub(crate) fn lasting_drop(&self) -> Option<f64> {
        let (last, before) = self.levels.split_last()?;
        let step = last.change_from(before.last()?);
        let long = |level: &Level| (level.to - level.from) as f64;
        let all = before.iter().map(|level| level.mean * long(level)).sum::<f64>();
        let mean = all / before.iter().map(long).sum::<f64>();
        (step < 0.0 && mean > 0.0).then(|| 1.0 - last.mean / mean)
    }

    /// The largest step, as a share.
    fn largest(&self) -> f64 {
        self.changes().map(|(_, change)| change.abs()).fold(0.0, f64::max)
    }

    /// Where levels end, and by how much the next one differs.
    fn changes(&self) -> impl Iterator<Item = (&Level, f64)> {
        self.levels.windows(2).map(|pair| (&pair[1], pair[1].change_from(&pair[0])))
    }

    /// `transactions per second went from 1200 to 600 (-50 %) after 6 s`.
    fn words(&self) -> String {
        let Some(first) = self.levels.first() else { return String::new() };
        let steps = self.changes().take(TOLD).map(|(level, change)| {
            let after = self.starts.get(level.from).copied().unwrap_or_default();
            let share =
                if change.is_finite() { format!(" ({:+.0} %)", change * 100.0) } else { String::new() };
            format!("to {}{share} after {after:.0} s", rate(level.mean))
        });
        let steps: Vec<String> = steps.collect();
        let more = if self.levels.len() > TOLD + 1 { ", and more" } else { "" };
        format!("transactions per second went from {} {}{more}", rate(first.mean), steps.join(", "))
    }
}

fn rate(per_second: f64) -> String {
    if per_second < 10.0 { format!("{per_second:.1}") } else { format!("{per_second:.0}") }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
