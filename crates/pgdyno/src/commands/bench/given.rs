//! Options of pgbench that `pgdyno bench` lacks: the error names the exact command that has them.

use clap::{Arg, ArgMatches, Command};
use protocol::postgres::Env;
use protocol::postgres::conninfo::ConnectionString;
use spec::shell;

use crate::commands::pgbench::{OptionMode, mode_of};
use crate::exit::{CommandFailure, USAGE};

const ELSEWHERE: [(&str, &str); 9] = [
    ("log", "writes no log of transactions"),
    ("log-prefix", "writes no log of transactions"),
    ("sampling-rate", "writes no log of transactions"),
    ("aggregate-interval", "writes no log of transactions"),
    ("failures-detailed", "does not tell failures apart by kind"),
    ("verbose-errors", "does not print each error"),
    ("exit-on-abort", "does not end with the first client that gives up"),
    ("vacuum-all", "does not vacuum the accounts"),
    ("debug", "does not say what each client does"),
];

/// The options and the database, in the order typed.
#[derive(Debug, Default, Clone)]
pub(crate) struct Given {
    words: Vec<Word>,
}

#[derive(Debug, Clone)]
struct Word {
    /// Long name; `None` for the database.
    long: Option<String>,
    /// Canonical form: `-c 4`, `--partitions=4`, `test`.
    text: String,
    value: String,
}

impl Given {
    /// Reads the words of a command line that `command` has parsed.
    pub(crate) fn of(command: &Command, matches: &ArgMatches) -> Self {
        let mut words: Vec<(usize, Word)> = Vec::new();
        for argument in command.get_arguments() {
            let id = argument.get_id().as_str();
            if matches.value_source(id) != Some(clap::parser::ValueSource::CommandLine) {
                continue;
            }
            let values = matches.get_raw(id).into_iter().flatten();
            let values = values.map(|value| value.to_string_lossy().into_owned());
            let places = matches.indices_of(id).into_iter().flatten();
            words.extend(places.zip(values).map(|(place, value)| (place, word(argument, value))));
        }
        words.sort_by_key(|(place, _)| *place);
        Self { words: words.into_iter().map(|(_, word)| word).collect() }
    }

    /// Refuses options that would be ignored silently.
    ///
    /// # Errors
    /// An option without a meaning with `-i`, or without it, or that only the drop-in has.
    pub(super) fn check(&self, initialize: bool, results: &str) -> anyhow::Result<()> {
        self.fits(initialize)?;
        self.is_ours(results)
    }

    /// Refuses options without a meaning with `-i`, or without it.
    fn fits(&self, initialize: bool) -> anyhow::Result<()> {
        let (other, mode) = if initialize {
            (OptionMode::Run, "when tables are made (-i)")
        } else {
            (OptionMode::Init, "without -i")
        };
        let strange = self.words.iter().find(|word| word.mode() == Some(other));
        if let Some(word) = strange {
            let hint = if initialize {
                self.in_two()
            } else {
                format!("pgdyno bench -i {}", self.text(Word::makes))
            };
            return Err(CommandFailure::with_code(
                USAGE,
                format!("--{} means nothing {mode}", word.name()),
                Some(hint.trim_end().to_owned()),
            ));
        }
        Ok(())
    }

    /// Refuses options that only the drop-in has.
    ///
    /// # Errors
    /// Names the command that has the option.
    pub(super) fn is_ours(&self, results: &str) -> anyhow::Result<()> {
        let absent = |word: &Word| match word.name() {
            "show-script" => Some("shows no scripts"),
            "builtin" if word.value == "list" => Some("lists no scripts"),
            name => ELSEWHERE.iter().find(|(long, _)| *long == name).map(|(_, why)| *why),
        };
        match self.words.iter().find_map(|word| Some((word, absent(word)?))) {
            None => Ok(()),
            Some((word, why)) => Err(CommandFailure::with_code(
                USAGE,
                format!("{}: pgdyno bench {why}; the drop-in does", word.text),
                Some(self.with_drop_in(word, results)),
            )),
        }
    }

    /// The equivalent drop-in command, which also stores the run.
    fn with_drop_in(&self, asked: &Word, results: &str) -> String {
        if matches!(asked.name(), "show-script" | "builtin") {
            return format!("pgdyno pgbench {}", asked.text);
        }
        let known = |word: &Word| match word.name() {
            "format" => matches!(word.value.as_str(), "text" | "json"),
            "results" => false,
            name => word.long.is_none() || mode_of(name).is_some(),
        };
        let own: Vec<&str> =
            self.words.iter().filter(|word| known(word)).map(|word| word.text.as_str()).collect();
        format!("pgdyno pgbench --results {} {}", shell::word(results), own.join(" "))
    }

    /// Two commands: first the tables, then the load.
    fn in_two(&self) -> String {
        let runs =
            |word: &Word| word.long.is_none() || matches!(word.mode(), Some(OptionMode::Run)) || word.leads();
        format!("pgdyno bench {} && pgdyno bench {}", self.text(Word::makes), self.text(runs))
    }

    fn text(&self, of: impl Fn(&Word) -> bool) -> String {
        let words: Vec<&str> =
            self.words.iter().filter(|word| of(word)).map(|word| word.text.as_str()).collect();
        words.join(" ")
    }
}

impl Word {
    fn name(&self) -> &str {
        self.long.as_deref().unwrap_or_default()
    }

    /// The mode in which pgbench's option has a meaning; results and formats always have one here.
    fn mode(&self) -> Option<OptionMode> {
        match self.name() {
            "results" | "format" => Some(OptionMode::Both),
            name if name.starts_with("variables") => Some(OptionMode::Run),
            name => mode_of(name),
        }
    }

    /// Whether it is for making tables.
    fn makes(&self) -> bool {
        self.long.is_none() || matches!(self.mode(), Some(OptionMode::Init | OptionMode::Both))
    }

    /// Whether it names the server or the results file.
    fn leads(&self) -> bool {
        matches!(self.name(), "host" | "port" | "username" | "dbname" | "results" | "format" | "no-vacuum")
    }
}

fn word(argument: &Arg, value: String) -> Word {
    let long = argument.get_long().map(str::to_owned);
    let value = match long.as_deref() {
        None | Some("host" | "port" | "username" | "dbname") => address(value),
        _ => value,
    };
    let takes_value =
        argument.is_positional() || argument.get_num_args().is_some_and(|count| count.min_values() > 0);
    let text = match (argument.get_short(), &long) {
        (Some(short), _) if takes_value => format!("-{short} {}", shell::word(&value)),
        (Some(short), _) => format!("-{short}"),
        (None, Some(long)) if takes_value => format!("--{long}={}", shell::word(&value)),
        (None, Some(long)) => format!("--{long}"),
        (None, None) => shell::word(&value).into_owned(),
    };
    Word { long, text, value }
}

/// A database, or a part of an address, for messages. An unreadable address may hold a password anywhere.
fn address(value: String) -> String {
    let is_name = !value.contains([':', '@', '=', '/', '%']);
    let read = || ConnectionString::parse(&value).ok().filter(|read| !read.has_secret());
    let is_shown = is_name || read().is_some_and(|read| read.resolve(&Env::process()).is_ok());
    if is_shown { value } else { "CONNECTION".to_owned() }
}
