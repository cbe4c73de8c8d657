use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

#[path = "../../../protocol/tests/misplaced.rs"]
mod misplaced;

const GOOD: &str = r#"
question = "Is it faster?"
[target]
managed = { extensions = ["postgis"], redis = true }
[prepare]
osm = { extract = "$PGDYNO_DATA" }
pgbench = { scale = 10 }
sql = ["more.sql"]
[workload.polygons]
tiles = { table = "planet_osm_polygon" }
[workload.tpcb]
pgbench = { builtin = "tpcb-like" }
[workload.cache]
redis = { command = "set" }
[factors]
workload = ["polygons", "tpcb"]
clients = [1, 4]
[beside]
workload = "cache"
[compare]
factor = "settings"
base = "stock"
[settings.big]
shared_buffers = "25% of memory"
random_page_cost = 1.0
jit = false
[settings.stock]
[measure]
warmup = "1s"
duration = "2s"
rounds = 4
[full.factors]
clients = [1, 4, 16]
[full.measure]
rounds = 8
"#;

fn variables(name: &str) -> Option<String> {
    (name == "PGDYNO_DATA").then(|| "/data/x.osm.pbf".to_owned())
}

fn read(text: &str) -> Result<ExperimentFile, FileProblems> {
    ExperimentFile::parse(Path::new("dir/good.toml"), text, false, &variables)
}

#[test]
fn a_whole_file() {
    let file = read(GOOD).unwrap();
    assert_eq!(file.name, "good");
    assert_eq!(file.prepare.osm.as_ref().unwrap().extract, Path::new("/data/x.osm.pbf"));
    assert_eq!(file.prepare.sql, [Path::new("dir/more.sql")]);
    assert_eq!(file.factors.clients, [1, 4]);
    assert_eq!(file.beside.as_ref().unwrap().clients, [1]);
    let names: Vec<_> = file.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["stock", "big"], "the base comes first");
    assert_eq!(file.arms[1].settings["jit"], "off");
    assert_eq!(file.arms[1].settings["random_page_cost"], "1.0");
    assert_eq!(file.measure.duration, DurationSpec::Fixed(Duration::from_secs(2)));
    assert_eq!(file.measure.threads, 1);
    assert_eq!(file.compare.as_ref().unwrap().margin, 0.03);
}

#[test]
fn full_replaces_what_it_names_and_nothing_else() {
    let text = GOOD.replace("[target]", "taste = \"short\"\n[target]");
    let short = read(&text).unwrap();
    let full = ExperimentFile::parse(Path::new("good.toml"), &text, true, &variables).unwrap();
    assert_eq!((short.taste.as_deref(), full.taste), (Some("short"), None));
    assert_eq!(full.factors.clients, [1, 4, 16]);
    assert_eq!(full.factors.workload, short.factors.workload);
    assert_eq!((full.measure.rounds, full.measure.warmup), (8, short.measure.warmup));
    let without = GOOD.split("[full").next().unwrap();
    assert!(ExperimentFile::parse(Path::new("a"), without, true, &variables).is_err());
}

