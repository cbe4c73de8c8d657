//! Whether a run is credible: rules with their limits; the rules about the machine are in `machine`.
//! `docs/reference/run-verdicts.md` explains them.

pub mod machine;
pub(crate) mod replication;
pub(crate) mod trend;
mod users;

use engine::{EngineResult, ScriptFigures};
use spec::figures::{self, Counters};
use spec::users::UserArrivals;
use spec::{Arrivals, Counts, Doubt, Offer, Profile, Reason, SeriesPoint, Validity, count};
use stats::Histogram;
use workloads::ScriptInfo;
use workloads::jobs::JobErrors;

pub use self::machine::{Machine, Probe, Probes};
use self::machine::{change_of_speed, of_job, other_programs, steal};
pub(crate) use self::trend::Trend;

/// Share of empty answers among transactions by key that raises a doubt.
pub const FOUND_NOTHING: f64 = 0.10;
/// A thread that is busier than this share of the time is the bottleneck itself.
pub const SATURATED: f64 = 0.90;
/// Share of failed transactions that makes a run invalid; fewer make it suspect.
pub const FAILED_SHARE: f64 = 0.01;
/// Share of failed parts that makes a job invalid; fewer make it suspect. A failed tile may come at once, so that many
/// make a pass fast.
pub const FAILED_PARTS: f64 = 0.05;
/// Fewer transactions than this are not enough.
pub const FEW: u64 = 30;
/// How late 1 % of the arrivals may start because of the generator, µs.
pub const LAG_US: f64 = 100.0;
/// Highest share of the server's files in the page cache when a cold run begins, percent.
pub const COLD_PCT: f64 = 5.0;
/// The same bound as a share of the promise, or of the median service time without a promise. The larger
/// bound applies.
pub const LAG_SHARE: f64 = 0.1;
/// If arrivals start late with nothing to do, a lag up to this multiple is the host's: the two cannot be
/// distinguished below.
pub const HOST_FACTOR: f64 = 2.0;
/// In an overload most arrivals wait for a client, which also delays the few others. If at least this share
/// of all arrivals found a free client, their lag measures the generator.
pub const FREE_SHARE: f64 = 0.5;
/// Share of the time that the generator may stall: suspect from the first, invalid from the second.
pub const STALLED_SHARE: [f64; 2] = [0.005, 0.05];
/// The same for its short gaps, [`engine::PAUSE`] and longer: a busy host has some.
pub const PAUSED_SHARE: [f64; 2] = [0.05, 0.25];
/// Share of the time in which clients may be without the server: suspect from the first, invalid above the
/// second.
pub const OUTAGE_SHARE: [f64; 2] = [0.005, 0.1];
/// Share of the clients' time that may be in no figure: suspect above the first, invalid above the second.
pub const NOWHERE_SHARE: [f64; 2] = [0.01, 0.1];

pub(crate) fn counts(measured: &EngineResult, open: bool) -> Counters {
    let more = [
        (figures::COMPLETED, Some(measured.completed())),
        (figures::DRAINED, open.then_some(measured.drained)),
        (figures::LEFT_OPEN, Some(measured.left_open).filter(|left| *left > 0)),
    ];
    let mut counts = measured.totals().stored();
    counts.extend(more.into_iter().filter_map(|(of, count)| Some((of, count?))));
    counts.append(users::sessions(measured));
    counts
}

pub(crate) fn script_counts(script: &ScriptFigures) -> Counters {
    let mut counts = script.counts.stored();
    counts.set(figures::COMPLETED, script.completed);
    counts
}

/// Inputs of a verdict.
#[derive(Debug)]
pub struct Evidence<'a> {
    pub measured: &'a EngineResult,
    pub series: &'a [SeriesPoint],
    /// Requested arrivals per second; `None` without a schedule.
    pub rate: Option<f64>,
    pub profile: Option<&'a Profile>,
    /// When users come, if they do sessions.
    pub user_arrivals: Option<&'a UserArrivals>,
    pub warmup_s: f64,
    pub clients: u32,
    /// The promise, seconds.
    pub limit_s: Option<f64>,
    /// How its speed changes, if it changes data in a closed load.
    pub trend: Option<Trend>,
    pub machine: Machine,
    /// How late 1 % of the arrivals start on this host with nothing to do, µs; `None` if not measured.
    pub host_lag_us: Option<f64>,
    /// Whether it is a trial of a search: that looks for an overload.
    pub is_trial: bool,
    pub changed: Option<&'a str>,
    /// Names of separately counted parts, in the order of `measured.scripts`.
    pub scripts: &'a [ScriptInfo],
    /// Whether empty answers were declared as expected.
    pub may_be_empty: bool,
    /// What to look at when nothing was returned.
    pub advice_on_empty: &'a str,
    /// Cache hits as a share of lookups, percent, if the data may be missing there.
    pub hit_pct: Option<f64>,
    /// Share of the server's files in the page cache, percent, if the run was to begin cold.
    pub cold_pct: Option<f64>,
}

