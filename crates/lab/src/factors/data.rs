//! Any option of the preparation: `prepare.pgbench.scale` is what `[prepare] pgbench = { scale = … }` says. Each level has a
//! managed server of its own, which stands beside the others.

use serde::Deserialize;
use toml::{Table, Value};
use workloads::Preparation;

use super::option::advice;
use super::{Factor, Known};
use crate::setup::{Server, Setup};

const BEGINNING: &str = "prepare.";

pub(super) struct PreparedData;

impl Factor for PreparedData {
    fn name(&self) -> &'static str {
        "prepare.JOB.OPTION"
    }

    fn is(&self, key: &str, _known: &Known<'_>) -> bool {
        key.starts_with(BEGINNING)
    }

    fn exists(&self, key: &str, known: &Known<'_>) -> Result<(), String> {
        let (job, option) = parts(key);
        let names = known.preparation.map(|preparation| preparation.option_names(job)).unwrap_or_default();
        if names.is_empty() {
            return Err(format!(
                "there is no `prepare.{job}` in this file\nan option of it can only be varied where it is"
            ));
        }
        if names.contains(&option) {
            return Ok(());
        }
        Err(format!("`{option}` is no option of prepare.{job}{}", advice(option, names.iter().copied())))
    }

    fn read(&self, key: &str, value: &Value, known: &Known<'_>) -> Result<String, String> {
        let level = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let preparation = known.preparation.ok_or("is not prepared")?;
        match with_data(preparation, key, &level)?.problems().into_iter().next() {
            Some((_, error)) => Err(error.to_string()),
            None => Ok(level),
        }
    }

    fn apply(&self, key: &str, level: &str, setup: &mut Setup, _known: &Known<'_>) -> Result<(), String> {
        if let Server::Target(at) = &mut setup.server {
            at.data.insert(key.trim_start_matches(BEGINNING).to_owned(), level.to_owned());
        }
        Ok(())
    }
}

/// Job and option.
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
        let options = written.get_mut(job).and_then(Value::as_table_mut).ok_or("is not prepared")?;
        options.insert(option.to_owned(), value);
        Preparation::deserialize(written).map_err(|error| error.message().to_owned())
    })
}
