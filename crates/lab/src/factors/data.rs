//! Options of the preparation: `prepare.pgbench.scale` is `scale` in `[prepare] pgbench = { scale = … }`.
//! Each level has its own managed server next to the others.

use serde::Deserialize;
use toml::{Table, Value};
use workloads::Preparation;

use super::option::advice;
use super::{Factor, LevelNames};
use crate::setup::{Server, Setup};

const BEGINNING: &str = "prepare.";

pub(super) struct DataFactor;

impl Factor for DataFactor {
    fn name(&self) -> &'static str {
        "prepare.JOB.OPTION"
    }

    fn levels(&self) -> &'static str {
        "values of the option"
    }

    fn meaning(&self) -> &'static str {
        "Any option of the preparation, such as `prepare.pgbench.scale = [1, 10]`. Each level has its own \
         managed server."
    }

    fn is(&self, key: &str, _known: &LevelNames<'_>) -> bool {
        key.starts_with(BEGINNING)
    }

    fn exists(&self, key: &str, known: &LevelNames<'_>) -> Result<(), String> {
        let (job, option) = parts(key);
        let names =
            known.preparation.as_ref().map(|preparation| preparation.option_names(job)).unwrap_or_default();
        if names.is_empty() {
            return Err(format!(
                "there is no `prepare.{job}` in this file\nonly a job that the file has can be varied"
            ));
        }
        if names.contains(&option) {
            return Ok(());
        }
        Err(format!("prepare.{job} has no option `{option}`{}", advice(option, names.iter().copied())))
    }

    fn read(&self, key: &str, value: &Value, known: &LevelNames<'_>) -> Result<String, String> {
        let level = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let preparation = known.preparation.as_deref().ok_or("is not prepared")?;
        match with_data(preparation, key, &level)?.problems().into_iter().next() {
            Some((_, error)) => Err(error.to_string()),
            None => Ok(level),
        }
    }

    fn apply(
        &self,
        key: &str,
        level: &str,
        setup: &mut Setup,
        _known: &LevelNames<'_>,
    ) -> Result<(), String> {
        if let Server::Target(at) = &mut setup.server {
            at.data.insert(key.trim_start_matches(BEGINNING).to_owned(), level.to_owned());
        }
        Ok(())
    }
}

fn parts(key: &str) -> (&str, &str) {
    key.trim_start_matches(BEGINNING).split_once('.').unwrap_or((key, ""))
}

/// A preparation with one of its options changed, to a level as plans keep it.
///
/// # Errors
/// What the level must be.
pub(crate) fn with_data(preparation: &Preparation, key: &str, level: &str) -> Result<Preparation, String> {
    let (job, option) = parts(key);
    super::option::forms(level, |value| {
        let mut written = Table::try_from(preparation).map_err(|error| error.to_string())?;
        // Several loads are a list of tables, and a level applies to all of them.
        let tables: Vec<&mut Table> = match written.get_mut(job) {
            Some(Value::Table(one)) => vec![one],
            Some(Value::Array(several)) => several.iter_mut().filter_map(Value::as_table_mut).collect(),
            _ => return Err("is not prepared".to_owned()),
        };
        for options in tables {
            options.insert(option.to_owned(), value.clone());
        }
        Preparation::deserialize(written).map_err(|error| error.message().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_one_of_all_loads() {
        let read = |text: &str| serde_json::from_str::<Preparation>(text).unwrap();
        let both = read(r#"{"osm": [{"extract": "a"}, {"extract": "b", "prefix": "c"}]}"#);
        let changed = with_data(&both, "prepare.osm.hstore", "true").unwrap();
        assert!(changed.osm.iter().all(|load| load.hstore));
        let names: Vec<_> = changed.osm.iter().map(|load| load.prefix.as_str()).collect();
        assert_eq!(names, ["planet_osm", "c"]);
        let known =
            LevelNames { preparation: Some(std::borrow::Cow::Borrowed(&both)), ..LevelNames::default() };
        let refused = DataFactor.read("prepare.osm.prefix", &Value::from("x"), &known).unwrap_err();
        assert!(refused.contains("give each its own prefix"), "{refused}");
        let one = with_data(&read(r#"{"osm": {"extract": "a"}}"#), "prepare.osm.prefix", "x").unwrap();
        assert_eq!(one.osm[0].prefix, "x");
        assert!(with_data(&Preparation::default(), "prepare.osm.prefix", "x").is_err());
    }
}
