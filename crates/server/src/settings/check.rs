//! Checks whether a server can get an arm's settings, before anything is changed or prepared.

use spec::{Class, Error};

use super::SettingValues;
use super::catalog::{Catalog, TakesEffect};
use super::change::completed;
use super::compare::{allowed_values, is_in_force};
use super::error::{Refusal, fixed, needs_restart, needs_server_change, pooled};
use super::reserved::reserved;

/// What may be done to a server for an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Means {
    /// Whether it may be restarted: it is pgdyno's own.
    pub restart: bool,
    /// Whether settings of the whole server may be changed.
    pub server: bool,
    /// Whether each connection may set them: not through a transaction pooler.
    pub session: bool,
    /// As in [`super::CatalogEntry::way`].
    pub superuser: bool,
}

/// Everything that prevents these settings, in order of their names.
#[must_use]
pub fn check(catalog: &Catalog, wanted: &SettingValues, means: Means) -> Vec<Refusal> {
    let one = |(name, value): (&String, &String)| {
        let error = one(catalog, name, value, means).err()?;
        Some(Refusal { setting: Some(name.clone()), error })
    };
    let mut found: Vec<Refusal> = wanted.iter().filter_map(one).collect();
    let contradiction = completed(catalog, wanted).err();
    found.extend(contradiction.map(|error| Refusal { setting: None, error }));
    found
}

fn one(catalog: &Catalog, name: &str, value: &str, means: Means) -> Result<(), Error> {
    if let Some(why) = reserved(name, value) {
        return Err(Error::new(Class::BadInput, format!("setting {name} cannot be a factor: {why}")));
    }
    let entry = catalog.known(name)?;
    let way = entry.way(means.superuser);
    if way == TakesEffect::Never {
        return Err(fixed(&entry.name));
    }
    if is_in_force(value, entry) {
        return Ok(());
    }
    if let Some(wanted) = allowed_values(value, entry) {
        let name = &entry.name;
        return Err(Error::new(Class::BadInput, format!("{name} = {value} cannot be; {wanted}")));
    }
    let names = [entry.name.clone()];
    match way {
        TakesEffect::Restart if !means.restart => Err(needs_restart(&names)),
        TakesEffect::Reload if !means.server => Err(needs_server_change(&names)),
        TakesEffect::Session if !means.session => Err(pooled(&names)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalog::tests::catalog;
    use super::*;

    const SERVER: &str = "\
application_name x - user string
block_size 8192 - internal integer 8192 8192
checkpoint_timeout 300 s sighup integer 30 86400
jit on - user bool
max_wal_senders 10 - postmaster integer 0 262143
random_page_cost 4 - user real 0 1.79769e+308
shared_buffers 16384 8kB postmaster integer 16 1073741823
synchronous_commit on - user enum local,remote_write,remote_apply,on,off
wal_level replica - postmaster enum minimal,replica,logical
work_mem 4096 kB user integer 64 2147483647";

    const OURS: Means = Means { restart: true, server: true, session: true, superuser: true };
    const BY_URL: Means = Means { restart: false, server: false, session: true, superuser: true };
    const BY_URL_WITH_CHANGES: Means = Means { server: true, ..BY_URL };

    fn problems(pairs: &[(&str, &str)], means: Means) -> String {
        let wanted = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let found = check(&catalog(SERVER), &wanted, means);
        found.iter().map(|refusal| refusal.error.to_string()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_a_server_by_url_cannot_be_given_was_found_after_the_first_runs() {
        for (name, value, means, wanted) in [
            ("shared_buffers", "1GB", BY_URL, "shared_buffers: a change takes a restart"),
            ("shared_buffers", "1GB", BY_URL_WITH_CHANGES, "shared_buffers: a change takes a restart"),
            ("shared_buffers", "1GB", OURS, ""),
            // A value already in force needs nothing.
            ("shared_buffers", "128MB", BY_URL, ""),
            ("checkpoint_timeout", "1min", BY_URL, "write change_server = true"),
            ("checkpoint_timeout", "1min", BY_URL_WITH_CHANGES, ""),
            ("checkpoint_timeout", "5min", BY_URL, ""),
            ("work_men", "1MB", OURS, "did you mean work_mem?"),
            ("sql", "create index on t (a)", OURS, "knows no setting sql"),
            ("application_name", "me", OURS, "cannot be a factor: pgdyno knows its own connections by it"),
            ("block_size", "1", OURS, "block_size is fixed"),
            ("block_size", "8192", OURS, "block_size is fixed"),
        ] {
            let found = problems(&[(name, value)], means);
            assert!(
                found.contains(wanted) && found.is_empty() == wanted.is_empty(),
                "{name}={value}: {found}"
            );
        }
    }

    #[test]
    fn values_are_checked_against_what_the_server_takes() {
        for (name, value, wanted) in [
            ("work_mem", "much", "it takes a whole number from 64 to 2147483647 kB, or a number with a unit"),
            ("work_mem", "32kB", "from 64"),
            ("work_mem", "64kB", ""),
            ("work_mem", "10min", "B, kB, MB, GB, TB"),
            ("shared_buffers", "9000TB", "from 16 to 1073741823 x 8kB"),
            ("checkpoint_timeout", "2d", "us, ms, s, min, h, d"),
            ("random_page_cost", "-1", "it takes a number from 0"),
            ("random_page_cost", "1.1", ""),
            ("jit", "maybe", "it takes on or off"),
            ("jit", "f", ""),
            ("synchronous_commit", "sometimes", "it takes local, remote_write"),
            ("synchronous_commit", "FALSE", ""),
            ("wal_level", "hot_standby", ""),
        ] {
            let found = problems(&[(name, value)], OURS);
            assert!(
                found.contains(wanted) && found.is_empty() == wanted.is_empty(),
                "{name}={value}: {found}"
            );
        }
    }

    #[test]
    fn all_mistakes_of_an_arm_are_told_at_once() {
        let pairs = [("jit", "2"), ("nonsense", "1"), ("wal_level", "minimal"), ("max_wal_senders", "5")];
        assert_eq!(problems(&pairs, OURS).lines().count(), 3);
        let wanted = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let found = check(&catalog(SERVER), &wanted, OURS);
        let about: Vec<_> = found.iter().map(|refusal| refusal.setting.as_deref()).collect();
        assert_eq!(about, [Some("jit"), Some("nonsense"), None]);
    }
}
