//! The server's settings from `pg_settings`.

use std::collections::BTreeMap;

use spec::{Class, Error};

/// What a changed value needs to take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TakesEffect {
    /// A connection can set it.
    Session,
    /// The server re-reads its files.
    Reload,
    Restart,
    /// Fixed when the server was built or its data folder made.
    Never,
}

/// One row of `pg_settings`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CatalogEntry {
    pub name: String,
    /// In `unit`s.
    pub setting: String,
    /// `8kB`, `ms`, ...; `None` for plain values.
    pub unit: Option<String>,
    /// `internal`, `postmaster`, `sighup`, `superuser-backend`, `backend`, `superuser` or `user`.
    pub context: String,
    pub vartype: String,
    /// `default`, `configuration file`, ...
    pub source: String,
    /// Built-in default.
    pub boot_val: Option<String>,
    pub min_val: Option<String>,
    pub max_val: Option<String>,
    /// Allowed words of an enum.
    pub choices: Vec<String>,
    /// Whether a new value waits for a restart.
    pub pending_restart: bool,
}

impl CatalogEntry {
    /// What a change needs; `superuser` is true if our role may set what only superusers may.
    #[must_use]
    pub fn way(&self, superuser: bool) -> TakesEffect {
        match self.context.as_str() {
            "user" | "backend" => TakesEffect::Session,
            "superuser" | "superuser-backend" if superuser => TakesEffect::Session,
            "superuser" | "superuser-backend" | "sighup" => TakesEffect::Reload,
            "postmaster" => TakesEffect::Restart,
            _ => TakesEffect::Never,
        }
    }
}

/// All settings of a server.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    entries: BTreeMap<String, CatalogEntry>,
}

impl Catalog {
    /// The query whose rows [`Catalog::of_rows`] reads.
    pub const QUERY: &'static str = "SELECT name, setting, unit, context, vartype, source, boot_val, min_val, \
         max_val, pending_restart, pg_catalog.array_to_string(enumvals, ',') FROM pg_catalog.pg_settings";

    /// From rows of [`Catalog::QUERY`] in text form; skips rows that are too short.
    #[must_use]
    pub fn of_rows(rows: &[Vec<Option<String>>]) -> Self {
        let entries =
            rows.iter().filter_map(|row| entry(row)).map(|entry| (entry.name.to_lowercase(), entry));
        Self { entries: entries.collect() }
    }

    /// A setting by name, ignoring case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&CatalogEntry> {
        self.entries.get(&name.to_lowercase())
    }

    /// A setting that must exist.
    pub(super) fn known(&self, name: &str) -> Result<&CatalogEntry, Error> {
        self.get(name).ok_or_else(|| {
            let nearest =
                self.nearest(name).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            Error::new(Class::BadInput, format!("the server knows no setting {name}{nearest}"))
        })
    }

    /// All settings in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &CatalogEntry> {
        self.entries.values()
    }

    /// The known name most similar to `name`, if any.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Option<&str> {
        protocol::nearest(name, self.entries.values().map(|entry| entry.name.as_str()))
    }
}

fn entry(row: &[Option<String>]) -> Option<CatalogEntry> {
    let [name, setting, unit, context, vartype, source, boot_val, min_val, max_val, pending, choices] = row
    else {
        return None;
    };
    Some(CatalogEntry {
        name: name.clone()?,
        setting: setting.clone().unwrap_or_default(),
        unit: unit.clone().filter(|unit| !unit.is_empty()),
        context: context.clone()?,
        vartype: vartype.clone()?,
        source: source.clone().unwrap_or_default(),
        boot_val: boot_val.clone(),
        min_val: min_val.clone(),
        max_val: max_val.clone(),
        choices: choices.iter().flat_map(|list| list.split(',')).map(str::to_owned).collect(),
        pending_restart: pending.as_deref() == Some("t"),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A catalog of `name setting unit context vartype [min max | choices]` lines (`-` for no unit); boot
    /// values equal the settings.
    pub(crate) fn catalog(lines: &str) -> Catalog {
        let rows: Vec<Vec<Option<String>>> = lines
            .lines()
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let text = |word: &str| (word != "-").then(|| word.to_owned());
                vec![
                    text(words[0]),
                    text(words[1]),
                    text(words[2]),
                    text(words[3]),
                    text(words[4]),
                    text("default"),
                    text(words[1]),
                    words.get(6).and_then(|_| text(words[5])),
                    words.get(6).and_then(|most| text(most)),
                    text("f"),
                    words.get(5).filter(|_| words.len() == 6).and_then(|list| text(list)),
                ]
            })
            .collect();
        Catalog::of_rows(&rows)
    }

    #[test]
    fn ways() {
        let cases = [
            ("user", TakesEffect::Session, TakesEffect::Session),
            ("superuser", TakesEffect::Session, TakesEffect::Reload),
            ("backend", TakesEffect::Session, TakesEffect::Session),
            ("sighup", TakesEffect::Reload, TakesEffect::Reload),
            ("postmaster", TakesEffect::Restart, TakesEffect::Restart),
            ("internal", TakesEffect::Never, TakesEffect::Never),
        ];
        for (context, superuser, other) in cases {
            let entry = CatalogEntry { context: context.into(), ..CatalogEntry::default() };
            assert_eq!((entry.way(true), entry.way(false)), (superuser, other), "{context}");
        }
    }

    #[test]
    fn names() {
        let catalog = catalog("work_mem 4096 kB user integer\nTimeZone UTC - user string");
        assert_eq!(catalog.get("WORK_MEM").unwrap().setting, "4096");
        assert_eq!(catalog.get("timezone").unwrap().name, "TimeZone");
        assert_eq!(catalog.nearest("wrok_mem"), Some("work_mem"));
        assert_eq!(catalog.nearest("fnord"), None);
        assert!(Catalog::of_rows(&[vec![Some("x".into())], vec![]]).iter().next().is_none());
    }
}