/// The verdict with its reasons; the worst counts.
#[must_use]
pub fn judge(evidence: &Evidence<'_>) -> (Validity, Vec<Doubt>) {
    let mut found: Vec<(Validity, Doubt)> = Vec::new();
    let checks: [fn(&Evidence<'_>) -> Finding; 18] = [
        too_short,
        errors,
        outage,
        hung,
        not_counted,
        |evidence| settings(evidence.changed),
        empty,
        found_nothing,
        |evidence| no_hit(evidence.hit_pct),
        overloaded,
        saturated,
        stalled,
        paused,
        late,
        steal,
        other_programs,
        change_of_speed,
        |evidence| not_cold(evidence.cold_pct),
    ];
    for check in checks {
        found.extend(check(evidence).map(|(validity, reason, detail)| (validity, Doubt { reason, detail })));
    }
    let validity = worst(found.iter().map(|(validity, _)| *validity));
    (validity, found.into_iter().map(|(_, doubt)| doubt).collect())
}

/// Inputs of a job's verdict.
#[derive(Debug, Default)]
pub struct JobEvidence<'a> {
    pub failed: Option<&'a str>,
    /// Parts that failed, while it went on with the others.
    pub errors: Option<&'a JobErrors>,
    pub is_empty: bool,
    pub changed: Option<&'a str>,
    pub machine: Machine,
    /// Share of the server's files in the page cache, percent, if it was to begin cold.
    pub cold_pct: Option<f64>,
}

/// The verdict of a job with its reasons; the worst counts.
#[must_use]
pub fn judge_job(evidence: &JobEvidence<'_>) -> (Validity, Vec<Doubt>) {
    let failed = evidence.failed.map(|why| (Validity::Invalid, Reason::Errors, why.to_owned()));
    let empty = "it came to its end, and no row is there that it was to make";
    let errors = evidence.errors.map(|JobErrors { share, what }| {
        let validity = if *share > FAILED_PARTS { Validity::Invalid } else { Validity::Suspect };
        (validity, Reason::Errors, what.clone())
    });
    let empty = (evidence.is_empty && failed.is_none() && errors.is_none())
        .then(|| (Validity::Invalid, Reason::EmptyResults, empty.to_owned()));
    let found = [failed, errors, empty, settings(evidence.changed), not_cold(evidence.cold_pct)];
    let found: Vec<_> = found.into_iter().chain(of_job(&evidence.machine)).flatten().collect();
    let validity = worst(found.iter().map(|(validity, _, _)| *validity));
    (validity, found.into_iter().map(|(_, reason, detail)| Doubt { reason, detail }).collect())
}

/// The worst of several verdicts; valid when there are none.
pub(crate) fn worst(verdicts: impl Iterator<Item = Validity>) -> Validity {
    verdicts.fold(Validity::Valid, |worst, next| match (worst, next) {
        (Validity::Invalid, _) | (_, Validity::Invalid) => Validity::Invalid,
        (Validity::Suspect, _) | (_, Validity::Suspect) => Validity::Suspect,
        _ => Validity::Valid,
    })
}

type Finding = Option<(Validity, Reason, String)>;

fn too_short(evidence: &Evidence<'_>) -> Finding {
    let done = evidence.measured.completed();
    let validity = match done {
        // A longer run would fail as well.
        0 if errors(evidence).is_some() => return None,
        0 => Validity::Invalid,
        1..FEW => Validity::Suspect,
        _ => return None,
    };
    Some((
        validity,
        Reason::TooShort,
        format!("only {} succeeded in the measured part", count(done, "transaction")),
    ))
}