/// A change to the good file, and what is said about it: line, then words of message and hint.
#[test]
fn mistakes_are_named_with_line_key_and_the_right_word() {
    let cases = [
        ("clients = [1, 4]\n", "clinets = [1, 4]\n", 17, "unknown key `clinets` in [factors]", "`clients`"),
        ("[measure]", "[mesure]", 28, "unknown key `mesure`", "`measure`"),
        ("tiles = {", "tile = {", 10, "unknown kind of workload `tile`", "`tiles`"),
        ("table = ", "tabel = ", 10, "unknown key `tabel`", "`table`"),
        ("scale = 10", "scal = 10", 7, "unknown key `scal`", "`scale`"),
        ("[\"polygons\", \"tpcb\"]", "[\"poligons\", \"tpcb\"]", 16, "no [workload.poligons]", "`polygons`"),
        ("[\"polygons\", \"tpcb\"]", "[\"tpcb\"]", 9, "polygons is described but never used", "[factors]"),
        ("base = \"stock\"", "base = \"stok\"", 22, "cannot be \"stok\"", "`stock`"),
        ("factor = \"settings\"", "factor = \"clients\"", 21, "cannot be \"clients\"", "settings"),
        ("rounds = 4", "rounds = 3", 31, "3 rounds cannot be balanced", "2 or 4"),
        ("rounds = 4", "rounds = 0", 31, "must be from 1", ""),
        ("rounds = 4", "rounds = \"4\"", 31, "must be a whole number, not a string", ""),
        ("duration = \"2s\"", "duration = 2", 30, "must be a length of time", "\"10s\""),
        ("duration = \"2s\"", "duration = \"2 apples\"", 30, "not a length of time", "\"10s\""),
        (
            "duration = \"2s\"",
            "duration = { from = \"1s\", to = \"2s\" }",
            30,
            "needs the time there is",
            "budget",
        ),
        ("duration = \"2s\"", "budget = \"4min\"", 30, "needs bounds", "from"),
        ("redis = true", "redis = false", 3, "asks a Redis", "redis = true"),
        ("\"25% of memory\"", "\"25% of luck\"", 24, "a share can be taken of", ""),
        ("$PGDYNO_DATA", "$NOWHERE", 6, "needs the variable NOWHERE", "export NOWHERE"),
        ("question = \"Is it faster?\"", "", 1, "`question` is missing", "one sentence"),
        ("command = \"set\"", "command = \"sett\"", 14, "did you mean \"set\"", ""),
        ("workload = \"cache\"", "workload = [\"cache\", \"tpcb\"]", 19, "both in the grid and beside", ""),
        (
            "[settings.stock]",
            "[settings.stock]\nshared_buffers = \"25% of memory\"\nrandom_page_cost = 1.0\njit = false",
            27,
            "set the same",
            "",
        ),
        ("clients = [1, 4]\n", "clients = [1, 1]\n", 17, "lists 1 twice", ""),
        ("[target]", "[target", 3, "", ""),
        (
            "builtin = \"tpcb-like\"",
            "builtin = \"tpcp\"",
            12,
            "no builtin script found for name \"tpcp\"",
            "",
        ),
        ("[workload.cache]", "[workload.\"\"]", 13, "a workload needs a name", ""),
        ("[settings.stock]", "[settings.\" \"]", 27, "an arm needs a name", ""),
        ("redis = { command = \"set\" }", "redis = 1.5", 14, "must be a table, not a float", ""),
        ("table = \"planet_osm_polygon\"", "table = 3", 10, "`table` must be a text in quotes, not 3", ""),
        ("rounds = 4", "rounds = 4\nrounds = 6", 32, "duplicate key", "the first `rounds` is in line 31"),
        ("[measure]", "[measure]\n[target]", 29, "duplicate key", "the first `target` is in line 3"),
        (
            "jit = false",
            "sql = \"create index\"",
            26,
            "`sql` is not a setting",
            "`prepare.sql` is a key of this file",
        ),
        ("jit = false", "application_name = \"x\"", 26, "cannot be a factor: pgdyno knows its own", ""),
        ("duration = \"2s\"", "duration = \"99999h\"", 30, "must be from 1ms to 720h", ""),
        ("rounds = 4", "rounds = 10000\nthreads = 9999", 32, "must be from 1 to 1024", ""),
        ("rounds = 8", "ronds = 8", 35, "unknown key `ronds` in [full.measure]", "`rounds`"),
        ("rounds = 8", "rounds = 7", 35, "7 rounds cannot be balanced", "6 or 8"),
    ];
    for (from, to, line, message, hint) in cases {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from}");
        let problems = read(&text).expect_err(to).problems;
        let found = problems.iter().find(|problem| problem.line == line && problem.message.contains(message));
        let found = found.unwrap_or_else(|| panic!("{to}: {problems:#?}"));
        assert!(found.hint.as_deref().unwrap_or_default().contains(hint), "{to}: {found:?}");
    }
}

