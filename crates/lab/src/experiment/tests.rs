use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

#[path = "../../../protocol/tests/integration/misplaced.rs"]
mod misplaced;

pub(crate) const GOOD: &str = r#"
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
    assert_eq!(file.prepare.osm[0].extract, Path::new("/data/x.osm.pbf"));
    assert_eq!(file.prepare.sql, [Path::new("dir/more.sql")]);
    assert_eq!(file.factors.levels("clients"), ["1", "4"]);
    assert_eq!(file.beside.as_ref().unwrap().levels("clients"), ["1"]);
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
    assert_eq!(full.factors.levels("clients"), ["1", "4", "16"]);
    assert!(full.factors.workloads().eq(short.factors.workloads()));
    assert_eq!((full.measure.rounds, full.measure.warmup), (8, short.measure.warmup));
    let without = GOOD.split("[full").next().unwrap();
    assert!(ExperimentFile::parse(Path::new("a"), without, true, &variables).is_err());
}

/// A change to a valid file, and the expected message.
struct Mistake {
    from: &'static str,
    to: &'static str,
    /// A piece of the changed file, with a mark at the problem.
    at: &'static str,
    says: &'static str,
    hint: &'static str,
}

/// Line and column of the mark `«` in a piece of the text, from 1.
fn place(text: &str, at: &str) -> (usize, usize) {
    let (before, after) = at.split_once('«').expect("a mark");
    let start = text.find(&format!("{before}{after}")).unwrap_or_else(|| panic!("{at}")) + before.len();
    let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
    (text[..start].matches('\n').count() + 1, text[line..start].chars().count() + 1)
}

