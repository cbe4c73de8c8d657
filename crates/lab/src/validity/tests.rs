//! Each reason separately: when it is given, and how severe it is.

use engine::{Abort, ClientTime};

use super::*;

pub(super) fn measured(counts: Counts) -> EngineResult {
    let script = ScriptFigures::counted(counts, counts.processed());
    EngineResult { scripts: vec![script], ..EngineResult::default() }
}

pub(super) fn evidence<'a>(measured: &'a EngineResult, series: &'a [SeriesPoint]) -> Evidence<'a> {
    Evidence {
        measured,
        series,
        rate: None,
        profile: None,
        user_arrivals: None,
        warmup_s: 0.0,
        clients: 1,
        limit_s: None,
        trend: None,
        machine: Machine::default(),
        host_lag_us: None,
        is_trial: false,
        changed: None,
        scripts: &[],
        may_be_empty: false,
        advice_on_empty: workloads::EMPTY_SCRIPT,
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
            ScriptFigures::counted(counts, counts.processed())
        };
        let measured = EngineResult { scripts: empty.map(figures).to_vec(), ..EngineResult::default() };
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

/// A changing rate is not unsteadiness, and its peak may be too high.
#[test]
fn a_rate_that_changes_is_judged_by_what_it_asks() {
    let profile: Profile = "step 1000, 4000 every 6s".parse().unwrap();
    let judged = |rates: &[u64], skipped: u64| {
        let mut series = series(rates);
        series.iter_mut().skip(6).for_each(|second| second.skipped = skipped);
        let (ok, skipped) = (rates.iter().sum(), 6 * skipped);
        let counts = Counts { due: ok + skipped, ok, skipped, ..Counts::default() };
        let measured = EngineResult { elapsed: 12_000_000_000, ..counted(counts) };
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
    // The same speed although four times as much was requested.
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

/// A cold run warms up: its halves differ. It was not cold if its files stayed in memory.
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
        (Counts { queries: 2000, changes: 1000, affected: 1000, ..nothing }, Some("not one row came back")),
        (Counts { queries: 1000, rows: 1, ..nothing }, None),
        // A script that only writes is judged by its changes.
        (Counts { changes: 1000, ..nothing }, Some("not one row was changed")),
        (Counts { changes: 1000, affected: 1, ..nothing }, None),
        // DO, CALL, SET: nothing to judge.
        (nothing, None),
        // Never chosen, or always failed: other rules report that.
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
    let figures = |counts: Counts| ScriptFigures::counted(counts, counts.processed());
    let full = Counts { queries: 1000, rows: 1000, ..good() };
    let empty = Counts { queries: 1000, rows: 0, bytes: 0, ..good() };
    let measured = EngineResult { scripts: vec![figures(full), figures(empty)], ..EngineResult::default() };
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
    let host =
        Evidence { machine: Machine { steal_pct: Some(3.0), ..Machine::default() }, ..evidence(&busy, &[]) };
    assert_eq!(reasons(&host), (Validity::Suspect, vec![Reason::ClientSaturated, Reason::Steal]));
    busy.aborts.push(Abort { message: "gone".into(), ..Abort::default() });
    assert_eq!(judge(&evidence(&busy, &[])).0, Validity::Invalid);
}

/// A search counted no trial in which its host ran out of ports, and ended without an answer.
#[test]
fn a_host_without_a_local_port_is_the_generators_limit() {
    for (message, wanted) in [
        ("connection failed: Cannot assign requested address", vec![Reason::Errors, Reason::ClientSaturated]),
        ("connection failed: Connection refused", vec![Reason::Errors]),
    ] {
        let mut run = measured(good());
        run.aborts.push(Abort { message: message.into(), ..Abort::default() });
        assert_eq!(reasons(&evidence(&run, &[])), (Validity::Invalid, wanted), "{message}");
    }
}

/// Open load of 4 s with a promise of 20 ms.
fn open<'a>(measured: &'a EngineResult) -> Evidence<'a> {
    Evidence { rate: Some(1000.0), clients: 16, limit_s: Some(0.02), ..evidence(measured, &[]) }
}

fn counted(counts: Counts) -> EngineResult {
    EngineResult { elapsed: 4_000_000_000, ..measured(Counts { rows: 1, bytes: 1, ..counts }) }
}

