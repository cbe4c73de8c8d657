//! `tile_servers` of a target: a list of names, or of tables with options.

use server::tile_server::check;
use toml::{Table, Value};

use spec::experiment::value::{described, whole_number};
use spec::plan::tile_server::{TileServerKind, TileServerOptions};

pub(super) const KEYS: [&str; 5] = ["kind", "workers", "connections", "cache_mb", "program"];

/// `"tipg"`, or `{ kind = "martin", workers = 2 }`.
pub(super) fn read(value: &Value) -> Result<TileServerOptions, String> {
    let options = match value {
        Value::String(name) => TileServerOptions::usual(kind(name)?),
        Value::Table(table) => of_table(table)?,
        other => {
            let what = described(other);
            return Err(format!("must be the name of a tile server or a table, not {what}\n{ADVICE}"));
        }
    };
    check(&options).map_err(|error| format!("cannot have {}: {}", error.name, error.why))?;
    Ok(options)
}

const ADVICE: &str = "write \"tipg\", \"martin\" or { kind = \"martin\", workers = 2 }";

fn kind(name: &str) -> Result<TileServerKind, String> {
    let known = TileServerKind::ALL.into_iter().find(|kind| kind.name() == name);
    known.ok_or_else(|| format!("cannot be \"{name}\"\n{ADVICE}"))
}

fn of_table(table: &Table) -> Result<TileServerOptions, String> {
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("cannot have a key `{key}`\nthere are {}", KEYS.join(", ")));
    }
    let text = |key: &str| match table.get(key) {
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(format!("cannot have {} as {key}: it is a text", described(other))),
        None => Ok(None),
    };
    let number = |key: &str| {
        let read = |value| {
            whole_number(value, 0, u32::MAX.into()).map_err(|why| format!("cannot have this {key}: it {why}"))
        };
        table.get(key).map(read).transpose().map(|number| number.map(|number| number as u32))
    };
    let program = text("program")?;
    Ok(TileServerOptions {
        kind: kind(text("kind")?.ok_or_else(|| format!("needs a kind\n{ADVICE}"))?)?,
        workers: number("workers")?,
        connections: number("connections")?,
        cache_mb: number("cache_mb")?,
        program: program.map(Into::into),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<TileServerOptions, String> {
        read(&format!("x = {text}").parse::<Table>().unwrap()["x"])
    }

    #[test]
    fn names_and_tables_are_read() {
        assert_eq!(of("\"tipg\"").unwrap(), TileServerOptions::usual(TileServerKind::Tipg));
        assert_eq!(of("{ kind = \"martin\" }").unwrap(), TileServerOptions::usual(TileServerKind::Martin));
        let all = "{ kind = \"martin\", workers = 2, connections = 8, cache_mb = 64, program = \"/m\" }";
        let wanted = TileServerOptions {
            kind: TileServerKind::Martin,
            workers: Some(2),
            connections: Some(8),
            cache_mb: Some(64),
            program: Some("/m".into()),
        };
        assert_eq!(of(all).unwrap(), wanted);
        let keys = serde_json::to_value(wanted).unwrap();
        assert!(
            KEYS.iter().all(|key| keys.get(key).is_some()) && keys.as_object().unwrap().len() == KEYS.len()
        );
    }

    #[test]
    fn what_cannot_be_is_told() {
        for (text, wanted) in [
            ("\"tegola\"", "cannot be \"tegola\"\nwrite \"tipg\""),
            ("3", "must be the name of a tile server or a table, not 3"),
            ("{ workers = 2 }", "needs a kind"),
            ("{ kind = \"martin\", wrokers = 2 }", "cannot have a key `wrokers`\nthere are kind, workers"),
            ("{ kind = \"martin\", workers = \"2\" }", "cannot have this workers: it must be a whole number"),
            ("{ kind = \"martin\", workers = 0 }", "cannot have workers: it takes 1 to 256"),
            ("{ kind = \"tipg\", cache_mb = 64 }", "cannot have cache_mb: it keeps no tiles"),
            ("{ kind = \"tipg\", program = 1 }", "cannot have 1 as program: it is a text"),
        ] {
            let told = of(text).unwrap_err();
            assert!(told.starts_with(wanted), "{text}: {told}");
        }
    }
}
