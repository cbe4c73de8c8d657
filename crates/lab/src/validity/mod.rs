//! Whether a run can be believed: rules with their limits; those that speak of the machine are in `machine`.
//! `docs/run-verdicts.md` explains them.

pub mod machine;
pub(crate) mod trend;

use engine::{Measured, ScriptFigures};
use record::{
    Arrivals, COMPLETED, Counts, Doubt, LEFT_OPEN, Offer, Profile, Reason, SeriesPoint, Validity, count,
};
use stats::Histogram;
use workloads::ScriptInfo;

pub use self::machine::{Machine, Probe, Probes};
use self::machine::{change_of_speed, of_job, other_programs, steal};
pub(crate) use self::trend::Trend;

/// Share of the transactions that ask by key, from which on it is a doubt when they find nothing.
pub const FOUND_NOTHING: f64 = 0.10;
/// A thread that is busier than this share of the time is the bottleneck itself.
pub const SATURATED: f64 = 0.90;
/// Share of failed transactions that makes a run invalid; fewer make it suspect.
pub const FAILED_SHARE: f64 = 0.01;
/// Fewer transactions than this say little.
pub const FEW: u64 = 30;
/// How late 1 % of the arrivals may start, by the generator's fault, µs.
pub const LAG_US: f64 = 100.0;
/// How much of the server's files may be in the page cache when a cold run begins, percent.
pub const COLD_PCT: f64 = 5.0;
/// As a share of what it is measured for: of the promise, or of the median service time where there is none. The more
/// generous of both bounds counts.
pub const LAG_SHARE: f64 = 0.1;
/// Where arrivals start late with nothing to do, that many times as late is the host's own: below it the two cannot be
/// told apart.
pub const HOST_FACTOR: f64 = 2.0;
/// In an overload most arrivals wait for a client, and how late the few others start follows from it. Where at least this
/// share of all arrivals found a free client, their lag speaks of the generator.
pub const FREE_SHARE: f64 = 0.5;
/// Share of the time that the generator may stand still; from the second one on the run is invalid.
pub const STALLED_SHARE: [f64; 2] = [0.005, 0.05];
/// The same of its short gaps, [`engine::PAUSE`] and longer: a busy host has some.
pub const PAUSED_SHARE: [f64; 2] = [0.05, 0.25];
/// Share of the time in which clients may be without the server; above the second one the run is invalid.
pub const OUTAGE_SHARE: [f64; 2] = [0.005, 0.1];
/// Share of the clients' time that may be in no figure; above the second one the run is invalid.
pub const NOWHERE_SHARE: [f64; 2] = [0.01, 0.1];

/// Counters of a run by their stored names.
pub(crate) fn counts(measured: &Measured, open: bool) -> std::collections::BTreeMap<String, u64> {
    let more = [
        (COMPLETED, Some(measured.completed())),
        ("drained", open.then_some(measured.drained)),
        (LEFT_OPEN, Some(measured.left_open).filter(|left| *left > 0)),
    ];
    let more = more.into_iter().filter_map(|(name, count)| Some((name.to_owned(), count?)));
    measured.totals().named().into_iter().chain(more).collect()
}

/// The same of a script.
pub(crate) fn script_counts(figures: &ScriptFigures) -> std::collections::BTreeMap<String, u64> {
    let completed = (COMPLETED.to_owned(), figures.completed);
    figures.counts.named().into_iter().chain([completed]).collect()
}

/// What a verdict is made of.
#[derive(Debug)]
pub struct Evidence<'a> {
    pub measured: &'a Measured,
    /// Seconds of the measured part.
    pub series: &'a [SeriesPoint],
    /// Arrivals per second asked for; `None` unless they were on a schedule.
    pub rate: Option<f64>,
    /// The same as time goes by.
    pub profile: Option<&'a Profile>,
    pub clients: u32,
    /// The promise, seconds.
    pub limit_s: Option<f64>,
    /// How its speed changes, where it changes data in a closed load.
    pub trend: Option<Trend>,
    /// What is known of the machine under the test.
    pub machine: Machine,
    /// How late 1 % of the arrivals start on this host with nothing to do, µs; `None` where nobody looked.
    pub host_lag_us: Option<f64>,
    /// Whether it is a trial of a search: more than can be done is what that looks for.
    pub is_trial: bool,
    /// Which settings somebody changed under the run, in words.
    pub changed: Option<&'a str>,
    /// Names of what was counted apart, in the order of `measured.scripts`.
    pub scripts: &'a [ScriptInfo],
    /// Whether it was said that nothing may come back.
    pub may_be_empty: bool,
    /// Share of what was looked for in a cache and found, percent, where it may be missing.
    pub hit_pct: Option<f64>,
    /// How much of the server's files was in the page cache, percent, where the run was to begin cold.
    pub cold_pct: Option<f64>,
}

