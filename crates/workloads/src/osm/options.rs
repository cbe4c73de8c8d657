//! Options of an OSM load.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use osm::synth::{ExtractScale, Synthetic, USUAL_SEED};
use protocol::postgres::sql::{Sql, quote_literal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::Error;

use super::made::is_of_all_loads;
use crate::error;
use crate::jobs::file_name;

/// `osm = { extract = "malta.osm.pbf" }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OsmOptions {
    /// The `.osm.pbf` file; `$NAME` is an environment variable. Required without `scale`.
    #[serde(default)]
    pub extract: PathBuf,
    /// Prefix of the tables' names.
    #[serde(default = "default_prefix")]
    pub prefix: String,
    /// Memory for node locations, MB. Default: sized from the extract.
    #[serde(default)]
    #[schemars(range(max = 1_000_000))]
    pub cache_mb: Option<u32>,
    /// Parallel processes. Default: the CPUs, at most 8.
    #[serde(default)]
    #[schemars(range(min = 1, max = 64))]
    pub processes: Option<u32>,
    /// Keep tables of nodes, ways and relations (`--slim`).
    #[serde(default = "yes")]
    pub slim: bool,
    /// Drop the tables of `slim` after the load (`--drop`).
    #[serde(default)]
    pub drop: bool,
    /// Put all tags into an hstore column (`--hstore`).
    #[serde(default)]
    pub hstore: bool,
    /// Style file. A Lua style needs `--allow-commands`. Default: osm2pgsql's.
    #[serde(default)]
    pub style: Option<PathBuf>,
    /// Output: `pgsql`, or `flex`, which needs a Lua `style`.
    #[serde(default)]
    #[schemars(extend("default" = "pgsql"))]
    pub output: Option<String>,
    /// Store node locations in this file instead of a table (`--flat-nodes`): 8 bytes for each id up to the largest. An
    /// existing file is kept, unless an earlier load made it or `replace` is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flat_nodes: Option<PathBuf>,
    /// Further options of osm2pgsql: `"--multi-geometry --latlong"`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub args: String,
    /// Instead of `extract`: scale of a synthetic extract; 1 is about a million nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>", range(min = 0.001, max = 10_000.0))]
    pub scale: Option<ExtractScale>,
    /// Seed of the synthetic extract. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Schemas that a flex style puts tables into; missing ones are made and stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schemas: Vec<String>,
    /// Replace tables that no load of pgdyno made; otherwise such a load is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
    /// Another osm2pgsql: a name in `PATH`, or a path. Needs `--allow-commands`.
    #[serde(default)]
    pub program: Option<PathBuf>,
}

/// Whether a program is a path, and not looked up.
pub(crate) fn is_a_path(program: &Path) -> bool {
    program.components().count() > 1
}

/// Whether options of osm2pgsql make it run Lua: a script that transforms tags.
#[must_use]
pub fn runs_lua(args: &str) -> bool {
    let option = |word: &str| word.split_once('=').map_or(word, |(name, _)| name).to_owned();
    // osm2pgsql accepts abbreviations of long options.
    let is_script = |name: &str| name.starts_with("--ta") && "--tag-transform-script".starts_with(name);
    args.split_whitespace().any(|word| is_script(&option(word)))
}

fn default_prefix() -> String {
    "planet_osm".to_owned()
}

fn yes() -> bool {
    true
}

impl OsmOptions {
    /// A load of `extract` with everything else by default.
    #[must_use]
    pub fn new(extract: impl Into<PathBuf>) -> Self {
        Self {
            extract: extract.into(),
            prefix: default_prefix(),
            cache_mb: None,
            processes: None,
            slim: true,
            drop: false,
            hstore: false,
            style: None,
            output: None,
            flat_nodes: None,
            args: String::new(),
            scale: None,
            seed: None,
            schemas: Vec::new(),
            replace: false,
            program: None,
        }
    }

    /// The options with their files relative to this folder.
    #[must_use]
    pub fn in_folder(&self, folder: &Path) -> Self {
        let from = |path: &PathBuf| folder.join(path);
        Self {
            extract: if self.has_extract() { from(&self.extract) } else { PathBuf::new() },
            style: self.style.as_ref().map(from),
            flat_nodes: self.flat_nodes.as_ref().map(from),
            program: self
                .program
                .as_ref()
                .map(|path| if is_a_path(path) { from(path) } else { path.clone() }),
            ..self.clone()
        }
    }

    /// Whether it makes tables with the names of another load's. The tables of a flex style are unknown
    /// before it runs.
    #[must_use]
    pub fn writes_where(&self, other: &Self) -> bool {
        let is_flex = |load: &Self| load.output.as_deref() == Some("flex");
        self.prefix == other.prefix && ((!is_flex(self) && !is_flex(other)) || (self.slim && other.slim))
    }

