//! The output of `pgdyno bench`: pgbench's lines, and the distribution that pgbench lacks.

use std::cmp::Reverse;
use std::fmt::Write;

use engine::Until;
use lab::execute::OneRun;
use report::visible::line;
use report::{Conclusion, numbers};
use results::{CellValue, Table};
use spec::figures::{self, Counters, Figure};
use spec::{Arrivals, Counts, Offer, OfferedLoad, Profile, RunEvent};
use stats::{Histogram, TooFew};

use super::args::BenchArgs;

use crate::commands::pgbench::losses;

mod users;
mod verdict;

const QUANTILES: [(f64, &str); 5] =
    [(0.5, "p50"), (0.9, "p90"), (0.95, "p95"), (0.99, "p99"), (0.999, "p99.9")];

/// The report for people.
pub(super) fn text(args: &BenchArgs, rate: Option<&Profile>, done: &OneRun) -> String {
    let mut out = Conclusion::new(answer(done)).text();
    let seconds = done.run.measured_s;
    head(&mut out, args, done);
    let totals = done.measured.totals();
    counts(&mut out, "", &totals, args);
    open_at_the_end(&mut out, &done.measured);
    if args.conduct.reconnect {
        let _ = write!(out, "{}", losses(&done.measured));
    }
    let arrivals = Arrivals::of(&done.run);
    if let Some(arrivals) = &arrivals {
        if let Some(profile) = rate.filter(|profile| !profile.is_constant()) {
            let _ = writeln!(out, "rate = {profile}");
        }
        open_load(&mut out, arrivals);
    }
    let started_only = arrivals.is_some_and(|arrivals| arrivals.started_only);
    distribution(&mut out, "", &done.run.response(), started_only);
    users::text(&mut out, args, &done.run);
    if rate.is_some() {
        lags(&mut out, &done.measured);
    }
    let _ = writeln!(out, "initial connection time = {:.3} ms", done.measured.connecting as f64 / 1e6);
    if done.measured.completed() > 0 {
        let own = &done.measured.own;
        let cpu = (own.user_ns + own.system_ns) as f64 / 1e3 / done.measured.completed() as f64;
        let _ = writeln!(out, "client CPU per transaction = {cpu:.2} µs ({})", done.measured.driver);
    }
    let tps = done.run.tps().unwrap_or_default();
    let _ = writeln!(out, "tps = {tps:.6} (without initial connection time)");
    if done.scripts.len() > 1 {
        scripts(&mut out, args, done, seconds, started_only);
    }
    statements(&mut out, done);
    let not_known =
        |event: &&RunEvent| event.kind == RunEvent::REMARK && event.detail.starts_with("lag of replica");
    let not_known = done.run.events.iter().filter(not_known).map(|event| event.detail.clone());
    for words in report::lag_words(&done.run).into_iter().chain(not_known) {
        let _ = writeln!(out, "{}", line(&words));
    }
    verdict::text(&mut out, done);
    out
}

/// `<builtin: select only>: 19,400 tps with 4 clients in 10 s, p50 201 µs, p99 1.02 ms.`
fn answer(done: &OneRun) -> String {
    let run = &done.run;
    let what = match &done.scripts[..] {
        [only] => only.name.clone(),
        several => lab::words::count(several.len(), "script"),
    };
    let tps =
        run.tps().map_or_else(|| "no throughput".to_owned(), |per_s| format!("{} tps", numbers::tps(per_s)));
    let response = run.response();
    let percentiles = [(0.5, "p50"), (0.99, "p99")].into_iter().filter_map(|(quantile, name)| {
        let few = TooFew::of(quantile, response.count()).is_some();
        let ns = response.percentile_ns(quantile).filter(|_| !few)?;
        Some(format!(", {name} {}", numbers::latency_us(ns as f64 / 1e3)))
    });
    let reasons: Vec<&str> = run.doubts.iter().map(|doubt| doubt.reason.text()).collect();
    let doubt = match reasons.is_empty() {
        true => String::new(),
        false => format!(" ({}: {})", verdict::validity(run), reasons.join(", ")),
    };
    let each = if run.load == OfferedLoad::Users { "user" } else { "client" };
    format!(
        "{what}: {tps} with {} in {}{}{doubt}.",
        lab::words::count(run.clients as usize, each),
        numbers::duration(run.measured_s),
        percentiles.collect::<String>()
    )
}