fn errors(evidence: &Evidence<'_>) -> Finding {
    let totals = evidence.measured.totals();
    let aborts = &evidence.measured.aborts;
    if let Some(first) = aborts.first() {
        let detail =
            format!("{} gave up; the first: {}", count(aborts.len() as u64, "client"), first.message);
        return Some((Validity::Invalid, Reason::Errors, detail));
    }
    if totals.failed == 0 {
        return None;
    }
    let share = totals.failed as f64 / totals.due.max(1) as f64;
    let detail =
        format!("{} of {} failed ({:.2} %)", totals.failed, count(totals.due, "transaction"), share * 100.0);
    let validity = if share > FAILED_SHARE { Validity::Invalid } else { Validity::Suspect };
    Some((validity, Reason::Errors, detail))
}

/// Clients of a closed load without an answer, although they had time for it after the run: of the longest
/// waits only a minimum is known.
fn hung(evidence: &Evidence<'_>) -> Finding {
    let left = evidence.measured.left_open;
    if left == 0 {
        return None;
    }
    let clients = u64::from(evidence.clients).max(1);
    let validity = if 2 * left >= clients { Validity::Invalid } else { Validity::Suspect };
    let detail = format!(
        "{left} of {} still waited for an answer when the time for that was over: their transactions count as late, and took longer than what is shown",
        count(clients, "client")
    );
    Some((validity, Reason::Errors, detail))
}

/// The clients' time of a closed load that is in no figure: of transactions that count nowhere, and the
/// remainder of the equation.
fn not_counted(evidence: &Evidence<'_>) -> Finding {
    let measured = evidence.measured;
    let time = measured.client_time.as_ref().filter(|_| measured.aborts.is_empty())?;
    let all = measured.elapsed as f64 * f64::from(evidence.clients);
    let missing = (all - time.sum() as f64).abs();
    let share = (time.nowhere as f64 + missing) / all;
    let [suspect, invalid] = NOWHERE_SHARE;
    // NaN if nothing was measured.
    if share.is_nan() || share <= suspect {
        return None;
    }
    let validity = if share > invalid { Validity::Invalid } else { Validity::Suspect };
    let percent = share * 100.0;
    let detail = if missing > time.nowhere as f64 {
        format!("{percent:.1} % of the clients' time is in none of the terms that are to add up to it")
    } else {
        format!(
            "{percent:.1} % of the clients' time went into transactions that began before the measured part and were not over at its end; measure for longer"
        )
    };
    Some((validity, Reason::TimeNotCounted, detail))
}

/// Settings that differ at the end of the run from the recorded ones.
fn settings(changed: Option<&str>) -> Finding {
    let changed = changed?;
    let detail = format!("somebody changed settings of the server under the run: {changed}");
    Some((Validity::Invalid, Reason::SettingsNotApplied, detail))
}

/// Scripts that never found a row or, if they only write, never changed one; other scripts are not judged.
fn empty(evidence: &Evidence<'_>) -> Finding {
    if evidence.may_be_empty {
        return None;
    }
    let scripts = evidence.measured.scripts.iter().zip(evidence.scripts);
    let found: Vec<String> = scripts
        .filter_map(|(figures, script)| {
            let gave_nothing = gave_nothing(&figures.counts)?;
            let done = crate::words::count(figures.counts.processed() as usize, "transaction");
            Some(format!("{}: {gave_nothing} in {done}", script.name))
        })
        .collect();
    (!found.is_empty()).then(|| {
        let detail = format!(
            "{}; {}, or say may_be_empty if that is what you measure",
            found.join("; "),
            evidence.advice_on_empty
        );
        (Validity::Invalid, Reason::EmptyResults, detail)
    })
}

/// Scripts by key that often find nothing: an empty answer is faster than one with rows. A script without any
/// row has its own check.
fn found_nothing(evidence: &Evidence<'_>) -> Finding {
    if evidence.may_be_empty {
        return None;
    }
    let scripts = evidence.measured.scripts.iter().zip(evidence.scripts);
    let found: Vec<String> = scripts
        .filter_map(|(figures, script)| {
            let Counts { keyed, keyed_empty, .. } = figures.counts;
            let share = keyed_empty as f64 / keyed.max(1) as f64;
            (share >= FOUND_NOTHING && gave_nothing(&figures.counts).is_none()).then(|| {
                let asked = count(keyed, "transaction");
                format!(
                    "{}: {:.1} % of {asked} by key returned or changed no row",
                    script.name,
                    share * 100.0
                )
            })
        })
        .collect();
    (!found.is_empty()).then(|| {
        let detail = format!(
            "{}; do the keys that it draws exist (:scale, ranges of random)? if so, say may_be_empty",
            found.join("; ")
        );
        (Validity::Suspect, Reason::FoundNothing, detail)
    })
}