#[test]
#[rustfmt::skip]
fn mistakes_are_named_with_their_place_and_the_right_word() {
    let change = |from, to, at, says, hint| Mistake { from, to, at, says, hint };
    let rounds = |to, says, hint| change("rounds = 4", to, "rounds = «", says, hint);
    let duration = |to, says, hint| change("duration = \"2s\"", to, "duration = «", says, hint);
    let cases = [
        change("clients = [1, 4]\n", "clinets = 1\n", "«clinets", "unknown key `clinets` in [factors]", "`clients`"),
        change("[measure]", "[mesure]", "[«mesure", "unknown key `mesure`", "`measure`"),
        change("tiles = {", "tile = {", "«tile = {", "unknown kind of workload `tile`", "`tiles`"),
        change("table = ", "tabel = ", "«tabel", "unknown key `tabel` in [workload.polygons.tiles]", "`table`"),
        change("scale = 10", "scal = 10", "«scal =", "unknown key `scal` in [prepare.pgbench]", "`scale`"),
        change("[\"polygons\", \"tpcb\"]", "[\"tpcb\", \"poligons\"]", ", «\"poli", "no [workload.poligons]", "`polygons`"),
        change("base = \"stock\"", "base = \"stok\"", "«\"stok\"", "`compare.base` cannot be \"stok\"", "`stock`"),
        change("factor = \"settings\"", "factor = \"setings\"", "«\"setings\"", "cannot be \"setings\"", "`settings`"),
        change("factor = \"settings\"", "factor = \"clients\"", "base = «\"stock", "`compare.base` must be a whole number", ""),
        change("factor = \"settings\"\nbase = \"stock\"", "factor = \"clients\"\nbase = 3", "base = «3", "`compare.base` cannot be \"3\"", "`1`"),
        change("factor = \"settings\"\nbase = \"stock\"", "factor = \"threads\"\nbase = 1", "factor = «\"thr", "at least two arms", "[factors]"),
        change("clients = [1, 4]", "polygon.min_pixels = [1, 4]", "polygon.«min", "there is no [workload.polygon]", "`polygons`"),
        change("command = \"set\"", "command = \"sett\"", "«\"sett\"", "did you mean \"set\"", ""),
        change("builtin = \"tpcb-like\"", "builtin = \"tpcp\"", "«\"tpcp\"", "no builtin script found for name \"tpcp\"", ""),
        change("rounds = 4", "order = \"lisetd\"", "«\"lisetd\"", "`measure.order` cannot be \"lisetd\"", "`listed`"),
        change("rounds = 8", "ronds = 8", "«ronds", "unknown key `ronds` in [full.measure]", "`rounds`"),
        change("clients = [1, 4, 16]", "cliens = 1", "«cliens", "unknown key `cliens` in [full.factors]", "`clients`"),
        rounds("rounds = \"4\"", "`measure.rounds` must be a whole number, not the text \"4\"", ""),
        rounds("rounds = [4]", "`measure.rounds` must be a whole number, not a list", ""),
        duration("duration = 2", "must be a length of time such as \"10s\", not 2", ""),
        duration("duration = \"2 apples\"", "the text \"2 apples\" is not a length of time", "\"10s\""),
        change("warmup = \"1s\"", "warmup = 1", "warmup = «1", "must be a length of time, not 1", "\"10s\""),
        change("redis = { command = \"set\" }", "redis = 1.5", "«1.5", "`workload.cache.redis` must be a table", ""),
        change("redis = { command = \"set\" }", "redis = [\"set\"]", "redis = «[\"", "`workload.cache.redis` must be a table", ""),
        change("table = \"planet_osm_polygon\"", "table = 3", "table = «3", "tiles.table` must be a text in quotes, not 3", ""),
        change("clients = [1, 4]\n", "clients = [1, \"many\"]\n", "«\"many\"", "must be a whole number, not the text \"many\"", ""),
        change("clients = [1, 4]\n", "clients = []\n", "clients = «[]", "`factors.clients` must not be empty", ""),
        change("jit = false", "jit = { a = 1 }", "jit = «{", "`settings.big.jit` must be a text, a number, true or false", ""),
        change("sql = [\"more.sql\"]", "sql = [\"more.sql\", 3]", ", «3", "`prepare.sql` must be a text in quotes, not 3", ""),
        rounds("rounds = 0", "`measure.rounds` must be from 1 to 10000", ""),
        change("rounds = 4", "threads = 9999", "«9999", "must be from 1 to 1024", ""),
        change("rounds = 4", "slices = \"auto\"", "«\"auto\"", "`measure.slices` must be true, false or a length from 50 ms to 1 s, not", "without quotes"),
        change("rounds = 4", "slices = \"true\"", "«\"true\"", "not the text \"true\"", "without quotes"),
        change("rounds = 4", "slices = \"30ms\"", "«\"30ms\"", "from 50 ms to 1 s", "\"100ms\""),
        change("rounds = 4", "slices = 0.1", "slices = «0.1", "a length from 50 ms to 1 s, not 0.1", "\"100ms\""),
        duration("duration = \"99999h\"", "must be from 1ms to 720h", ""),
        change("clients = [1, 4]\n", "clients = [1, 0]\n", ", «0]", "`factors.clients` must be from 1 to 100000", ""),
        change("clients = [1, 4]\n", "clients = [1, 1]\n", ", «1]", "`factors.clients` lists 1 twice", ""),
        change("\"25% of memory\"", "\"25% of luck\"", "«\"25%", "a share can be taken of", ""),
        // Missing, duplicate or empty.
        change("question = \"Is it faster?\"", "", "«", "`question` is missing", "one sentence"),
        change("command = \"set\"", "", "redis = «{  }", "`command` is missing in [workload.cache.redis]", ""),
        change("[target]", "[target", "[target«", "", ""),
        change("rounds = 4", "rounds = 4\nrounds = 6", "«rounds = 6", "duplicate key", "the first `rounds` is in line"),
        change("[measure]", "[measure]\n[target]", "[measure]\n[«target]", "duplicate key", "the first `target` is in line"),
        change("[workload.cache]", "[workload.\"\"]", ".«\"\"]", "a workload needs a name", ""),
        change("[settings.stock]", "[settings.\" \"]", ".«\" \"]", "an arm needs a name", ""),
        change("$PGDYNO_DATA", "$NOWHERE", "«\"$NOWHERE", "needs the variable NOWHERE", "export NOWHERE"),
        // Contradictions.
        change("[\"polygons\", \"tpcb\"]", "[\"tpcb\"]", ".«polygons]", "polygons is described but never used", "[factors]"),
        change("workload = \"cache\"", "workload = [\"cache\", \"tpcb\"]", "«workload = [\"cache", "both in the grid and beside", ""),
        change("redis = true", "redis = false", "[«target]", "asks a Redis", "redis = true"),
        duration("duration = { from = \"1s\", to = \"2s\" }", "needs the time there is", "budget"),
        change("duration = \"2s\"", "budget = \"4min\"", "budget = «", "needs bounds", "from"),
        change("jit = false", "sql = \"create index\"", "«sql = \"c", "`sql` is not a setting", "`prepare.sql` is a key of this file"),
        change("jit = false", "Shared_Buffers = \"1GB\"", "«Shared_B", "`Shared_Buffers` is set twice", "any case"),
        change("jit = false", "application_name = \"x\"", "«application_name", "cannot be a factor: pgdyno knows its own", ""),
        change("clients = [1, 4]\n", "clients = [1, 96]\n", "clients = «[1, 96]", "need 101 connections", "max_connections = 101"),
        change("jit = false", "max_connections = 8", "max_connections = «8", "4 clients and pgdyno's own connections need 9", ""),
        change("[beside]", "[load]\npromise = \"1s\"\nlimit = \"1s\"\n[beside]", "limit = «", "`promise` and `limit` cannot be combined", ""),
        change("[beside]", "[load]\npromise = \"1h\"\n[beside]", "«promise", "a promise of an hour or more is always kept", ""),
    ];
    for Mistake { from, to, at, says, hint } in cases {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from}");
        let (line, column) = place(&text, at);
        let problems = read(&text).expect_err(to).problems;
        let is_told = |problem: &&Problem| {
            (problem.line, problem.column) == (line, column)
                && problem.message.contains(says)
                && problem.hint.as_deref().unwrap_or_default().contains(hint)
        };
        assert!(problems.iter().any(|problem| is_told(&problem)), "{to}, {line}:{column}: {problems:#?}");
    }
}