#[test]
fn an_overloaded_run_is_suspect_with_a_promise_or_without() {
    // Measured when 16 clients were offered 16,000/s under a promise of 20 ms.
    let counts = Counts { due: 95_265, ok: 1_596, late: 42_900, skipped: 50_769, ..Counts::default() };
    let told = judge(&Evidence { rate: Some(16_000.0), ..open(&counted(counts)) });
    assert_eq!((told.0, told.1[0].reason), (Validity::Suspect, Reason::Overloaded));
    assert_eq!(
        told.1[0].detail,
        "1.6 % of the offered 23816/s were done in time (399/s); of 95265: 42900 late, 50769 skipped"
    );
    // Without a promise nothing is late or skipped; `bench` leaves a queue, `run` completes it after the end.
    let left = counted(Counts { due: 4000, ok: 3000, unfinished: 1000, ..Counts::default() });
    assert_eq!(reasons(&Evidence { limit_s: None, ..open(&left) }).1, [Reason::Overloaded]);
    let mut drained = counted(Counts { due: 4000, ok: 4000, ..Counts::default() });
    assert_eq!(reasons(&Evidence { limit_s: None, ..open(&drained) }).1, []);
    drained.drained = 1000;
    assert_eq!(reasons(&Evidence { limit_s: None, ..open(&drained) }).1, [Reason::Overloaded]);
    // A fixed number of transactions per client has no fixed duration.
    let slow = counted(Counts { due: 3000, ok: 3000, ..Counts::default() });
    assert_eq!(reasons(&Evidence { limit_s: None, ..open(&slow) }).1, [Reason::Overloaded]);
    // 39 answers with a p99 of 197 µs, and then none: a hanging server looked fast, and its run was valid.
    for (left_open, wanted) in [(2, Validity::Suspect), (16, Validity::Invalid)] {
        let counts = Counts { due: 4000, ok: 4000 - left_open, late: left_open, ..Counts::default() };
        let hung = EngineResult { left_open, ..counted(counts) };
        let told = reasons(&Evidence { rate: None, limit_s: None, ..open(&hung) });
        assert_eq!(told, (wanted, vec![Reason::Errors]));
    }
}

/// Its stall counted as the server's latency.
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
    // The quads with the stall are void.
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

/// "Quality holds on every rung" was reported for a server that was away for 77 % of a rung.
#[test]
fn time_without_the_server_is_told() {
    let judged = |ms: i64, clients: u64, over: bool| {
        let mut run = counted(Counts { due: 4000, ok: 4000, ..Counts::default() });
        run.outages = vec![spec::Outage { from_ns: 0, to_ns: ms * 1_000_000, clients, over }];
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
        let run = EngineResult { client_time: Some(time), ..counted(counts) };
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
    // All clients busy: the few arrivals that find a free one start late, since the server has the
    // processors.
    let mut run = counted(Counts { due: 4000, ok: 1000, late: 2000, skipped: 1000, ..Counts::default() });
    for _ in 0..100 {
        run.own.start_lag.record(9_000_000);
    }
    assert_eq!(reasons(&open(&run)).1, [Reason::Overloaded]);
    // Late although clients were free: that is a cause. A thread without time left is one, too.
    for _ in 0..2900 {
        run.own.start_lag.record(9_000_000);
    }
    run.own.busiest_thread = 0.95;
    assert_eq!(reasons(&open(&run)).1, [Reason::Overloaded, Reason::ClientSaturated, Reason::ScheduleLate]);
    // Aborted clients explain the missing transactions.
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
    // Without a promise the lag is in every figure.
    assert_eq!(reasons(&Evidence { limit_s: None, ..open(&kept) }).1, [Reason::ScheduleLate]);
}

#[test]
fn a_schedule_is_late_by_100_us_or_a_tenth_of_what_is_measured() {
    let cases = [
        (90, 50, None, false),
        (110, 50, None, true),
        (110, 2_000, None, false),
        (210, 2_000, None, true),
        // A broken promise matters, whatever was measured.
        (110, 2_000, Some(500), true),
        (110, 50, Some(2_000), false),
    ];
    for (lag_us, service_us, limit_us, late) in cases {
        let mut run = counted(Counts { due: 10, ok: 5, late: 5, ..good() });
        (0..10).for_each(|_| run.own.start_lag.record(lag_us * 1000));
        run.scripts[0].record(service_us * 1000, service_us * 1000);
        let limit_s = limit_us.map(|us: u32| f64::from(us) / 1e6);
        let told = Evidence { rate: Some(2.5), limit_s, ..open(&run) };
        let found = reasons(&told).1.contains(&Reason::ScheduleLate);
        assert_eq!(found, late, "lag {lag_us} µs, service {service_us} µs, promise {limit_us:?} µs");
    }
}

/// On a host with a large wake-up lag every run in open load was suspect.
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
        run.scripts[0].record(50_000, 50_000);
        let (_, doubts) = judge(&Evidence { rate: Some(2.5), limit_s: None, host_lag_us, ..open(&run) });
        let found = doubts.iter().find(|doubt| doubt.reason == Reason::ScheduleLate);
        assert_eq!(found.is_some(), late, "lag {lag_us} µs, the host's {host_lag_us:?} µs");
        let told = found.is_none_or(|doubt| doubt.detail.contains("on this host") == host_lag_us.is_some());
        assert!(told, "{found:?}");
    }
}

