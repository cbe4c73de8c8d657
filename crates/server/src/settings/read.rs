//! Reads settings from a server.

use std::collections::{BTreeMap, BTreeSet};

use protocol::postgres::sql::{Sql, SqlError};
use spec::Error;

use super::SettingValues;
use super::catalog::Catalog;
use super::compare::is_in_force;
use super::contexts::is_private;
use super::error::SettingDifference;
use crate::error::sql_error;

/// Most changed settings that are named.
const MOST_NAMED: usize = 5;

/// All settings as this connection sees them.
pub fn catalog(sql: &mut dyn Sql) -> Result<Catalog, Error> {
    let rows = sql.rows(Catalog::QUERY).map_err(|error| sql_error("reading settings", error))?;
    Ok(Catalog::of_rows(&rows))
}

/// All settings as stored with a run, without values that may be secret.
pub fn recorded(sql: &mut dyn Sql) -> Result<Vec<spec::Setting>, SqlError> {
    let query = "SELECT name, pg_catalog.current_setting(name, true), source, setting IS NOT DISTINCT FROM boot_val, \
                 pg_catalog.current_setting('server_version_num') FROM pg_catalog.pg_settings ORDER BY name";
    let rows = sql.rows(query)?;
    Ok(rows.into_iter().filter_map(setting).collect())
}

fn setting(row: Vec<Option<String>>) -> Option<spec::Setting> {
    let mut values = row.into_iter();
    let name = values.next()??;
    let value = values.next()?.unwrap_or_default();
    let source = values.next()?.unwrap_or_default();
    let is_built_in = values.next().flatten().map(|is| is == "t");
    let version = values.next().flatten().and_then(|version| version.parse().ok());
    let is_initial = is_built_in.map(|is| is_initial((&name, &value), (is, &source), version));
    let hidden = is_private(&name) && !value.is_empty();
    let value = if hidden { "(not recorded)".to_owned() } else { value };
    Some(spec::Setting { name, value, source, is_initial })
}

/// Values that a plain `initdb` writes although another one is built in; `shared_buffers` before PostgreSQL 16.
const BY_INITDB: [(&str, &str); 2] = [("max_connections", "100"), ("shared_buffers", "128MB")];
/// From this version on `initdb` turns checksums on.
const WITH_CHECKSUMS: u32 = 180_000;

/// Whether a plain `initdb` of this version makes a server with this value. What a server works out at its start, such
/// as `wal_buffers`, has the source `default` and is not at the built-in value; nobody set it.
fn is_initial(
    (name, value): (&str, &str),
    (is_built_in, source): (bool, &str),
    version: Option<u32>,
) -> bool {
    match name {
        // Options of `initdb`, in no configuration file.
        "data_checksums" => (value == "on") == version.is_some_and(|version| version >= WITH_CHECKSUMS),
        "wal_segment_size" => is_built_in,
        _ => is_built_in || source == "default" || BY_INITDB.contains(&(name, value)),
    }
}

/// Settings that depend on how a connection was made: unset by a socket, the system's values by the network.
const OF_THE_WAY: [&str; 4] =
    ["tcp_keepalives_count", "tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_user_timeout"];

/// The settings that changed since `before`, in words; `None` when none did. Settings of a session do not
/// count: those in `own`, and those a pooled connection still has from another client. Neither do defaults of
/// a library that one server process has loaded and another has not, such as `plpgsql.check_asserts`.
#[must_use]
pub fn changed(before: &[spec::Setting], now: &[spec::Setting], own: &SettingValues) -> Option<String> {
    const NOT_THERE: &str = "not there";
    let of_session = |setting: &&spec::Setting| setting.source == "session";
    let own: BTreeSet<String> = own
        .keys()
        .map(String::as_str)
        .chain(before.iter().chain(now).filter(of_session).map(|setting| setting.name.as_str()))
        .chain(OF_THE_WAY)
        .map(str::to_lowercase)
        .collect();
    let mut values: BTreeMap<&str, [&str; 2]> = BTreeMap::new();
    for (side, settings) in [before, now].into_iter().enumerate() {
        for setting in settings.iter().filter(|setting| !own.contains(&setting.name.to_lowercase())) {
            values.entry(&setting.name).or_insert([NOT_THERE; 2])[side] = &setting.value;
        }
    }
    let all = || before.iter().chain(now);
    let is_of_library = |name: &str, of: &[&str; 2]| {
        let is_default = || all().filter(|own| own.name == name).all(|own| own.source == "default");
        name.contains('.') && of.contains(&NOT_THERE) && is_default()
    };
    values.retain(|name, of| of[0] != of[1] && !is_of_library(name, of));
    let text = values
        .iter()
        .take(MOST_NAMED)
        .map(|(name, [before, now])| format!("{name} was {before} and is {now}"));
    let text: Vec<String> = text.collect();
    let more = match values.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    (!text.is_empty()).then(|| format!("{}{more}", text.join(", ")))
}

/// The requested settings that are not in force.
#[must_use]
pub fn differences(catalog: &Catalog, wanted: &SettingValues) -> Vec<SettingDifference> {
    let differs = |(name, value): (&String, &String)| {
        let (agrees, got) = match catalog.get(name) {
            Some(entry) => (is_in_force(value, entry), shown(&entry.setting, entry.unit.as_deref())),
            None => (false, "no such setting".to_owned()),
        };
        let text = |value: &str| {
            if is_private(name) { "(not shown)".to_owned() } else { value.to_owned() }
        };
        (!agrees).then(|| SettingDifference { name: name.clone(), wanted: text(value), got: text(&got) })
    };
    wanted.iter().filter_map(differs).collect()
}