/// Unknown keys, wrong types and contradictions, in each part of the file: none hides another.
#[test]
fn all_mistakes_are_told_at_once_with_their_lines() {
    let text = GOOD
        .replace("question = \"Is it faster?\"", "question = 1")
        .replace("redis = true", "redis = \"yes\", versoin = 15")
        .replace("scale = 10", "scale = \"ten\", fillfactr = 90")
        .replace("clients = [1, 4]\n", "clients = [1, \"many\", 0, 1.5]\n")
        .replace("rounds = 4", "ronds = 4\nthreads = []")
        .replace("base = \"stock\"", "base = \"stok\"")
        .replace("jit = false", "jit = []")
        .replace("[full.measure]", "[full.measure]\nwarmup = 3");
    insta::assert_snapshot!(read(&text).unwrap_err().to_string());
}

/// The former name of a key is read, with a note, and the experiment continues.
#[test]
fn a_limit_is_a_promise() {
    let with = |key: &str| GOOD.replace("[beside]", &format!("[load]\n{key} = \"20ms\"\n[beside]"));
    let [former, now] = ["limit", "promise"].map(|key| read(&with(key)).unwrap());
    assert_eq!(former.load, now.load);
    assert_eq!(former.notes, ["load.limit is now load.promise; the experiment is the same"]);
    assert_eq!(now.notes, [] as [String; 0]);
}

