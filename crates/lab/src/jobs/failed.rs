//! Failure of a job that the rest depends on: the reason, and its log.

use std::io::Write;
use std::path::PathBuf;

use server::child::Account;
use server::home::{Home, HomeFolder, Readable};
use spec::{Class, Error};
use workloads::jobs::JobReport;

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
