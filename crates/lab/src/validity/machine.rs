//! What the machine under test did to a run: throttled it, took CPU time from it, or was unsteady. All the
//! rules and their limits; `strategies` decides which of these runs are measured again.
//!
//! A cause is named only if its size can explain the effect: a loss of 3 % of the CPU time did not halve the
//! speed of a run.
//!
//! A *step* is a change of level of the run's seconds ([`stats::levels`]). A downward step that lasts to the
//! end is throttling if there is further evidence: stolen CPU time, a server that had to wait for its CPU
//! quota, or an idle server that is slow. A server that is very slow directly after the run was throttled,
//! with or without a step.

use spec::figures::{self, Figure, Figures};
use spec::{Profile, Reason, SeriesPoint, SpeedTrend, Validity};
use stats::SeriesLevel;

use super::{Evidence, Finding, Trend};

/// CPU time taken by the hypervisor, percent.
pub const STEAL_PCT: f64 = 2.0;
/// CPU time that other programs used, percent.
pub const OTHERS_PCT: f64 = 20.0;
/// Highest effect of a cause, as a multiple of its share of the time: a stopped process may hold a lock that
/// others wait for.
pub const WEIGHT: f64 = 3.0;
/// Share of the periods of its CPU quota in which the server had to wait, percent.
pub const WAITED_PCT: f64 = 2.0;
/// Slowdown of the idle probe's minimum that shows a slow processor, as a share.
pub const SLOW_LEAST: f64 = 0.05;
/// The same for its mean.
pub const SLOW_MEAN: f64 = 0.25;
/// Mean slowdown directly after the run that needs no further evidence, as a factor: without credits a host
/// has less than 40 % of its speed left, and another process on the same CPU leaves half.
pub const SLOW_ALONE: f64 = 2.4;
/// A lasting downward step, as a share of the speed before: needs further evidence.
pub const STEP: f64 = 0.05;
/// A step of any kind and cause, as a share.
pub const UNSTEADY: f64 = 0.15;
/// Fewest whole seconds in which steadiness can be judged.
pub const STEADY_SECONDS: usize = 10;
/// Longest required length of a level, seconds; in short runs a quarter of them, three at least.
pub const LEVEL_SECONDS: usize = 10;
/// Fewest seconds without any transaction that are a standstill, and fewest transactions that were to be expected in them.
pub const STILL: (usize, f64) = (2, 50.0);
/// Most steps in a report.
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

/// Facts about the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Machine {
    /// Steal during the run, percent: of the server's machine if known, else of this one.
    pub steal_pct: Option<f64>,
    /// How busy the CPUs of that machine were, steal included, percent.
    pub busy_pct: Option<f64>,
    /// The share of this machine's CPU time that other programs used, percent.
    pub others_pct: Option<f64>,
    /// Share of the periods of its CPU quota in which the server had to wait, percent.
    pub waited_pct: Option<f64>,
    pub probes: Probes,
}

/// A fall of speed: its kind, its size, and its share of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fall {
    drop: f64,
    share: f64,
}

impl Fall {
    /// The larger of two: the last level, or a trend.
    fn of(steps: &Steps, trend: Option<Trend>) -> Option<Self> {
        let step = steps.lasting_drop().map(|drop| Self { drop, share: steps.share_of_last() });
        let trend = trend.filter(|trend| trend.is_sure && trend.change < 0.0);
        let trend = trend.map(|trend| Self { drop: -trend.change, share: 0.5 });
        step.into_iter().chain(trend).max_by(|one, other| one.drop.total_cmp(&other.drop))
    }

    /// Whether a cause with this share of the time of the whole run can explain it, if all of it was in this
    /// part.
    fn is_explained_by(self, share: f64) -> bool {
        (WEIGHT * share / self.share).min(1.0) >= self.drop
    }
}

pub(super) fn steal(evidence: &Evidence<'_>) -> Finding {
    let machine = &evidence.machine;
    let steal = machine.stolen()?;
    let fall = Fall::of(&steps(evidence), evidence.trend).filter(|fall| fall.drop >= UNSTEADY);
    // A larger fall has another cause: that is the doubt.
    let explains = fall.is_none_or(|fall| fall.is_explained_by(machine.stolen_share()));
    explains.then_some((Validity::Suspect, Reason::Steal, steal))
}

pub(super) fn other_programs(evidence: &Evidence<'_>) -> Finding {
    Some((Validity::Suspect, Reason::OtherPrograms, evidence.machine.others()?))
}