#[test]
fn all_mistakes_are_told_at_once_with_their_lines() {
    let text = GOOD
        .replace("rounds = 4", "ronds = 4")
        .replace("base = \"stock\"", "base = \"stok\"")
        .replace("jit = false", "jit = []");
    insta::assert_snapshot!(read(&text).unwrap_err().to_string());
}

#[test]
fn a_server_given_by_url() {
    let text = GOOD
        .replace(
            "managed = { extensions = [\"postgis\"], redis = true }",
            "url = \"postgres://me:secret@h/db\"\nredis = \"redis://h:1\"",
        )
        .replace("\"25% of memory\"", "\"1GB\"");
    let file = read(&text).unwrap();
    let TargetSpec::Url { url, shown, place, redis, change_server } = &file.target else {
        panic!("{:?}", file.target)
    };
    assert_eq!(url, "postgres://me:secret@h/db");
    assert_eq!(shown, "host=h dbname=db user=me (and password, not shown)");
    assert_eq!(place, "host=h port=5432 dbname=db sslmode=prefer");
    assert_eq!((redis.as_deref(), *change_server), (Some("redis://h:1"), false));
    assert!(!file.text.contains("secret"), "no password is kept");

    let by_name = text.replace("postgres://me:secret@h/db", "postgres://$PGDYNO_DATA@h/db");
    let secret = |_: &str| Some("ann:secret".to_owned());
    let file = ExperimentFile::parse(Path::new("a.toml"), &by_name, false, &secret).unwrap();
    let TargetSpec::Url { shown, .. } = &file.target else { panic!("{:?}", file.target) };
    assert_eq!(shown, "host=h dbname=db user=ann (and password, not shown)");

    let share = text.replace("\"1GB\"", "\"25% of memory\"");
    assert!(read(&share).unwrap_err().to_string().contains("machine of a server given by URL is not known"));
    let wrong = text.replace("redis://h:1", "redis://u:p@h/2");
    assert!(read(&wrong).unwrap_err().to_string().contains("must be redis://HOST"));
}

/// A password by mistake anywhere in a file: in no message, and not in what is kept of the file.
#[test]
fn a_password_in_an_experiment_file_is_never_quoted() {
    let rest = "[workload.a]\npgbench = { builtin = \"select-only\" }\n[measure]\nduration = \"1s\"\n";
    let managed = "[target]\nmanaged = {}\n";
    let mut leaking = Vec::new();
    for dsn in misplaced::misplaced() {
        let basic = serde_json::Value::from(dsn.as_str()).to_string();
        for target in [
            format!("[target]\nurl = {basic}\n"),
            format!("[target]\nurll = {basic}\n"),
            format!("[target]\nurl = [{basic}]\n"),
            format!("[target]\nurl = [\n  {basic},\n]\n"),
            format!("[target]\nurl = {dsn}\n"),
            format!("[target]\nurl = \"{dsn}\n"),
            format!("[target]\nurl = '{dsn}'\n"),
            format!("[target]\nurl = \"\"\"\n{dsn}\n\"\"\"\n"),
            format!("[target]\nurl = '''\n{dsn}\n"),
            format!("[target]\nurl {basic}\n"),
            format!("[target]\nurl = {basic} {basic}\n"),
            format!("[target]\nurl = {basic}\nurl = {basic}\n"),
            format!("[target]\nurl = {basic} # was {dsn}\nnonsense = 1\n"),
            format!("[target]\n{basic} = 1\n"),
            format!("[target]\n{dsn}\n"),
            format!("target.url = {basic}\nseed = \"x\"\n"),
            format!("target = {{ url = {basic}, x = 1 }}\n"),
            format!("target = {basic}\n"),
            format!("url = {basic}\n"),
            format!("# url = {dsn}\n[taget]\nurl = {basic}\n"),
            format!("[target]\nmanaged = {basic}\n"),
            format!("[target]\nmanaged = {{ name = {basic} }}\n"),
            format!("[target]\nmanaged = {{ version = {basic} }}\n"),
            format!("[target]\nurl = \"h\"\nredis = {basic}\n"),
            format!("[target]\nurl = \"h\"\nchange_server = {basic}\n"),
            format!("{managed}[load]\nlimit = {basic}\n"),
            format!("{managed}[compare]\nfactor = {basic}\nbase = {basic}\nmargin = {basic}\n"),
            format!("{managed}[prepare]\npgbench = {{ scale = {basic} }}\n"),
            format!("{managed}[factors]\nworkload = [{basic}, {basic}]\n"),
            format!("{managed}[settings.a]\nwork_mem = [{basic}]\n"),
        ] {
            let text = format!("question = \"?\"\n{target}{rest}");
            let told = match read(&text) {
                Ok(file) => {
                    let stored = serde_json::to_string(&file.target).unwrap();
                    format!("{} {stored} {}", file.text, file.target.identity())
                }
                Err(problems) => problems.to_string(),
            };
            leaking.extend(misplaced::leaks(&told).then(|| format!("{target}\n{told}\n")));
        }
    }
    assert!(leaking.is_empty(), "{} files\n{}", leaking.len(), leaking[..leaking.len().min(20)].join("\n"));
}