/// Three rounds were an error.
#[test]
fn an_odd_number_of_rounds_becomes_an_even_one_where_arms_are_compared() {
    for (asked, rounds) in [(1, 2), (3, 4), (4, 4), (9, 10)] {
        let file = read(&GOOD.replace("rounds = 4", &format!("rounds = {asked}"))).unwrap();
        assert_eq!(file.measure.rounds, rounds);
        let note = format!("{rounds} rounds are measured in place of {asked}, to keep the order balanced");
        assert_eq!(file.notes.contains(&note), asked != rounds, "{:?}", file.notes);
    }
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
    let TargetSpec::Url { shown, place, redis, change_server, .. } = &file.target else {
        panic!("{:?}", file.target)
    };
    assert_eq!(file.logins[""].with_secrets(), "postgres://me:secret@h/db");
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

#[test]
fn tile_servers_stand_beside_either_kind_of_target() {
    let managed = "managed = { extensions = [\"postgis\"], redis = true }";
    let url = "url = \"postgres://h/x\"\nredis = \"redis://h:1\"";
    let with = |target: &str, list: &str| {
        let text = GOOD.replace("\"25% of memory\"", "\"1GB\"");
        read(&text.replace(managed, &format!("{target}\ntile_servers = {list}")))
    };
    let two = "[\"tipg\", { kind = \"martin\", workers = 2, program = \"bin/martin\" }]";
    let file = with(managed, two).unwrap();
    let words = file.target.tile_servers().iter().map(|options| (options.kind.name(), options.workers));
    assert_eq!(words.collect::<Vec<_>>(), [("tipg", None), ("martin", Some(2))]);
    let program = file.target.tile_servers()[1].program.as_deref();
    assert_eq!(program, Some(Path::new("dir/bin/martin")), "it stands beside the file");
    assert_eq!(with(url, "\"martin\"").unwrap().target.tile_servers().len(), 1);
    assert!(read(&file.text.replace("$PGDYNO_DATA", "x")).is_ok(), "what is kept can be read again");
    // Without tile servers the identity is unchanged.
    let plain = read(GOOD).unwrap().target;
    assert!(!serde_json::to_string(&plain.identity()).unwrap().contains("tile_servers"));
    assert_ne!(plain.identity(), file.target.identity());
    for (list, wanted) in [
        ("[]", "must not be empty"),
        ("[\"tipg\", \"tipg\"]", "names tipg twice"),
        ("{ kind = \"tipg\", cache_mb = 1 }", "cannot have cache_mb: it keeps no tiles; martin does"),
        ("{ kind = \"tipg\", program = \"$NONE\" }", "needs the variable NONE, which is not set"),
    ] {
        let told = with(managed, list).unwrap_err().to_string();
        assert!(told.contains(wanted), "{list}: {told}");
    }
}

/// A password in the address of a server appears in no message and not in the stored file, whatever is wrong
/// with it.
#[test]
fn a_password_in_an_experiment_file_is_never_quoted() {
    let rest = "[workload.a]\npgbench = { builtin = \"select-only\" }\n[measure]\nduration = \"1s\"\n";
    let mut leaking = Vec::new();
    for dsn in misplaced::misplaced() {
        let basic = serde_json::Value::from(dsn.as_str()).to_string();
        for target in [
            format!("[target]\nurl = {basic}\n"),
            format!("[target]\nurll = {basic}\n"),
            format!("[target]\nurl = [{basic}]\n"),
            format!("[target]\nurl = [\n  {basic},\n]\n"),
            format!("[target]\nmanaged = {{}}\ntile_servers = [{basic}]\n"),
            format!("[target]\nurl = {dsn}\n"),
            format!("[target]\nurl = \"{dsn}\n"),
            format!("[target]\nurl = '{dsn}'\n"),
            format!("[target]\nurl = \"\"\"\n{dsn}\n\"\"\"\n"),
            format!("[target]\nurl = '''\n{dsn}\n"),
            format!("[target]\nurl {basic}\n"),
            format!("[target]\nurl = {basic} {basic}\n"),
            format!("[target]\nurl = {basic}\nurl = {basic}\n"),
            format!("[target]\nurl = {basic} # was {dsn}\nnonsense = 1\n"),
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
        ] {
            let text = format!("question = \"?\"\n{target}{rest}");
            let told = match read(&text) {
                Ok(file) => {
                    let stored = serde_json::to_string(&file.target).unwrap();
                    format!("{} {stored} {:?}", file.text, file.target.identity())
                }
                Err(problems) => problems.to_string(),
            };
            leaking.extend(misplaced::leaks(&told).then(|| format!("{target}\n{told}\n")));
        }
    }
    assert!(leaking.is_empty(), "{} files\n{}", leaking.len(), leaking[..leaking.len().min(20)].join("\n"));
}

/// All else is stored as written, with comments.
#[test]
fn what_is_kept_of_a_file_can_be_read_again() {
    let text = "question = \"?\" # ä\n[target]\nurl = \"postgres://u:geheim@h\" # mine\nredis = \"redis://h:1\"\n\
                [workload.w]\nhttp = { url = 'http://me:geheim@h/x' }\n[measure]\nduration = \"1s\" # not 2s\n";
    let kept = read(text).unwrap().kept_text().to_owned();
    let wanted = text
        .replace("postgres://u:geheim@h", "host=h user=u")
        .replace("'http://me:geheim@h/x'", "\"http://h/x\"");
    assert_eq!(kept, wanted);
    assert_eq!(read(&kept).unwrap().kept_text(), kept);
}

#[test]
fn loads() {
    let with = |load: &str| read(&GOOD.replace("[beside]", &format!("[load]\n{load}\n[beside]")));
    assert_eq!(with("rate = 50\nlimit = \"20ms\"").unwrap().factors.levels("rate"), ["50"]);
    let users = with("users = { think = \"1s\", ramp = \"500ms\" }").unwrap().load.kind;
    let wanted = spec::plan::PlannedUsers { think_s: 1.0, ramp_s: 0.5, ..Default::default() };
    assert_eq!(users, LoadKind::Users(wanted));
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
    let ramp = with("rate = \"ramp from 100 to 400 in 200ms\"").unwrap();
    assert_eq!(ramp.factors.levels("rate"), ["ramp 100..400 over 200ms"]);
    for (wrong, wanted) in [
        ("rate = \"ramp 100..400\"", "it does not say how long it takes"),
        ("rate = \"fast\"", "`load.rate` cannot be \"fast\""),
        ("rate = true", "`load.rate` must be a number, not true"),
        ("rate = \"spike 100 to 400 for 1h at 0s\"", "takes 3600 s, and runs last"),
        (
            "search = { promise = \"p99 < 20ms\", lowest = \"ramp 100..400 over 200ms\" }",
            "must be a number, and no rate that changes",
        ),
    ] {
        let told = with(wrong).unwrap_err().to_string();
        assert!(told.contains(wanted), "{wrong}: {told}");
    }
    let levels = read(&GOOD.replace("clients = [1, 4]\n", "clients = 4\nrate = [100, 200.5]\n")).unwrap();
    assert_eq!(
        (levels.load.kind, levels.factors.levels("rate")),
        (LoadKind::Rate, &["100".to_owned(), "200.5".to_owned()][..])
    );
}

#[test]
fn the_first_of_two_keys_is_named_by_its_line() {
    for (from, to, first) in [
        ("rounds = 4", "rounds = 4\nrounds = 6", "«rounds = 4"),
        ("[measure]", "[measure]\n[settings.big]", "«[settings.big]"),
        ("[measure]", "[measure]\n[target]", "«[target]"),
    ] {
        let text = GOOD.replacen(from, to, 1);
        let problems = read(&text).unwrap_err().problems;
        let line = format!("is in line {}", place(&text, first).0);
        assert!(problems[0].hint.as_deref().is_some_and(|hint| hint.ends_with(&line)), "{to}: {problems:#?}");
    }
}

/// A missing extract hid all other mistakes: it was checked after they had been reported.
#[test]
fn files_that_cannot_be_read_are_told_with_all_other_mistakes() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        GOOD.replace("rounds = 4", "ronds = 4").replace("builtin = \"tpcb-like\"", "files = [\"no.sql\"]");
    let path = folder.path().join("e.toml");
    std::fs::write(&path, &text).unwrap();
    let options = ReadOptions {
        data: Some(folder.path().join("x.osm.pbf").display().to_string()),
        ..ReadOptions::default()
    };
    let error = ExperimentFile::read(&path, &options).unwrap_err();
    let found: &FileProblems = error.attached().unwrap();
    let wanted = [
        ("«\"$PGDYNO_DATA", "x.osm.pbf: cannot be opened"),
        ("«\"more.sql", "more.sql cannot be read"),
        ("«[\"no.sql", "no.sql: cannot be read"),
        ("«ronds", "unknown key"),
    ];
    assert_eq!(found.problems.len(), wanted.len(), "{found}");
    for (problem, (at, says)) in found.problems.iter().zip(wanted) {
        assert_eq!((problem.line, problem.column), place(&text, at));
        assert!(problem.message.contains(says), "{problem:?}");
    }
}