    /// The files that it reads, an extract first; not a synthetic one.
    #[must_use]
    pub fn files(&self) -> Vec<&Path> {
        let extract = Some(&self.extract).filter(|_| self.has_extract());
        extract.into_iter().chain(&self.style).map(PathBuf::as_path).collect()
    }

    /// Whether an extract is named.
    #[must_use]
    pub fn has_extract(&self) -> bool {
        !self.extract.as_os_str().is_empty()
    }

    /// The synthetic extract that it loads, if it does.
    #[must_use]
    pub fn synthetic(&self) -> Option<Synthetic> {
        self.scale.map(|scale| Synthetic { scale, seed: self.seed.unwrap_or(USUAL_SEED) })
    }

    /// What is loaded: a path, or the synthetic extract in words.
    pub(super) fn source(&self) -> String {
        self.synthetic().map_or_else(|| self.extract.display().to_string(), |synthetic| synthetic.words())
    }

    /// Path of the extract, with synthetic ones in this folder.
    pub(super) fn extract_in(&self, folder: &Path) -> PathBuf {
        self.synthetic().map_or_else(|| self.extract.clone(), |synthetic| synthetic.path_in(folder))
    }

    /// Further options of osm2pgsql, one by one.
    pub(super) fn further_args(&self) -> impl Iterator<Item = &str> {
        self.args.split_whitespace()
    }

    /// A further word that would be another extract.
    fn no_option(&self) -> Option<&str> {
        let mut after_an_option = false;
        self.further_args().find(|word| {
            let is_option = word.starts_with('-');
            let is_extract = INPUTS.iter().any(|ending| word.to_ascii_lowercase().ends_with(ending));
            let wrong = !is_option && (is_extract || !after_an_option);
            after_an_option = is_option;
            wrong
        })
    }

    /// Names of the tables that such a load always makes; with output flex only the style knows others.
    pub(super) fn tables(&self) -> Vec<String> {
        let middle: &[&str] = if self.slim { &MIDDLE } else { &[] };
        let output: &[&str] = match self.output.as_deref() {
            None | Some("pgsql") => &["point", "line", "polygon", "roads"],
            _ => &[],
        };
        middle.iter().chain(output).map(|name| format!("{}_{name}", self.prefix)).collect()
    }

    /// The options without the folders of its files. A synthetic extract's name determines its contents.
    pub(crate) fn portable(&self) -> Self {
        let synthetic = self.synthetic();
        Self {
            extract: synthetic.map_or_else(|| file_name(&self.extract), |made| made.file_name()).into(),
            seed: synthetic.map(|made| made.seed),
            style: self.style.as_deref().map(|style| file_name(style).into()),
            flat_nodes: self.flat_nodes.as_deref().map(|file| file_name(file).into()),
            program: None,
            ..self.clone()
        }
    }