#[test]
fn loads() {
    let with = |load: &str| read(&GOOD.replace("[beside]", &format!("[load]\n{load}\n[beside]")));
    assert_eq!(with("rate = 50\nlimit = \"20ms\"").unwrap().factors.rate, [50.0]);
    let users = with("users = { think = \"1s\", ramp = \"500ms\" }").unwrap().load.kind;
    assert_eq!(users, LoadKind::Users { think: Duration::from_secs(1), ramp: Duration::from_millis(500) });
    assert!(with("rate = 50\nusers = { think = \"1s\" }").is_err());
    for absurd in [
        "rate = -1",
        "rate = 1e308",
        "rate = nan",
        "rate = inf",
        "rate = 0",
        "limit = \"0s\"",
        "limit = \"25h\"",
    ] {
        let told = with(absurd).unwrap_err().to_string();
        assert!(told.contains("must be from"), "{absurd}: {told}");
    }
    let levels = read(&GOOD.replace("clients = [1, 4]\n", "clients = 4\nrate = [100, 200.5]\n")).unwrap();
    assert_eq!((levels.load.kind, levels.factors.rate), (LoadKind::Rate, vec![100.0, 200.5]));
}

/// A missing extract hid all other mistakes: it was looked for after they had been told.
#[test]
fn files_that_cannot_be_read_are_told_with_all_other_mistakes() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        GOOD.replace("rounds = 4", "ronds = 4").replace("builtin = \"tpcb-like\"", "files = [\"no.sql\"]");
    let path = folder.path().join("e.toml");
    std::fs::write(&path, text).unwrap();
    let options =
        ReadOptions { full: false, data: Some(folder.path().join("x.osm.pbf").display().to_string()) };
    let Err(LabError::File(found)) = ExperimentFile::read(&path, &options) else { panic!("it was read") };
    let told: Vec<_> =
        found.problems.iter().map(|problem| (problem.line, problem.message.as_str())).collect();
    assert_eq!(told.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [6, 8, 12, 31], "{told:#?}");
    assert!(
        told[0].1.contains("x.osm.pbf: cannot be opened") && told[2].1.contains("no.sql: cannot be read")
    );
}