/// Not possible on a server by URL, and reported without one.
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
        // Their files are in folders next to them.
        if path.is_dir() {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for full in [false, text.contains("[full")] {
            ExperimentFile::parse(&path, &text, full, &variables).unwrap_or_else(|error| panic!("{error}"));
        }
        seen += 1;
    }
    assert!(seen >= 5);
}

#[test]
fn the_example_in_the_documentation_can_be_read() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/experiment.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (_, example) = text.split_once("```toml\n").unwrap();
    read(example.split("```").next().unwrap()).unwrap_or_else(|error| panic!("{error}"));
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

/// Described tables, with levels and a mistake in each.
const DESCRIBED: &str = r#"
question = "?"
[target]
TARGET
[prepare]
pgbench = { scale = 1 }
[workload.a]
pgbench = { builtin = "select-only" }
[factors]
FACTORS
[pooler.bouncer]
pool_mode = "session"
pool_size = 2
[placement.here]
clients = [0]
[change.index.without]
[change.index.with]
do = "CREATE INDEX i ON t (x)"
undo = "DROP INDEX IF EXISTS i"
[full.factors]
FULL
"#;

/// Unused poolers and the like were read and ignored.
#[test]
fn what_is_described_and_not_used_is_told_with_its_line() {
    let all = "connection = [\"direct\", \"bouncer\"]\nplacement = \"here\"";
    let cases = [
        (all, "", &[][..]),
        ("placement = \"here\"", "connection = \"bouncer\"", &[]),
        ("placement = \"here\"", "", &["[pooler.«bouncer] pooler bouncer is described but never used"]),
        ("connection = \"bouncer\"", "", &["[placement.«here] placement here is described but never used"]),
        (
            "connection = \"bouncer\"\nplacement = \"here\"\nindex = \"with\"",
            "",
            &["[change.index.«without] change index without is described but never used"],
        ),
        // The level is missing from its list, which is not a second mistake.
        (
            "connection = \"boucner\"\nplacement = \"here\"",
            "",
            &["connection = «\"boucner\" `factors.connection` cannot be"],
        ),
    ];
    for (factors, full, wanted) in cases {
        let text =
            DESCRIBED.replace("TARGET", "managed = {}").replace("FACTORS", factors).replace("FULL", full);
        for full in [false, true] {
            let read = ExperimentFile::parse(Path::new("e.toml"), &text, full, &variables);
            let problems = read.map_or_else(|found| found.problems, |_| Vec::new());
            assert_eq!(problems.len(), wanted.len(), "{factors}: {problems:#?}");
            for (problem, wanted) in problems.iter().zip(wanted) {
                let (at, says) = wanted.split_once(if wanted.contains(']') { "] " } else { "\" " }).unwrap();
                assert_eq!((problem.line, problem.column), place(&text, at), "{problem:?}");
                assert!(problem.message.starts_with(says), "{problem:?}");
            }
        }
    }
}

