//! Applies the settings of an arm to a server.

use std::time::{Duration, Instant};

use protocol::postgres::sql::{Sql, SqlError};
use protocol::postgres::{LoginError, Place};
use spec::Error;

use super::SettingValues;
use super::change::SettingsChange;
use super::error::{needs_restart, needs_server_change, not_applied, pooled, refused};
use super::journal::Journal;
use super::read::{catalog, differences};
use super::safety::weakens;
use super::statements::{self, reload};
use crate::control::{ConnectFailure, Control, Pooling, with_session_settings};
use crate::managed::Cluster;
use crate::managed::LastLines;
use crate::stop::Stop;

const CONNECT_BOUND: Duration = Duration::from_secs(10);

/// What applying the settings took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Effort {
    #[default]
    None,
    /// It re-read its files.
    Reload,
    Restart,
}

/// Settings that are in force and verified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// What every connection of the load must set.
    pub session: SettingValues,
    /// What was set for the whole server.
    pub server: SettingValues,
    pub effort: Effort,
    /// Settings that had to be added, with the reason.
    pub added: Vec<String>,
    /// How they weaken crash safety or maintenance.
    pub weakens: Vec<String>,
}

impl Applied {
    fn of(change: SettingsChange, effort: Effort) -> Self {
        let all = change.session.iter().chain(&change.server);
        let all: SettingValues = all.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self {
            weakens: weakens(&all),
            session: change.session,
            server: change.server,
            effort,
            added: change.added,
        }
    }
}

/// Applies exactly these settings to a managed server, on top of its settings before any arm; restarts it if
/// needed, or if `with_restart`.
///
/// # Errors
/// When a setting is unknown, refused, or not in force afterwards; the server then has its former settings
/// again.
pub fn apply_managed(
    cluster: &mut Cluster,
    database: &str,
    wanted: &SettingValues,
    with_restart: bool,
) -> Result<Applied, Error> {
    let attempt = attempt_managed(cluster, database, wanted, with_restart);
    if attempt.is_err() {
        let _concluding = Stop::of_process().concluding();
        // The first error explains more than its consequences.
        let _ = restore_managed(cluster);
    }
    attempt
}

fn attempt_managed(
    cluster: &mut Cluster,
    database: &str,
    wanted: &SettingValues,
    with_restart: bool,
) -> Result<Applied, Error> {
    let mut control = cluster.connect(database)?;
    let change = SettingsChange::of(&catalog(&mut control)?, wanted, true)?;
    let restored = cluster.restore_settings()?;
    if !change.server.is_empty() {
        cluster.keep_settings()?;
        alter_system(&mut control, &change.server)?;
    }
    let mut effort = Effort::None;
    if with_restart {
        drop(control);
        effort = restart(cluster)?;
    } else if restored || !change.server.is_empty() {
        effort = take_effect(cluster, control)?;
    }
    verify(&cluster.place(database), &change)?;
    Ok(Applied::of(change, effort))
}

/// Restores a managed server's own settings, even after a failed or killed experiment; restarts it if needed.
pub fn restore_managed(cluster: &mut Cluster) -> Result<Effort, Error> {
    if !cluster.restore_settings()? {
        return Ok(Effort::None);
    }
    if cluster.pid().is_none() {
        cluster.start()?;
        return Ok(Effort::Restart);
    }
    let control = cluster.connect("postgres")?;
    take_effect(cluster, control)
}

/// As [`restore_managed`], without starting a stopped server. Returns whether anything had to be done.
pub fn restore_managed_settings(cluster: &mut Cluster) -> Result<bool, Error> {
    if cluster.pid().is_none() {
        return cluster.restore_settings();
    }
    Ok(restore_managed(cluster)? != Effort::None)
}

/// Makes changed files take effect by the cheapest sufficient way.
fn take_effect(cluster: &mut Cluster, mut control: Control) -> Result<Effort, Error> {
    reload(&mut control)?;
    drop(control);
    let mut fresh = cluster.connect("postgres")?;
    let pending = catalog(&mut fresh)?.iter().any(|entry| entry.pending_restart);
    drop(fresh);
    if pending { restart(cluster) } else { Ok(Effort::Reload) }
}

