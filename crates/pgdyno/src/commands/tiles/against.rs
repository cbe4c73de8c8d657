//! What tiles are compared with: other layers, a change, or other ways to get them.

use workloads::tiles::Via;

use super::ways;
use crate::commands::bench::against::kind::AgainstChange;
use crate::commands::bench::against::written::parts;
use crate::commands::bench::against::{looked_up, usage};
use crate::commands::bench::against_args::BuildArgs;
use crate::options::AGAINST as KINDS;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Against {
    /// Empty, or other sources of the layer.
    Layers(Vec<String>),
    Change(AgainstChange),
    /// Other ways to get the same tiles.
    Ways(Vec<Via>),
}

impl Against {
    /// Parses all values of `--against`.
    ///
    /// # Errors
    /// A change together with another value, or an invalid change.
    pub(super) fn read(given: &[String]) -> anyhow::Result<Self> {
        let (mut layers, mut changes, mut ways) = (Vec::new(), Vec::new(), Vec::new());
        for one in given {
            match one.split_once(':').filter(|(kind, _)| kind.trim() == "via") {
                Some((_, what)) => ways.extend(ways::listed(what)?),
                None => match change(one)? {
                    Some(change) => changes.push(change),
                    None => layers.extend(listed(one)?),
                },
            }
        }
        match (changes.pop(), layers.is_empty(), ways.is_empty()) {
            (None, true, true) if !given.is_empty() => {
                Err(usage("--against names no layer", "a table, function() or file.sql"))
            }
            (None, _, true) => Ok(Self::Layers(layers)),
            (None, true, false) => Ok(Self::Ways(ways)),
            (Some(change), true, true) if changes.is_empty() => Ok(Self::Change(change)),
            _ => {
                let what = "--against: a change cannot be combined with another change, a way or a layer; nor can ways";
                Err(usage(
                    what,
                    "give one of them now and the other later; or --save FILE, and give the file further levels",
                ))
            }
        }
    }
}

impl Against {
    /// The same with the names of builds from git.
    ///
    /// # Errors
    /// As of [`looked_up`].
    pub(super) fn looked_up(self, args: &BuildArgs) -> anyhow::Result<Self> {
        match self {
            Self::Change(change) => looked_up(change, args).map(Self::Change),
            _ if args.is_given() => {
                let what = "--source and --configure are for builds from git";
                Err(usage(what, "--against 'build: git master'"))
            }
            other => Ok(other),
        }
    }
}

/// Splits a list of layers at commas.
///
/// # Errors
/// A quote that is not closed.
pub(super) fn listed(written: &str) -> anyhow::Result<Vec<String>> {
    let told = |why: String| usage(&format!("{written}: {why}"), "");
    // A function with arguments must keep its commas, to be reported as such.
    if written.replace("()", "").contains('(') && !written.contains('"') {
        return Ok(vec![written.to_owned()]);
    }
    Ok(parts(written).map_err(told)?.into_iter().map(str::to_owned).collect())
}

/// Parses a change: `KIND: WHAT`, or `name=value`, short for settings. `None` for layers.
fn change(written: &str) -> anyhow::Result<Option<AgainstChange>> {
    let text = written.trim();
    let read = |text: &str| {
        AgainstChange::parse(text).map(Some).map_err(|why| {
            let (why, hint) = why.split_once('\n').unwrap_or((&why, ""));
            usage(why, hint)
        })
    };
    let setting = |name: &str| {
        let name = name.trim();
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.".contains(letter))
    };
    let is_setting = text.split_once('=').is_some_and(|(name, _)| setting(name));
    match text.split_once(':') {
        Some((kind, _)) if kind.trim() == "script" => {
            let hint = "a layer is written without it: --against new.sql";
            Err(usage("--against 'script: …' is for pgbench's scripts", hint))
        }
        Some((kind, _)) if KINDS.contains(&kind.trim()) => read(text),
        Some(_) if !text.starts_with('"') && !is_setting => read(text),
        _ if is_setting => read(&format!("settings: {text}")),
        _ => Ok(None),
    }
}
