//! Whole command lines.

mod own;
mod recorded;

use std::ffi::{OsStr, OsString};
use std::io;

use workloads::pgbench::Mode as QueryMode;
use workloads::pgbench::init::{PartitionMethod, Step};

use super::env::ReadFault;
use super::*;

/// A world with a few scripts, and nothing in its environment but what a test puts there.
#[derive(Debug, Default)]
struct Fake {
    variables: Vec<(&'static str, &'static str)>,
    open_files: Option<u64>,
}

impl Env for Fake {
    fn called(&self) -> String {
        NAME.to_owned()
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        self.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
    }

    fn read(&self, path: &OsStr) -> Result<Vec<u8>, ReadFault> {
        let many = format!("select {};\n", [":a"; 256].join(" "));
        let text = match path.to_str() {
            Some("fx/good.sql") => "select 1;\n",
            Some("fx/empty.sql") => "-- nothing\n",
            Some("fx/bad.sql") => "\\set a 1 +\n",
            Some("fx/cond.sql") => "select 1;\n\\endif\n",
            Some("fx/many.sql") => &many,
            Some("fx") => return Err(ReadFault::Read(io::Error::from_raw_os_error(21))),
            Some("-") => "",
            _ => return Err(ReadFault::Open(io::Error::from_raw_os_error(2))),
        };
        Ok(text.as_bytes().to_vec())
    }

    fn now_us(&self) -> u64 {
        42
    }

    fn strong(&self) -> io::Result<u64> {
        Ok(43)
    }

    fn open_files(&self) -> Option<u64> {
        self.open_files
    }
}

fn parse_words(words: &[&str], env: &Fake) -> Result<Asked, Fault> {
    parse(words.iter().map(OsString::from), env)
}