/// The verdict with its reasons; the gravest counts.
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

/// What the verdict of a job is made of.
#[derive(Debug, Default)]
pub struct JobEvidence<'a> {
    /// Why it came to no good end, in its own words.
    pub failed: Option<&'a str>,
    /// Whether nothing is there that it was to make.
    pub is_empty: bool,
    /// Which settings somebody changed under it, in words.
    pub changed: Option<&'a str>,
    /// What is known of the machine under the test.
    pub machine: Machine,
    /// How much of the server's files was in the page cache, percent, where it was to begin cold.
    pub cold_pct: Option<f64>,
}

/// The verdict of a job with its reasons; the gravest counts.
#[must_use]
pub fn judge_job(evidence: &JobEvidence<'_>) -> (Validity, Vec<Doubt>) {
    let failed = evidence.failed.map(|why| (Validity::Invalid, Reason::Errors, why.to_owned()));
    let empty = "it came to its end, and no row is there that it was to make";
    let empty = (evidence.is_empty && failed.is_none())
        .then(|| (Validity::Invalid, Reason::EmptyResults, empty.to_owned()));
    let found = [failed, empty, settings(evidence.changed), not_cold(evidence.cold_pct)];
    let found: Vec<_> = found.into_iter().chain(of_job(&evidence.machine)).flatten().collect();
    let validity = worst(found.iter().map(|(validity, _, _)| *validity));
    (validity, found.into_iter().map(|(_, reason, detail)| Doubt { reason, detail }).collect())
}

/// The gravest of several verdicts; valid when there are none.
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

/// Clients of a closed load that got no answer, although they were given time for it when the run was over: of the longest
/// waits only the least length is known.
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

/// The clients' time of a closed load that is in no figure: of transactions that count nowhere, and what the terms of the
/// equation leave over.
fn not_counted(evidence: &Evidence<'_>) -> Finding {
    let measured = evidence.measured;
    let time = measured.client_time.as_ref().filter(|_| measured.aborts.is_empty())?;
    let all = measured.elapsed as f64 * f64::from(evidence.clients);
    let missing = (all - time.sum() as f64).abs();
    let share = (time.nowhere as f64 + missing) / all;
    let [suspect, invalid] = NOWHERE_SHARE;
    // NaN where nothing was measured.
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

/// Settings that were others at the end of the run than those it is recorded with.
fn settings(changed: Option<&str>) -> Finding {
    let changed = changed?;
    let detail = format!("somebody changed settings of the server under the run: {changed}");
    Some((Validity::Invalid, Reason::SettingsNotApplied, detail))
}

/// Scripts that never found a row or, where they only write, never changed one; one that does neither is not judged.
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
            "{}; look at conditions and variables, or say may_be_empty if that is what you measure",
            found.join("; ")
        );
        (Validity::Invalid, Reason::EmptyResults, detail)
    })
}

/// Scripts that ask by key and often find nothing: an empty answer is faster than one with rows. A script that is
/// entirely empty has its own check.
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

/// A cache in which nothing was found: such a rate is that of misses alone.
fn no_hit(hit_pct: Option<f64>) -> Finding {
    let detail = "not one key that was asked for was there: all were evicted, or had expired";
    hit_pct.filter(|pct| *pct <= 0.0).map(|_| (Validity::Invalid, Reason::EmptyResults, detail.to_owned()))
}

/// What a script never did; `None` for one that did it, or was not to.
fn gave_nothing(counts: &Counts) -> Option<&'static str> {
    match counts {
        _ if counts.processed() == 0 => None,
        Counts { queries: 1.., rows: 0, .. } => Some("not one row came back"),
        Counts { queries: 0, changes: 1.., affected: 0, .. } => Some("not one row was changed"),
        _ => None,
    }
}

