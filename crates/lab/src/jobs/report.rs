//! The report of a job: kept in the record of its run, or, if the job failed, its log as a file.

use std::io::Write;
use std::path::PathBuf;

use server::child::Account;
use server::home::{Home, HomeFolder, Readable};
use spec::{Artifact, Class, Error, Run, RunEvent};
use workloads::jobs::JobReport;

/// Fills in all but the start time, what the job left, and the verdict.
pub(crate) fn fill_in(run: &mut Run, report: JobReport) {
    run.measured_s = report.elapsed_us as f64 / 1e6;
    run.phases = report.phases;
    run.figures.append(report.figures);
    run.samples.extend(report.samples);
    run.scripts.extend(report.scripts);
    let remark = |detail: String| RunEvent { time_us: 0, kind: RunEvent::REMARK.to_owned(), detail };
    run.events.extend(report.remarks.into_iter().map(remark));
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

/// Returns the report of a successful job; stores the log of a failed one.
pub(super) fn succeeded(report: JobReport, name: &str) -> Result<JobReport, Error> {
    let Some(why) = &report.failed else { return Ok(report) };
    let kept = keep(name, &report.log);
    let log = kept.map_or_else(
        |error| format!("its log could not be kept: {error}"),
        |path| format!("its whole log is {}", path.display()),
    );
    Err(Error::new(Class::Child, why.as_str()).with_hint(log))
}

fn keep(name: &str, log: &str) -> std::io::Result<PathBuf> {
    let home = Home::locate().map_err(std::io::Error::other)?;
    let account = Account::unprivileged().map_err(std::io::Error::other)?;
    let folder = home.make_part(HomeFolder::Logs, account.as_ref()).map_err(std::io::Error::other)?;
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S");
    let name = format!("{plain}-{now}-{}.log", std::process::id());
    folder.create(&name, Readable::ByUs)?.write_all(log.as_bytes())?;
    Ok(folder.path().join(name))
}