fn head(out: &mut String, args: &BenchArgs, done: &OneRun) {
    let kind = match &done.scripts[..] {
        [only] => line(&only.name).into_owned(),
        _ => "multiple scripts".to_owned(),
    };
    let _ = writeln!(out, "transaction type: {kind}");
    let _ = writeln!(out, "scaling factor: {}", done.scale.unwrap_or(1));
    let _ = writeln!(out, "query mode: {}", args.scripts.mode.first().name());
    let each = if args.users.is_asked() { "users" } else { "clients" };
    let _ = writeln!(out, "number of {each}: {}", done.run.clients);
    let _ = writeln!(out, "number of threads: {}", done.run.threads);
    if let Some(part) = done.run.parts.first().filter(|part| part.of > 1) {
        let _ = writeln!(out, "{} of the load", part.words());
    }
    let _ = match args.until() {
        Until::Elapsed(ns) => writeln!(out, "duration: {} s", ns / 1_000_000_000),
        Until::PerClient(count) => writeln!(out, "number of transactions per client: {count}"),
        Until::PerUser(count) => writeln!(out, "number of sessions per user: {count}"),
        // A single run never waits for its caller.
        Until::Caller => Ok(()),
    };
    let _ = writeln!(out, "random seed: {}", done.run.seed);
}

fn counts(out: &mut String, prefix: &str, counts: &Counts, args: &BenchArgs) {
    let all = counts.processed() + counts.failed + counts.skipped;
    let share = |part: u64| if all == 0 { 0.0 } else { 100.0 * part as f64 / all as f64 };
    let _ = writeln!(out, "{prefix}number of transactions actually processed: {}", counts.processed());
    let _ = writeln!(
        out,
        "{prefix}number of failed transactions: {} ({:.3}%)",
        counts.failed,
        share(counts.failed)
    );
    if args.conduct.max_tries != 1 {
        let _ = writeln!(
            out,
            "{prefix}number of transactions retried: {} ({:.3}%)",
            counts.retried,
            share(counts.retried)
        );
        let _ = writeln!(out, "{prefix}total number of retries: {}", counts.retries);
    }
    if args.pace.rate.is_some() && args.pace.latency_limit.is_some() {
        let _ = writeln!(
            out,
            "{prefix}number of transactions skipped: {} ({:.3}%)",
            counts.skipped,
            share(counts.skipped)
        );
    }
    if let Some(limit_ms) = args.pace.latency_limit {
        let late = 100.0 * counts.late as f64 / counts.processed().max(1) as f64;
        let _ = writeln!(
            out,
            "{prefix}number of transactions above the {} ms latency limit: {}/{} ({late:.3}%)",
            numbers::as_given(limit_ms),
            counts.late,
            counts.processed()
        );
    }
    let _ = writeln!(
        out,
        "{prefix}number of rows returned: {} ({} bytes), changed: {}",
        counts.rows, counts.bytes, counts.affected
    );
    if counts.unfinished > 0 {
        let _ = writeln!(out, "{prefix}number of transactions unfinished at the end: {}", counts.unfinished);
    }
}

/// How long transactions waited for their start, as pgbench counts it; and how late the load generator
/// started transactions that had a free client.
fn lags(out: &mut String, measured: &engine::EngineResult) {
    let scripts = || measured.scripts.iter();
    let started: u64 = scripts().map(|script| script.response.count()).sum();
    let waited: f64 =
        scripts().map(|script| script.response.sum_ns() as f64 - script.service().sum_ns() as f64).sum();
    let most = scripts().map(|script| script.lag_max_ns).max();
    if let Some(most) = most.filter(|_| started > 0) {
        let mean = waited.max(0.0) / started as f64;
        let _ =
            writeln!(out, "rate limit schedule lag: avg {:.3} (max {:.3}) ms", mean / 1e6, most as f64 / 1e6);
    }
    let own = &measured.own.start_lag;
    if let (Some(mean), Some(most)) = (own.mean_ns(), own.max_ns()) {
        let _ = writeln!(
            out,
            "of that by the load generator, where a client was free: avg {:.3} (max {:.3}) ms",
            mean / 1e6,
            most as f64 / 1e6
        );
    }
}

/// Transactions of a closed load that ended after its measured part, or never.
fn open_at_the_end(out: &mut String, measured: &engine::EngineResult) {
    let (processed, completed) = (measured.totals().processed(), measured.completed());
    if measured.client_time.is_some() && processed != completed {
        let _ =
            writeln!(out, "number of transactions counted by tps: {completed} (ended within the duration)");
    }
    if measured.left_open > 0 {
        let _ = writeln!(
            out,
            "number of transactions still open after the last wait: {} (counted as late)",
            measured.left_open
        );
    }
}