/// pgdyno cannot change the data of a server by URL.
#[test]
fn data_and_versions_of_a_server_by_url_are_no_levels() {
    let url = "url = \"postgres://h/x\"\nchange_server = true";
    let all = "connection = \"bouncer\"\nplacement = \"here\"";
    for (level, at) in [
        ("prepare.pgbench.scale = [1, 10]", "prepare.pgbench.«scale"),
        ("prepare.osm.extract = [\"a.osm.pbf\", \"b.osm.pbf\"]", "prepare.osm.«extract"),
        ("version = [15, 17]", "«version"),
    ] {
        let text = DESCRIBED.replace("TARGET", url).replace("FACTORS", &format!("{level}\n{all}"));
        let text =
            text.replace("FULL", "").replace("[prepare]", "[prepare]\nosm = { extract = \"a.osm.pbf\" }");
        let problems = read(&text).expect_err(level).problems;
        let [problem] = &problems[..] else { panic!("{problems:#?}") };
        assert_eq!((problem.line, problem.column), place(&text, at));
        assert!(problem.message.contains("only be varied on managed servers"), "{problem:?}");
        assert!(problem.hint.as_ref().is_some_and(|hint| hint.contains("two servers")), "{problem:?}");
    }
}

/// A workload with a mistake in it was also reported as unused.
#[test]
fn a_mistake_in_a_workload_is_told_once() {
    let text = "question = \"?\"\n[target]\nurl = \"postgres://h/x\"\n[workload.a]\n\
                pgbench = { builtin = \"select-only\", mode = \"simpel\" }\n[workload.b]\npgbench = {}\n\
                [measure]\nduration = \"1s\"\nrounds = 2\n";
    let problems = read(text).unwrap_err().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
}

/// A folder was an error of reading (74), a pipe without a writer blocked, an endless device filled the
/// memory.
#[test]
fn what_is_no_file_is_no_experiment_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("binary.toml");
    std::fs::write(&text, [0xff, 0xfe]).unwrap();
    for path in [folder.path(), Path::new("/dev/zero"), text.as_path()] {
        let error = ExperimentFile::read(path, &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().contains("is not an experiment file"), "{error}");
        assert_eq!(error.class(), BadInput);
    }
}

#[test]
fn each_of_several_loads_has_a_prefix_of_its_own() {
    let file = |second: &str| {
        format!(
            "question = \"?\"\n[target]\nmanaged = {{ extensions = [\"postgis\"] }}\n[prepare]\nosm = [\n  {{ extract = \"a.osm.pbf\" }},\n  \
             {{ {second} }},\n]\n[workload.w]\npgbench = {{ builtin = \"select-only\" }}\n"
        )
    };
    let read = |second: &str| read(&file(second));
    let loads = read("extract = \"b.osm.pbf\", prefix = \"b\"").unwrap().prepare.osm;
    let extracts: Vec<_> = loads.iter().map(|load| load.extract.display().to_string()).collect();
    assert!(
        matches!(&extracts[..], [a, b] if a.ends_with("a.osm.pbf") && b.ends_with("b.osm.pbf")),
        "{extracts:?}"
    );
    for (second, column, wanted) in [
        ("extract = \"b.osm.pbf\"", 3, "give each its own prefix"),
        ("extract = \"b.osm.pbf\", prefix = \"planet_osm\"", 37, "give each its own prefix"),
        ("extract = \"b.osm.pbf\", prefix = \"b c\"", 37, "letters, digits"),
        ("extract = \"b.osm.pbf\", prefixes = \"b\"", 28, "unknown key `prefixes`"),
    ] {
        let told = read(second).expect_err(second);
        let [problem] = &told.problems[..] else { panic!("{told}") };
        assert_eq!((problem.line, problem.column), (7, column), "{told}");
        assert!(problem.message.contains(wanted), "{told}");
    }
}