fn restart(cluster: &mut Cluster) -> Result<Effort, Error> {
    match cluster.restart() {
        Ok(()) => Ok(Effort::Restart),
        Err(error) => Err(match error.cause::<LastLines>() {
            Some(LastLines(log)) => refused("to start with these settings", log),
            None => error,
        }),
    }
}

/// Applies settings to a server that we do not own: for our own sessions only, unless `journal` is given.
/// With it also what a reload can change, after recording the former values.
///
/// # Errors
/// When that is not enough, or a setting is unknown, refused, or not in force afterwards.
pub fn apply_url(
    place: &Place,
    pooling: Pooling,
    wanted: &SettingValues,
    journal: Option<&mut Journal>,
) -> Result<Applied, Error> {
    if wanted.is_empty() {
        return Ok(Applied::default());
    }
    let mut control = Control::open(place, Some(CONNECT_BOUND))?;
    let superuser = control.reported("is_superuser") == Some("on");
    let known = catalog(&mut control)?;
    let mut change = SettingsChange::of(&known, wanted, superuser)?;
    if pooling.is_shared() {
        // Values already in force need not be set.
        change.session = differences(&known, &change.session)
            .into_iter()
            .filter_map(|difference| change.session.remove_entry(&difference.name))
            .collect();
        if !change.session.is_empty() {
            return Err(pooled(&change.session.into_keys().collect::<Vec<_>>()));
        }
    }
    let to_change = differences(&known, &change.server);
    change.server.retain(|name, _| to_change.iter().any(|difference| difference.name == *name));
    let effort = if change.server.is_empty() {
        Effort::None
    } else {
        change_server(&mut control, &known, &change, journal)?
    };
    verify(place, &change)?;
    Ok(Applied::of(change, effort))
}

fn change_server(
    control: &mut Control,
    known: &super::Catalog,
    change: &SettingsChange,
    journal: Option<&mut Journal>,
) -> Result<Effort, Error> {
    let names = |wanted: &dyn Fn(&super::CatalogEntry) -> bool| -> Vec<String> {
        change.server.keys().filter(|name| known.get(name).is_some_and(wanted)).cloned().collect()
    };
    let restarting = names(&|entry| entry.context == "postmaster");
    if !restarting.is_empty() {
        return Err(needs_restart(&restarting));
    }
    let Some(journal) = journal else { return Err(needs_server_change(&names(&|_| true))) };
    journal.note(control, &change.server, known)?;
    alter_system(control, &change.server)?;
    reload(control)?;
    Ok(Effort::Reload)
}

fn alter_system(control: &mut Control, server: &SettingValues) -> Result<(), Error> {
    for (name, value) in server {
        let refused = |error: SqlError| refused(&format!("{name} = {value}"), &error.text);
        control.execute(&statements::set(name, value)).map_err(refused)?;
    }
    Ok(())
}

/// Reads every setting back over a connection like the load's.
fn verify(place: &Place, change: &SettingsChange) -> Result<(), Error> {
    let with_settings = with_session_settings(place, &change.session);
    let mut control = Control::open(&with_settings, Some(CONNECT_BOUND)).map_err(|error| {
        match (error.attached(), error.cause()) {
            // The server refuses wrong session settings when a connection starts.
            (Some(ConnectFailure::Login), Some(source)) if !change.session.is_empty() => {
                refused("a session setting", &LoginError::to_string(source))
            }
            _ => error,
        }
    })?;
    let wanted = change.session.iter().chain(&change.server);
    let wanted: SettingValues = wanted.map(|(name, value)| (name.clone(), value.clone())).collect();
    // A reload reaches the server's processes one after the other, so wait a moment for the new value.
    let start = Instant::now();
    loop {
        let found = differences(&catalog(&mut control)?, &wanted);
        if found.is_empty() {
            return Ok(());
        }
        if start.elapsed() > Duration::from_secs(1) {
            return Err(not_applied(&found));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