#[test]
fn the_page_says_the_same_limits() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/run-verdicts.md");
    let page = std::fs::read_to_string(page).unwrap();
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let [gap, pause] = [engine::GAP, engine::PAUSE].map(|ns| ns / 1_000_000);
    for limit in [
        format!("| failed transactions | any | more than {} of the transactions", percent(FAILED_SHARE)),
        format!("| any | more than {} | look at the messages |", percent(FAILED_PARTS)),
        format!(
            "| from {} % of their time | above {}, or at the end |",
            OUTAGE_SHARE[0] * 100.0,
            percent(OUTAGE_SHARE[1])
        ),
        format!("| from {} of a script |", percent(FOUND_NOTHING)),
        format!("| fewer than {FEW} | none |"),
        format!(
            "| more than {} of the clients' time | more than {} |",
            percent(NOWHERE_SHARE[0]),
            percent(NOWHERE_SHARE[1])
        ),
        format!("before a cold run | more than {COLD_PCT} % |"),
        format!("| more than {} of the time | no local port left |", percent(SATURATED)),
        format!("more than {LAG_US} µs late, more than {} of the promise", percent(LAG_SHARE)),
        format!("and {HOST_FACTOR} times the host's own lag"),
        format!("less than {} of the arrivals found a free client", percent(FREE_SHARE)),
        format!(
            "gaps of {gap} ms or more in the load generator | from {} % of the time | from {} |",
            STALLED_SHARE[0] * 100.0,
            percent(STALLED_SHARE[1])
        ),
        format!(
            "gaps of {pause} to {gap} ms | from {} of the time | from {} |",
            percent(PAUSED_SHARE[0]),
            percent(PAUSED_SHARE[1])
        ),
        format!("| less than {} of the offered rate |", percent(spec::KEPT_UP)),
        format!("| more than {} % of the CPU time |", machine::STEAL_PCT),
        format!(
            "runs of {} s or more | steps of {} or more",
            machine::STEADY_SECONDS,
            percent(machine::UNSTEADY)
        ),
        format!("or none for {} s |", machine::STILL.0),
        format!("| changes by {} at least |", percent(trend::CHANGE)),
        format!("| from {} % of the CPUs |", machine::OTHERS_PCT),
        format!(
            "a run of at least {} s, and a drop of throughput by {} at least",
            machine::STEADY_SECONDS,
            percent(machine::STEP)
        ),
        format!("more than {} % of the periods", machine::WAITED_PCT),
        format!("more than {} slower at its fastest", percent(machine::SLOW_LEAST)),
        format!("more than {} slower on average", percent(machine::SLOW_MEAN)),
        format!("more than {} times as slow", machine::SLOW_ALONE),
        format!("up to {} times its share", machine::WEIGHT),
    ] {
        assert!(page.contains(&limit), "docs/reference/run-verdicts.md does not say {limit:?}");
    }
}

/// Users come and go as they were asked to; who finds no connection is in no response time.
#[test]
fn users_are_judged_by_what_was_asked() {
    let figures = |begun, waiting| {
        let users = engine::UserFigures { begun, waiting, ..engine::UserFigures::default() };
        EngineResult { users: Some(users), elapsed: 30_000_000_000, ..measured(good()) }
    };
    let crowd = figures(48, 21);
    let told = judge(&Evidence { clients: 3, ..evidence(&crowd, &[]) });
    assert_eq!((told.0, told.1[0].reason), (Validity::Suspect, Reason::Overloaded));
    assert!(told.1[0].detail.starts_with("21 of 69 users never found a free connection: 138 per minute"));
    assert_eq!(reasons(&Evidence { clients: 3, ..evidence(&figures(66, 1), &[]) }).1, []);
    let series: Vec<SeriesPoint> = (0..24)
        .map(|second| SeriesPoint {
            script: 0,
            start_us: second * 1_000_000,
            length_us: 1_000_000,
            ok: if second < 9 { 20 } else { 90 },
            late: 0,
            failed: 0,
            skipped: 0,
        })
        .collect();
    let fine = figures(70, 0);
    for (arrivals, wanted) in [
        ("step 0.2, 0.9 every 9s", vec![]),
        ("up 9s, hold 15s", vec![]),
        ("together", vec![Reason::Unsteady]),
        ("90 per min", vec![Reason::Unsteady]),
    ] {
        let asked = arrivals.parse().unwrap();
        let evidence = Evidence { user_arrivals: Some(&asked), ..evidence(&fine, &series) };
        assert_eq!(reasons(&evidence).1, wanted, "{arrivals}");
    }
}