fn open_load(out: &mut String, arrivals: &Arrivals) {
    let Arrivals { due, ok, late, failed, skipped, unfinished, .. } = arrivals;
    let _ = writeln!(
        out,
        "rate offered = {:.3}/s, achieved in time = {:.3}/s ({})",
        arrivals.offered_per_s(),
        arrivals.achieved_per_s(),
        report::arrivals::share(arrivals)
    );
    let never = (arrivals.offered - *due as f64).round();
    let never =
        if never > 0.0 { format!("; {never} more were never taken by a client") } else { String::new() };
    let _ = writeln!(
        out,
        "arrivals: {due} due = {ok} ok + {late} late + {failed} failed + {skipped} skipped + {unfinished} unfinished{never}"
    );
    if arrivals.started_only {
        let _ = writeln!(
            out,
            "overloaded: latencies are those of the transactions that were started; what was skipped or never taken has none"
        );
    }
}

fn distribution(out: &mut String, prefix: &str, latency: &Histogram, started_only: bool) {
    let (Some(mean), Some(stddev), Some(most)) = (latency.mean_ns(), latency.stddev_ns(), latency.max_ns())
    else {
        return;
    };
    let _ = writeln!(out, "{prefix}latency average = {:.3} ms", mean / 1e6);
    let _ = writeln!(out, "{prefix}latency stddev = {:.3} ms", stddev / 1e6);
    let mut parts: Vec<String> = QUANTILES
        .iter()
        .filter_map(|(q, name)| Some(format!("{name} {:.3}", latency.percentile_ns(*q)? as f64 / 1e6)))
        .collect();
    parts.push(format!("max {:.3}", most as f64 / 1e6));
    let of = if started_only { " of those started" } else { "" };
    let few = QUANTILES.iter().filter_map(|(q, _)| TooFew::of(*q, latency.count()));
    let few: Vec<String> = few.map(|few| few.to_string()).collect();
    let few = if few.is_empty() { String::new() } else { format!(" ({})", few.join("; ")) };
    let _ = writeln!(out, "{prefix}latency percentiles{of} = {} ms{few}", parts.join(", "));
}

fn scripts(out: &mut String, args: &BenchArgs, done: &OneRun, seconds: f64, started_only: bool) {
    let weights: u64 = done.scripts.iter().map(|script| u64::from(script.weight)).sum();
    let shown = shown_scripts(done);
    if shown.len() < done.scripts.len() {
        let (few, all) = (shown.len(), done.scripts.len());
        let _ = writeln!(
            out,
            "the {few} of {all} scripts that took the most time (all of them: pgdyno table scripts):"
        );
    }
    for index in shown {
        let (script, figures) = (&done.scripts[index], &done.measured.scripts[index]);
        let share = 100.0 * f64::from(script.weight) / weights.max(1) as f64;
        if args.users.is_asked() {
            let _ = writeln!(out, "step {}: {}", index + 1, line(&script.name));
        } else {
            let _ = writeln!(out, "SQL script {}: {}", index + 1, line(&script.name));
            let _ = writeln!(out, " - weight: {} (targets {share:.1}% of total)", script.weight);
        }
        let tps = figures.completed as f64 / seconds.max(f64::MIN_POSITIVE);
        let _ = writeln!(out, " - tps = {tps:.6}");
        counts(out, " - ", &figures.counts, args);
        distribution(out, " - ", &figures.response, started_only);
    }
}

/// Most scripts whose figures are all shown, and how many of more scripts are.
const ALL_SHOWN: usize = 30;
const SHOWN: usize = 10;

/// The scripts that took the most time, if there are many; by their place.
fn shown_scripts(done: &OneRun) -> Vec<usize> {
    let mut places: Vec<usize> = (0..done.scripts.len()).collect();
    if places.len() > ALL_SHOWN {
        places.sort_by_key(|place| Reverse(done.measured.scripts[*place].response.sum_ns()));
        places.truncate(SHOWN);
        places.sort_unstable();
    }
    places
}

