//! A made-up experiment for tests: every value from a seed.

use std::collections::BTreeMap;

use stats::Histogram;

use crate::spool::Spooled;
use crate::store::Finished;
use spec::*;

/// A run of `workload` with `clients` in `arm` and `round`, at about `tps`.
pub(crate) fn run(workload: &str, clients: u32, arm: Option<&str>, round: u32, tps: f64) -> Run {
    let mut response = Histogram::new();
    let count = tps.round() as u64;
    for at in 0..count.min(1500) {
        response.record(100_000 + at * 997);
    }
    let counts: figures::Counters = [
        (figures::DUE, count),
        (figures::OK, count),
        (figures::LATE, 0),
        (figures::FAILED, 0),
        (figures::ROWS, count),
    ]
    .into();
    let script = ScriptRecord {
        name: "one.sql".into(),
        text_hash: "ab".into(),
        weight: 1,
        part: None,
        counts: counts.clone(),
        service: response.clone(),
        response: response.clone(),
    };
    let factors = [("workload", workload.to_owned()), ("clients", clients.to_string())]
        .map(|(name, level)| (name.to_owned(), level));
    let key =
        RunKey { workload: workload.into(), factors: factors.into(), arm: arm.map(str::to_owned), round };
    Run {
        sequence: round * 10,
        started_at: "2026-01-02T03:04:05Z".into(),
        clients,
        threads: 1,
        driver: "simulated".into(),
        seed: u64::MAX - 1,
        warmup_s: 0.5,
        measured_s: 1.0,
        counts,
        figures: [(figures::CLIENT_CPU_US_PER_TX, 7.5)].into(),
        settings: [Setting {
            name: "work_mem".into(),
            value: "4MB".into(),
            source: "default".into(),
            is_initial: Some(true),
        }]
        .into(),
        scripts: vec![script],
        series: vec![second(count)],
        ..with_one_of_each(Run::new(RunKind::Client, key))
    }
}

fn second(ok: u64) -> SeriesPoint {
    SeriesPoint { script: 0, start_us: 0, length_us: 1_000_000, ok, late: 0, failed: 0, skipped: 0 }
}

fn with_one_of_each(run: Run) -> Run {
    let phase = Phase {
        name: "node".into(),
        item: String::new(),
        start_us: 1,
        duration_us: 2,
        count: Some(3),
        source: PhaseSource::Reported,
    };
    let relation = Relation {
        name: "t_pkey".into(),
        kind: RelationKind::Index,
        table: "t".into(),
        bytes: 8192,
        rows: 3,
    };
    let artifact = Artifact {
        name: "tile/0/0/0".into(),
        media_type: "text/plain".into(),
        caption: "nothing".into(),
        bytes: vec![0, 1, 255],
    };
    let sample = Sample {
        scope: Scope::Round,
        source: "host".into(),
        name: "cpu_busy_pct".into(),
        time_us: 1_000_000,
        value: 12.5,
    };
    Run {
        phases: vec![phase],
        relations: vec![relation],
        artifacts: vec![artifact],
        events: vec![RunEvent { time_us: -5, kind: "notice".into(), detail: "x".into() }],
        samples: vec![sample],
        ..run
    }
}

pub(crate) fn finished(run: Run) -> Finished {
    let response = run.scripts[0].response.encoded();
    let seconds = vec![Spooled { script: 0, start_us: 0, length_us: 1_000_000, response }];
    Finished { run, seconds: seconds.into() }
}

pub(crate) fn experiment(arms: &[&str]) -> ExperimentRecord {
    ExperimentRecord {
        hash: "cafe".into(),
        name: "made-up".into(),
        question: "Is B faster?".into(),
        file_text: "question = \"Is B faster?\"".into(),
        plan: spec::plan::Recorded::default(),
        control: None,
        seed: u64::MAX,
        order_scheme: OrderScheme::Pairs,
        rounds: 8,
        compare_factor: (!arms.is_empty()).then(|| "settings".into()),
        base: arms.first().map(|&arm| arm.into()),
        arms: arms
            .iter()
            .map(|&name| ArmRecord {
                name: name.into(),
                settings: BTreeMap::new(),
                unsafe_settings: Vec::new(),
                target: None,
            })
            .collect(),
        margin: 0.03,
        taste: None,
        created_at: "2026-01-02T03:04:05Z".into(),
        parts: Vec::new(),
    }
}

pub(crate) fn host() -> Host {
    Host {
        uuid: "h".into(),
        name: "here".into(),
        cpu: "a CPU".into(),
        cores: 2,
        memory_bytes: 1 << 34,
        facts: BTreeMap::new(),
    }
}

pub(crate) fn target() -> MeasuredTarget {
    MeasuredTarget {
        kind: "url".into(),
        dsn_redacted: "postgres://x@localhost/y".into(),
        server_version: "15.1".into(),
        postgis_version: None,
        versions: BTreeMap::new(),
        build: Some(spec::BuildRecord {
            version: "PostgreSQL 15.18 on x86_64-pc-linux-gnu".into(),
            configure: Some("'--with-icu'".into()),
            tree: Some("ab".repeat(32)),
            ..spec::BuildRecord::default()
        }),
    }
}