/// A cold run warms up, and users who come and go change the load: the steps show that.
fn steps(evidence: &Evidence<'_>) -> Steps {
    match evidence.cold_pct {
        Some(_) => Steps::default(),
        None if super::users::change_the_load(evidence) => Steps::default(),
        None => Steps::of(evidence.series, evidence.profile),
    }
}

/// At most one of the three: a throttled run is unsteady, and a trend includes steps.
pub(super) fn change_of_speed(evidence: &Evidence<'_>) -> Finding {
    let steps = steps(evidence);
    let machine = &evidence.machine;
    let trend = evidence.trend.filter(|trend| trend.is_sure);
    let fall = Fall::of(&steps, trend).filter(|fall| fall.drop >= STEP);
    let causes = fall.map_or_else(Vec::new, |fall| machine.causes_of(fall));
    let trend =
        trend.and_then(|trend| SpeedTrend { within_run: Some(trend.change), over_rounds: None }.words());
    let suspect = |reason, detail| Some((Validity::Suspect, reason, detail));
    if !causes.is_empty() {
        let what = steps.lasting_drop().map(|_| steps.words()).or(trend).unwrap_or_default();
        return suspect(Reason::Throttled, format!("{what}; {}", causes.join("; ")));
    }
    if let Some(slow) = machine.probes.very_slow() {
        return suspect(Reason::Throttled, slow);
    }
    // In a restless run the steps of a standstill are lost in its noise.
    let still = steps.still.map(Standstill::words).filter(|_| steps.largest() < UNSTEADY);
    if let Some(still) = still {
        return suspect(Reason::Unsteady, still);
    }
    if let Some(trend) = trend {
        return suspect(Reason::Trend, trend);
    }
    (steps.largest() >= UNSTEADY).then(|| (Validity::Suspect, Reason::Unsteady, steps.words()))
}

/// The findings for a job, which has no seconds.
pub(super) fn of_job(machine: &Machine) -> [Finding; 3] {
    let suspect = |reason| move |detail| (Validity::Suspect, reason, detail);
    let slowed = machine.probes.very_slow().or_else(|| machine.waited());
    [
        machine.stolen().map(suspect(Reason::Steal)),
        machine.others().map(suspect(Reason::OtherPrograms)),
        slowed.map(suspect(Reason::Throttled)),
    ]
}

impl Machine {
    pub(crate) fn of_job(figures: &Figures) -> Self {
        let figure = |of: Figure| figures.get(of);
        Self {
            steal_pct: figure(figures::STEAL_PCT),
            busy_pct: figure(figures::CPU_BUSY_PCT),
            others_pct: figure(figures::CPU_OTHERS_PCT),
            waited_pct: figure(figures::SERVER_THROTTLED_PCT),
            probes: Probes::default(),
        }
    }

    fn stolen(&self) -> Option<String> {
        let steal = self.steal_pct.filter(|steal| *steal > STEAL_PCT)?;
        Some(format!("the hypervisor took {steal:.1} % of the CPU time"))
    }

    /// Share of the time in which a process wanted a CPU.
    fn stolen_share(&self) -> f64 {
        let busy_pct = self.busy_pct.filter(|busy| *busy > 0.0).unwrap_or(100.0);
        (self.steal_pct.unwrap_or_default() / busy_pct).min(1.0)
    }

    fn others(&self) -> Option<String> {
        let others = self.others_pct.filter(|others| *others >= OTHERS_PCT)?;
        Some(format!("other programs used {others:.0} % of the CPUs"))
    }

    fn waited(&self) -> Option<String> {
        let waited = self.waited_pct.filter(|waited| *waited > WAITED_PCT)?;
        Some(format!("the server had to wait in {waited:.0} % of the periods of its CPU quota"))
    }

    fn causes_of(&self, fall: Fall) -> Vec<String> {
        let stolen = self.stolen().filter(|_| fall.is_explained_by(self.stolen_share()));
        let waited = self.waited_pct.unwrap_or_default() / 100.0;
        let waited = self.waited().filter(|_| fall.is_explained_by(waited));
        // It is measured after the run, so its duration is unknown.
        let slow = self.probes.slow().filter(|(_, share)| WEIGHT * share >= fall.drop);
        [stolen, waited, slow.map(|(words, _)| words)].into_iter().flatten().collect()
    }
}

impl Probes {
    fn usual(&self) -> Option<Probe> {
        self.usual.or(self.before)
    }