fn statements(out: &mut String, done: &OneRun) {
    if done.measured.statements.is_empty() {
        return;
    }
    let shown = shown_scripts(done);
    let _ = writeln!(out, "statement latencies in milliseconds (average, p95, p99) and failures:");
    let mut script = usize::MAX;
    let of_shown = done.statements.iter().zip(&done.measured.statements);
    for (statement, figures) in of_shown.filter(|(statement, _)| shown.contains(&statement.script)) {
        if statement.script != script && done.scripts.len() > 1 {
            let _ = writeln!(out, " {}:", line(&done.scripts[statement.script].name));
        }
        script = statement.script;
        let ms = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", ns / 1e6));
        let latency = &figures.latency;
        let quantile = |q| ms(latency.percentile_ns(q).map(|ns| ns as f64));
        let _ = writeln!(
            out,
            "{:>12} {:>10} {:>10} {:>8}  {}",
            ms(latency.mean_ns()),
            quantile(0.95),
            quantile(0.99),
            figures.failures,
            line(&statement.text)
        );
    }
}

/// The same for programs: a row per script, and one for all. `whole` adds the distributions, needed to import
/// the run elsewhere.
pub(super) fn table(done: &OneRun, args: &BenchArgs, whole: bool) -> Table {
    let mut columns = COLUMNS.to_vec();
    columns.extend(DISTRIBUTIONS.iter().filter(|_| whole));
    let users = users::of_run(&done.run, args);
    columns.extend(users.iter().map(|(name, _)| *name));
    let mut table = Table::new(&columns);
    let all = Arrivals::of(&done.run);
    let mut push = |head, figures: ShownFigures<'_>, arrivals, is_all| {
        let mut cells = row(head, &figures, arrivals, done);
        cells.extend(run(done, args));
        let open = args.pace.rate.is_some();
        let distributions = [Some(figures.response), Some(figures.service).filter(|_| open)];
        let texts = distributions.map(|of| of.filter(|of| of.count() > 0).map(Histogram::to_text).into());
        cells.extend(texts.into_iter().filter(|_| whole));
        // Sessions are of all steps together.
        cells.extend(users.iter().map(|(_, value)| if is_all { value.clone() } else { CellValue::Null }));
        table.push(cells);
    };
    for ((script, figures), record) in done.scripts.iter().zip(&done.measured.scripts).zip(&done.run.scripts)
    {
        let head = [script.name.clone().into(), script.weight.into()];
        let arrivals = all.map(|all| of_script(all, &record.counts, done.scripts.len() == 1));
        let figures = ShownFigures {
            counts: figures.counts,
            completed: figures.completed,
            response: &figures.response,
            service: figures.service(),
        };
        push(head, figures, arrivals, done.scripts.len() == 1);
    }
    if done.scripts.len() != 1 {
        let (response, service) = (done.run.response(), done.run.service());
        let figures = ShownFigures {
            counts: done.measured.totals(),
            completed: done.measured.completed(),
            response: &response,
            service: &service,
        };
        push(["all".into(), CellValue::Null], figures, all, true);
    }
    table
}

struct ShownFigures<'a> {
    counts: Counts,
    completed: u64,
    response: &'a Histogram,
    service: &'a Histogram,
}

const DISTRIBUTIONS: [&str; 2] = ["response", "service"];

const COLUMNS: [&str; 52] = [
    "script",
    "weight",
    "tps",
    "offered_tps",
    "achieved_tps",
    figures::PROMISE_MS.row().name,
    figures::DUE.row().name,
    figures::OK.row().name,
    figures::LATE.row().name,
    "late_share_pct",
    figures::FAILED.row().name,
    figures::SKIPPED.row().name,
    figures::UNFINISHED.row().name,
    "percentiles_of",
    "mean_us",
    "p50_us",
    "p95_us",
    "p99_us",
    "p999_us",
    "max_us",
    figures::ROWS.row().name,
    figures::BYTES.row().name,
    figures::AFFECTED.row().name,
    "seed",
    "validity",
    "doubts",
    figures::RETRIED.row().name,
    figures::RETRIES.row().name,
    figures::COMPLETED.row().name,
    "clients",
    "threads",
    "protocol",
    "scale",
    "rate_tps",
    "warmup_s",
    "measured_s",
    "started_at",
    "server_version",
    "pgdyno",
    "run",
    LAGS[0].row().name,
    LAGS[1].row().name,
    LAGS[2].row().name,
    LAGS[3].row().name,
    LAGS[4].row().name,
    LAGS[5].row().name,
    LAGS[6].row().name,
    LAGS[7].row().name,
    LAGS[8].row().name,
    LAGS[9].row().name,
    LAGS[10].row().name,
    LAGS[11].row().name,
];

