//! Complete command lines.

mod own;
mod recorded;

use std::ffi::{OsStr, OsString};
use std::io;
use std::time::Duration;

use engine::DriverChoice;
use workloads::pgbench::init::{InitOptions, InitStep, Loading, PartitionMethod};
use workloads::pgbench::{self, HostPolicy, QueryProtocol as QueryMode};

use super::super::talk::NAME;
use super::env::ReadFault;
use super::*;

/// An environment with a few scripts, and only the variables that a test sets.
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

fn parse_words(words: &[&str], env: &Fake) -> Result<CommandLine, ArgumentError> {
    parse(words.iter().map(OsString::from), env)
}

fn run_of(words: &[&str]) -> RunSettings {
    match parse_words(words, &Fake::default()) {
        Ok(CommandLine { command: PgbenchCommand::Run(settings), .. }) => *settings,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn init_of(words: &[&str]) -> InitSettings {
    match parse_words(words, &Fake::default()) {
        Ok(CommandLine { command: PgbenchCommand::Initialize(settings), .. }) => *settings,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn errors_of(words: &[&str], env: &Fake) -> Vec<String> {
    match parse_words(words, env) {
        Err(fault) => fault.lines.into_iter().map(|(_, text)| text).collect(),
        Ok(line) => panic!("{words:?}: {line:?}"),
    }
}

fn run_of_line(line: &str) -> RunSettings {
    run_of(&line.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn defaults() {
    let RunSettings { preparation, scripts, workload, load, output, .. } = run_of(&[]);
    assert_eq!(
        scripts.all.iter().map(ScriptArgument::name).collect::<Vec<_>>(),
        ["<builtin: TPC-B (sort of)>"]
    );
    assert_eq!((scripts.groups.len(), scripts.hosts), (0, HostPolicy::First));
    assert_eq!((load.clients, load.threads, load.seed), (1, 1, 42));
    assert_eq!(load.length, PgbenchLength::Transactions(10));
    assert_eq!((workload.max_tries, workload.mode, workload.vacuum), (1, QueryMode::Simple, true));
    assert_eq!((preparation, output), (ServerPreparation::default(), PgbenchOutput::default()));
    let InitSettings { tables, loading, .. } = init_of(&["-i"]);
    assert_eq!((tables, loading), (InitOptions::default(), Loading::default()));
}

#[test]
fn everything_a_run_can_be_asked_for() {
    let settings = run_of_line(
        "-nvf fx/good.sql@3 -S -b simple@0 -c4 -j 9 -T 10 -Mprepared -Da=1 -D b== -C -r -R 2.5e2x -L 1.5 \
         --max-tries 0 -P 5 --progress-timestamp -l --aggregate-interval 5 --log-prefix x -h host -p p -U me -s 7 \
         --failures-detailed --verbose-errors --exit-on-abort --continue-on-error --debug --random-seed 9 base",
    );
    let RunSettings { connection, preparation, scripts, workload, load, output } = settings;
    let some = |text: &str| Some(text.to_owned());
    let wanted =
        ConnectionArgs { database: some("base"), host: some("host"), port: some("p"), user: some("me") };
    assert_eq!(connection, wanted);
    assert!(preparation.no_vacuum && preparation.vacuum_accounts);
    let names: Vec<_> = scripts.all.iter().map(|script| (script.name(), script.weight)).collect();
    assert_eq!(names, [("fx/good.sql", 3), ("<builtin: select only>", 1), ("<builtin: simple update>", 0)]);
    let wanted = pgbench::PgbenchOptions {
        mode: QueryMode::Prepared,
        define: [("a", "1"), ("b", "=")].map(|(name, value)| (name.into(), value.into())).into(),
        scale: Some(7),
        max_tries: 0,
        reconnect: true,
        continue_on_error: true,
        vacuum: false,
        latency_limit_ms: Some(1.5),
        ..pgbench::PgbenchOptions::default()
    };
    assert_eq!(workload, wanted);
    let wanted = PgbenchLoadArgs {
        clients: 4,
        threads: 4,
        length: PgbenchLength::Seconds(10),
        rate: Some(250.0),
        latency_limit_us: Some(1_500),
        warmup: Duration::ZERO,
        driver: DriverChoice::Auto,
        cpus: None,
        seed: 9,
        exit_on_abort: true,
    };
    assert_eq!(load, wanted);
    let wanted = PgbenchOutput {
        progress: Some(ProgressLines { seconds: 5, timestamp: true }),
        log: Some(LogFiles { prefix: "x".into(), aggregate: Some(5), sampling: None }),
        verbose_errors: true,
        per_command: true,
        failures_detailed: true,
        ..PgbenchOutput::default()
    };
    assert_eq!(output, wanted);
}

#[test]
fn everything_an_initialization_can_be_asked_for() {
    let line = "-iqn -I dtvGv --foreign-keys -F50 -s 3 --partitions 2 --partition-method HASH --tablespace a \
                --index-tablespace b --unlogged-tables --init-jobs 4 --init-batch 1000";
    let InitSettings { tables, loading, .. } = init_of(&line.split_whitespace().collect::<Vec<_>>());
    let wanted = InitOptions {
        scale: 3,
        steps: vec![
            InitStep::Drop,
            InitStep::CreateTables,
            InitStep::GenerateOnServer,
            InitStep::ForeignKeys,
        ],
        fillfactor: 50,
        unlogged: true,
        foreign_keys: false,
        partitions: 2,
        partition_method: PartitionMethod::Hash,
        tablespace: Some("a".into()),
        index_tablespace: Some("b".into()),
        quiet: true,
    };
    assert_eq!(tables, wanted);
    assert_eq!(loading, Loading { jobs: 4, batch: Some(1000) });
    let steps = |words: &[&str]| init_of(words).tables.steps;
    assert_eq!(steps(&["-i", "-I", "d t"]), [InitStep::Drop, InitStep::CreateTables]);
    assert!(steps(&["-i", "-n", "-I", "v"]).is_empty());
}

#[test]
fn the_environment_has_its_say() {
    let parse_with = |variables: &[(&'static str, &'static str)], words: &[&str]| {
        parse_words(words, &Fake { variables: variables.to_vec(), open_files: None })
    };
    let database =
        |variables: &[(&'static str, &'static str)], words: &[&str]| match parse_with(variables, words) {
            Ok(CommandLine { command: PgbenchCommand::Run(settings), .. }) => settings.connection.database,
            other => panic!("{other:?}"),
        };
    assert_eq!(database(&[], &[]), None);
    assert_eq!(database(&[("PGUSER", "u")], &[]).as_deref(), Some("u"));
    assert_eq!(database(&[("PGUSER", "u"), ("PGDATABASE", "d")], &[]).as_deref(), Some("d"));
    assert_eq!(database(&[("PGUSER", "u"), ("PGDATABASE", "")], &[]).as_deref(), Some("u"));
    assert_eq!(database(&[("PGDATABASE", "d")], &["a"]).as_deref(), Some("a"));
    assert_eq!(database(&[("PGDATABASE", "d")], &["-d", "a"]).as_deref(), Some("a"));

    let seeded = |seed| parse_with(&[("PGBENCH_RANDOM_SEED", seed)], &["--random-seed=rand"]);
    let messages: Vec<_> = seeded("7").map(|line| line.messages).unwrap_or_default();
    assert_eq!(
        messages,
        [
            (LogLevel::Info, "setting random seed to 7".into()),
            (LogLevel::Info, "setting random seed to 43".into())
        ]
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
    let (help, version) = (PgbenchCommand::Help, PgbenchCommand::Version);
    for (word, wanted) in [("--help", &help), ("-?", &help), ("--version", &version), ("-V", &version)] {
        let line = parse_words(&[word, "-x"], &Fake::default()).expect("understood");
        assert_eq!(line.command, *wanted, "{word}");
        assert!(parse_words(&["-n", word], &Fake::default()).is_err());
    }
}

/// Each option accepts a valid value, and changes something.
#[test]
fn every_option_is_taken() {
    for spec in options::PGBENCH.iter().chain(&options::BESIDE) {
        let long = format!("--{}", spec.long);
        let value = match spec.long {
            "builtin" | "show-script" => "select-only",
            "define" => "a=1",
            "file" | "startup-script" => "fx/good.sql",
            "init-steps" => "d",
            "protocol" => "prepared",
            "sampling-rate" => "1",
            "partition-method" => "range",
            "format" => "json",
            "hosts" => "random",
            "driver" => "portable",
            "group" => "1=1",
            _ => "10",
        };
        let words = if spec.takes_value() { vec![long.as_str(), value] } else { vec![long.as_str()] };
        let mut parsed = Parsed::default();
        let before = format!("{parsed:?}");
        let mut tokens = Tokens::new(words.iter().map(OsString::from).collect(), false);
        let Some(ArgumentToken::Option(found, value)) = tokens.next() else { panic!("{long}") };
        let command = found.take(&mut parsed, &value, &Fake::default()).expect(&long);
        assert!(command.is_some() || format!("{parsed:?}") != before, "{long} changes nothing");
    }
}

proptest::proptest! {
    #[test]
    fn any_words_can_be_given(words in proptest::collection::vec("(-[a-zA-Z]{1,3}|--[a-z-]{0,12}=?)?\\PC{0,6}", 0..6)) {
        let _ = parse(words.iter().map(OsString::from), &Fake::default());
    }
}