fn run_of(words: &[&str]) -> RunSettings {
    match parse_words(words, &Fake::default()) {
        Ok(Asked { ask: Ask::Run(settings), .. }) => *settings,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn init_of(words: &[&str]) -> InitSettings {
    match parse_words(words, &Fake::default()) {
        Ok(Asked { ask: Ask::Initialize(settings), .. }) => *settings,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn errors_of(words: &[&str], env: &Fake) -> Vec<String> {
    match parse_words(words, env) {
        Err(fault) => fault.lines.into_iter().map(|(_, text)| text).collect(),
        Ok(asked) => panic!("{words:?}: {asked:?}"),
    }
}

#[test]
fn defaults() {
    let settings = run_of(&[]);
    assert_eq!(
        settings.scripts.iter().map(ScriptAsked::name).collect::<Vec<_>>(),
        ["<builtin: TPC-B (sort of)>"]
    );
    assert_eq!((settings.clients, settings.threads, settings.max_tries), (1, 1, 1));
    assert_eq!(settings.length, Length::Transactions(10));
    assert_eq!(settings.vacuum, Vacuum::Small);
    assert_eq!((settings.seed, settings.mode), (42, QueryMode::Simple));
    assert_eq!((settings.format, settings.hosts), (Format::Text, HostPolicy::First));
    let init = init_of(&["-i"]);
    assert_eq!(init.steps, [Step::Drop, Step::CreateTables, Step::Generate, Step::Vacuum, Step::PrimaryKeys]);
    assert_eq!((init.scale, init.fillfactor, init.partitions), (1, 100, 0));
}

#[test]
fn everything_a_run_can_be_asked_for() {
    let settings = run_of(&[
        "-nvf",
        "fx/good.sql@3",
        "-S",
        "-b",
        "simple@0",
        "-c4",
        "-j",
        "9",
        "-T",
        "10",
        "-Mprepared",
        "-Da=1",
        "-D",
        "b==",
        "-C",
        "-r",
        "-R",
        "2.5e2x",
        "-L",
        "1.5",
        "--max-tries",
        "0",
        "-P",
        "5",
        "--progress-timestamp",
        "-l",
        "--aggregate-interval",
        "5",
        "--log-prefix",
        "x",
        "-h",
        "host",
        "-p",
        "p",
        "-U",
        "me",
        "-s",
        "7",
        "--failures-detailed",
        "--verbose-errors",
        "--exit-on-abort",
        "--continue-on-error",
        "--debug",
        "--random-seed",
        "9",
        "base",
    ]);
    let names: Vec<_> = settings.scripts.iter().map(|script| (script.name(), script.weight)).collect();
    assert_eq!(names, [("fx/good.sql", 3), ("<builtin: select only>", 1), ("<builtin: simple update>", 0)]);
    assert_eq!((settings.clients, settings.threads), (4, 4));
    assert_eq!((settings.length, settings.scale), (Length::Seconds(10), Some(7)));
    assert_eq!((settings.rate, settings.latency_limit_us), (Some(250.0), Some(1_500)));
    assert_eq!(settings.define, [("a".into(), "1".into()), ("b".into(), "=".into())]);
    assert_eq!(settings.vacuum, Vacuum::Nothing);
    assert_eq!(settings.progress, Some(ProgressAsked { seconds: 5, timestamp: true }));
    let log = LogAsked { prefix: "x".into(), aggregate: Some(5), sampling: None };
    assert_eq!((settings.log, settings.seed), (Some(log), 9));
    let connection = Connection {
        database: Some("base".into()),
        host: Some("host".into()),
        port: Some("p".into()),
        user: Some("me".into()),
    };
    assert_eq!(settings.connection, connection);
    assert!(settings.reconnect && settings.per_command && settings.debug && settings.continue_on_error);
    assert!(settings.failures_detailed && settings.verbose_errors && settings.exit_on_abort);
}

#[test]
fn everything_an_initialization_can_be_asked_for() {
    let init = init_of(&[
        "-iqn",
        "-I",
        "dtv Gv",
        "--foreign-keys",
        "-F50",
        "-s",
        "3",
        "--partitions",
        "2",
        "--partition-method",
        "HASH",
        "--tablespace",
        "a",
        "--index-tablespace",
        "b",
        "--unlogged-tables",
        "--init-jobs",
        "4",
        "--init-batch",
        "1000",
        "--resume",
    ]);
    assert_eq!(init.steps, [Step::Drop, Step::CreateTables, Step::GenerateOnServer, Step::ForeignKeys]);
    assert_eq!((init.fillfactor, init.scale, init.partitions), (50, 3, 2));
    assert_eq!(init.partition_method, PartitionMethod::Hash);
    assert_eq!((init.tablespace.as_deref(), init.index_tablespace.as_deref()), (Some("a"), Some("b")));
    assert_eq!((init.jobs, init.batch), (Some(4), Some(1000)));
    assert!(init.quiet && init.unlogged && init.resume);
    assert!(init_of(&["-i", "-n", "-I", "v"]).steps.is_empty());
}

#[test]
fn the_environment_has_its_say() {
    let parse_with = |variables: &[(&'static str, &'static str)], words: &[&str]| {
        parse_words(words, &Fake { variables: variables.to_vec(), open_files: None })
    };
    let database =
        |variables: &[(&'static str, &'static str)], words: &[&str]| match parse_with(variables, words) {
            Ok(Asked { ask: Ask::Run(settings), .. }) => settings.connection.database,
            other => panic!("{other:?}"),
        };
    assert_eq!(database(&[], &[]), None);
    assert_eq!(database(&[("PGUSER", "u")], &[]).as_deref(), Some("u"));
    assert_eq!(database(&[("PGUSER", "u"), ("PGDATABASE", "d")], &[]).as_deref(), Some("d"));
    assert_eq!(database(&[("PGUSER", "u"), ("PGDATABASE", "")], &[]).as_deref(), Some("u"));
    assert_eq!(database(&[("PGDATABASE", "d")], &["a"]).as_deref(), Some("a"));
    assert_eq!(database(&[("PGDATABASE", "d")], &["-d", "a"]).as_deref(), Some("a"));

    let seeded = |seed| parse_with(&[("PGBENCH_RANDOM_SEED", seed)], &["--random-seed=rand"]);
    let said: Vec<_> = seeded("7").map(|asked| asked.said).unwrap_or_default();
    assert_eq!(
        said,
        [(Level::Info, "setting random seed to 7".into()), (Level::Info, "setting random seed to 43".into())]
    );
    let fault = seeded("x").expect_err("no seed");
    assert_eq!(fault.lines.len(), 3);
    assert_eq!(
        fault.lines[2].1,
        "error while setting random seed from PGBENCH_RANDOM_SEED environment variable"
    );
    let strict = parse_with(&[("POSIXLY_CORRECT", "")], &["a", "-n"]).expect_err("two arguments");
    assert_eq!(strict.lines[0].1, "too many command-line arguments (first is \"-n\")");
}

#[test]
fn clients_need_open_files() {
    let env = Fake { open_files: Some(100), ..Fake::default() };
    assert!(parse_words(&["-c", "97"], &env).is_ok());
    for words in [&["-c", "98"][..], &["--group=90=1", "--group=8=1"]] {
        assert_eq!(errors_of(words, &env)[0], "need at least 101 open files, but system limit is 100");
    }
}

#[test]
fn help_and_version_count_in_the_first_place_only() {
    for (word, ask) in
        [("--help", Ask::Help), ("-?", Ask::Help), ("--version", Ask::Version), ("-V", Ask::Version)]
    {
        assert_eq!(parse_words(&[word, "-x"], &Fake::default()).map(|asked| asked.ask), Ok(ask));
        assert!(parse_words(&["-n", word], &Fake::default()).is_err());
    }
}

/// No option of the table is without a place.
#[test]
fn every_option_is_taken() {
    for spec in options::PGBENCH.iter().chain(&options::BESIDE) {
        let long = format!("--{}", spec.long);
        let value = match spec.long {
            "builtin" | "show-script" => "select-only",
            "define" => "a=1",
            "file" | "startup-script" => "fx/good.sql",
            "init-steps" => "d",
            "protocol" => "simple",
            "sampling-rate" => "1",
            "partition-method" => "range",
            "format" => "text",
            "hosts" => "first",
            "driver" => "auto",
            "group" => "1=1",
            _ => "10",
        };
        let words = if spec.value { vec![long.as_str(), value] } else { vec![long.as_str()] };
        let mut gathered = Gathered::default();
        let mut tokens = Tokens::new(words.iter().map(OsString::from).collect(), false);
        let Some(Token::Option(found, value)) = tokens.next() else { panic!("{long}") };
        let taken = gathered.take(found, &value, &Fake::default());
        assert!(taken.is_ok(), "{long}: {taken:?}");
    }
}

proptest::proptest! {
    #[test]
    fn any_words_can_be_given(words in proptest::collection::vec("(-[a-zA-Z]{1,3}|--[a-z-]{0,12}=?)?\\PC{0,6}", 0..6)) {
        let _ = parse(words.iter().map(OsString::from), &Fake::default());
    }
}
