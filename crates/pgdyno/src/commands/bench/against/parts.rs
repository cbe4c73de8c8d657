//! Parts of an experiment file that are written alike, whatever it is made for.

use toml::Value;

use super::base::{Folder, Server, Workload, plain};
use super::made::Made;
use super::toml_text::{TomlText, inline};
use super::usage;
use crate::commands::bench::args::PartitionMethod;
use crate::commands::bench::asked::Asked;

/// What a private server lets in, less what pgdyno and superusers need.
pub(in crate::commands) const ROOM: u32 = 90;

/// A file that begins with its question, and says where and what is run.
pub(in crate::commands) struct Begun {
    pub(in crate::commands) text: TomlText,
    pub(in crate::commands) server: Server,
    workload: Workload,
}

impl Begun {
    /// `saved_by` is its first line; the question is asked of the workload's name.
    ///
    /// # Errors
    /// What cannot be meant, with what to write.
    pub(in crate::commands) fn new(
        asked: &Asked<'_>,
        saved_by: &str,
        question: impl FnOnce(&str) -> String,
        folder: &Folder,
    ) -> anyhow::Result<Self> {
        let (server, workload) = (Server::of(asked)?, Workload::of(asked));
        asked.tables_fit(workload.asks_pgbench_tables())?;
        let mut text = TomlText::default();
        text.comment(saved_by);
        text.entry("question", question(&workload.name));
        if let Some(seed) = &asked.conduct.random_seed {
            text.entry("seed", seed_of(seed)?);
        }
        text.table(&["target"]);
        entry_of(&mut text, &server);
        if server.is_managed() {
            prepare(asked, workload.asks_pgbench_tables(), folder, &mut text);
        }
        text.table(&["workload", &workload.name]);
        text.entry("pgbench", workload.value(asked, folder)?);
        Ok(Self { text, server, workload })
    }

    /// Has a private server let in so many clients.
    pub(in crate::commands) fn make_room(&mut self, clients: u32) {
        if self.server.is_managed() && clients > ROOM {
            self.text.table(&["settings", "room"]);
            self.text.entry("max_connections", Value::Integer(i64::from(clients) + 10));
        }
    }

    /// The whole of it; where it has no file it is called after its workload.
    pub(in crate::commands) fn made(self) -> Made {
        Made {
            name: plain(&self.workload.name).replace(' ', "-"),
            text: self.text.into_text(),
            logins: self.server.url().cloned().into_iter().collect(),
            left_out: self.server.has_secret(),
        }
    }
}

/// `--random-seed` as a file has it.
pub(in crate::commands) fn seed_of(text: &str) -> anyhow::Result<i64> {
    let seed = text.parse::<u64>().ok().and_then(|seed| i64::try_from(seed).ok());
    let hint = "without it the seed is made from the plan";
    seed.ok_or_else(|| usage("--random-seed must be a number from 0 to 2^63 - 1 here", hint))
}

pub(in crate::commands) fn entry_of(text: &mut TomlText, server: &Server) {
    let (key, value) = server.entry();
    if value.as_str() == Some("") {
        text.comment("as the environment says: PGHOST, PGDATABASE and the like");
    }
    if server.has_secret() {
        text.comment("whoever logs in: ~/.pgpass or PGPASSWORD");
    }
    text.entry(key, value);
}

/// pgbench's tables where its scripts ask them, and what else is put on a private server.
pub(super) fn prepare(args: &Asked<'_>, asks_tables: bool, folder: &Folder, text: &mut TomlText) {
    let makes_tables = asks_tables || args.tables.scale.is_some();
    if !makes_tables && args.target.prepare.is_empty() {
        return;
    }
    text.table(&["prepare"]);
    if makes_tables {
        let of_tables = args.tables;
        let mut entries = vec![("scale", Value::Integer(of_tables.scale.unwrap_or(1).into()))];
        if of_tables.init_steps != "dtgvp" {
            entries.push(("steps", of_tables.init_steps.as_str().into()));
        }
        if of_tables.fillfactor != 100 {
            entries.push(("fillfactor", Value::Integer(of_tables.fillfactor.into())));
        }
        let flags = [
            ("unlogged", of_tables.unlogged_tables),
            ("foreign_keys", of_tables.foreign_keys),
            ("quiet", of_tables.quiet),
        ];
        entries.extend(
            flags.into_iter().filter(|(_, wanted)| *wanted).map(|(key, _)| (key, Value::Boolean(true))),
        );
        if of_tables.partitions > 0 {
            entries.push(("partitions", Value::Integer(of_tables.partitions.into())));
        }
        if of_tables.partition_method == PartitionMethod::Hash {
            entries.push(("partition_method", "hash".into()));
        }
        let spaces =
            [("tablespace", &of_tables.tablespace), ("index_tablespace", &of_tables.index_tablespace)];
        entries.extend(spaces.into_iter().filter_map(|(key, name)| Some((key, name.as_deref()?.into()))));
        text.entry("pgbench", inline(entries));
    }
    let files =
        args.target.prepare.iter().map(|file| folder.path(&file.to_string_lossy()).replace('$', "$$"));
    let files: Vec<Value> = files.map(Value::from).collect();
    if !files.is_empty() {
        text.entry("sql", Value::Array(files));
    }
}