/// Whether clients gave up because their host had no port left to connect from.
pub(crate) fn is_out_of_ports(measured: &Measured) -> bool {
    // As Linux with glibc or musl, and macOS, word EADDRNOTAVAIL.
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

/// A generator that stood still has put that time into every response time. What stood in slices is in none that counts, so
/// that it cannot make the run invalid.
fn stalled(evidence: &Evidence<'_>) -> Finding {
    let measured = evidence.measured;
    let share = measured.own.stalled_ns as f64 / measured.elapsed as f64;
    let [suspect, invalid] = STALLED_SHARE;
    // NaN where nothing was measured.
    if share.is_nan() || share < suspect {
        return None;
    }
    let is_sliced = measured.stretches.len() > 1;
    let validity = if share >= invalid && !is_sliced { Validity::Invalid } else { Validity::Suspect };
    let seconds = measured.own.stalled_ns as f64 / 1e9;
    let detail = format!(
        "generator stalled {seconds:.1} s, {:.1} % of the time: it was stopped, had no CPU or its machine was paused, and response times have that in them",
        share * 100.0
    );
    Some((validity, Reason::GeneratorStalled, detail))
}

/// Many short gaps: a generator that ran for a part of the time only.
fn paused(evidence: &Evidence<'_>) -> Finding {
    let measured = evidence.measured;
    let share = measured.own.paused_ns as f64 / measured.elapsed as f64;
    let [suspect, invalid] = PAUSED_SHARE;
    // NaN where nothing was measured.
    if share.is_nan() || share < suspect {
        return None;
    }
    let is_sliced = measured.stretches.len() > 1;
    let validity = if share >= invalid && !is_sliced { Validity::Invalid } else { Validity::Suspect };
    let detail = format!(
        "generator stalled again and again for {} to {} ms, {:.1} s in all, {:.0} % of the time: it was stopped or had no CPU, and response times have that in them",
        engine::PAUSE / 1_000_000,
        engine::GAP / 1_000_000,
        measured.own.paused_ns as f64 / 1e9,
        share * 100.0
    );
    Some((validity, Reason::GeneratorStalled, detail))
}

/// Time without the server: who waits for a connection has no transaction, so no response time and no late one shows it.
fn outage(evidence: &Evidence<'_>) -> Finding {
    let measured = evidence.measured;
    let away: i64 = measured.outages.iter().map(record::Outage::length_ns).sum();
    let clients = f64::from(evidence.clients.max(1));
    let of_clients =
        |outage: &record::Outage| outage.length_ns() as f64 * (outage.clients as f64 / clients).min(1.0);
    let share = measured.outages.iter().map(of_clients).sum::<f64>() / measured.elapsed as f64;
    let [suspect, invalid] = OUTAGE_SHARE;
    // NaN where nothing was measured.
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

/// How the arrivals of an open load were offered. With clients that gave up there is nothing to say of its rate: too few were there to do it.
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
    let arrivals = arrivals(evidence)?;
    let detail = if arrivals.is_overloaded() { arrivals.shortfall() } else { overloaded_part(evidence)? };
    Some((Validity::Suspect, Reason::Overloaded, detail))
}

/// Where the rate changes, its crest may be too much while the whole is not.
fn overloaded_part(evidence: &Evidence<'_>) -> Option<String> {
    let profile = evidence.profile.filter(|profile| !profile.is_constant())?;
    let counts = counts(evidence.measured, true);
    let (from, to, arrivals) =
        Arrivals::overloaded_part(profile, evidence.series, &counts, offer(evidence)?)?;
    Some(format!("from {} to {} s {}", tenths(from), tenths(to), arrivals.shortfall()))
}

/// Seconds with one digit, where it is needed.
fn tenths(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

/// A lag that did no harm is no doubt: a promise that was kept would have been kept without it, too.
fn late(evidence: &Evidence<'_>) -> Finding {
    let arrivals = arrivals(evidence)?;
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
        evidence.measured.scripts.iter().for_each(|script| service.add(&script.service));
        service.quantile_ns(0.5).map_or(0.0, |ns| ns as f64 / 1e3)
    };
    let measured_for_us = evidence.limit_s.map_or_else(usual_us, |limit| limit * 1e6);
    let of_host_us = evidence.host_lag_us.unwrap_or(0.0) * HOST_FACTOR;
    LAG_US.max(measured_for_us * LAG_SHARE).max(of_host_us)
}

/// A run that was to begin cold, and whose files were not all out of the page cache.
fn not_cold(cold_pct: Option<f64>) -> Finding {
    let cached = cold_pct.filter(|cached| *cached > COLD_PCT)?;
    let detail = format!("{cached:.0} % of the server's files stayed in the page cache before a cold run");
    Some((Validity::Suspect, Reason::CacheState, detail))
}

#[cfg(test)]
pub(crate) mod tests {
    use engine::{Abort, ClientTime};

    use super::*;

    pub(super) fn measured(counts: Counts) -> Measured {
        let script = ScriptFigures { counts, completed: counts.processed(), ..ScriptFigures::default() };
        Measured { scripts: vec![script], ..Measured::default() }
    }

    pub(super) fn evidence<'a>(measured: &'a Measured, series: &'a [SeriesPoint]) -> Evidence<'a> {
        Evidence {
            measured,
            series,
            rate: None,
            profile: None,
            clients: 1,
            limit_s: None,
            trend: None,
            machine: Machine::default(),
            host_lag_us: None,
            is_trial: false,
            changed: None,
            scripts: &[],
            may_be_empty: false,
            hit_pct: None,
            cold_pct: None,
        }
    }

    fn reasons(evidence: &Evidence<'_>) -> (Validity, Vec<Reason>) {
        let (validity, doubts) = judge(evidence);
        (validity, doubts.into_iter().map(|doubt| doubt.reason).collect())
    }

    pub(super) fn good() -> Counts {
        Counts { due: 1000, ok: 1000, rows: 10, bytes: 100, ..Counts::default() }
    }

    /// A script at scale 20 on tables of scale 2: 90 % of the transactions found nothing, without a warning.
    #[test]
    fn transactions_by_key_that_find_nothing_are_a_doubt_from_a_tenth_on() {
        let script =
            |name: &str| ScriptInfo { name: name.into(), text_hash: String::new(), weight: 1, part: None };
        let scripts = [script("a.sql"), script("b.sql")];
        let judged = |empty: [u64; 2], may_be_empty| {
            let figures = |keyed_empty| {
                let counts = Counts { queries: 1000, rows: 1, keyed: 1000, keyed_empty, ..good() };
                ScriptFigures { counts, completed: counts.processed(), ..ScriptFigures::default() }
            };
            let measured = Measured { scripts: empty.map(figures).to_vec(), ..Measured::default() };
            let evidence = Evidence { scripts: &scripts, may_be_empty, ..evidence(&measured, &[]) };
            let (validity, doubts) = judge(&evidence);
            (validity, doubts.into_iter().map(|doubt| doubt.detail).collect::<Vec<_>>())
        };
        assert_eq!(judged([99, 0], false), (Validity::Valid, vec![]));
        assert_eq!(judged([900, 0], true), (Validity::Valid, vec![]));
        let (validity, details) = judged([900, 100], false);
        assert_eq!((validity, details.len()), (Validity::Suspect, 1));
        let wanted =
            "a.sql: 90.0 % of 1000 transactions by key returned or changed no row; b.sql: 10.0 % of 1000";
        assert!(details[0].starts_with(wanted), "{details:?}");
    }

    /// What a changing rate asks for is no unsteadiness, and its crest may be too much by itself.
    #[test]
    fn a_rate_that_changes_is_judged_by_what_it_asks() {
        let profile: Profile = "step 1000, 4000 every 6s".parse().unwrap();
        let judged = |rates: &[u64], skipped: u64| {
            let mut series = series(rates);
            series.iter_mut().skip(6).for_each(|second| second.skipped = skipped);
            let (ok, skipped) = (rates.iter().sum(), 6 * skipped);
            let counts = Counts { due: ok + skipped, ok, skipped, ..Counts::default() };
            let measured = Measured { elapsed: 12_000_000_000, ..counted(counts) };
            let open = open(&measured);
            let open = Evidence { series: &series, rate: Some(2500.0), profile: Some(&profile), ..open };
            let (_, doubts) = judge(&open);
            doubts.into_iter().map(|doubt| (doubt.reason, doubt.detail)).collect::<Vec<_>>()
        };
        let of = |low, high| [[low; 6], [high; 6]].concat();
        assert_eq!(judged(&of(1000, 4000), 0), []);
        let [(reason, detail)] = &judged(&of(1000, 3951), 49)[..] else { panic!("not one doubt") };
        let wanted =
            "from 6 to 12 s 98.7 % of the offered 4000/s were done in time (3951/s); of 24000: 294 skipped";
        assert_eq!((*reason, detail.as_str()), (Reason::Overloaded, wanted));
        // As much as ever, where four times as much was asked for.
        assert!(judged(&of(1000, 1000), 0).iter().any(|(reason, _)| *reason == Reason::Unsteady));
    }

    pub(super) fn series(rates: &[u64]) -> Vec<SeriesPoint> {
        rates.iter().enumerate().map(|(second, ok)| point(second, *ok)).collect()
    }

    pub(super) fn point(second: usize, ok: u64) -> SeriesPoint {
        SeriesPoint {
            script: 0,
            start_us: second as i64 * 1_000_000,
            length_us: 1_000_000,
            ok,
            late: 0,
            failed: 0,
            skipped: 0,
        }
    }

    #[test]
    fn counts_decide() {
        use Reason as R;
        use Validity as V;
        let cases = [
            (good(), V::Valid, vec![]),
            (Counts { ok: 0, due: 0, ..good() }, V::Invalid, vec![R::TooShort]),
            (Counts { ok: 29, due: 29, ..good() }, V::Suspect, vec![R::TooShort]),
            (Counts { failed: 5, ..good() }, V::Suspect, vec![R::Errors]),
            (Counts { failed: 50, ..good() }, V::Invalid, vec![R::Errors]),
        ];
        for (counts, validity, wanted) in cases {
            let measured = measured(counts);
            assert_eq!(reasons(&evidence(&measured, &[])), (validity, wanted), "{counts:?}");
        }
    }

    /// A cold run heats: that its halves differ is what it shows. It was not cold where its files stayed in memory.
    #[test]
    fn a_cold_run_is_judged_by_how_cold_it_was() {
        let measured = measured(good());
        let heats = series(&[100, 100, 100, 100, 100, 900, 900, 900, 900, 900]);
        for (cold_pct, wanted) in [
            (None, vec![Reason::Unsteady]),
            (Some(0.0), vec![]),
            (Some(5.0), vec![]),
            (Some(6.0), vec![Reason::CacheState]),
        ] {
            let evidence = Evidence { cold_pct, ..evidence(&measured, &heats) };
            assert_eq!(reasons(&evidence).1, wanted, "{cold_pct:?}");
        }
    }

    #[test]
    fn a_script_that_never_returns_rows_is_refused() {
        let nothing = Counts { rows: 0, bytes: 0, ..good() };
        let cases = [
            // Queries decide, whatever else is written.
            (Counts { queries: 1000, ..nothing }, Some("not one row came back")),
            (
                Counts { queries: 2000, changes: 1000, affected: 1000, ..nothing },
                Some("not one row came back"),
            ),
            (Counts { queries: 1000, rows: 1, ..nothing }, None),
            // One that only writes is judged by what it changes.
            (Counts { changes: 1000, ..nothing }, Some("not one row was changed")),
            (Counts { changes: 1000, affected: 1, ..nothing }, None),
            // DO, CALL, SET: nothing to judge by.
            (nothing, None),
            // Never chosen, or never done: others say that.
            (Counts { queries: 1000, ok: 0, failed: 1000, ..nothing }, None),
        ];
        for (counts, wanted) in cases {
            assert_eq!(gave_nothing(&counts), wanted, "{counts:?}");
        }
    }

    #[test]
    fn an_empty_script_among_several_is_named() {
        let script =
            |name: &str| ScriptInfo { name: name.into(), text_hash: String::new(), weight: 1, part: None };
        let scripts = [script("full.sql"), script("empty.sql")];
        let figures = |counts: Counts| ScriptFigures {
            counts,
            completed: counts.processed(),
            ..ScriptFigures::default()
        };
        let full = Counts { queries: 1000, rows: 1000, ..good() };
        let empty = Counts { queries: 1000, rows: 0, bytes: 0, ..good() };
        let measured = Measured { scripts: vec![figures(full), figures(empty)], ..Measured::default() };
        let told = Evidence { scripts: &scripts, ..evidence(&measured, &[]) };
        let (validity, doubts) = judge(&told);
        assert_eq!((validity, doubts[0].reason), (Validity::Invalid, Reason::EmptyResults));
        assert!(
            doubts[0].detail.starts_with("empty.sql: not one row came back in 1000 transactions; "),
            "{doubts:?}"
        );
        let said = Evidence { may_be_empty: true, ..told };
        assert_eq!(reasons(&said), (Validity::Valid, vec![]));
    }

    /// Runs under the settings of another experiment on the same server were valid.
    #[test]
    fn a_run_whose_settings_changed_under_it_is_invalid() {
        let measured = measured(good());
        let told = Evidence { changed: Some("fsync was on and is off"), ..evidence(&measured, &[]) };
        let (validity, doubts) = judge(&told);
        assert_eq!((validity, doubts[0].reason), (Validity::Invalid, Reason::SettingsNotApplied));
        assert!(doubts[0].detail.ends_with("under the run: fsync was on and is off"), "{doubts:?}");
    }

    #[test]
    fn the_generator_and_the_host_are_watched() {
        let mut busy = measured(good());
        busy.own.busiest_thread = 0.95;
        let host = Evidence {
            machine: Machine { steal_pct: Some(3.0), ..Machine::default() },
            ..evidence(&busy, &[])
        };
        assert_eq!(reasons(&host), (Validity::Suspect, vec![Reason::ClientSaturated, Reason::Steal]));
        busy.aborts.push(Abort { message: "gone".into(), ..Abort::default() });
        assert_eq!(judge(&evidence(&busy, &[])).0, Validity::Invalid);
    }

    /// A search counted no trial in which its host ran out of ports, and ended without an answer.
    #[test]
    fn a_host_without_a_local_port_is_the_generators_limit() {
        for (message, wanted) in [
            (
                "connection failed: Cannot assign requested address",
                vec![Reason::Errors, Reason::ClientSaturated],
            ),
            ("connection failed: Connection refused", vec![Reason::Errors]),
        ] {
            let mut run = measured(good());
            run.aborts.push(Abort { message: message.into(), ..Abort::default() });
            assert_eq!(reasons(&evidence(&run, &[])), (Validity::Invalid, wanted), "{message}");
        }
    }

    /// Open load of 4 s with a promise of 20 ms.
    fn open<'a>(measured: &'a Measured) -> Evidence<'a> {
        Evidence { rate: Some(1000.0), clients: 16, limit_s: Some(0.02), ..evidence(measured, &[]) }
    }

    fn counted(counts: Counts) -> Measured {
        Measured { elapsed: 4_000_000_000, ..measured(Counts { rows: 1, bytes: 1, ..counts }) }
    }

    #[test]
    fn an_overloaded_run_is_suspect_with_a_promise_or_without() {
        // What was measured when 16 clients were offered 16,000/s under a promise of 20 ms.
        let counts = Counts { due: 95_265, ok: 1_596, late: 42_900, skipped: 50_769, ..Counts::default() };
        let told = judge(&Evidence { rate: Some(16_000.0), ..open(&counted(counts)) });
        assert_eq!((told.0, told.1[0].reason), (Validity::Suspect, Reason::Overloaded));
        assert_eq!(
            told.1[0].detail,
            "1.6 % of the offered 23816/s were done in time (399/s); of 95265: 42900 late, 50769 skipped"
        );
        // Without a promise nothing is late or skipped; `bench` leaves a queue, `run` works it off when it is over.
        let left = counted(Counts { due: 4000, ok: 3000, unfinished: 1000, ..Counts::default() });
        assert_eq!(reasons(&Evidence { limit_s: None, ..open(&left) }).1, [Reason::Overloaded]);
        let mut drained = counted(Counts { due: 4000, ok: 4000, ..Counts::default() });
        assert_eq!(reasons(&Evidence { limit_s: None, ..open(&drained) }).1, []);
        drained.drained = 1000;
        assert_eq!(reasons(&Evidence { limit_s: None, ..open(&drained) }).1, [Reason::Overloaded]);
        // A number of transactions per client takes as long as it takes.
        let slow = counted(Counts { due: 3000, ok: 3000, ..Counts::default() });
        assert_eq!(reasons(&Evidence { limit_s: None, ..open(&slow) }).1, [Reason::Overloaded]);
        // 39 answers with a p99 of 197 µs, and then none: a server that hangs was fast, and its run valid.
        for (left_open, wanted) in [(2, Validity::Suspect), (16, Validity::Invalid)] {
            let counts = Counts { due: 4000, ok: 4000 - left_open, late: left_open, ..Counts::default() };
            let hung = Measured { left_open, ..counted(counts) };
            let told = reasons(&Evidence { rate: None, limit_s: None, ..open(&hung) });
            assert_eq!(told, (wanted, vec![Reason::Errors]));
        }
    }

    /// Its stall was booked as the server's latency.
    #[test]
    fn a_run_whose_generator_stood_still_was_valid() {
        let judged = |stalled_ms: u64, stretches: usize| {
            let mut run = counted(Counts { due: 4000, ok: 4000, ..Counts::default() });
            run.own.stalled_ns = stalled_ms * 1_000_000;
            run.stretches = vec![engine::Stretch::default(); stretches];
            judge(&evidence(&run, &[]))
        };
        assert_eq!(judged(0, 0), (Validity::Valid, vec![]));
        assert_eq!(judged(19, 0).0, Validity::Valid);
        assert_eq!(judged(20, 0).0, Validity::Suspect);
        assert_eq!(judged(200, 0).0, Validity::Invalid);
        let (validity, doubts) = judged(3000, 0);
        assert_eq!((validity, doubts[0].reason), (Validity::Invalid, Reason::GeneratorStalled));
        assert!(doubts[0].detail.starts_with("generator stalled 3.0 s, 75.0 % of the time: "), "{doubts:?}");
        // The quads in which it stood are void.
        assert_eq!(judged(3000, 40).0, Validity::Suspect);
    }

    /// Stopped for 160 ms of every 320 ms, it made a false "slower -42.5 %".
    #[test]
    fn a_generator_that_stops_again_and_again_for_a_short_time_is_told() {
        let judged = |paused_ms: u64| {
            let mut run = counted(Counts { due: 4000, ok: 4000, ..Counts::default() });
            run.own.paused_ns = paused_ms * 1_000_000;
            reasons(&evidence(&run, &[]))
        };
        assert_eq!(judged(150), (Validity::Valid, vec![]));
        assert_eq!(judged(400), (Validity::Suspect, vec![Reason::GeneratorStalled]));
        assert_eq!(judged(1800), (Validity::Invalid, vec![Reason::GeneratorStalled]));
    }

    /// "Quality holds on every rung" was said of a server that was away for 77 % of a rung.
    #[test]
    fn time_without_the_server_is_told() {
        let judged = |ms: i64, clients: u64, over: bool| {
            let mut run = counted(Counts { due: 4000, ok: 4000, ..Counts::default() });
            run.outages = vec![record::Outage { from_ns: 0, to_ns: ms * 1_000_000, clients, over }];
            reasons(&Evidence { clients: 4, ..evidence(&run, &[]) })
        };
        assert_eq!(judged(10, 4, true).0, Validity::Valid);
        assert_eq!(judged(200, 4, true), (Validity::Suspect, vec![Reason::Errors]));
        assert_eq!(judged(800, 4, true), (Validity::Invalid, vec![Reason::Errors]));
        assert_eq!(judged(800, 1, true).0, Validity::Suspect, "three of four had it");
        assert_eq!(judged(200, 4, false), (Validity::Invalid, vec![Reason::Errors]));
    }

    #[test]
    fn time_that_is_in_no_figure_is_told() {
        // Four clients for 4 s.
        let judged = |time: ClientTime| {
            let counts = Counts { due: 4000, ok: 4000, ..Counts::default() };
            let run = Measured { client_time: Some(time), ..counted(counts) };
            reasons(&Evidence { clients: 4, ..evidence(&run, &[]) })
        };
        let ms = |counted: u64, elsewhere: u64, nowhere: u64| {
            let [counted, elsewhere, nowhere] = [counted, elsewhere, nowhere].map(|ms| ms * 1_000_000);
            ClientTime { counted, elsewhere, nowhere, ..ClientTime::default() }
        };
        let doubt = vec![Reason::TimeNotCounted];
        // What ends later is in the percentiles.
        assert_eq!(judged(ms(1000, 15_000, 0)), (Validity::Valid, vec![]));
        assert_eq!(judged(ms(15_840, 160, 160)), (Validity::Valid, vec![]));
        assert_eq!(judged(ms(15_800, 200, 200)), (Validity::Suspect, doubt.clone()));
        assert_eq!(judged(ms(14_000, 2000, 2000)), (Validity::Invalid, doubt.clone()));
        // The terms do not add up.
        assert_eq!(judged(ms(15_800, 0, 0)), (Validity::Suspect, doubt.clone()));
        assert_eq!(judged(ms(20_000, 0, 0)), (Validity::Invalid, doubt));
    }

    #[test]
    fn what_follows_from_an_overload_does_not_drown_it() {
        // All clients busy: the few arrivals that find one start late, since the server has the processors.
        let mut run = counted(Counts { due: 4000, ok: 1000, late: 2000, skipped: 1000, ..Counts::default() });
        for _ in 0..100 {
            run.own.start_lag.record(9_000_000);
        }
        assert_eq!(reasons(&open(&run)).1, [Reason::Overloaded]);
        // Clients were free, and yet it was late: that is why. A thread without time left is a cause, too.
        for _ in 0..2900 {
            run.own.start_lag.record(9_000_000);
        }
        run.own.busiest_thread = 0.95;
        assert_eq!(
            reasons(&open(&run)).1,
            [Reason::Overloaded, Reason::ClientSaturated, Reason::ScheduleLate]
        );
        // Clients that gave up explain what was not done.
        run.aborts.push(Abort { message: "gone".into(), ..Abort::default() });
        assert_eq!(reasons(&open(&run)), (Validity::Invalid, vec![Reason::Errors, Reason::ClientSaturated]));
    }

    #[test]
    fn a_run_that_kept_its_promise_is_not_suspect_for_the_generators_lag() {
        let mut kept = counted(Counts { due: 4000, ok: 4000, ..Counts::default() });
        for _ in 0..4000 {
            kept.own.start_lag.record(3_000_000);
        }
        assert_eq!(reasons(&open(&kept)), (Validity::Valid, vec![]));
        // Where time is what was measured, the lag is in every figure.
        assert_eq!(reasons(&Evidence { limit_s: None, ..open(&kept) }).1, [Reason::ScheduleLate]);
    }

    #[test]
    fn a_schedule_is_late_by_100_us_or_a_tenth_of_what_is_measured() {
        let cases = [
            (90, 50, None, false),
            (110, 50, None, true),
            (110, 2_000, None, false),
            (210, 2_000, None, true),
            // A broken promise says what matters, whatever was measured.
            (110, 2_000, Some(500), true),
            (110, 50, Some(2_000), false),
        ];
        for (lag_us, service_us, limit_us, late) in cases {
            let mut run = counted(Counts { due: 10, ok: 5, late: 5, ..good() });
            (0..10).for_each(|_| run.own.start_lag.record(lag_us * 1000));
            run.scripts[0].service.record(service_us * 1000);
            let limit_s = limit_us.map(|us: u32| f64::from(us) / 1e6);
            let told = Evidence { rate: Some(2.5), limit_s, ..open(&run) };
            let found = reasons(&told).1.contains(&Reason::ScheduleLate);
            assert_eq!(found, late, "lag {lag_us} µs, service {service_us} µs, promise {limit_us:?} µs");
        }
    }

    /// On a host that wakes up late by itself every run in open load was suspect.
    #[test]
    fn a_schedule_is_late_beyond_what_the_host_is_late_by_itself() {
        let cases = [
            (110, None, true),
            (110, Some(40.0), true),
            (110, Some(60.0), false),
            (290, Some(150.0), false),
            (310, Some(150.0), true),
        ];
        for (lag_us, host_lag_us, late) in cases {
            let mut run = counted(Counts { due: 10, ok: 10, ..good() });
            (0..10).for_each(|_| run.own.start_lag.record(lag_us * 1000));
            run.scripts[0].service.record(50_000);
            let (_, doubts) = judge(&Evidence { rate: Some(2.5), limit_s: None, host_lag_us, ..open(&run) });
            let found = doubts.iter().find(|doubt| doubt.reason == Reason::ScheduleLate);
            assert_eq!(found.is_some(), late, "lag {lag_us} µs, the host's {host_lag_us:?} µs");
            let told =
                found.is_none_or(|doubt| doubt.detail.contains("on this host") == host_lag_us.is_some());
            assert!(told, "{found:?}");
        }
    }

    #[test]
    fn the_page_says_the_same_limits() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/run-verdicts.md");
        let page = std::fs::read_to_string(page).unwrap();
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        for limit in [
            format!("more than {} of the time", percent(SATURATED)),
            format!("more than {} % of the CPU time", machine::STEAL_PCT),
            format!("more than {} of the transactions", percent(FAILED_SHARE)),
            format!("{} % of the CPUs", machine::OTHERS_PCT),
            format!("changes by {} at least", percent(trend::CHANGE)),
            format!("{} times its share", machine::WEIGHT),
            format!("fewer than {FEW} did"),
            format!("steps of {} or more", percent(machine::UNSTEADY)),
            format!("a run of {} s", machine::STEADY_SECONDS),
            format!("a level lasts {} s", machine::LEVEL_SECONDS),
            format!("by {} at least", percent(machine::STEP)),
            format!("more than {} % of the periods", machine::WAITED_PCT),
            format!("more than {} slower at its fastest", percent(machine::SLOW_LEAST)),
            format!("more than {} slower in the mean", percent(machine::SLOW_MEAN)),
            format!("more than {} times as slow", machine::SLOW_ALONE),
            format!("less than {} of the offered rate", percent(record::KEPT_UP)),
            format!("less than {} of the arrivals found a free client", percent(FREE_SHARE)),
            format!("more than {LAG_US} µs late"),
            format!("more than {} of the promise", percent(LAG_SHARE)),
            format!("{HOST_FACTOR} times what is this host's own"),
            format!("from {} % of the time on", STALLED_SHARE[0] * 100.0),
            format!("from {} on invalid", percent(STALLED_SHARE[1])),
            format!("gaps of {} ms or more", engine::GAP / 1_000_000),
            format!("gaps of {} to {} ms", engine::PAUSE / 1_000_000, engine::GAP / 1_000_000),
            format!(
                "from {} of the time on, from {} on invalid",
                percent(PAUSED_SHARE[0]),
                percent(PAUSED_SHARE[1])
            ),
            format!(
                "from {} % of their time on, above {} invalid",
                OUTAGE_SHARE[0] * 100.0,
                percent(OUTAGE_SHARE[1])
            ),
            format!("more than {} of the clients' time", percent(NOWHERE_SHARE[0])),
            format!("more than {} invalid", percent(NOWHERE_SHARE[1])),
        ] {
            assert!(page.contains(&limit), "docs/run-verdicts.md does not say {limit:?}");
        }
    }
}
