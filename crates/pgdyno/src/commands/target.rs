//! `pgdyno target …`: private servers, made, started, shown, stopped and removed.

use lab::LabError;
use lab::child::Watchdog;
use lab::place::Home;
use lab::target::managed::{self, Cluster, Options, Status, Wish};
use lab::target::{Target, TargetError};
use results::{Table, Value};

use super::{print, signals};
use crate::cli::{self, Target as Command, TargetName, TargetStart, TargetStatus};
use crate::exit::{Outcome, SAME_OR_BETTER};
use crate::print::{data, talk};

pub(crate) fn run(command: &cli::Target) -> Outcome {
    match command {
        Command::Start(args) => start(args),
        Command::Stop(args) => stop(args),
        Command::Status(args) => status(args),
        Command::Destroy(args) => destroy(args),
    }?;
    Ok(SAME_OR_BETTER)
}

fn start(args: &TargetStart) -> anyhow::Result<()> {
    let home = home()?;
    let wish = Wish { pg_bin: args.pg_bin.clone(), version: None };
    let options = Options { wish, network: false, detached: true };
    let stop = signals::listen()?;
    talk(&format!("starting private server {:?} under {}", args.name.name, home.folder().display()));
    let target = Target::managed(
        &home,
        &args.name.name,
        &options,
        &args.extensions,
        &Watchdog::current()?,
        stop.engine(),
    )
    .map_err(LabError::from)?;
    talk("it runs until: pgdyno target stop");
    Ok(data(&format!("{}\n", target.redacted()))?)
}

fn stop(args: &TargetName) -> anyhow::Result<()> {
    open(&args.name)?.stop().map_err(failed)?;
    talk(&format!("server {:?} is stopped; its data stays until: pgdyno target destroy {0}", args.name));
    Ok(())
}

fn destroy(args: &TargetName) -> anyhow::Result<()> {
    open(&args.name)?.destroy().map_err(failed)?;
    talk(&format!("server {:?} is stopped and its data removed", args.name));
    Ok(())
}

fn open(name: &str) -> anyhow::Result<Cluster> {
    let watchdog = Watchdog::current()?;
    Ok(Cluster::open(&home()?, name, &watchdog, &engine::Stop::new()).map_err(failed)?)
}

fn status(args: &TargetStatus) -> anyhow::Result<()> {
    let servers = managed::list(&home()?);
    if servers.is_empty() {
        talk("no private server; make one with: pgdyno target start");
    }
    let mut table = Table::new(&["name", "state", "version", "pid", "used by", "folder"]);
    for server in servers {
        table.push(row(server));
    }
    print(&table, args.format.format)
}

fn row(server: Status) -> Vec<Value> {
    let state = match (server.pid, server.ready) {
        (Some(_), true) => "running",
        (Some(_), false) => "starting",
        (None, _) => "stopped",
    };
    vec![
        server.name.into(),
        state.into(),
        server.server_version.into(),
        server.pid.into(),
        server.used_by.into(),
        server.folder.display().to_string().into(),
    ]
}

fn home() -> anyhow::Result<Home> {
    Ok(Home::locate().map_err(|error| LabError::from(TargetError::from(error)))?)
}

fn failed(error: managed::ManagedError) -> LabError {
    TargetError::from(error).into()
}