/// A value with its unit: `16384 x 8kB`, `64 MB`.
fn shown(setting: &str, unit: Option<&str>) -> String {
    match unit {
        Some(unit) if unit.starts_with(|first: char| first.is_ascii_digit()) => format!("{setting} x {unit}"),
        Some(unit) => format!("{setting} {unit}"),
        None => setting.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalog::tests::catalog;
    use super::*;

    #[test]
    fn differences_show_both_sides() {
        let catalog = catalog(
            "shared_buffers 16384 8kB postmaster integer\nwork_mem 4096 kB user integer\njit on - user bool",
        );
        let wanted = [("shared_buffers", "256MB"), ("work_mem", "4MB"), ("jit", "true"), ("nonsense", "1")];
        let wanted = wanted.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let found: Vec<String> =
            differences(&catalog, &wanted).iter().map(SettingDifference::to_string).collect();
        assert_eq!(
            found,
            ["nonsense: wanted 1, got no such setting", "shared_buffers: wanted 256MB, got 16384 x 8kB"]
        );
    }

    /// The first call of a function in PL/pgSQL behind a pooler was "somebody changed settings of the
    /// server".
    #[test]
    fn defaults_of_a_library_that_one_process_has_loaded_are_no_change() {
        let setting = |source: &str| spec::Setting {
            name: "plpgsql.check_asserts".into(),
            value: "on".into(),
            source: source.into(),
            is_initial: None,
        };
        for (before, now) in [(vec![], vec![setting("default")]), (vec![setting("default")], vec![])] {
            assert_eq!(changed(&before, &now, &SettingValues::new()), None);
        }
        let text = changed(&[], &[setting("configuration file")], &SettingValues::new());
        assert_eq!(text.unwrap(), "plpgsql.check_asserts was not there and is on");
    }

    /// A run counted although another pgdyno had changed the server meanwhile.
    #[test]
    fn settings_that_changed_during_a_run_are_reported() {
        let settings = |pairs: &[(&str, &str)]| -> Vec<spec::Setting> {
            let setting = |(name, value): &(&str, &str)| spec::Setting {
                name: (*name).to_owned(),
                value: (*value).to_owned(),
                source: "default".to_owned(),
                is_initial: None,
            };
            pairs.iter().map(setting).collect()
        };
        let none = SettingValues::new();
        let before = settings(&[("fsync", "on"), ("jit", "on"), ("work_mem", "4MB")]);
        assert_eq!(changed(&before, &before, &none), None);
        let mut now = settings(&[("fsync", "off"), ("jit", "on"), ("work_mem", "8MB"), ("x.y", "1")]);
        now[3].source = "database".to_owned();
        let text = changed(&before, &now, &none).unwrap();
        assert_eq!(text, "fsync was on and is off, work_mem was 4MB and is 8MB, x.y was not there and is 1");
        // What our own sessions set is not the server's.
        let own = SettingValues::from([("Work_Mem".to_owned(), "8MB".to_owned())]);
        let now = settings(&[("fsync", "on"), ("jit", "on"), ("work_mem", "8MB")]);
        assert_eq!(changed(&before, &now, &own), None);
        let mut pooled = now;
        pooled[2].source = "session".to_owned();
        assert_eq!(changed(&before, &pooled, &none), None);
        let many: Vec<_> = (0..7).map(|number| format!("a{number}")).collect();
        let many: Vec<_> = many.iter().map(|name| (name.as_str(), "1")).collect();
        let text = changed(&[], &settings(&many), &none).unwrap();
        assert!(text.ends_with("a4 was not there and is 1, and 2 more"), "{text}");
    }

    /// Load by TCP, checked by the socket: from the second switch of settings on no run counted.
    #[test]
    fn what_a_connection_has_by_how_it_came_is_no_change_of_the_server() {
        let idle = |value: &str| spec::Setting {
            name: "tcp_keepalives_idle".to_owned(),
            value: value.to_owned(),
            source: "default".to_owned(),
            is_initial: None,
        };
        assert_eq!(changed(&[idle("7200")], &[idle("0")], &SettingValues::new()), None);
    }

    /// `initdb` writes values into the configuration file that nobody chose, and a mail listed them as changed.
    #[test]
    fn what_a_plain_initdb_gives_is_told_apart() {
        let file = "configuration file";
        for (name, value, is_built_in, source, version, wanted) in [
            ("max_wal_size", "1GB", "t", file, "150018", true),
            ("max_wal_size", "4GB", "f", file, "150018", false),
            ("shared_buffers", "128MB", "f", file, "150018", true),
            ("shared_buffers", "1GB", "f", file, "180000", false),
            ("wal_buffers", "4MB", "f", "default", "150018", true),
            ("work_mem", "4MB", "t", "session", "150018", true),
            ("wal_segment_size", "64MB", "f", "default", "150018", false),
            ("data_checksums", "on", "f", "default", "150018", false),
            ("data_checksums", "on", "f", "default", "180000", true),
            ("data_checksums", "off", "t", "default", "180000", false),
        ] {
            let row = [name, value, source, is_built_in, version].map(|text| Some(text.to_owned()));
            assert_eq!(setting(row.into()).unwrap().is_initial, Some(wanted), "{name} {value} {version}");
        }
    }

    #[test]
    fn secrets_are_not_recorded() {
        let row = |name: &str, value: &str| {
            vec![Some(name.to_owned()), Some(value.to_owned()), Some("default".to_owned())]
        };
        assert_eq!(setting(row("primary_conninfo", "password=x")).unwrap().value, "(not recorded)");
        assert_eq!(setting(row("primary_conninfo", "")).unwrap().value, "");
        assert_eq!(setting(row("work_mem", "4MB")).unwrap().value, "4MB");
        assert_eq!(setting(vec![]), None);
    }
}
