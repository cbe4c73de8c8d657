//! A server of ours that answers at once, in a process of its own.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;
use target::child::{Child, Program};
use target::sink::SINK_ARGUMENT;

use crate::{Args, daemon};

/// A sink that runs; it goes with this value.
pub(crate) struct Sink {
    folder: tempfile::TempDir,
    script: PathBuf,
    _child: Child,
}

impl Sink {
    /// Starts one.
    ///
    /// # Errors
    /// When it does not come up.
    pub(crate) fn start(options: &Args) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
        let program = options.pgdyno.canonicalize().context("build it first: cargo build --release")?;
        // The name that pgbench's -h and -p make.
        let socket = folder.path().join(".s.PGSQL.5432");
        let order = Program::new(&program).arg(SINK_ARGUMENT).arg(&socket).arg("none");
        let child = daemon::start(&order, &socket, &folder.path().join("sink.log"))?;
        let script = folder.path().join("one.sql");
        std::fs::write(&script, "SELECT 1;\n")?;
        Ok(Self { folder, script, _child: child })
    }

    /// Arguments of `SELECT 1` on it with so many clients, but for mode, rate and length.
    pub(crate) fn select_one(&self, clients: u32) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            ["pgbench", "-n", "-j", "1", "-c", &clients.to_string(), "-p", "5432", "-h"]
                .map(Into::into)
                .to_vec();
        words.push(self.folder.path().into());
        words.extend(["-U", "sink", "-d", "sink", "-f"].map(OsString::from));
        words.push(self.script.clone().into());
        words
    }
}
