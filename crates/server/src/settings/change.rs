//! Plans how a server gets the wanted settings: pure data, before anything is touched.

use std::collections::BTreeMap;

use spec::{Class, Error};

use super::SettingValues;
use super::catalog::{Catalog, TakesEffect};
use super::compare::is_in_force;
use super::error::fixed;

/// The settings of an arm, grouped by what each needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsChange {
    /// Set by each connection.
    pub session: BTreeMap<String, String>,
    /// Written to the server's files.
    pub server: BTreeMap<String, String>,
    /// Whether some of `server` differ from what is in force and take effect only after a restart.
    pub restart: bool,
    /// Settings that had to be added, each with the reason.
    pub added: Vec<String>,
}

impl SettingsChange {
    /// Groups the wanted settings; `superuser` as in [`super::CatalogEntry::way`].
    ///
    /// # Errors
    /// An unknown name, a setting that nobody can change, or two that contradict each other.
    pub fn of(catalog: &Catalog, wanted: &SettingValues, superuser: bool) -> Result<Self, Error> {
        let (wanted, added) = completed(catalog, wanted)?;
        let mut change = Self { added, ..Self::default() };
        for (name, value) in wanted {
            let entry = catalog.known(&name)?;
            match entry.way(superuser) {
                TakesEffect::Never => return Err(fixed(&entry.name)),
                TakesEffect::Session => {
                    change.session.insert(entry.name.clone(), value);
                }
                way => {
                    change.restart |= way == TakesEffect::Restart && !is_in_force(&value, entry);
                    change.server.insert(entry.name.clone(), value);
                }
            }
        }
        Ok(change)
    }
}

/// With `wal_level = minimal` the server starts only without WAL senders.
pub(super) fn completed(
    catalog: &Catalog,
    wanted: &SettingValues,
) -> Result<(SettingValues, Vec<String>), Error> {
    let mut complete: SettingValues =
        wanted.iter().map(|(name, value)| (name.to_lowercase(), value.clone())).collect();
    let minimal = complete.get("wal_level").is_some_and(|value| value.eq_ignore_ascii_case("minimal"));
    if !minimal {
        return Ok((complete, Vec::new()));
    }
    match complete.get("max_wal_senders") {
        Some(value) if value.trim() == "0" => Ok((complete, Vec::new())),
        Some(value) => {
            let what = format!("wal_level = minimal needs max_wal_senders = 0, but {value} is asked for");
            Err(Error::new(Class::BadInput, what))
        }
        None if catalog.get("max_wal_senders").is_some() => {
            complete.insert("max_wal_senders".into(), "0".into());
            Ok((
                complete,
                vec!["max_wal_senders = 0, because wal_level = minimal does not start without it".into()],
            ))
        }
        None => Ok((complete, Vec::new())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalog::tests::catalog;
    use super::*;

    const SERVER: &str = "\
work_mem 4096 kB user integer
fsync on - sighup bool
shared_buffers 16384 8kB postmaster integer
wal_level replica - postmaster enum
max_wal_senders 10 - postmaster integer
block_size 8192 - internal integer
log_min_duration_statement -1 ms superuser integer";

    fn wanted(pairs: &[(&str, &str)]) -> SettingValues {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn each_setting_goes_the_cheapest_way() {
        let pairs = [("work_mem", "64MB"), ("FSYNC", "off"), ("log_min_duration_statement", "5")];
        let change = SettingsChange::of(&catalog(SERVER), &wanted(&pairs), true).unwrap();
        assert_eq!(change.session, wanted(&[("work_mem", "64MB"), ("log_min_duration_statement", "5")]));
        assert_eq!(change.server, wanted(&[("fsync", "off")]));
        assert!(!change.restart);
        let as_nobody = SettingsChange::of(&catalog(SERVER), &wanted(&pairs), false).unwrap();
        assert!(as_nobody.server.contains_key("log_min_duration_statement"));
    }

    #[test]
    fn a_restart_is_needed_only_for_what_differs() {
        for (value, restart) in [("128MB", false), ("256MB", true)] {
            let change =
                SettingsChange::of(&catalog(SERVER), &wanted(&[("shared_buffers", value)]), true).unwrap();
            assert_eq!(change.restart, restart, "{value}");
        }
    }

    #[test]
    fn minimal_wal_brings_no_senders() {
        let change =
            SettingsChange::of(&catalog(SERVER), &wanted(&[("wal_level", "minimal")]), true).unwrap();
        assert_eq!(change.server["max_wal_senders"], "0");
        assert_eq!(change.added.len(), 1);
        let contradiction = wanted(&[("wal_level", "minimal"), ("max_wal_senders", "5")]);
        let error = SettingsChange::of(&catalog(SERVER), &contradiction, true).unwrap_err();
        assert!(error.to_string().starts_with("wal_level = minimal needs"), "{error}");
    }

    #[test]
    fn what_cannot_be_set_is_named() {
        let error = SettingsChange::of(&catalog(SERVER), &wanted(&[("wrok_mem", "1MB")]), true).unwrap_err();
        assert_eq!(error.to_string(), "the server knows no setting wrok_mem; did you mean work_mem?");
        let error = SettingsChange::of(&catalog(SERVER), &wanted(&[("block_size", "1")]), true).unwrap_err();
        assert!(error.to_string().starts_with("setting block_size is fixed"), "{error}");
    }
}
