//! A private server with pgbench's tables, for the length of a measurement.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::Options;

/// A private PostgreSQL server.
pub(crate) struct Server {
    pgdyno: PathBuf,
    home: tempfile::TempDir,
    /// libpq's environment for it.
    pub(crate) env: Vec<(String, String)>,
    /// Programs beside the server's.
    pub(crate) pgbench: PathBuf,
}

impl Server {
    /// Makes one with tables of this scale.
    pub(crate) fn start(options: &Options, scale: u32) -> anyhow::Result<Self> {
        let home = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
        let pgdyno = options.pgdyno.canonicalize().context("build it first: cargo build --release")?;
        let output = Command::new(&pgdyno)
            .args(["target", "start", "benches"])
            .env("PGDYNO_HOME", home.path())
            .output()?;
        let dsn = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if !output.status.success() || dsn.is_empty() {
            bail!("no server: {}", String::from_utf8_lossy(&output.stderr));
        }
        let env = vec![("PGDATABASE".to_owned(), dsn)];
        let pgbench = match &options.pgbench {
            Some(pgbench) => pgbench.clone(),
            None => newest_pgbench().context("no pgbench found; name one with --pgbench")?,
        };
        let server = Self { pgdyno, home, env, pgbench };
        let settings = "alter system set max_connections = 1000";
        server.sql(settings)?;
        server.restart()?;
        let made = Command::new(&server.pgdyno)
            .args(["pgbench", "-i", "-q", "-s", &scale.to_string()])
            .envs(server.env.clone())
            .output()?;
        if !made.status.success() {
            bail!("no tables: {}", String::from_utf8_lossy(&made.stderr));
        }
        Ok(server)
    }

    /// Pids of the server and its children.
    pub(crate) fn pin(&self, cpus: &str) -> anyhow::Result<()> {
        let pid = std::fs::read_dir(self.home.path().join("targets"))
            .or_else(|_| std::fs::read_dir(self.home.path()))?
            .flatten()
            .find_map(|entry| postmaster(&entry.path()))
            .context("the server's pid was not found")?;
        let status =
            Command::new("taskset").args(["-a", "-p", "-c", cpus, &pid.to_string()]).output()?.status;
        if status.success() { Ok(()) } else { bail!("taskset refused") }
    }

    fn sql(&self, statement: &str) -> anyhow::Result<()> {
        let script = self.home.path().join("statement.sql");
        std::fs::write(&script, statement)?;
        let output = Command::new(&self.pgdyno)
            .args(["pgbench", "-n", "-t", "1", "-f"])
            .arg(&script)
            .envs(self.env.clone())
            .output()?;
        if output.status.success() { Ok(()) } else { bail!("{}", String::from_utf8_lossy(&output.stderr)) }
    }

    fn restart(&self) -> anyhow::Result<()> {
        for action in ["stop", "start"] {
            let output = Command::new(&self.pgdyno)
                .args(["target", action, "benches"])
                .env("PGDYNO_HOME", self.home.path())
                .output()?;
            if !output.status.success() {
                bail!("{}", String::from_utf8_lossy(&output.stderr));
            }
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new(&self.pgdyno)
            .args(["target", "destroy", "benches"])
            .env("PGDYNO_HOME", self.home.path())
            .output();
    }
}

/// The first line of a `postmaster.pid` somewhere below.
fn postmaster(folder: &Path) -> Option<u32> {
    let file = folder.join("postmaster.pid");
    if let Ok(text) = std::fs::read_to_string(file) {
        return text.lines().next()?.trim().parse().ok();
    }
    std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .find_map(|entry| postmaster(&entry.path()))
}

fn newest_pgbench() -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .ok()?
        .flatten()
        .filter_map(|entry| {
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin/pgbench")))
        })
        .filter(|(_, path)| path.exists())
        .collect();
    found.sort();
    found.pop().map(|(_, path)| path)
}