#[test]
fn a_synthetic_extract_stands_in_place_of_a_file() {
    let file = |osm: &str, factors: &str| {
        format!(
            "question = \"?\"\n[target]\nmanaged = {{ extensions = [\"postgis\"] }}\n[prepare]\n{osm}\n[workload.w]\n\
             pgbench = {{ builtin = \"select-only\" }}\n[workload.i]\nosm = {{ scale = 2, prefix = \"i\" }}\n[factors]\nworkload = [\"w\", \"i\"]\n{factors}\n"
        )
    };
    let fine =
        read(&file("osm = { scale = 0.1 }", "\"prepare.osm.scale\" = [0.1, 1]\ni.scale = [0.1, 2]")).unwrap();
    let synthetic = fine.prepare.osm[0].synthetic().unwrap();
    assert_eq!((synthetic.scale.to_string().as_str(), synthetic.seed), ("0.1", 1));
    for (osm, column, wanted) in [
        ("osm = {}", 7, "osm.extract: is missing"),
        ("osm = { scale = 1, extract = \"a.osm.pbf\" }", 17, "cannot stand with extract"),
        ("osm = { extract = \"a.osm.pbf\", seed = 2 }", 39, "needs scale"),
        ("osm = { scale = 0.0001 }", 17, "0.001 to 10000"),
        ("osm = { scale = \"1\" }", 17, "must be a number"),
    ] {
        let told = read(&file(osm, "")).expect_err(osm);
        let [problem] = &told.problems[..] else { panic!("{told}") };
        assert_eq!((problem.line, problem.column), (5, column), "{told}");
        assert!(problem.message.contains(wanted), "{told}");
    }
    let told =
        read(&file("osm = { extract = \"a.osm.pbf\" }", "\"prepare.osm.scale\" = [0.1, 1]")).unwrap_err();
    assert!(told.to_string().contains("cannot stand with extract"), "{told}");
    // It was reported only after the preparation.
    let told = read(&file("osm = { scale = 0.1, prefix = \"i\" }", "")).unwrap_err();
    assert!(told.to_string().contains("would write the tables i_… that [prepare] makes"), "{told}");
}

#[test]
fn mistakes_in_the_loads_of_workloads_are_told_with_their_lines() {
    let file = |more: &str| {
        format!(
            "question = \"?\"\n[target]\nmanaged = {{}}\n[workload.w]\npgbench = {{ builtin = \"select-only\" }}\n\
             [workload.v]\npgbench = {{ builtin = \"select-only\" }}\n{more}"
        )
    };
    for (more, line, wanted) in [
        ("[factors.w]\nclient = 3\n", 9, "did you mean `clients`?"),
        ("[factors.w]\npromise = 3\n", 9, "must be a length of time"),
        ("[factors.w]\npromise = \"1h\"\n", 9, "must be from"),
        ("[factors.w]\nrate_per_client = 0\n", 9, "must be from 0.001"),
        ("[factors.w]\nclients = 200\n", 9, "200 clients and pgdyno's own connections"),
        ("[factors.w]\nrate = 3\nrate_per_client = 1\n", 10, "workload w has both"),
        ("[factors]\nrate = 3\nw.rate_per_client = 1\n", 10, "workload w has both"),
        ("[factors]\nrate_per_client = 3\n[load]\nrate = 1\n", 11, "cannot be combined"),
        ("[factors]\npromise = [\"1s\"]\n[load]\npromise = \"2s\"\n", 11, "cannot be combined"),
        (
            "[factors]\nworkload = \"v\"\n[factors.w]\nclients = 3\n[beside]\nworkload = \"w\"\n",
            11,
            "not in the grid",
        ),
        (
            "[compare]\nfactor = \"workload\"\nbase = \"w\"\n[factors.w]\nclients = 3\n",
            12,
            "of one workload alone",
        ),
        ("[load]\nbound = \"100%\"\n", 9, "invalid share"),
    ] {
        let told = read(&file(more)).expect_err(more);
        let problem = told.problems.iter().find(|problem| {
            problem.message.contains(wanted)
                || problem.hint.as_deref().is_some_and(|hint| hint.contains(wanted))
        });
        assert_eq!(problem.map(|problem| problem.line), Some(line), "{more}: {told}");
    }
}

