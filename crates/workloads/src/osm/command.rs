//! The command line of a load.

use std::ffi::OsString;
use std::path::Path;

use protocol::postgres::Database;

use super::options::OsmOptions;
use super::program::Osm2pgsql;
use crate::jobs::{ChildInput, ChildOrder};

/// Extracts up to this size are loaded with the log of statements, which gives the ends of reading nodes,
/// ways and relations in milliseconds. For larger ones osm2pgsql's whole seconds are exact enough, and the
/// log (a line per relation) would be long.
const SQL_LOG_UP_TO: u64 = 256 << 20;

/// In the log of statements: a line per execution of a prepared statement, and so per relation.
const EXECUTED: &str = ") EXECUTE ";

/// What the command line of a load depends on.
pub(super) struct Osm2pgsqlCommand<'a> {
    pub(super) options: &'a OsmOptions,
    pub(super) extract: &'a Path,
    pub(super) database: &'a Database,
    /// Size of the extract.
    pub(super) bytes: u64,
    pub(super) cpus: u32,
    pub(super) program: &'a Osm2pgsql,
    /// Name of its connections on the server.
    pub(super) called: &'a str,
}

impl Osm2pgsqlCommand<'_> {
    pub(super) fn order(&self) -> ChildOrder {
        let mut args: Vec<OsString> = vec!["--create".into()];
        let mut flag = |wanted: bool, name: &str| {
            if wanted {
                args.push(name.into());
            }
        };
        flag(self.options.slim, "--slim");
        flag(self.options.drop, "--drop");
        flag(self.options.hstore, "--hstore");
        // The options for the log came with 1.4.
        let logs = self.program.at_least(1, 4);
        flag(logs, "--log-level=debug");
        flag(logs, "--log-progress=false");
        flag(logs && self.options.slim && self.bytes <= SQL_LOG_UP_TO, "--log-sql");
        let mut option = |name: &str, value: OsString| {
            if !value.is_empty() {
                args.extend([name.into(), value]);
            }
        };
        option("--cache", self.cache_mb().to_string().into());
        option("--number-processes", self.processes().to_string().into());
        option("--prefix", self.options.prefix.clone().into());
        option("--output", self.options.output.clone().unwrap_or_default().into());
        option("--style", self.options.style.clone().unwrap_or_default().into());
        option("--flat-nodes", self.options.flat_nodes.clone().unwrap_or_default().into());
        option("-H", self.database.host.clone().into());
        option("-P", port(self.database.port).into());
        option("-U", self.database.user.clone().into());
        option("-d", self.database.dbname.clone().into());
        args.extend(self.options.further_args().map(OsString::from));
        // A name that begins with - would be an option.
        let extract = std::path::absolute(self.extract).unwrap_or_else(|_| self.extract.to_owned());
        args.push(extract.clone().into());
        let mut inputs = vec![ChildInput {
            without_name: vec!["--input-reader".into(), format_of(&extract)],
            path: extract,
        }];
        inputs.extend(
            self.options.style.iter().map(|style| ChildInput { path: style.into(), without_name: vec![] }),
        );
        let password = self.database.password.iter();
        let password = password.map(|password| ("PGPASSWORD".into(), password.into()));
        let called = ("PGAPPNAME".into(), self.called.into());
        let env = password.chain([called]).collect();
        ChildOrder { program: self.program.program.clone(), args, inputs, env, unwanted: Some(EXECUTED) }
    }

    /// Node locations take 8 bytes each in memory; a node takes about as much of an extract.
    fn cache_mb(&self) -> u64 {
        let sized = (self.bytes >> 20).saturating_mul(7) / 4;
        self.options.cache_mb.map_or(sized.clamp(128, 16_384), u64::from)
    }

    fn processes(&self) -> u32 {
        self.options.processes.unwrap_or(self.cpus.clamp(1, 8))
    }
}

/// For `--input-reader`: the file's name after the first dot.
fn format_of(extract: &Path) -> OsString {
    let name = extract.file_name().unwrap_or_default().to_string_lossy();
    let format = name.split_once('.').map_or("auto", |(_, format)| format);
    if format.ends_with("pbf") { "pbf".into() } else { format.into() }
}

fn port(port: u16) -> String {
    if port == 0 { String::new() } else { port.to_string() }
}