/// A cache without a hit: such a rate is the rate of misses alone.
fn no_hit(hit_pct: Option<f64>) -> Finding {
    let detail = "not one key that was asked for was there: all were evicted, or had expired";
    hit_pct.filter(|pct| *pct <= 0.0).map(|_| (Validity::Invalid, Reason::EmptyResults, detail.to_owned()))
}

/// What a script never did, although it should; else `None`.
fn gave_nothing(counts: &Counts) -> Option<&'static str> {
    match counts {
        _ if counts.processed() == 0 => None,
        Counts { queries: 1.., rows: 0, .. } => Some("not one row came back"),
        Counts { queries: 0, changes: 1.., affected: 0, .. } => Some("not one row was changed"),
        _ => None,
    }
}

/// Whether clients were aborted because their host had no free local port.
pub(crate) fn is_out_of_ports(measured: &EngineResult) -> bool {
    // The texts of EADDRNOTAVAIL in Linux with glibc or musl, and in macOS.
    let words = ["assign requested address", "Address not available"];
    measured.aborts.iter().any(|abort| words.iter().any(|words| abort.message.contains(words)))
}

fn saturated(evidence: &Evidence<'_>) -> Finding {
    if is_out_of_ports(evidence.measured) {
        let detail = "the load generator's host had no local port left to connect from; keep connections open, or use a Unix socket or several hosts";
        return Some((Validity::Invalid, Reason::ClientSaturated, detail.to_owned()));
    }
    let busy = evidence.measured.own.busiest_thread;
    (busy > SATURATED).then(|| {
        let detail = format!(
            "a load generator thread was busy {:.0} % of the time; give it more threads",
            busy * 100.0
        );
        (Validity::Suspect, Reason::ClientSaturated, detail)
    })
}

/// A stalled generator adds that time to every response time.
fn stalled(evidence: &Evidence<'_>) -> Finding {
    stood_still(evidence, evidence.measured.own.stalled_ns, STALLED_SHARE, |seconds, percent| {
        format!(
            "generator stalled {seconds:.1} s, {percent:.1} % of the time: it was stopped, had no CPU or its machine was paused, and response times have that in them"
        )
    })
}

/// Many short gaps: the generator ran only part of the time.
fn paused(evidence: &Evidence<'_>) -> Finding {
    let [least, most] = [engine::PAUSE, engine::GAP].map(|ns| ns / 1_000_000);
    stood_still(evidence, evidence.measured.own.paused_ns, PAUSED_SHARE, |seconds, percent| {
        format!(
            "generator stalled again and again for {least} to {most} ms, {seconds:.1} s in all, {percent:.0} % of the time: it was stopped or had no CPU, and response times have that in them"
        )
    })
}

/// Suspect from the first share of the time, invalid from the second; the text is about seconds and percent.
/// In slices the quads with long gaps are void, so that the run is suspect at most.
fn stood_still(
    evidence: &Evidence<'_>,
    ns: u64,
    [suspect, invalid]: [f64; 2],
    words: impl FnOnce(f64, f64) -> String,
) -> Finding {
    let measured = evidence.measured;
    let share = ns as f64 / measured.elapsed as f64;
    // NaN if nothing was measured.
    if share.is_nan() || share < suspect {
        return None;
    }
    let is_sliced = measured.stretches.len() > 1;
    let validity = if share >= invalid && !is_sliced { Validity::Invalid } else { Validity::Suspect };
    Some((validity, Reason::GeneratorStalled, words(ns as f64 / 1e9, share * 100.0)))
}

/// Time without the server: a client that waits for a connection has no transaction, so no response time
/// shows it.
fn outage(evidence: &Evidence<'_>) -> Finding {
    let measured = evidence.measured;
    let away: i64 = measured.outages.iter().map(spec::Outage::length_ns).sum();
    let clients = f64::from(evidence.clients.max(1));
    let of_clients =
        |outage: &spec::Outage| outage.length_ns() as f64 * (outage.clients as f64 / clients).min(1.0);
    let share = measured.outages.iter().map(of_clients).sum::<f64>() / measured.elapsed as f64;
    let [suspect, invalid] = OUTAGE_SHARE;
    // NaN if nothing was measured.
    if share.is_nan() || share < suspect {
        return None;
    }
    let over = measured.outages.iter().all(|outage| outage.over);
    let validity = if share > invalid || !over { Validity::Invalid } else { Validity::Suspect };
    let end = if over { "" } else { ", and were so at its end" };
    let detail = format!(
        "clients were without the server for {:.1} s, {:.0} % of their time{end}: no response time has that in it, and nothing counts as late for it",
        away as f64 / 1e9,
        share * 100.0
    );
    Some((validity, Reason::Errors, detail))
}

