//! Where client threads and a managed server run: a predefined name, or the name of a table
//! `[placement.NAME]`.

use spec::plan::{Cpus, Placement};
use toml::Value;

use super::{Factor, LevelNames, name_of};
use crate::setup::Setup;

pub(crate) const KEY: &str = spec::plan::PLACEMENT;
pub(crate) const NAMES: [&str; 4] = [FREE, SAME, APART, AWAKE];
/// Decided by the system.
pub(crate) const FREE: &str = "free";
/// Client and server on one CPU.
const SAME: &str = "same";
/// Clients on the last CPU, the server on the others.
const APART: &str = "apart";
/// As free, and idle CPUs are kept from sleeping.
const AWAKE: &str = "awake";

pub(super) struct PlacementFactor;

impl Factor for PlacementFactor {
    fn name(&self) -> &'static str {
        KEY
    }

    fn levels(&self) -> &'static str {
        "`\"free\"`, `\"same\"`, `\"apart\"`, `\"awake\"`, names of `[placement.NAME]`"
    }

    fn meaning(&self) -> &'static str {
        "Where client threads and a managed server run: anywhere, both on the last CPU, clients alone on \
         the last CPU, or anywhere with idle CPUs kept awake. Default: what `pgdyno calibrate` advised \
         for private servers, else `free`."
    }

    fn read(&self, _key: &str, value: &Value, known: &LevelNames<'_>) -> Result<String, String> {
        name_of(value, &NAMES, "placement", known.named.placements.keys())
    }

    fn apply(
        &self,
        _key: &str,
        level: &str,
        setup: &mut Setup,
        known: &LevelNames<'_>,
    ) -> Result<(), String> {
        setup.placement = match known.named.placements.get(level) {
            Some(placement) => placement.clone(),
            None => own(level, known.cpus)?,
        };
        Ok(())
    }
}

/// The placement of a predefined name, with these CPUs of the machine.
///
/// # Errors
/// As text, when it is not available.
pub(crate) fn own(level: &str, cpus: Option<&Cpus>) -> Result<Placement, String> {
    match level {
        FREE => return Ok(Placement::default()),
        AWAKE => return Ok(Placement { awake: true, ..Placement::default() }),
        SAME | APART => {}
        _ => return Err(format!("unknown placement {level:?}")),
    }
    let allowed = cpus.ok_or("the CPUs that pgdyno may use are not known")?;
    let Some(last) = allowed.iter().last() else { return Err("no CPU may be used".to_owned()) };
    let clients = Cpus::from_iter([last]);
    let server = match level {
        SAME => clients.clone(),
        _ if allowed.count() < 2 => {
            return Err(format!("placement \"{APART}\" needs two CPUs, and pgdyno may use one"));
        }
        _ => allowed.iter().filter(|cpu| *cpu != last).collect(),
    };
    Ok(Placement { clients: Some(clients), server: Some(server), ..Placement::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_cpus_of_this_machine() {
        let on = |level: &str, cpus: &str| {
            own(level, cpus.parse().ok().as_ref()).map(|placement| placement.words())
        };
        for (level, cpus, words) in [
            ("free", "0-3", "wherever the system likes"),
            ("awake", "0-3", "idle CPUs kept awake"),
            ("same", "0-3", "clients on CPU 3, server on CPU 3"),
            ("same", "0", "clients on CPU 0, server on CPU 0"),
            ("apart", "0-3", "clients on CPU 3, server on CPU 0-2"),
            ("apart", "2,5", "clients on CPU 5, server on CPU 2"),
        ] {
            assert_eq!(on(level, cpus).as_deref(), Ok(words), "{level}");
        }
        assert!(on("apart", "0").unwrap_err().contains("two CPUs"));
        assert!(on("here", "0").is_err());
    }

    #[test]
    fn only_threads_that_have_their_cpu_alone_look_for_news() {
        let apart = own(APART, "0-3".parse().ok().as_ref()).unwrap();
        let same = own(SAME, "0-3".parse().ok().as_ref()).unwrap();
        assert!(apart.can_spin(1) && !apart.can_spin(2));
        assert!(!same.can_spin(1) && !Placement::default().can_spin(1));
        assert!(
            Placement::is_to_spin(64, 1) && !Placement::is_to_spin(8, 1) && !Placement::is_to_spin(60, 2)
        );
    }
}
