//! Options of a workload: `polygons.min_pixels` is `min_pixels` in `[workload.polygons] tiles = { min_pixels
//! = … }`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use protocol::nearest;
use serde::Deserialize;
use toml::{Table, Value};
use workloads::Spec;

use super::{Factor, LevelNames, OF_LOAD};
use crate::setup::Setup;

pub(super) struct OptionFactor;

impl Factor for OptionFactor {
    fn name(&self) -> &'static str {
        "WORKLOAD.OPTION"
    }

    fn levels(&self) -> &'static str {
        "values of the option"
    }

    fn meaning(&self) -> &'static str {
        "Any option of a workload, such as `polygons.min_pixels = [4, 16]`. A table `[factors.WORKLOAD]` \
         may also have `clients`, `threads`, `rate`, `rate_per_client` and `promise` for that workload \
         alone."
    }

    fn is(&self, key: &str, _known: &LevelNames<'_>) -> bool {
        key.contains('.')
    }

    fn exists(&self, key: &str, known: &LevelNames<'_>) -> Result<(), String> {
        let (workload, option) = parts(key);
        let Some(spec) = known.workloads.get(workload) else {
            return Err(format!(
                "there is no [workload.{workload}]{}",
                advice(workload, known.workloads.keys().copied())
            ));
        };
        let names = spec.option_names();
        if names.contains(&option) {
            return Ok(());
        }
        let advice = advice(option, names.iter().chain(&OF_LOAD).copied());
        Err(format!("workload {workload} ({}) has no option `{option}`{advice}", spec.kind()))
    }

    fn read(&self, key: &str, value: &Value, known: &LevelNames<'_>) -> Result<String, String> {
        let (workload, option) = parts(key);
        let level = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if matches!(protocol::without_credentials(&level), Cow::Owned(_)) {
            // A level's text is its name, in results and reports.
            return Err(
                "a level with a password in it would be shown; write two workloads and compare `workload`"
                    .to_owned(),
            );
        }
        let spec = known.workloads.get(workload).ok_or("names no workload")?;
        with_options(spec, &[(option.to_owned(), level.clone())].into())?
            .validate()
            .map_err(|error| error.to_string())?;
        Ok(level)
    }

    fn concerns(&self, key: &str, workload: &str, _known: &LevelNames<'_>) -> bool {
        parts(key).0 == workload
    }

    fn apply(&self, key: &str, level: &str, setup: &mut Setup, known: &LevelNames<'_>) -> Result<(), String> {
        let (workload, option) = parts(key);
        if setup.workload == workload {
            self.read(key, &Value::from(level), known)?;
            setup.options.insert(option.to_owned(), level.to_owned());
        }
        Ok(())
    }
}

fn parts(key: &str) -> (&str, &str) {
    key.split_once('.').unwrap_or((key, ""))
}

/// What to write instead, on a separate line.
pub(super) fn advice<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(word, known.clone()) {
        Some(near) => format!("\ndid you mean `{near}`?"),
        None => format!("\nknown here: {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// A workload with some of its options changed, each to a level as plans keep it.
///
/// # Errors
/// What a level must be.
pub(crate) fn with_options(spec: &Spec, options: &BTreeMap<String, String>) -> Result<Spec, String> {
    let mut spec = spec.clone();
    for (option, level) in options {
        spec = forms(level, |value| with_option(&spec, option, value))?;
    }
    Ok(spec)
}

/// Applies a stored level: it may be a text that looks like a number, so both are tried.
pub(super) fn forms<T>(level: &str, mut with: impl FnMut(Value) -> Result<T, String>) -> Result<T, String> {
    let read = toml::from_str::<Table>(&format!("level = {level}")).ok();
    let value = read.and_then(|mut table| table.remove("level"));
    let text = || Value::from(level);
    match value {
        // A quoted level was written so: a name that needs quotes.
        None | Some(Value::String(_)) => with(text()),
        Some(value) => with(value).or_else(|why| with(text()).map_err(|_| why)),
    }
}

fn with_option(spec: &Spec, option: &str, level: Value) -> Result<Spec, String> {
    let no_table = || "is not an option that can be varied".to_owned();
    let mut written = Table::try_from(spec).map_err(|error| error.to_string())?;
    let options = written.get_mut(spec.kind()).and_then(Value::as_table_mut).ok_or_else(no_table)?;
    options.insert(option.to_owned(), level);
    Spec::deserialize(written).map_err(|error| error.message().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> Spec {
        Spec::deserialize(toml::from_str::<Table>(text).unwrap()).unwrap()
    }

    #[test]
    fn a_level_takes_the_place_of_what_the_workload_says() {
        let script = "pgbench = { builtin = \"select-only\", mode = \"simple\" }";
        let tiles = "tiles = { table = \"t\", min_pixels = 4 }";
        let mix = "tiles = { table = \"t\", zooms = { 12 = 1, 14 = 6 } }";
        let cases = [
            (
                script,
                "mode",
                "prepared",
                Some("pgbench = { builtin = \"select-only\", mode = \"prepared\" }"),
            ),
            (script, "max_tries", "3", Some("pgbench = { builtin = \"select-only\", max_tries = 3 }")),
            (script, "builtin", "tpcb-like", Some("pgbench = { builtin = \"tpcb-like\" }")),
            (script, "reconnect", "true", Some("pgbench = { builtin = \"select-only\", reconnect = true }")),
            (tiles, "min_pixels", "16", Some("tiles = { table = \"t\", min_pixels = 16 }")),
            (tiles, "zooms", "[3, 4]", Some("tiles = { table = \"t\", zooms = [3, 4] }")),
            // With tiles by frequency of zooms no option could be varied.
            (mix, "table", "u", Some("tiles = { table = \"u\", zooms = { 12 = 1, 14 = 6 } }")),
            (
                tiles,
                "zooms",
                "{ 12 = 1, 14 = 6 }",
                Some("tiles = { table = \"t\", zooms = { 12 = 1, 14 = 6 } }"),
            ),
            // A table may be called 7.
            (tiles, "table", "7", Some("tiles = { table = \"7\" }")),
            (tiles, "min_pixels", "many", None),
            (script, "mode", "7", None),
        ];
        for (text, option, level, wanted) in cases {
            let found = with_options(&spec(text), &[(option.to_owned(), level.to_owned())].into());
            assert_eq!(found.ok(), wanted.map(spec), "{option} = {level}");
        }
    }
}
