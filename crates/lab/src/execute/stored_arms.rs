//! The arms of an experiment, as stored.

use std::collections::BTreeMap;

use protocol::without_credentials;
use server::Stop;
use server::child::Watchdog;
use server::pooler::Installed;
use server::pooler::pgpool::Pgpool;
use spec::plan::Plan;
use spec::plan::change::Change;
use spec::plan::pooler::PoolerChoice;
use spec::{Class, Error};

use crate::factors::{SETTINGS, STORAGE, VERSION};
use crate::plan::setups;
use crate::setup::{At, ConnectionPath};

/// Servers of the arms with their own server, and their storage as text.
type Servers<'a> = (&'a BTreeMap<At, spec::MeasuredTarget>, &'a BTreeMap<At, String>);

pub(super) fn arms(plan: &Plan, servers: Servers<'_>, stop: &Stop) -> Result<Vec<spec::ArmRecord>, Error> {
    let names = plan.content.arm_names().into_iter().flatten();
    names.map(|name| arm(plan, servers, name, stop)).collect()
}

fn arm(
    plan: &Plan,
    (targets, storages): Servers<'_>,
    name: String,
    stop: &Stop,
) -> Result<spec::ArmRecord, Error> {
    let content = &plan.content;
    let settings = content.arms.iter().find(|arm| arm.name.as_ref() == Some(&name));
    if let Some(arm) = settings.filter(|_| content.compared() == SETTINGS) {
        let settings = arm.settings.iter();
        let shown =
            |(name, value): (&String, &String)| (name.clone(), without_credentials(value).into_owned());
        let unsafe_settings = arm.weakens.clone();
        return Ok(spec::ArmRecord {
            settings: settings.map(shown).collect(),
            target: None,
            unsafe_settings,
            name,
        });
    }
    let of_its_own = content.named.changes.get(content.compared()).and_then(|levels| levels.get(&name));
    let run = plan.runs.iter().find(|run| run.arm.as_ref() == Some(&name));
    let setup = run.map(|run| setups::setup(plan, run));
    let at = setup.as_ref().map(|setup| setup.at().template()).filter(|at| *at != At::default());
    let stands_on = at.as_ref().and_then(|at| storages.get(at)).filter(|_| content.compared() == STORAGE);
    let does = stands_on.cloned().unwrap_or_else(|| of_its_own.map_or_else(|| name.clone(), Change::words));
    let mut settings = BTreeMap::from([(content.compared().to_owned(), does)]);
    if let Some(ConnectionPath::Pooler(options)) = setup.as_ref().map(|setup| &setup.connection)
        && content.named.poolers.contains_key(&name)
    {
        settings.extend(pooler(options, stop)?);
    }
    let build = content.named.builds.get(&name).filter(|_| content.compared() == VERSION);
    if let Some(build) = build {
        let shown =
            |(name, value): (&String, &String)| (name.clone(), without_credentials(value).into_owned());
        settings.extend(build.settings.iter().map(shown));
        settings.extend((!build.initdb.is_empty()).then(|| ("initdb".to_owned(), build.initdb.join(" "))));
    }
    let of_build = build.map(|build| server::settings::weakens(&build.settings)).unwrap_or_default();
    let target = at.and_then(|at| targets.get(&at).cloned());
    let storage = content.named.storages.get(&name).filter(|_| content.compared() == STORAGE);
    let mut unsafe_settings = storage.map(server::storage::weakens).unwrap_or_default();
    unsafe_settings.extend(of_build);
    Ok(spec::ArmRecord { settings, unsafe_settings, target, name })
}

/// The version and options of a pooler.
fn pooler(options: &PoolerChoice, stop: &Stop) -> Result<BTreeMap<String, String>, Error> {
    let watchdog = Watchdog::current().map_err(|source| {
        Error::new(Class::Internal, format!("cannot find pgdyno's own program: {source}"))
    })?;
    let text = |(name, value): (&str, String)| (name.to_owned(), value);
    Ok(match options {
        PoolerChoice::PgBouncer(options) => {
            let version = Installed::find(&watchdog, stop)?.version;
            let own = [
                ("pooler", format!("PgBouncer {version}")),
                ("pool_mode", options.pool_mode.name().to_owned()),
                ("pool_size", options.pool_size.to_string()),
            ];
            own.map(text).into_iter().chain(options.settings.clone()).collect()
        }
        PoolerChoice::Pgpool(options) => {
            let version = Pgpool::installed(&watchdog, stop)?;
            let own =
                [("pooler", format!("Pgpool-II {version}")), ("balance", options.balance.name().to_owned())];
            own.map(text).into_iter().chain(options.settings.clone()).collect()
        }
    })
}