const CALIBRATION: &str =
    "question = \"?\"\n[target]\nmanaged = { name = \"calibrate\" }\n[prepare.pgbench]\n[calibrate]\n";

#[test]
fn a_calibration_needs_no_workload_and_has_one_round() {
    let mut file = read(CALIBRATION).unwrap();
    let asked = file.calibrate.clone().unwrap();
    assert_eq!((asked.time_s, asked.clients, file.measure.rounds), (30.0, vec![1, 8, 64], 1));
    assert!(file.factors.all().is_empty());
    let error =
        file.ask(ExperimentOverrides { rounds: Some(2), ..ExperimentOverrides::default() }).unwrap_err();
    assert!(error.to_string().contains("a calibration repeats its measurements"), "{error}");
    let more =
        read(&format!("{CALIBRATION}clients = [8, 1, 8]\ntime = \"5s\"\n[measure]\ndriver = \"portable\"\n"));
    let asked = more.unwrap().calibrate.unwrap();
    assert_eq!((asked.time_s, asked.clients), (5.0, vec![1, 8]));
}

/// A calibration chooses its runs itself.
#[test]
fn what_describes_other_runs_is_a_mistake_next_to_a_calibration() {
    for (more, said) in [
        ("[workload.w]\npgbench = { builtin = \"select-only\" }\n", "`[workload]` and `[calibrate]`"),
        ("[load]\nrate = 5\n", "`[load]` and `[calibrate]`"),
        ("[measure]\nduration = \"1s\"\n", "`measure.duration` and `[calibrate]`"),
        ("clients = [0]\n", "`calibrate.clients` must be from 1"),
        ("time = \"1s\"\n", "`calibrate.time` must be from 5s to 1h"),
        ("seconds = 3\n", "unknown key `seconds` in [calibrate]"),
    ] {
        let problems = read(&format!("{CALIBRATION}{more}")).unwrap_err();
        assert!(problems.problems.iter().any(|problem| problem.message.contains(said)), "{problems}");
    }
    let by_url = CALIBRATION.replace("managed = { name = \"calibrate\" }", "url = \"host=h\"");
    assert!(read(&by_url).unwrap_err().to_string().contains("a private server of this host"));
    let without = CALIBRATION.replace("[prepare.pgbench]\n", "");
    assert!(read(&without).unwrap_err().to_string().contains("add [prepare.pgbench]"));
}

/// Crosstabs by `round` showed the numbers of rounds, not the levels.
#[test]
fn a_factor_set_by_hand_has_a_name_of_its_own() {
    let text = |name: &str| {
        format!(
            "question = \"?\"\n[target]\nmanaged = {{}}\n[workload.w]\npgbench = {{ builtin = \"select-only\" }}\n\
             [by_hand]\n{name} = [1, 2]\n"
        )
    };
    for name in ["round", "set", "arm", "clients", "\"\"", "\" a\"", "\"a=b\""] {
        let error = ExperimentFile::parse(Path::new("e.toml"), &text(name), false, &|_| None).unwrap_err();
        assert!(
            error.to_string().contains("a factor that is set by hand cannot be called"),
            "{name}: {error}"
        );
    }
    ExperimentFile::parse(Path::new("e.toml"), &text("memory"), false, &|_| None).unwrap();
}

/// 10,000 mistakes took a minute or did not end: each is a further reading of the file.
#[test]
fn of_very_many_mistakes_the_first_hundred_are_told() {
    let lines = |line: &dyn Fn(usize) -> String| (0..2_000).map(line).collect::<String>();
    let head = "question = \"?\"\n[target]\nmanaged = {}\n";
    for text in [
        format!("{head}[measure]\n{}", lines(&|at| format!("wrong{at} = 1\n"))),
        format!(
            "{head}{}",
            lines(&|at| format!("[workload.w{at}]\npgbench = {{ builtn = \"select-only\" }}\n"))
        ),
        format!("{head}[factors]\nworkload = [{}]\n", lines(&|at| format!("\"x{at}\", "))),
    ] {
        let found = read(&text).unwrap_err();
        assert!(found.problems.len() == 100 && found.is_cut, "{}", found.problems.len());
        assert!(found.lines().last().unwrap().ends_with("only the first 100 mistakes are shown"));
    }
}
