//! Turns measurements into the report.

use ::report::pgbench::{
    CommandReport, Failures, Lag, Losses, Partitions, Report, RequestedLength as ReportLength, ScriptReport,
    Settings, Times, TransactionFigures,
};
use engine::{EngineResult, ScriptFigures};
use spec::Counts;
use workloads::ClientWorkload;
use workloads::pgbench::Pgbench;
use workloads::pgbench::init::PartitionMethod;

use super::args::{PgbenchLength, RunSettings};

pub(super) fn report(
    settings: &RunSettings,
    workload: &Pgbench,
    server_version: &str,
    measured: &EngineResult,
) -> Report {
    Report {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        server_version: server_version.to_owned(),
        settings: how(settings, workload),
        scripts: scripts(settings, workload, measured),
        times: Times {
            elapsed_ns: measured.elapsed,
            connecting_ns: measured.connecting,
            reconnecting_ns: measured.reconnecting,
        },
        percentiles: settings.output.percentiles.clone(),
        aborted_clients: measured.aborts.len() as u32,
        interrupted: measured.interrupted,
        losses: settings.workload.reconnect_lost.then(|| losses(measured)),
    }
}

/// Lost and reopened connections.
pub(in crate::commands) fn losses(measured: &EngineResult) -> Losses {
    Losses {
        connections: measured.connections_lost,
        outages: measured.outages.clone(),
        outages_dropped: measured.outages_dropped,
    }
}

fn how(settings: &RunSettings, pgbench: &Pgbench) -> Settings {
    let partitions = pgbench.tables().and_then(|tables| {
        let method = match tables.partition_method? {
            PartitionMethod::Range => "range",
            PartitionMethod::Hash => "hash",
        };
        Some(Partitions { method: method.to_owned(), count: tables.partitions.into() })
    });
    let RunSettings { workload, load, output, .. } = settings;
    Settings {
        scale: pgbench.scale(),
        partitions,
        mode: workload.mode.name().to_owned(),
        clients: load.clients,
        threads: load.threads,
        max_tries: workload.max_tries,
        length: match load.length {
            PgbenchLength::Transactions(count) => ReportLength::Transactions(count.into()),
            PgbenchLength::Seconds(seconds) => ReportLength::Seconds(seconds.into()),
        },
        reconnect: workload.reconnect,
        rate: load.rate,
        latency_limit_us: load.latency_limit_us,
        progress: output.progress.is_some(),
        per_command: output.per_command,
        failures_detailed: output.failures_detailed,
        continue_on_error: workload.continue_on_error,
        random_seed: load.seed,
        warmup_s: load.warmup.as_secs_f64(),
    }
}

fn scripts(settings: &RunSettings, workload: &Pgbench, measured: &EngineResult) -> Vec<ScriptReport> {
    let mut commands: Vec<Vec<CommandReport>> = vec![Vec::new(); settings.scripts.all.len()];
    let figures = measured.statements.iter();
    for (statement, figures) in workload.statements().into_iter().zip(figures) {
        commands[statement.script].push(CommandReport {
            first_line: statement.text,
            latency: figures.latency.clone(),
            failures: figures.failures,
            retries: figures.retries,
        });
    }
    let empty = ScriptFigures::default();
    let scripts = settings.scripts.all.iter().zip(commands).enumerate();
    scripts
        .map(|(index, (script, commands))| ScriptReport {
            name: script.name().to_owned(),
            weight: script.weight.into(),
            figures: counted(measured.scripts.get(index).unwrap_or(&empty)),
            commands,
        })
        .collect()
}

fn counted(figures: &ScriptFigures) -> TransactionFigures {
    let Counts { failed, serialization_failures, deadlock_failures, .. } = figures.counts;
    TransactionFigures {
        processed: figures.counts.processed(),
        failures: Failures {
            serialization: serialization_failures,
            deadlock: deadlock_failures,
            other: failed - serialization_failures - deadlock_failures,
        },
        skipped: figures.counts.skipped,
        late: figures.counts.late,
        retried: figures.counts.retried,
        retries: figures.counts.retries,
        latency: figures.response.clone(),
        lag: Lag {
            sum_ns: figures.response.sum_ns().saturating_sub(figures.service().sum_ns()),
            max_ns: figures.lag_max_ns,
        },
    }
}
