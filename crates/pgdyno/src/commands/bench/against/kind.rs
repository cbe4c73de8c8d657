//! Parses the change on the other side: `KIND: WHAT`.

use std::path::Path;

use protocol::nearest;
use script::Weighted;

use super::builds::{self, NamedBuild};
use super::written::{parts, settings, shown, unquoted};
use crate::commands::bench::args::ScriptChoice;
use crate::options::AGAINST as KINDS;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) enum AgainstChange {
    /// In the order given.
    Settings(Vec<(String, String)>),
    /// Scripts in place of the base's: files and built-in ones, with weights after `@`.
    Scripts(Vec<ScriptChoice>),
    /// Another server.
    Url(String),
    /// Another PostgreSQL; with two versions, the first is the base.
    Version { base: Option<String>, new: String },
    /// Builds of PostgreSQL; with several, the first is the base.
    Builds(Vec<NamedBuild>),
    /// SQL run on the other side's server before it is measured.
    Sql(String),
}

impl AgainstChange {
    /// Parses `settings: jit=off`.
    ///
    /// # Errors
    /// What is wrong; advice is on a separate line.
    pub(in crate::commands) fn parse(text: &str) -> Result<Self, String> {
        let kinds = || format!("kinds: {}", KINDS.join(", "));
        let Some((kind, what)) = text.split_once(':') else {
            let advice = if text.contains('=') { format!("write {}", example("settings")) } else { kinds() };
            return Err(format!("--against {:?} must be KIND: WHAT\n{advice}", shown(text)));
        };
        let (kind, what) = (kind.trim(), what.trim());
        if !KINDS.contains(&kind) {
            let plain = kind.len() <= 20 && kind.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let named = if plain { format!("kind {kind:?}") } else { "such kind".to_owned() };
            let advice = nearest(kind, KINDS).map_or_else(kinds, |near| format!("did you mean '{near}: …'?"));
            return Err(format!("--against: there is no {named}\n{advice}"));
        }
        if what.is_empty() {
            return Err(format!("--against '{kind}:' has no value\nwrite {}", example(kind)));
        }
        let wrong = |why: String| format!("--against '{kind}: …': {why}");
        match kind {
            "settings" => settings(what).map(Self::Settings).map_err(wrong),
            "script" => scripts(what).map(Self::Scripts).map_err(wrong),
            "url" => Ok(Self::Url(what.to_owned())),
            "version" => version(what).map_err(wrong),
            "build" => builds::parse(what).map(Self::Builds).map_err(wrong),
            _ => Ok(Self::Sql(what.to_owned())),
        }
    }
}

fn example(kind: &str) -> &'static str {
    match kind {
        "settings" => "'settings: jit=off, work_mem=64MB'",
        "script" => "'script: new.sql'",
        "url" => "'url: postgres://me@db2.example/shop'",
        "version" => "'version: 18'",
        "build" => {
            "'build: git master, git my-branch' or 'build: /home/me/pg/master, /home/me/pg/patched', the base first"
        }
        _ => "'sql: create index on t (x)'",
    }
}

/// `a.sql@2, b.sql`: files, else built-in scripts.
fn scripts(what: &str) -> Result<Vec<ScriptChoice>, String> {
    parts(what)?.into_iter().map(script).collect()
}

fn script(written: &str) -> Result<ScriptChoice, String> {
    let written = unquoted(written).unwrap_or_default();
    let weighted =
        Weighted::parse(&written).map_err(|_| format!("{} has no weight after its @", shown(&written)))?;
    if Path::new(&weighted.name).is_file() {
        return Ok(ScriptChoice::File(written));
    }
    let known: Vec<_> = script::BUILTINS.iter().map(|builtin| builtin.name).collect();
    if known.contains(&weighted.name.as_str()) {
        return Ok(ScriptChoice::Builtin(written));
    }
    let near = nearest(&weighted.name, known.iter().copied());
    let advice = near.map_or_else(
        || format!("a file, or one of {}", known.join(", ")),
        |near| format!("did you mean the built-in script {near}?"),
    );
    Err(format!("there is no file {}\n{advice}", shown(&weighted.name)))
}