/// What no server by URL can be brought to needs no server to be told.
#[test]
fn arms_that_differ_in_what_takes_a_restart_are_told_without_a_server() {
    let arms = |target: &str, setting: &str| {
        let text = GOOD
            .replace("managed = { extensions = [\"postgis\"], redis = true }", target)
            .replace("shared_buffers = \"25% of memory\"", &format!("{setting} = 1"))
            .replace("[settings.stock]", &format!("[settings.stock]\n{setting} = 2"));
        read(&text).map(drop).map_err(|problems| problems.to_string())
    };
    let url = "url = \"postgres://h/x\"\nredis = \"redis://h\"";
    let with_changes = "url = \"postgres://h/x\"\nredis = \"redis://h\"\nchange_server = true";
    for (target, setting, wanted) in [
        (url, "shared_buffers", "`shared_buffers` needs a restart"),
        (with_changes, "shared_buffers", "`shared_buffers` needs a restart"),
        (url, "checkpoint_timeout", "write change_server = true into [target]"),
        (with_changes, "checkpoint_timeout", ""),
        (url, "work_mem", ""),
    ] {
        let told = arms(target, setting).err().unwrap_or_default();
        assert!(told.contains(wanted) && told.is_empty() == wanted.is_empty(), "{setting}: {told}");
    }
}

#[test]
fn every_key_is_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiment.md");
    let page = std::fs::read_to_string(page).unwrap();
    for key in KEYS {
        let row = format!("| `{key}` |");
        assert!(page.contains(&row), "docs/experiment.md has no row {row}");
    }
    // Keys of workloads are checked by their own readers; serde lists them in its messages.
    let mut missing = Vec::new();
    for (table, text) in [
        ("pgbench", "[workload.w]\npgbench = { nonsense = 1 }"),
        ("tiles", "[workload.w]\ntiles = { nonsense = 1 }"),
        ("redis", "[workload.w]\nredis = { nonsense = 1 }"),
        ("prepare.osm", "[prepare]\nosm = { nonsense = 1 }"),
        ("prepare.pgbench", "[prepare]\npgbench = { nonsense = 1 }"),
    ] {
        let error = toml::from_str::<toml::Table>(text).unwrap();
        let keys = workload::keys_of(table, &error);
        assert!(!keys.is_empty(), "{table}");
        missing.extend(
            keys.into_iter().map(|key| format!("| `{table}.{key}` |")).filter(|row| !page.contains(row)),
        );
    }
    assert!(missing.is_empty(), "docs/experiment.md lacks {missing:#?}");
}

#[test]
fn shipped_experiments_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let variables = |name: &str| match name {
        "PGDYNO_DATA" => Some("x.osm.pbf".to_owned()),
        "DATABASE_URL" => Some("postgres://localhost/x".to_owned()),
        _ => None,
    };
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for full in [false, text.contains("[full")] {
            ExperimentFile::parse(&path, &text, full, &variables).unwrap_or_else(|error| panic!("{error}"));
        }
        seen += 1;
    }
    assert!(seen >= 2);
}

proptest! {
    #[test]
    fn no_text_panics(text in "(?s).{0,200}") {
        let _ = read(&text);
    }

    #[test]
    fn no_damage_to_a_good_file_panics(at in 0..GOOD.len(), with in "[\\[\\]{}\"=.,a0\n]{0,3}", cut in 0_usize..12) {
        let end = (at + cut).min(GOOD.len());
        let text = format!("{}{with}{}", &GOOD[..at], &GOOD[end..]);
        if let Err(problems) = read(&text) {
            prop_assert!(!problems.to_string().is_empty());
        }
    }
}

/// A workload with a mistake in it was also told to be unused.
#[test]
fn a_mistake_in_a_workload_is_told_once() {
    let text = "question = \"?\"\n[target]\nurl = \"postgres://h/x\"\n[workload.a]\n\
                pgbench = { builtin = \"select-only\", mode = \"simpel\" }\n[workload.b]\npgbench = {}\n\
                [measure]\nduration = \"1s\"\nrounds = 2\n";
    let problems = read(text).unwrap_err().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
}

/// A folder was an error of reading (74), a pipe without a writer was waited for, a device without end filled the memory.
#[test]
fn what_is_no_file_is_no_experiment_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("binary.toml");
    std::fs::write(&text, [0xff, 0xfe]).unwrap();
    for path in [folder.path(), Path::new("/dev/zero"), text.as_path()] {
        let error = ExperimentFile::read(path, &ReadOptions::default()).unwrap_err();
        assert_eq!(error.class(), crate::error::Class::BadInput, "{error}");
    }
}