    /// Before or after the run, by minimum or mean; with the lost share of its speed.
    fn slow(&self) -> Option<(String, f64)> {
        let usual = self.usual()?;
        let sides = [("before", self.before), ("after", self.after)];
        let slow = sides.into_iter().filter_map(|(side, probe)| {
            let probe = probe?;
            let told = |what, now: f64, usual: f64| {
                let words =
                    format!("the idle probe took {now:.1} ms {what} {side} the run, usually {usual:.1} ms");
                (words, 1.0 - usual / now)
            };
            if probe.mean_ms > usual.mean_ms * (1.0 + SLOW_MEAN) {
                Some(told("in the mean", probe.mean_ms, usual.mean_ms))
            } else if probe.least_ms > usual.least_ms * (1.0 + SLOW_LEAST) {
                Some(told("at least", probe.least_ms, usual.least_ms))
            } else {
                None
            }
        });
        // The slower side; if equal, the one before.
        slow.reduce(|one, other| if other.1 > one.1 { other } else { one })
    }

    /// Directly after the run: before the next one credits may have been earned.
    fn very_slow(&self) -> Option<String> {
        let (usual, after) = (self.usual()?, self.after?);
        let times = after.mean_ms / usual.mean_ms;
        (times > SLOW_ALONE).then(|| {
            let (usual, after) = (usual.mean_ms, after.mean_ms);
            format!("right after the run the idle probe took {after:.1} ms on average, usually {usual:.1} ms")
        })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Steps {
    levels: Vec<SeriesLevel>,
    /// Start of each second, s.
    starts: Vec<f64>,
    still: Option<Standstill>,
}

/// Seconds in a row without any transaction.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Standstill {
    from_s: f64,
    seconds: usize,
    /// Transactions per second in the others.
    usual: f64,
}

impl Standstill {
    /// The longest one; `None` where it may be chance.
    fn of(rates: &[f64], starts: &[f64]) -> Option<Self> {
        let others: Vec<f64> = rates.iter().copied().filter(|rate| *rate > 0.0).collect();
        let usual = others.iter().sum::<f64>() / others.len().max(1) as f64;
        let mut longest = (0, 0);
        let mut seconds = 0;
        for (place, rate) in rates.iter().enumerate() {
            seconds = if *rate > 0.0 { 0 } else { seconds + 1 };
            longest = longest.max((seconds, place + 1 - seconds));
        }
        let (seconds, from) = longest;
        let is_sure = seconds >= STILL.0 && seconds as f64 * usual >= STILL.1;
        is_sure.then(|| Self { from_s: starts[from], seconds, usual })
    }

    /// `transactions per second went from 643 to 0 for 4 s after 5 s`.
    fn words(self) -> String {
        let Self { from_s, seconds, usual } = self;
        format!("transactions per second went from {} to 0 for {seconds} s after {from_s:.0} s", rate(usual))
    }
}

impl Steps {
    /// Empty in short runs. With a changing rate, they are levels of the achieved share of the requested
    /// rate, as if that had been constant.
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
        // Without expected arrivals nothing is known.
        if rates.iter().any(|rate| !rate.is_finite()) {
            return Self::default();
        }
        // The steps of a long run are longer than a second.
        let longest = seconds.values().map(|(_, length_us)| *length_us).max().unwrap_or(1_000_000);
        let of_level = (LEVEL_SECONDS as u64 * 1_000_000).div_ceil(longest) as usize;
        let fewest = (rates.len() / 4).clamp(3, of_level.max(3));
        let starts: Vec<f64> = seconds.keys().map(|us| *us as f64 / 1e6).collect();
        let still = Standstill::of(&rates, &starts).filter(|_| changing.is_none());
        Self { levels: stats::levels(&rates, fewest, STEP), starts, still }
    }

    /// How far the last level is below all that was before, as a share; `None` if the last step is not a
    /// drop.
    pub(crate) fn lasting_drop(&self) -> Option<f64> {
        let (last, before) = self.levels.split_last()?;
        let step = last.change_from(before.last()?);
        let long = |level: &SeriesLevel| (level.to - level.from) as f64;
        let all = before.iter().map(|level| level.mean * long(level)).sum::<f64>();
        let mean = all / before.iter().map(long).sum::<f64>();
        (step < 0.0 && mean > 0.0).then(|| 1.0 - last.mean / mean)
    }

    fn share_of_last(&self) -> f64 {
        let last = self.levels.last().map_or(0, |level| level.to - level.from);
        last as f64 / self.starts.len().max(1) as f64
    }

    fn largest(&self) -> f64 {
        self.changes().map(|(_, change)| change.abs()).fold(0.0, f64::max)
    }

    /// Ends of levels, and the relative change to the next one.
    fn changes(&self) -> impl Iterator<Item = (&SeriesLevel, f64)> {
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