/// `18`, `17, 18`, or a folder with PostgreSQL's programs.
fn version(what: &str) -> Result<AgainstChange, String> {
    let levels = parts(what)?;
    let level = |level: &str| {
        let folder = || Path::new(level).join("initdb").is_file();
        match level.parse::<u32>() {
            Ok(9..=99) => Ok(level.to_owned()),
            _ if folder() => Ok(level.to_owned()),
            _ => Err(format!(
                "invalid version {}\nwrite a major version such as 18, or the folder of a build's programs",
                shown(level)
            )),
        }
    };
    match levels[..] {
        [new] => Ok(AgainstChange::Version { base: None, new: level(new)? }),
        [base, new] => Ok(AgainstChange::Version { base: Some(level(base)?), new: level(new)? }),
        _ => Err("a comparison has two sides\nwrite 'version: 18', or 'version: 17, 18' with the base first"
            .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_with_their_quotes() {
        for (what, wanted) in [
            ("jit=off", &[("jit", "off")][..]),
            (" jit = off , work_mem=64MB ", &[("jit", "off"), ("work_mem", "64MB")]),
            ("jit=off; work_mem='64 MB';", &[("jit", "off"), ("work_mem", "64 MB")]),
            ("search_path='a, b;c', jit=on", &[("search_path", "a, b;c"), ("jit", "on")]),
            ("search_path=\"it's\"", &[("search_path", "it's")]),
            ("x.y='it''s'", &[("x.y", "it's")]),
            ("x.y=''", &[("x.y", "")]),
            ("x.y=a=b", &[("x.y", "a=b")]),
            ("JIT=off", &[("jit", "off")]),
        ] {
            let wanted = wanted.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            assert_eq!(
                AgainstChange::parse(&format!("settings: {what}")),
                Ok(AgainstChange::Settings(wanted.collect()))
            );
        }
        for (what, wanted) in [
            ("jit", "invalid setting jit"),
            ("jit=", "has no value"),
            ("=off", "invalid name of a setting"),
            ("jit=off, JIT=on", "given twice"),
            ("jit='off", "not closed"),
            ("jit=off work_mem=64MB", "needs quotes"),
        ] {
            let why = AgainstChange::parse(&format!("settings: {what}")).unwrap_err();
            assert!(why.contains(wanted), "{what}: {why}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_told_with_what_can() {
        for (written, wanted) in [
            ("jit=off", "must be KIND: WHAT"),
            ("", "kinds: settings, script, url, version, build, sql"),
            ("setings: jit=off", "did you mean 'settings: …'?"),
            ("postgres://me:geheim@h/db", "there is no kind \"postgres\""),
            ("host=h password=geheim x:y", "there is no such kind"),
            ("settings:", "has no value\nwrite 'settings: jit=off"),
            ("sql:   ", "'sql: create index"),
            ("version: new", "invalid version"),
            ("version: 8", "invalid version"),
            ("version: 15, 17, 18", "two sides"),
            ("script: /nowhere/x.sql", "there is no file /nowhere/x.sql"),
            ("script: select-onli", "did you mean the built-in script select-only?"),
        ] {
            let why = AgainstChange::parse(written).unwrap_err();
            assert!(why.contains(wanted) && !why.contains("geheim"), "{written}: {why}");
        }
    }

    #[test]
    fn the_other_kinds() {
        let here = std::env::current_exe().unwrap().display().to_string();
        for (written, wanted) in [
            ("url: postgres://h/x", AgainstChange::Url("postgres://h/x".into())),
            ("version: 18", AgainstChange::Version { base: None, new: "18".into() }),
            ("version: 17, 18", AgainstChange::Version { base: Some("17".into()), new: "18".into() }),
            (
                "sql: create index on t (a, b); analyze",
                AgainstChange::Sql("create index on t (a, b); analyze".into()),
            ),
            (
                "script: select-only@3",
                AgainstChange::Scripts(vec![ScriptChoice::Builtin("select-only@3".into())]),
            ),
            (
                &format!("script: '{here}@2', simple-update"),
                AgainstChange::Scripts(vec![
                    ScriptChoice::File(format!("{here}@2")),
                    ScriptChoice::Builtin("simple-update".into()),
                ]),
            ),
        ] {
            assert_eq!(AgainstChange::parse(written).as_ref(), Ok(&wanted), "{written}");
        }
    }
}