/// Of the slowest replica; without replicas empty.
const LAGS: [Figure; 12] = [
    figures::WRITE_LAG_MAX_BYTES,
    figures::WRITE_LAG_END_BYTES,
    figures::WRITE_LAG_MAX_MS,
    figures::WRITE_LAG_END_MS,
    figures::FLUSH_LAG_MAX_BYTES,
    figures::FLUSH_LAG_END_BYTES,
    figures::FLUSH_LAG_MAX_MS,
    figures::FLUSH_LAG_END_MS,
    figures::REPLAY_LAG_MAX_BYTES,
    figures::REPLAY_LAG_END_BYTES,
    figures::REPLAY_LAG_MAX_MS,
    figures::REPLAY_LAG_END_MS,
];

/// Arrivals of one script among several: the rate asked for covers all of them.
fn of_script(all: Arrivals, counts: &Counters, only: bool) -> Arrivals {
    if only {
        return all;
    }
    let offer = Offer { rate: None, promise: false, clients: all.clients, seconds: all.seconds };
    Arrivals { started_only: all.started_only, ..Arrivals::new(counts, offer) }
}

fn row(
    head: [CellValue; 2],
    figures: &ShownFigures<'_>,
    arrivals: Option<Arrivals>,
    done: &OneRun,
) -> Vec<CellValue> {
    let [name, weight] = head;
    let ShownFigures { counts, response: latency, .. } = figures;
    let promise = done.run.promise_ms();
    let rate = |of: fn(&Arrivals) -> f64| CellValue::from(arrivals.as_ref().map(of));
    let us = |ns: Option<f64>| CellValue::from(ns.map(|ns| ns / 1e3));
    let quantile = |q| us(latency.percentile_ns(q).map(|ns| ns as f64));
    vec![
        name,
        weight,
        (figures.completed as f64 / done.run.measured_s.max(f64::MIN_POSITIVE)).into(),
        rate(Arrivals::offered_per_s),
        rate(Arrivals::achieved_per_s),
        promise.into(),
        counts.due.into(),
        counts.ok.into(),
        counts.late.into(),
        promise.map(|_| 100.0 * counts.late as f64 / counts.processed().max(1) as f64).into(),
        counts.failed.into(),
        counts.skipped.into(),
        counts.unfinished.into(),
        arrivals.as_ref().map(report::arrivals::percentiles_of).into(),
        us(latency.mean_ns()),
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        quantile(0.999),
        us(latency.max_ns().map(|ns| ns as f64)),
        counts.rows.into(),
        counts.bytes.into(),
        counts.affected.into(),
        done.run.seed.to_string().into(),
        verdict::validity(&done.run).into(),
        verdict::doubts(&done.run).into(),
        counts.retried.into(),
        counts.retries.into(),
        figures.completed.into(),
    ]
}

fn run(done: &OneRun, args: &BenchArgs) -> Vec<CellValue> {
    let run = &done.run;
    let version = run.settings.iter().find(|setting| setting.name == "server_version");
    let own = [
        run.clients.into(),
        run.threads.into(),
        args.scripts.mode.first().name().into(),
        done.scale.unwrap_or(1).into(),
        run.offered_rate.into(),
        run.warmup_s.into(),
        run.measured_s.into(),
        run.started_at.clone().into(),
        version.map(|setting| setting.value.clone()).into(),
        env!("CARGO_PKG_VERSION").into(),
        run.uuid.clone().into(),
    ];
    own.into_iter().chain(LAGS.map(|of| run.figures.get(of).into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// pgbench printed 13.4 ms, pgdyno 0.5 ms: waiting for a client did not count.
    #[test]
    fn the_schedule_lag_is_that_of_all_transactions_as_pgbench_has_it() {
        let mut script = engine::ScriptFigures::default();
        script.lag_max_ns = 30_000_000;
        for (response_ms, service_ms) in [(15, 15), (45, 15)] {
            script.record(response_ms * 1_000_000, service_ms * 1_000_000);
        }
        let mut measured = engine::EngineResult { scripts: vec![script], ..Default::default() };
        measured.own.start_lag.record(500_000);
        let mut out = String::new();
        lags(&mut out, &measured);
        assert_eq!(
            out,
            "rate limit schedule lag: avg 15.000 (max 30.000) ms\n\
             of that by the load generator, where a client was free: avg 0.500 (max 0.500) ms\n"
        );
    }
}