    /// Whether these tables, named as in SQL, have a row, except for those of the middle and of osm2pgsql
    /// itself.
    pub(super) fn makes_rows(&self, sql: &mut dyn Sql, tables: &BTreeSet<String>) -> Result<bool, Error> {
        let aside = MIDDLE.map(|name| format!("\"{}_{name}\"", self.prefix));
        let of_output = |table: &&String| !aside.contains(table) && !is_of_all_loads(table);
        for table in tables.iter().filter(of_output) {
            let asked = format!("SELECT to_regclass({})", quote_literal(table));
            let doing = || format!("looking for rows in {table}");
            if sql.scalar(&asked).map_err(error::sql_error(doing()))?.is_none() {
                continue;
            }
            let asked = format!("SELECT EXISTS (SELECT FROM {table})");
            if sql.scalar(&asked).map_err(error::sql_error(doing()))?.as_deref() == Some("t") {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Checks that each option is within its range, and that they go together.
    pub fn validate(&self) -> Result<(), Error> {
        let wrong = |key: &str, problem: String| Err(error::option(format!("osm.{key}"), problem));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        self.validate_source()?;
        if self.prefix.is_empty() || self.prefix.len() > 48 || !self.prefix.bytes().all(plain) {
            return wrong("prefix", format!("\"{}\" is not 1 to 48 letters, digits and _", self.prefix));
        }
        if self.cache_mb.is_some_and(|cache| cache > 1_000_000) {
            return wrong("cache_mb", "is not within 0..1000000".into());
        }
        if self.processes.is_some_and(|count| !(1..=64).contains(&count)) {
            return wrong("processes", "is not within 1..64".into());
        }
        if self.drop && !self.slim {
            return wrong("drop", "needs slim = true".into());
        }
        if self.flat_nodes.is_some() && !self.slim {
            return wrong("flat_nodes", "needs slim = true".into());
        }
        if let Some((word, key)) = self.further_args().find_map(of_a_key) {
            return wrong("args", format!("cannot have {word}: {key}"));
        }
        if let Some(word) = self.no_option() {
            return wrong(
                "args",
                format!(
                    "cannot have {word}: that is neither an option nor the value of one; one load has one extract"
                ),
            );
        }
        let is_name = |name: &&String| !name.is_empty() && name.len() <= 63 && !name.contains('\0');
        if let Some(name) = self.schemas.iter().find(|name| !is_name(name) || name.starts_with("pg_")) {
            return wrong("schemas", format!("\"{name}\" is not a valid name of a user's schema"));
        }
        match self.output.as_deref() {
            Some("flex") if self.style.is_none() => {
                wrong("style", "is missing; output flex needs a Lua file".into())
            }
            None | Some("pgsql" | "flex") => Ok(()),
            Some(other) => wrong("output", crate::error::unknown_word("output", other, &["pgsql", "flex"])),
        }
    }

    /// Checks what is loaded: an extract, or a synthetic one.
    fn validate_source(&self) -> Result<(), Error> {
        let wrong = |key: &str, problem: &str| Err(error::option(format!("osm.{key}"), problem.to_owned()));
        match (self.has_extract(), self.scale) {
            (false, None) => {
                wrong("extract", "is missing; name one (.osm.pbf), or write scale = 1 for a synthetic one")
            }
            (true, Some(_)) => wrong(
                "scale",
                "cannot stand with extract: a load is of a file, or of a synthetic extract of that scale",
            ),
            (_, None) if self.seed.is_some() => {
                wrong("seed", "needs scale: it is the seed of a synthetic extract")
            }
            _ if self.seed.is_some_and(|seed| seed > i64::MAX as u64) => wrong("seed", "is above 2^63 - 1"),
            _ => Ok(()),
        }
    }
}

/// An earlier load of the same preparation has this prefix.
pub(crate) fn prefix_taken(prefix: &str) -> Error {
    let problem =
        format!("another load has \"{prefix}\" already, and would lose its tables; give each its own prefix");
    error::option("osm.prefix", problem)
}

/// Suffixes of osm2pgsql's input files.
const INPUTS: [&str; 6] = [".pbf", ".osm", ".osm.bz2", ".osm.gz", ".o5m", ".osc"];

/// Suffixes of the tables of the middle.
const MIDDLE: [&str; 3] = ["nodes", "ways", "rels"];

/// An option of osm2pgsql that has a separate key, or that pgdyno sets, with what to do instead.
fn of_a_key(word: &str) -> Option<(&str, &'static str)> {
    const KNOWN: [(&[&str], &str); 14] = [
        (&["-h", "--help", "-V", "--version"], "nothing would be loaded"),
        (&["-s", "--slim"], "write slim = true"),
        (&["--drop"], "write drop = true"),
        (&["-k", "--hstore"], "write hstore = true"),
        (&["-S", "--style"], "write style = \"…\""),
        (&["-O", "--output"], "write output = \"…\""),
        (&["-p", "--prefix"], "write prefix = \"…\""),
        (&["-C", "--cache"], "write cache_mb = …"),
        (&["-F", "--flat-nodes"], "write flat_nodes = \"…\""),
        (&["--number-processes"], "write processes = …"),
        (&["-a", "--append", "-c", "--create"], "a load begins with --create; --append is not measured"),
        (
            &["-d", "--database", "-U", "--username", "-W", "--password", "-H", "--host", "-P", "--port"],
            "the target says where it goes",
        ),
        (
            &["-o", "--expire-output"],
            "a load begins with --create, and only --append writes a list of expired tiles",
        ),
        (
            &["--log-level", "--log-progress", "--log-sql"],
            "pgdyno reads the log, and needs its own form of it",
        ),
    ];
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    let long = name.starts_with("--");
    let is = |known: &&str| match known.len() {
        2 => !long && short_ones(word).any(|letter| known.ends_with(letter)),
        // osm2pgsql accepts any unique prefix.
        _ => long && name.len() > 2 && known.starts_with(name),
    };
    KNOWN.iter().find(|(names, _)| names.iter().any(is)).map(|(_, instead)| (word, *instead))
}

/// The short options in one word: `-Gs` is `-G -s`, `-ld other` is `-l -d other`, and `-Sfile` one with its
/// value.
fn short_ones(word: &str) -> impl Iterator<Item = char> {
    const WITH_A_VALUE: &str = "bdpUHPiECSeoOzrF";
    let mut over = !word.starts_with('-');
    word.chars().skip(1).take_while(move |letter| {
        let is_one = !over;
        over |= WITH_A_VALUE.contains(*letter);
        is_one
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_options_in_one_word_are_each_looked_at() {
        let of = |args: &str| OsmOptions { args: args.to_owned(), ..OsmOptions::new("a.osm.pbf") }.validate();
        for fine in ["-lG", "-E4326", "-lE 4326", "-b -10.5,35,5,40", "-K -zname:", "-e 10-12", "-lzdash"] {
            of(fine).unwrap_or_else(|error| panic!("{fine}: {error}"));
        }
        let cases = [
            ("-ld other", "cannot have -ld: the target says where it goes"),
            ("-lGdother", "cannot have -lGdother: the target says where it goes"),
            ("-dother", "cannot have -dother: the target says where it goes"),
            ("-Gs", "cannot have -Gs: write slim = true"),
            ("-la", "cannot have -la: a load begins with --create; --append is not measured"),
            (
                "-lo /root/x",
                "cannot have -lo: a load begins with --create, and only --append writes a list of expired tiles",
            ),
            ("-vKFx", "cannot have -vKFx: write flat_nodes = \"…\""),
        ];
        for (args, wanted) in cases {
            assert_eq!(of(args).unwrap_err().to_string(), format!("osm.args: {wanted}"));
        }
    }

    #[test]
    fn further_options_are_none_of_those_that_have_a_key() {
        let of = |args: &str| OsmOptions { args: args.to_owned(), ..OsmOptions::new("a.osm.pbf") }.validate();
        for fine in ["", "--multi-geometry --latlong", "--merc  --bbox=1,2,3,4", "--hstore-all"] {
            of(fine).unwrap_or_else(|error| panic!("{fine}: {error}"));
        }
        let cases = [
            ("--slim", "osm.args: cannot have --slim: write slim = true"),
            ("-Sx.style", "osm.args: cannot have -Sx.style: write style = \"…\""),
            (
                "-G --append",
                "osm.args: cannot have --append: a load begins with --create; --append is not measured",
            ),
            ("--database=x", "osm.args: cannot have --database=x: the target says where it goes"),
            ("--data=other", "osm.args: cannot have --data=other: the target says where it goes"),
            ("--flat=x", "osm.args: cannot have --flat=x: write flat_nodes = \"…\""),
            ("--help", "osm.args: cannot have --help: nothing would be loaded"),
            (
                "--latlong b.osm.pbf",
                "osm.args: cannot have b.osm.pbf: that is neither an option nor the value of one; one load has one extract",
            ),
        ];
        for (args, wanted) in cases {
            assert_eq!(of(args).unwrap_err().to_string(), wanted);
        }
    }

    #[test]
    fn a_load_is_of_a_file_or_of_a_scale() {
        let synthetic = |scale: &str, seed| OsmOptions {
            scale: Some(scale.parse().unwrap()),
            seed,
            ..OsmOptions::new("")
        };
        let problem = |options: &OsmOptions| {
            options.validate().err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(problem(&OsmOptions::new("")).starts_with("osm.extract: is missing"));
        assert_eq!(problem(&synthetic("0.1", None)), "");
        let both = OsmOptions { extract: "a.osm.pbf".into(), ..synthetic("1", None) };
        assert!(problem(&both).starts_with("osm.scale: cannot stand with extract"));
        assert!(
            problem(&OsmOptions { seed: Some(1), ..OsmOptions::new("a") })
                .starts_with("osm.seed: needs scale")
        );
        assert!(problem(&synthetic("1", Some(u64::MAX))).starts_with("osm.seed: is above"));
        // Only its contents count, and no file of the user's is read for it.
        let of = synthetic("0.1", None);
        assert_eq!(of.portable(), synthetic("0.1", Some(1)).portable());
        assert_ne!(of.portable(), synthetic("0.1", Some(2)).portable());
        assert_eq!(of.in_folder(Path::new("/data")).extract, Path::new(""));
        assert!(of.files().is_empty());
        let version = osm::synth::VERSION;
        assert_eq!(of.portable().extract, PathBuf::from(format!("synthetic-0.1-seed-1-v{version}.osm.pbf")));
        assert_eq!(of.extract_in(Path::new("/kept")).parent(), Some(Path::new("/kept")));
    }

    #[test]
    fn tables_are_those_of_output_and_middle() {
        let own = |options: OsmOptions| options.tables().join(" ");
        let plain = OsmOptions { prefix: "m".into(), ..OsmOptions::new("a.osm.pbf") };
        assert_eq!(own(plain.clone()), "m_nodes m_ways m_rels m_point m_line m_polygon m_roads");
        assert_eq!(own(OsmOptions { slim: false, ..plain.clone() }), "m_point m_line m_polygon m_roads");
        let flex = OsmOptions { output: Some("flex".into()), style: Some("s.lua".into()), ..plain };
        assert_eq!(own(flex), "m_nodes m_ways m_rels");
    }
}