/// How the arrivals of an open load were offered. With aborted clients its rate means nothing: too few
/// clients were left.
fn offer(evidence: &Evidence<'_>) -> Option<Offer> {
    let rate = evidence.rate.filter(|_| evidence.measured.aborts.is_empty())?;
    let offer = Offer {
        rate: Some(rate),
        promise: evidence.limit_s.is_some(),
        clients: evidence.clients.into(),
        seconds: evidence.measured.elapsed as f64 / 1e9,
    };
    (offer.seconds > 0.0).then_some(offer)
}

fn arrivals(evidence: &Evidence<'_>) -> Option<Arrivals> {
    Some(Arrivals::new(&counts(evidence.measured, true), offer(evidence)?))
}

fn overloaded(evidence: &Evidence<'_>) -> Finding {
    if evidence.is_trial {
        return None;
    }
    let Some(arrivals) = arrivals(evidence) else { return users::overloaded(evidence) };
    let detail = if arrivals.is_overloaded() { arrivals.shortfall() } else { overloaded_part(evidence)? };
    Some((Validity::Suspect, Reason::Overloaded, detail))
}

/// With a changing rate, the peak may be too high while the mean is not.
fn overloaded_part(evidence: &Evidence<'_>) -> Option<String> {
    let profile = evidence.profile.filter(|profile| !profile.is_constant())?;
    let counts = counts(evidence.measured, true);
    let (from, to, arrivals) =
        Arrivals::overloaded_part(profile, evidence.series, &counts, offer(evidence)?)?;
    Some(format!("from {} to {} s {}", tenths(from), tenths(to), arrivals.shortfall()))
}

/// Seconds, with one decimal if needed.
fn tenths(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

/// A harmless lag is not a doubt: a promise that was kept would have been kept without it, too.
fn late(evidence: &Evidence<'_>) -> Finding {
    let Some(arrivals) = arrivals(evidence) else { return users::late(evidence) };
    let lag = &evidence.measured.own.start_lag;
    let few_found_a_client = (lag.count() as f64) < arrivals.due as f64 * FREE_SHARE;
    let harmless = if arrivals.is_overloaded() { few_found_a_client } else { evidence.limit_s.is_some() };
    if harmless {
        return None;
    }
    let lag_us = lag.quantile_ns(0.99)? as f64 / 1e3;
    let bound_us = lag_bound_us(evidence);
    (lag_us > bound_us).then(|| {
        let host = evidence.host_lag_us.map_or(String::new(), |host| {
            format!("; with nothing to do they start {host:.0} µs late on this host")
        });
        let detail = format!(
            "1 % of the arrivals with a free client started more than {lag_us:.0} µs late ({bound_us:.0} µs are in order{host})"
        );
        (Validity::Suspect, Reason::ScheduleLate, detail)
    })
}

/// How late 1 % of the arrivals may start, µs.
fn lag_bound_us(evidence: &Evidence<'_>) -> f64 {
    let usual_us = || {
        let mut service = Histogram::new();
        evidence.measured.scripts.iter().for_each(|script| service.add(script.service()));
        service.quantile_ns(0.5).map_or(0.0, |ns| ns as f64 / 1e3)
    };
    let measured_for_us = evidence.limit_s.map_or_else(usual_us, |limit| limit * 1e6);
    let of_host_us = evidence.host_lag_us.unwrap_or(0.0) * HOST_FACTOR;
    LAG_US.max(measured_for_us * LAG_SHARE).max(of_host_us)
}

/// A run that was to begin cold, but with files in the page cache.
fn not_cold(cold_pct: Option<f64>) -> Finding {
    let cached = cold_pct.filter(|cached| *cached > COLD_PCT)?;
    let detail = format!("{cached:.0} % of the server's files stayed in the page cache before a cold run");
    Some((Validity::Suspect, Reason::CacheState, detail))
}

#[cfg(test)]
pub(crate) mod tests;
