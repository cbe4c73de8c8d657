//! Results of a job, in the record of its run.

use spec::{Artifact, Run, RunEvent};
use workloads::jobs::JobReport;

/// Fills in all but the start time, what the job left, and the verdict.
pub(crate) fn fill_in(run: &mut Run, report: JobReport) {
    run.measured_s = report.elapsed_us as f64 / 1e6;
    run.phases = report.phases;
    run.figures.append(report.figures);
    run.samples.extend(report.samples);
    run.artifacts.extend(report.artifacts);
    if !report.log.is_empty() {
        run.artifacts.push(Artifact {
            name: format!("log/{}", run.workload),
            media_type: "text/plain".to_owned(),
            caption: format!("what {} said", run.workload),
            bytes: report.log.into_bytes(),
        });
    }
    let version = |(program, version): (&String, &String)| RunEvent {
        time_us: 0,
        kind: "version".to_owned(),
        detail: format!("{program} {version}"),
    };
    run.events.extend(report.versions.iter().map(version));
}
