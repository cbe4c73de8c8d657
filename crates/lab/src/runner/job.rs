//! A job as a run of the grid: done once to its end, with the server's and the machine's counters around it.

use engine::EngineResult;
use protocol::postgres::sql::Sql;
use results::{Finished, Spool};
use server::host::{DiskTraffic, HostSample, OtherPrograms};
use server::measuring;
use spec::figures::{self, Figure};
use spec::plan::storage::Holds;
use spec::{Error, Run};
use workloads::jobs::{JobReport, relation_sizes};

use super::{MeasuredRun, PROBE_AFTER, PROBE_BEFORE, Runner, event, kept_probe};
use crate::collectors::Counters;
use crate::concurrent;
use crate::error::of_sql;
use crate::event::{ExperimentStep, ProgressExt};
use crate::jobs;
use crate::setup::{Cache, Setup};
use crate::stage::Stage;
use crate::strategies::Cause;
use crate::validity::{JobEvidence, Machine, Probe, Probes, judge_job};

struct Before {
    counters: Counters,
    host: HostSample,
    others: Option<OtherPrograms>,
    disk: DiskTraffic,
}

fn figure_of(holds: Holds) -> Figure {
    match holds {
        Holds::Data => figures::STORAGE_DATA_BYTES,
        Holds::Tablespace => figures::STORAGE_TABLESPACE_BYTES,
        Holds::Wal => figures::STORAGE_WAL_BYTES,
    }
}

fn note_storage(stage: &mut Stage, record: &mut Run) -> Result<(), Error> {
    let Some(holds) = stage.target.storage_holds() else { return Ok(()) };
    // Data only in memory would be missing on disk.
    stage.control()?.execute("CHECKPOINT").map_err(of_sql)?;
    match stage.target.storage_used() {
        Ok(None) => {}
        Ok(Some(used)) => {
            let uncompressed = used.uncompressed_bytes.map(|bytes| bytes as f64);
            record.figures.extend(uncompressed.map(|bytes| (figures::STORAGE_UNCOMPRESSED_BYTES, bytes)));
            record.figures.set(figure_of(holds), used.disk_bytes as f64);
            record.events.push(event("storage", format!("bytes on disk reported by {}", used.by)));
        }
        Err(why) => record.events.push(event("storage", format!("bytes on disk are not known: {why}"))),
    }
    Ok(())
}

impl Runner<'_> {
    /// Runs and judges a job. A failed one is a run, too: an invalid one, with its log.
    pub(super) fn do_job(&mut self, setup: &Setup, mut record: Run) -> Result<MeasuredRun, Error> {
        let stop = self.stop;
        self.concluding.insert((setup.asked(), setup.at()));
        let under_test = self.under_test(&setup.asked());
        let Self { stages, workloads, progress, .. } = &mut *self;
        let stage = stages.get_mut(&setup.at()).ok_or_else(super::not_opened)?;
        let ready = workloads.get(&setup.asked());
        let (job, files) = ready
            .and_then(|ready| Some((ready.workload.job()?, &ready.files)))
            .ok_or_else(super::not_opened)?;
        files.are_unchanged()?;
        jobs::make_extract(job, &mut **progress, stop)?;
        let _placed = stage.place(&setup.placement)?;
        let server = stage.postmaster()?;
        let others = || OtherPrograms::take(under_test.as_deref()?);
        let before = Before {
            counters: Counters::take(stage.control()?).map_err(of_sql)?,
            host: HostSample::take(server),
            others: others(),
            disk: DiskTraffic::take(server),
        };
        measuring::look();
        progress.step(ExperimentStep::Measure, job.what());
        record.started_at = jiff::Timestamp::now().to_string();
        let mut remarks = Vec::new();
        let report = jobs::run(stage, job, &mut **progress, stop, &mut remarks)?;
        let _concluding = stop.concluding();
        progress.step(ExperimentStep::Collect, "counters, sizes and verdict");
        // First, so that later queries do not count for the job.
        let (host, now, disk) = (HostSample::take(server), others(), DiskTraffic::take(server));
        // A file changed in the meantime was read in a mixed state.
        files.are_unchanged()?;
        // A firewall or the server may have ended a connection that was idle for so long.
        if stage.control()?.scalar("SELECT 1").is_err() {
            stage.close_control();
        }
        let control = stage.control()?;
        record.figures.append(Counters::take(control).map_err(of_sql)?.since(&before.counters));
        record.figures.append(host.figures_since(&before.host));
        let others_pct = now.zip(before.others).and_then(|(now, before)| now.pct_since(&before));
        record.figures.extend(others_pct.map(|pct| (figures::CPU_OTHERS_PCT, pct)));
        record.figures.append(disk.figures_since(&before.disk));
        let own = |table: &String| report.tables.is_empty() || report.tables.contains(table);
        record.relations = relation_sizes(control)?;
        record.relations.retain(|relation| own(&relation.table) && !relation.table.starts_with("pgdyno."));
        // Its own connection reads the settings again.
        let changed = stage.changed()?;
        record.events.extend(remarks.into_iter().map(|remark| event("remark", remark)));
        self.probe_after(setup, &mut record);
        note_storage(self.stage(&setup.at())?, &mut record)?;
        self.take_report(setup, &mut record, report, changed.as_deref());
        let cause = Cause::of(&record, &[]);
        let finished = Finished { run: record, seconds: Spool::default() };
        Ok(MeasuredRun { finished, cause, measured: EngineResult::default(), lost: None })
    }

    fn take_report(&mut self, setup: &Setup, record: &mut Run, report: JobReport, changed: Option<&str>) {
        let (before, after) = (kept_probe(record, PROBE_BEFORE), kept_probe(record, PROBE_AFTER));
        let earlier = self.probes.entry((setup.at(), record.arm.clone())).or_default();
        let probes = Probes { usual: Probe::usual(earlier), before, after };
        earlier.extend(before);
        (record.validity, record.doubts) = judge_job(&JobEvidence {
            failed: report.failed.as_deref(),
            errors: report.errors.as_ref(),
            is_empty: report.is_empty,
            changed,
            machine: Machine { probes, ..Machine::of_job(&record.figures) },
            cold_pct: record.figures.get(figures::PAGE_CACHE_PCT).filter(|_| setup.cache == Cache::Cold),
        });
        jobs::fill_in(record, report);
        let on_server = self.stage(&setup.at()).map(Stage::others_measuring).unwrap_or_default();
        concurrent::mark(record, on_server);
    }
}
