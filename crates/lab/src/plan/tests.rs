use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use proptest::prelude::*;

use super::setups::Setups;
use super::*;
use crate::experiment::ExperimentFile;
use crate::experiment::tests::GOOD;
use crate::setup::{Cache, Setup};
use spec::RunKey;
use spec::plan::{Decision, Decisions, Fact, Facts, PlacementAdvice, Plan, PlannedRun, Scheme, Slicing};
use workloads::Preparation;

/// Facts of a machine with 8 GB and 4 CPUs, and of the experiment's files.
fn facts_of(file: &ExperimentFile) -> Facts {
    let host = Fact::Host { memory_bytes: 8 << 30, cores: 4, cpus: "0-3".parse().ok() };
    crate::facts::of_files_on(host, file).unwrap_or_else(|error| panic!("{}: {error}", file.path.display()))
}

fn resolved(file: &ExperimentFile) -> Plan {
    resolve(file, &facts_of(file)).unwrap_or_else(|error| panic!("{}: {error}", file.path.display()))
}

pub(crate) fn plan(text: &str) -> Plan {
    resolved(&file(text))
}

/// The plan, once these facts are known too; and all facts.
pub(crate) fn plan_with(text: &str, learnt: impl IntoIterator<Item = Fact>) -> (Plan, Facts) {
    let file = file(text);
    let mut facts = facts_of(&file);
    learnt.into_iter().for_each(|fact| facts.learn(fact));
    (resolve(&file, &facts).unwrap(), facts)
}

pub(crate) fn plan_of(path: &Path, text: &str) -> Plan {
    let file = ExperimentFile::parse(path, text, false, &|_| None).unwrap_or_else(|e| panic!("{e}"));
    resolved(&file)
}

fn file(text: &str) -> ExperimentFile {
    ExperimentFile::parse(Path::new("e.toml"), text, false, &|_| None).unwrap_or_else(|e| panic!("{e}"))
}

/// An experiment with so many workloads, levels, arms and rounds.
pub(crate) fn text(workloads: usize, clients: &[u32], arms: usize, restart: bool, rounds: u32) -> String {
    let mut text = String::from("question = \"?\"\n[target]\nmanaged = { redis = true }\n");
    let names: Vec<_> = (0..workloads).map(|n| format!("w{n}")).collect();
    for name in &names {
        text += &format!("[workload.{name}]\npgbench = {{ builtin = \"select-only\" }}\n");
    }
    text += "[workload.cache]\nredis = { command = \"set\" }\n[beside]\nworkload = \"cache\"\n";
    text += &format!("[factors]\nworkload = {names:?}\nclients = {clients:?}\n");
    if arms > 1 {
        text += "[compare]\nfactor = \"settings\"\nbase = \"a0\"\n";
        let setting = if restart { "shared_buffers" } else { "work_mem" };
        for arm in 0..arms {
            text += &format!("[settings.a{arm}]\n{setting} = \"{}MB\"\n", arm + 1);
        }
    }
    text + &format!("[measure]\nrounds = {rounds}\nduration = \"2s\"\n")
}

fn arm_index(run: &PlannedRun) -> usize {
    run.arm.as_deref().map_or(0, |arm| arm[1..].parse().unwrap())
}

/// Known only when they are open: both arms see what one writes.
#[test]
fn arms_that_turn_out_to_share_a_server_take_no_turns_where_they_write() {
    let text = "question = \"?\"\n[server.a]\nurl = \"host=h dbname=x\"\n[server.b]\nurl = \"host=h dbname=y\"\n\
         [workload.read]\npgbench = { builtin = \"select-only\" }\n[workload.write]\npgbench = { builtin = \"tpcb-like\" }\n\
         [factors]\nworkload = [\"read\", \"write\"]\nserver = [\"a\", \"b\"]\n[compare]\nfactor = \"server\"\nbase = \"a\"\n\
         [measure]\nrounds = 2\nduration = \"2s\"\n";
    let slices = |plan: &Plan| -> Vec<(Slicing, bool)> {
        plan.decisions.slices.values().map(|slicing| (*slicing.value(), slicing.is_open())).collect()
    };
    let before = plan(text);
    assert_eq!(slices(&before), [(Slicing::Slices, false), (Slicing::Slices, true)]);
    let (shared, _) = plan_with(text, [Fact::Servers { shared: true }]);
    assert_eq!(slices(&shared), [(Slicing::Slices, false), (Slicing::Uncut, false)]);
    let why = shared.slicing("write").unwrap().why();
    assert!(why.contains("on one server"), "{why}");
    assert_eq!(identity::hash(&shared.content), identity::hash(&before.content));
}

#[test]
fn a_sample_is_explained_once_where_something_is_compared() {
    let explained = |text: &str| {
        let plan = plan(text);
        let runs: Vec<String> =
            plan.runs.iter().filter(|run| plan.explains(run)).map(PlannedRun::words).collect();
        (identity::hash(&plan.content), runs)
    };
    let compared = text(1, &[4], 2, false, 2);
    let (hash, runs) = explained(&compared);
    assert_eq!(runs.len(), 2, "{runs:?}: each arm once, and nothing beside the grid");
    assert!(runs.iter().all(|run| run.ends_with("round 1")), "{runs:?}");
    // It does not make another experiment.
    assert_eq!(explained(&(compared + "explain = false\n")), (hash, Vec::new()));
    let alone = text(1, &[4], 1, false, 2);
    assert!(explained(&alone).1.is_empty());
    assert_eq!(explained(&(alone + "explain = true\n")).1.len(), 1);
}

/// Users of six connections each got as many tile server connections as there were users, and waited for each
/// other.
#[test]
fn tile_servers_have_a_connection_for_each_of_a_user() {
    let most = |picker: &str| {
        let target = "managed = { extensions = [\"postgis\"] }\ntile_servers = [\"tipg\"]";
        let tiles = format!("tiles = {{ table = \"t\", via = \"tipg\", picker = {picker} }}");
        let text = format!(
            "question = \"?\"\n[target]\n{target}\n[workload.map]\n{tiles}\n[factors]\nclients = [2, 4]\n\
             [measure]\nrounds = 2\nduration = \"2s\"\n"
        );
        setups::most_connections(&plan(&text))
    };
    assert_eq!(most("\"data\""), 4);
    assert_eq!(most("\"sessions\""), 24);
    assert_eq!(most("{ sessions = { links = 3 } }"), 12);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_cell_arm_and_round_is_there_once_and_balanced(
        workloads in 1_usize..4, levels in 1_u32..4, arms in 1_usize..4, restart: bool, half in 1_u32..4
    ) {
        let clients: Vec<u32> = (1..=levels).collect();
        let rounds = half * 2;
        let plan = plan(&text(workloads, &clients, arms, restart, rounds));
        let grid: Vec<_> = plan.runs.iter().filter(|run| !run.beside).collect();
        let keys: HashSet<_> = plan.runs.iter().map(PlannedRun::key).collect();
        prop_assert_eq!(keys.len(), plan.runs.len());
        prop_assert_eq!(grid.len(), workloads * clients.len() * arms * rounds as usize);
        prop_assert_eq!(plan.runs.len() - grid.len(), rounds as usize);
        for (index, run) in plan.runs.iter().enumerate() {
            prop_assert_eq!(run.sequence as usize, index);
        }
        // One seed for all arms of a cell in a round, and no seed twice.
        let mut seeds: HashMap<u64, HashSet<_>> = HashMap::new();
        for run in &plan.runs {
            seeds.entry(run.seed).or_default().insert((run.round, run.factors.clone(), run.beside));
        }
        prop_assert!(seeds.values().all(|users| users.len() == 1));
        prop_assert_eq!(seeds.len(), plan.runs.len() - grid.len() / arms * (arms - 1));

        // The base is first in odd rounds and last in even ones; over two rounds every arm has every position
        // equally often.
        let mut places: HashMap<(BTreeMap<String, String>, usize), u32> = HashMap::new();
        for run in &grid {
            let place = run.position_in_pair as usize - 1;
            let wanted = if run.round % 2 == 1 { place } else { arms - 1 - place };
            prop_assert_eq!(arm_index(run), wanted);
            *places.entry(((*run.factors).clone(), arm_index(run))).or_default() += run.position_in_pair;
        }
        let sums: HashSet<u32> = places.into_values().collect();
        prop_assert_eq!(sums.len(), 1);
    }

    #[test]
    fn resuming_is_the_rest_in_order(done in proptest::collection::vec(any::<bool>(), 60)) {
        let plan = plan(&text(2, &[1, 4], 3, false, 4));
        let finished: Vec<RunKey> =
            plan.runs.iter().zip(&done).filter(|(_, done)| **done).map(|(run, _)| run.key()).collect();
        let rest = plan.remaining(&finished);
        prop_assert_eq!(rest.len(), plan.runs.len() - finished.len());
        prop_assert!(rest.windows(2).all(|pair| pair[0].sequence < pair[1].sequence));
        prop_assert!(rest.iter().all(|run| !finished.contains(&run.key())));
    }

    #[test]
    fn more_rounds_extend(half in 1_u32..4, more in 1_u32..4) {
        let short = plan(&text(2, &[1, 4], 2, true, half * 2));
        let long = plan(&text(2, &[1, 4], 2, true, (half + more) * 2));
        prop_assert_eq!(identity::hash(&short.content), identity::hash(&long.content));
        prop_assert_eq!(short.seed(), long.seed());
        prop_assert_eq!(&long.runs[..short.runs.len()], &short.runs[..]);
        prop_assert!(diff(&short, &long).is_empty());
    }
}

#[test]
fn arms_stand_next_to_each_other_unless_switching_takes_a_restart() {
    let pairs = plan(&text(2, &[1, 4], 2, false, 2));
    assert_eq!(pairs.content.scheme, Scheme::Pairs);
    let grid: Vec<_> = pairs.runs.iter().filter(|run| !run.beside).collect();
    assert!(grid.chunks(2).all(|pair| pair[0].factors == pair[1].factors && pair[0].arm != pair[1].arm));

    let no_room = Fact::Copies { fit: false, why: "no room".into() };
    let (halves, _) = plan_with(&text(2, &[1, 4], 2, true, 4), [no_room]);
    assert_eq!(halves.content.scheme, Scheme::HalfRounds);
    assert_eq!(cost::estimate(&halves).restarts, 5, "one to begin with, and one in each of four rounds");
    assert_eq!(plan(&text(1, &[1], 1, false, 3)).content.scheme, Scheme::Single);
}

/// Every line of a dry run ended with 19 digits.
#[test]
fn the_seed_stands_once_in_what_people_read() {
    let plan = plan(&text(1, &[1, 2], 2, false, 2));
    let hidden: Vec<_> =
        table::table(&plan, usize::MAX).columns.iter().map(|own| (own.name.clone(), own.hidden)).collect();
    assert_eq!(hidden.last(), Some(&("seed".to_owned(), true)));
    assert_eq!(hidden.iter().filter(|(_, is_hidden)| *is_hidden).count(), 1);
    let line = format!("seed {}; each run's own is made from it", plan.seed());
    assert_eq!(words::words(&plan).iter().filter(|known| **known == line).count(), 1);
}

#[test]
fn cells_are_in_random_order_that_the_seed_fixes() {
    let base = text(3, &[1, 2, 3], 1, false, 2);
    let order = |plan: &Plan, round: u32| -> Vec<_> {
        plan.runs.iter().filter(|run| run.round == round).map(|run| run.factors.clone()).collect()
    };
    let first = plan(&base);
    assert_eq!(first, plan(&base));
    assert_ne!(order(&first, 1), order(&first, 2));
    assert_ne!(order(&first, 1), order(&plan(&format!("seed = 7\n{base}")), 1));
    let listed = plan(&format!("{base}order = \"listed\"\n"));
    assert_eq!(order(&listed, 1), order(&listed, 2));
}

#[test]
fn a_repetition_is_the_same_experiment_with_other_seeds() {
    let text = text(1, &[1], 2, false, 2);
    let first = plan(&text);
    let (again, _) = plan_with(&text, [Fact::Repetition { repetition: 1 }]);
    assert_eq!(identity::hash(&first.content), identity::hash(&again.content));
    assert!(first.runs.iter().all(|run| again.runs.iter().all(|other| other.seed != run.seed)));
    let (known, _) = plan_with(&text, [Fact::Repetition { repetition: 0 }]);
    assert_eq!(known.runs, first.runs);
    assert!(first.decisions.seed.is_open() && !known.decisions.seed.is_open());
}

#[test]
fn any_other_change_is_another_experiment_and_says_what_changed() {
    let base = text(2, &[1, 4], 2, false, 4);
    let before = plan(&base);
    let cases = [
        ("clients = [1, 4]", "clients = [1, 8]", "factors.clients"),
        ("duration = \"2s\"", "duration = \"3s\"", "duration_s: 2.0 → 3.0"),
        ("duration = \"2s\"", "duration = \"2s\"\nwarmup = \"1s\"", "warmup_s"),
        ("duration = \"2s\"", "duration = \"2s\"\nthreads = 2", "threads"),
        ("work_mem = \"2MB\"", "work_mem = \"3MB\"", "arms.a1.settings.work_mem: 2MB → 3MB"),
        ("select-only", "tpcb-like", "workloads.w0."),
        ("question", "seed = 3\nquestion", "seed: (nothing) → 3"),
        ("base = \"a0\"", "base = \"a1\"", "compare.base"),
        ("managed = {", "managed = { name = \"x\",", "target."),
    ];
    for (from, to, wanted) in cases {
        let after = plan(&base.replacen(from, to, 1));
        assert_ne!(identity::hash(&before.content), identity::hash(&after.content), "{to}");
        let changes = diff(&before, &after);
        assert!(changes.iter().any(|change| change.contains(wanted)), "{to}: {changes:?}");
    }
    for same in [base.replace("\"?\"", "\"Another question?\""), format!("# a comment\n{base}")] {
        assert_eq!(identity::hash(&before.content), identity::hash(&plan(&same).content));
    }
}

#[test]
fn a_plan_survives_its_json() {
    let before = plan(&text(2, &[1, 4], 3, true, 2));
    let after: Plan = serde_json::from_str(&serde_json::to_string(&before).unwrap()).unwrap();
    assert_eq!(before, after);
    assert_eq!(identity::hash(&before.content), identity::hash(&after.content));
}

#[test]
fn runs_are_sized_by_the_budget() {
    let base = text(2, &[1, 4], 2, true, 6);
    let written = |budget: &str| {
        let measure = format!(
            "duration = {{ from = \"1s\", to = \"10s\" }}\nwarmup = \"500ms\"\nbudget = \"{budget}\""
        );
        base.replace("duration = \"2s\"", &measure)
    };
    let sized = |budget: &str| plan(&written(budget));
    let plan = sized("3min");
    assert!(plan.content.measure.duration_s > 1.0 && plan.content.measure.duration_s < 10.0);
    // The length is part of the identity, so it does not depend on where arms run; copies add a start each
    // round.
    let total = |plan: &Plan| cost::estimate(plan).total.as_secs_f64();
    assert!(total(&plan) < 190.0, "{}", total(&plan));
    let (plan, _) = plan_with(&written("3min"), [Fact::Copies { fit: false, why: String::new() }]);
    assert!((170.0..=180.0).contains(&total(&plan)), "{}", total(&plan));
    assert_eq!(sized("1s").content.measure.duration_s, 1.0);
    assert_eq!(sized("10h").content.measure.duration_s, 10.0);
    let over = |budget: &str| cost::over_budget(&sized(budget), &file(&written(budget)));
    assert_eq!([over("3min"), over("10h")], [None, None]);
    assert!(over("1s").is_some_and(|told| told.contains("measure.budget is 1 s")), "{:?}", over("1s"));
}

#[test]
fn as_many_runs_are_shown_as_asked_for() {
    let plan = plan(&text(1, &[1, 4], 2, false, 2));
    let all = table::table(&plan, usize::MAX).table();
    let first = table::table(&plan, 3).table();
    let steps = ["run", "run beside the grid"].map(results::CellValue::from);
    let runs = |table: &results::Table| table.rows.iter().filter(|row| steps.contains(&row[0])).count();
    assert_eq!((runs(&all), runs(&first)), (plan.runs.len(), 3));
    assert_eq!(first.rows, all.rows[..first.rows.len()]);
}

#[test]
fn a_plan_in_words() {
    let plan = plan(&text(1, &[1, 4], 2, true, 2));
    let rows = table::table(&plan, usize::MAX).table().rows.len();
    insta::assert_snapshot!(format!("{}\n{rows} rows", words::words(&plan).join("\n")));
}

/// A password in the URL was part of the identity: moving it to a variable began 24 runs again.
#[test]
fn credentials_are_no_part_of_the_identity() {
    let at = |url: &str| {
        let text = text(1, &[1], 1, false, 2)
            .replace("managed = { redis = true }", &format!("url = \"{url}\"\nredis = \"redis://h\""));
        plan(&text)
    };
    let with = at("postgres://me:geheim@h/db");
    for url in ["postgres://me@h/db", "postgres://you@H:5432/db", "host=h dbname=db user=me password=x"] {
        assert_eq!(identity::hash(&at(url).content), identity::hash(&with.content), "{url}");
    }
    for url in ["postgres://me@h/other", "postgres://me@h:1/db", "postgres://me@i/db"] {
        assert_ne!(identity::hash(&at(url).content), identity::hash(&with.content), "{url}");
    }
    assert!(!serde_json::to_string(&with).unwrap().contains("geheim"));
}

/// The identity of preparations, as earlier builds computed it: their experiments continue.
#[test]
fn preparations_keep_the_identity_of_earlier_builds() {
    let folder = tempfile::tempdir().unwrap();
    let [extract, sql] = ["x.osm.pbf", "y.sql"].map(|name| folder.path().join(name));
    std::fs::write(&extract, "").unwrap();
    std::fs::write(&sql, "").unwrap();
    let osm = workloads::osm::OsmOptions {
        program: Some("/bin/x".into()),
        ..workloads::osm::OsmOptions::new(extract)
    };
    let jobs = Preparation { osm: vec![osm], pgbench: None, sql: vec![sql] };
    let identity =
        serde_json::to_value(preparation::portable(&crate::facts::preparation(&jobs).unwrap())).unwrap();
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let wanted = serde_json::json!({
        "osm": {
            "extract": "x.osm.pbf", "prefix": "planet_osm", "cache_mb": null, "processes": null, "slim": true,
            "drop": false, "hstore": false, "style": null, "output": null, "program": null,
        },
        "pgbench": null,
        "sql": ["y.sql"],
        "inputs": { "x.osm.pbf": empty, "y.sql": empty },
    });
    assert_eq!(identity.to_string(), wanted.to_string());
}

/// Plans stored in another form are the same experiments. (Hashes of an earlier build.)
#[test]
fn shipped_experiments_are_the_same_experiments() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let made = tempfile::tempdir().unwrap();
    let extract = made.path().join("x.osm.pbf");
    std::fs::write(
        &extract,
        b"\x00\x00\x00\x0d\x0a\x09OSMHeader\x18\x00\x00\x00\x00\x0b\x0a\x07OSMData\x18\x00",
    )
    .unwrap();
    let variables = |name: &str| match name {
        "PGDYNO_DATA" => Some(extract.display().to_string()),
        name => Some(format!("postgres://me:secret@db.example.org/{}", name.to_ascii_lowercase())),
    };
    let listed = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = listed.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    let hash = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let file = ExperimentFile::parse(path, &text, false, &variables)
            .unwrap_or_else(|problems| panic!("{problems}"));
        let plan = resolved(&file);
        format!("{}: {}", path.file_stem().unwrap().display(), identity::hash(&plan.content))
    };
    let found: Vec<String> = files.iter().map(hash).collect();
    insta::assert_snapshot!(found.join("\n"));
}

/// Reading files in another way, or renaming a key, is not a new experiment: what was begun continues.
/// (Hashes of an earlier build.)
#[test]
fn experiments_of_earlier_files_are_the_same_experiments() {
    let folder = tempfile::tempdir().unwrap();
    let extract = folder.path().join("x.osm.pbf");
    std::fs::write(&extract, "an extract").unwrap();
    std::fs::write(folder.path().join("more.sql"), "select 1;").unwrap();
    let variables = |name: &str| match name {
        "PGDYNO_DATA" => Some(extract.display().to_string()),
        "DATABASE_URL" => Some("postgres://me:secret@db.example.org/shop".to_owned()),
        _ => None,
    };
    let shipped = |name: &str| {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments").join(name))
            .unwrap()
    };
    let hash = |text: &str, full: bool| {
        let path = folder.path().join("e.toml");
        let file = ExperimentFile::parse(&path, text, full, &variables)
            .unwrap_or_else(|problems| panic!("{problems}"));
        identity::hash(&resolved(&file).content)
    };
    let workload = "question = \"?\"\n[target]\nurl = \"host=h dbname=d\"\nchange_server = true\nredis = \"redis://h:1/\"\n[workload.z]\npgbench = { builtin = [\"select-only@9\", \"tpcb-like\"], define = { a = 1, b = 2.50, c = \"x\" } }\n[workload.a]\nredis = { command = \"get\" }\n";
    let cases = [
        ("demo", shipped("demo.toml"), false),
        ("demo, full", shipped("demo.toml"), true),
        ("planner", shipped("planner.toml"), false),
        ("all tables", GOOD.to_owned(), false),
        ("all tables, full", GOOD.to_owned(), true),
        ("least", workload.to_owned(), false),
        ("promise, rate", format!("{workload}[load]\nrate = 50.50\nlimit = \"20ms\"\n"), false),
        (
            "rates",
            format!(
                "seed = 0x10\n{workload}[factors]\nrate = [1e2, 200, 0.25]\nclients = 0x10\n[measure]\nthreads = 3\norder = \"listed\"\nwarmup = \"0s\"\nduration = \"1min 1.5s\""
            ),
            false,
        ),
        (
            "users",
            format!("{workload}[load]\nusers = {{ think = \"1.5s\", ramp = \"500ms\" }}\nlimit = \"1h\"\n")
                .replace("1h", "59min"),
            false,
        ),
        (
            "settings",
            format!(
                "{workload}[compare]\nfactor = \"settings\"\nbase = \"b\"\nmargin = \" 1.5 %\"\n[settings.a]\nWork_Mem = 0x1_000\njit = true\nrandom_page_cost = +1_0.50\nseq_page_cost = 1e0\n\"auto_explain.x\" = '''a\nb'''\ngeqo_seed = -0\n[settings.b]\n[measure]\nrounds = 2\nbudget = \"1h\"\nduration = {{ from = \"100ms\", to = \"1min\" }}"
            ),
            false,
        ),
    ];
    let found: Vec<_> =
        cases.iter().map(|(name, text, full)| format!("{name}: {}", hash(text, *full))).collect();
    insta::assert_snapshot!(found.join("\n"));
}

/// An experiment with two workloads, two numbers of clients and two query modes, of which one factor is
/// compared.
fn comparing(factor: &str, base: &str) -> Plan {
    let text = format!(
        "question = \"?\"\n[target]\nmanaged = {{}}\n[workload.a]\npgbench = {{ builtin = \"select-only\" }}\n\
         [workload.b]\npgbench = {{ builtin = \"tpcb-like\" }}\n[factors]\nclients = [1, 8]\nmode = [\"simple\", \"prepared\"]\n\
         a.max_tries = [1, 5]\n[settings.x]\nwork_mem = \"1MB\"\n[settings.y]\nwork_mem = \"2MB\"\n\
         [compare]\nfactor = \"{factor}\"\nbase = {base}\n[measure]\nrounds = 2\n"
    );
    // The option concerns one workload only, so arms in the other would be equal.
    let text = if factor == "a.max_tries" {
        text.replace("[factors]", "[factors]\nworkload = \"a\"")
            .replace("[workload.b]\npgbench = { builtin = \"tpcb-like\" }\n", "")
    } else {
        text
    };
    plan(&text)
}

#[test]
fn any_factor_can_be_compared() {
    struct Case {
        factor: &'static str,
        base: &'static str,
        arms: [&'static str; 2],
        /// Cells per round: of workload a, and of b, without the option.
        cells: usize,
    }
    let case = |factor, base, arms, cells| Case { factor, base, arms, cells };
    let cases = [
        case("settings", "\"y\"", ["y", "x"], 2 * 2 * 2 + 2 * 2),
        case("workload", "\"b\"", ["b", "a"], 2 * 2 * 2 * 2),
        case("clients", "8", ["8", "1"], 2 * 2 * 2 + 2 * 2),
        case("mode", "\"prepared\"", ["prepared", "simple"], 2 * 2 * 2 + 2 * 2),
        case("a.max_tries", "5", ["5", "1"], 2 * 2 * 2),
    ];
    for Case { factor, base, arms, cells } in cases {
        let plan = comparing(factor, base);
        let first: Vec<&PlannedRun> = plan.runs.iter().filter(|run| run.round == 1).collect();
        assert_eq!(first.len(), cells * 2, "{factor}");
        for pair in first.chunks(2) {
            let found = [0, 1].map(|at| pair[at].arm.as_deref().unwrap());
            assert_eq!(
                (found, &pair[0].factors, &pair[0].workload),
                (arms, &pair[1].factors, &pair[1].workload)
            );
            assert!(!pair[0].factors.contains_key(factor), "{factor}");
            let setups = [0, 1].map(|at| setups::setup(&plan, pair[at]));
            assert_ne!(setups[0], setups[1], "{factor}");
            assert_eq!(setups[0].seed, setups[1].seed, "{factor}");
        }
        let keys: HashSet<_> = plan.runs.iter().map(PlannedRun::key).collect();
        assert_eq!(keys.len(), plan.runs.len(), "{factor}");
    }
}

#[test]
fn an_arm_is_what_its_level_says() {
    let setup = |factor, base| {
        let plan = comparing(factor, base);
        setups::setup(&plan, &plan.runs[0])
    };
    assert_eq!(setup("workload", "\"b\"").workload, "b");
    assert_eq!(setup("clients", "8").clients, 8);
    assert_eq!(setup("mode", "\"prepared\"").options["mode"], "prepared");
    assert_eq!(setup("a.max_tries", "5").options["max_tries"], "5");
    assert_eq!(setup("settings", "\"y\"").arm.unwrap().name.as_deref(), Some("y"));
    // "4 returns other values than 0" did not name the factor.
    for (factor, base, arm, words) in [
        ("workload", "\"b\"", "a", "a"),
        ("settings", "\"y\"", "x", "x"),
        ("a.max_tries", "5", "1", "a.max_tries 1"),
    ] {
        assert_eq!(comparing(factor, base).content.arm_words(arm), words);
    }
    let both = comparing("workload", "\"b\"");
    assert_eq!(both.runs[0].workload, "b / a");
    assert!(both.runs[0].words().contains("settings "), "{}", both.runs[0].words());
}

#[test]
fn settings_beside_the_compared_factor_that_take_a_restart_stand_in_blocks() {
    let text = text(2, &[1, 4], 2, true, 4)
        .replace("factor = \"settings\"\nbase = \"a0\"", "factor = \"clients\"\nbase = 1");
    let plan = plan(&text);
    let settings: Vec<_> =
        plan.runs.iter().filter(|run| !run.beside).map(|run| &run.factors["settings"]).collect();
    let switches = settings.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(switches < 2 * plan.rounds as usize, "{switches}");
    assert_eq!(plan.content.scheme, Scheme::Pairs);
    assert!(words::words(&plan).iter().any(|line| line.contains("run together")));
}

#[test]
fn arms_that_are_the_same_are_seen() {
    struct Case {
        what: &'static str,
        text: String,
        same: Option<[&'static str; 2]>,
    }
    let base = text(1, &[1], 3, false, 2);
    let two = |one: &str, other: &str| {
        format!(
            "question = \"?\"\n[target]\nmanaged = {{}}\n[workload.a]\npgbench = {one}\n[workload.b]\npgbench = {other}\n\
             [compare]\nfactor = \"workload\"\nbase = \"a\"\n"
        )
    };
    let only = "{ builtin = \"select-only\" }";
    let cases = [
        Case { what: "settings", text: base.clone(), same: None },
        Case {
            what: "equal settings",
            text: base.replace("work_mem = \"3MB\"", "work_mem = \"1MB\""),
            same: Some(["a0", "a2"]),
        },
        Case { what: "workloads", text: two(only, "{ builtin = \"tpcb-like\" }"), same: None },
        Case {
            what: "options",
            text: two(only, "{ builtin = \"select-only\", mode = \"prepared\" }"),
            same: None,
        },
        Case { what: "equal workloads", text: two(only, only), same: Some(["a", "b"]) },
        Case {
            what: "changes",
            text: changing("do = \"CREATE INDEX i ON t (x)\"\nundo = \"x\""),
            same: None,
        },
        Case {
            what: "changes that differ in their check",
            text: changing("check = \"SELECT 2 > 1\""),
            same: Some(["without", "with"]),
        },
        Case { what: "storages", text: stored("path = \"/b\""), same: None },
        Case { what: "storages that are the same", text: stored("path = \"/a\""), same: Some(["x", "y"]) },
    ];
    for Case { what, text, same } in cases {
        assert_eq!(setups::equal_arms(&plan(&text)), same.map(|pair| pair.map(str::to_owned)), "{what}");
    }
}

/// Two storages, the second with this table.
fn stored(second: &str) -> String {
    format!(
        "question = \"?\"\n[target]\nmanaged = {{}}\n[workload.w]\npgbench = {{ builtin = \"select-only\" }}\n[storage.x]\n\
         path = \"/a\"\n[storage.y]\n{second}\n[factors]\nstorage = [\"x\", \"y\"]\n[compare]\nfactor = \"storage\"\nbase = \"x\"\n"
    )
}

/// A user's factor with two levels, the second with this table.
fn changing(with: &str) -> String {
    format!(
        "question = \"?\"\n[target]\nmanaged = {{}}\n[workload.a]\npgbench = {{ builtin = \"select-only\" }}\n\
         [change.index.without]\ncheck = \"SELECT true\"\n[change.index.with]\n{with}\n\
         [compare]\nfactor = \"index\"\nbase = \"without\"\n"
    )
}

/// The plan named only `do`, and no pooler.
#[test]
fn the_plan_says_all_of_changes_and_poolers() {
    let with =
        "do = \"CREATE INDEX i ON t (x)\"\nundo = \"DROP INDEX IF EXISTS i\"\ncheck = \"SELECT 1 = 1\"";
    let pooler = "[factors]\nconnection = [\"direct\", \"bouncer\"]\n[pooler.bouncer]\npool_mode = \"transaction\"\n\
                  pool_size = 2\nsettings = { server_lifetime = \"60\" }\n[compare]";
    let words = words::words(&plan(&changing(with).replace("[compare]", pooler)));
    for wanted in [
        "index without: check \"SELECT true\"",
        "index with: do \"CREATE INDEX i ON t (x)\", undo \"DROP INDEX IF EXISTS i\", check \"SELECT 1 = 1\"",
        "connection bouncer: PgBouncer, transaction pooling, 2 connections to the server, server_lifetime = 60",
    ] {
        assert!(words.iter().any(|line| line == wanted), "{wanted}: {words:#?}");
    }
}

/// After a warm-up, nobody could tell how much of a run was cold.
#[test]
fn a_cold_run_has_no_warm_up() {
    let base = text(1, &[1], 1, false, 2);
    let compared = "[compare]\nfactor = \"cache\"\nbase = \"warm\"\n[measure]";
    let varied = base.replace("clients = [1]", "clients = [1]\ncache = [\"warm\", \"cold\"]");
    for text in [varied.clone(), varied.replace("[measure]", compared)] {
        let plan = plan(&text);
        assert_ne!(plan.content.scheme, Scheme::HalfRounds, "each run starts the server anyway");
        let warmups: Vec<(Cache, f64)> = plan
            .runs
            .iter()
            .filter(|run| !run.beside)
            .map(|run| setups::setup(&plan, run))
            .map(|setup| (setup.cache, setup.warmup.as_secs_f64()))
            .collect();
        assert_eq!(warmups.iter().filter(|run| **run == (Cache::Cold, 0.0)).count(), 2, "{warmups:?}");
        assert_eq!(warmups.iter().filter(|run| **run == (Cache::Warm, 2.0)).count(), 2, "{warmups:?}");
        // Two rounds: a run outside the grid, one warm and one cold, each of 2 s; the first two have 2 s
        // before.
        let seconds = 2.0 * (3.0 * (2.0 + 0.35 + 1.0) + 2.0 * 2.0);
        assert!(
            (cost::estimate(&plan).total.as_secs_f64() - seconds).abs() < 0.01,
            "{:?}",
            cost::estimate(&plan)
        );
        assert!(words::words(&plan).iter().any(|line| line.starts_with("cache cold: ")));
    }
}

#[test]
fn servers_versions_and_data_stand_beside_each_other() {
    struct Case {
        factors: &'static str,
        compare: &'static str,
        /// Names of the managed servers, the base's first.
        names: &'static [&'static str],
    }
    let cases = [
        Case {
            factors: "version = [15, 18]",
            compare: "factor = \"version\"\nbase = 18",
            names: &["s-18", "s-15"],
        },
        Case {
            factors: "prepare.pgbench.scale = [1, 10]",
            compare: "factor = \"prepare.pgbench.scale\"\nbase = 1",
            names: &["s-scale-1", "s-scale-10"],
        },
        Case {
            factors: "version = [15, 18]\nprepare.pgbench.scale = [1, 10]",
            compare: "factor = \"version\"\nbase = 15",
            names: &["s-15-scale-1", "s-15-scale-10", "s-18-scale-1", "s-18-scale-10"],
        },
    ];
    for Case { factors, compare, names } in cases {
        let plan = plan(&format!(
            "question = \"?\"\n[target]\nmanaged = {{ name = \"s\" }}\n[prepare]\npgbench = {{ scale = 3 }}\n[workload.a]\n\
             pgbench = {{ builtin = \"select-only\" }}\n[factors]\n{factors}\n[compare]\n{compare}\n[measure]\nrounds = 2\n"
        ));
        let mut found: Vec<String> = setups::sites(&plan)
            .iter()
            .map(|at| match levels::target(&plan.content, at) {
                spec::plan::TargetSpec::Managed { name, .. } => name,
                url => panic!("{url:?}"),
            })
            .collect();
        assert_eq!(found[0].split('-').nth(1), names[0].split('-').nth(1), "the base comes first");
        found.sort();
        let mut wanted = names.to_vec();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{factors}");
        let scales: HashSet<u32> = setups::sites(&plan)
            .iter()
            .map(|at| jobs_of(levels::preparation(&plan.content, at)).pgbench.as_ref().unwrap().scale)
            .collect();
        let wanted = if factors.contains("scale") { vec![1, 10] } else { vec![3] };
        assert_eq!(scales, wanted.into_iter().collect(), "{factors}");
        let again: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!((identity::hash(&again.content), again), (identity::hash(&plan.content), plan));
    }
}

/// The study of a small server: a baseline at full speed, one client on a schedule, and ladders at two
/// promises.
const LOADS: &str = "question = \"?\"\n[target]\nmanaged = {}\n\
    [workload.baseline]\npgbench = { builtin = \"select-only\" }\n\
    [workload.throttled]\npgbench = { builtin = \"select-only\" }\n\
    [workload.ladder]\npgbench = { builtin = \"select-only\" }\n\
    [factors]\nclients = 10\n\
    [factors.throttled]\nclients = 1\nrate = 1\npromise = \"500ms\"\n\
    [factors.ladder]\nclients = [3, 8]\nrate_per_client = 1.5\npromise = [\"500ms\", \"0.25s\"]\n\
    [full.factors.ladder]\nclients = 16\nrate_per_client = 1\n\
    [measure]\nrounds = 1\nthreads = 2\norder = \"listed\"\n";

#[test]
fn workloads_have_loads_of_their_own() {
    let asked = |plan: &Plan| -> Vec<String> {
        let words = |run: &PlannedRun| {
            let setup = setups::setup(plan, run);
            format!("{} {} {:?} {:?}", run.workload, setup.clients, run.rate, setup.promise)
        };
        plan.runs.iter().map(words).collect()
    };
    let wanted = [
        "baseline 10 None None",
        "throttled 1 Some(1.0) Some(500ms)",
        "ladder 3 Some(4.5) Some(500ms)",
        "ladder 3 Some(4.5) Some(250ms)",
        "ladder 8 Some(12.0) Some(500ms)",
        "ladder 8 Some(12.0) Some(250ms)",
    ];
    let short = plan(LOADS);
    assert_eq!(asked(&short), wanted);
    // A cell has them by their plain names, and only those it needs.
    let keys: Vec<&str> = short.runs[2].factors.keys().map(String::as_str).collect();
    assert_eq!(keys, ["clients", "promise", "rate_per_client", "workload"]);
    assert_eq!(short.runs[0].factors.len(), 2);
    let full = ExperimentFile::parse(Path::new("e.toml"), LOADS, true, &|_| None).unwrap();
    let full = resolved(&full);
    assert_eq!(asked(&full)[2..], ["ladder 16 Some(16.0) None"]);
}

/// A default value is not part of the identity.
#[test]
fn a_bound_counts_only_where_it_is_given() {
    let with = |load: &str| plan(&LOADS.replace("[measure]", &format!("{load}[measure]")));
    let plain = serde_json::to_value(&with("").content).unwrap();
    assert_eq!(plain.get("bound"), None);
    let bound = serde_json::to_value(&with("[load]\nbound = \"5%\"\n").content).unwrap();
    assert_eq!(bound.get("bound"), Some(&serde_json::json!(0.05)));
}

/// Experiments that leave different decisions open.
fn undecided() -> Vec<String> {
    let by_url = "question = \"?\"\n[server.a]\nurl = \"host=h dbname=x\"\n[server.b]\nurl = \"host=h dbname=y\"\n\
         [workload.read]\npgbench = { builtin = \"select-only\" }\n[workload.write]\npgbench = { builtin = \"tpcb-like\" }\n\
         [factors]\nworkload = [\"read\", \"write\"]\nserver = [\"a\", \"b\"]\n[compare]\nfactor = \"server\"\nbase = \"a\"\n\
         [measure]\nrounds = 2\n";
    let log = "question = \"?\"\n[target]\nmanaged = {}\n[workload.w]\npgbench = { builtin = \"tpcb-like\" }\n\
         [workload.r]\npgbench = { builtin = \"select-only\" }\n[factors]\nworkload = [\"w\", \"r\"]\nclients = [4, 64]\n\
         [settings.small]\n[settings.large]\nwal_buffers = \"16MB\"\n[compare]\nfactor = \"settings\"\nbase = \"small\"\n\
         [measure]\nrounds = 4\n";
    let search = "question = \"?\"\n[target]\nmanaged = {}\n[workload.w]\npgbench = { builtin = \"select-only\" }\n\
         [factors]\nclients = 4\n[load]\nsearch = { promise = \"p99 < 5ms\", grow_clients = true }\n[measure]\nduration = \"2s\"\n";
    let script = "question = \"?\"\n[target]\nmanaged = {}\n[workload.w]\npgbench = { builtin = \"tpcb-like\" }\n\
         [factors]\n\"w.builtin\" = [\"tpcb-like\", \"simple-update\"]\nversion = [17, 18]\n[compare]\nfactor = \"w.builtin\"\nbase = \"tpcb-like\"\n\
         [measure]\nrounds = 2\nthreads = 2\n";
    let more = [by_url, log, search, script].map(str::to_owned);
    [text(2, &[1, 64], 2, true, 2), text(1, &[4], 2, false, 2)].into_iter().chain(more).collect()
}

/// Facts that may be learnt about any of them.
fn learnable() -> impl Strategy<Value = Fact> {
    let part = prop::sample::select(vec![
        "",
        "version 17",
        "version 18",
        "server a",
        "server b",
        "workload w",
        "workload w, settings large",
        "workload w0",
        "workload r, settings small",
        "workload cache",
        "version 17, workload w, w.builtin tpcb-like",
    ]);
    let level = prop::option::of(prop::sample::select(vec!["free", "apart", "same", "awake", "nowhere"]));
    prop_oneof![
        part.clone().prop_map(|what| Fact::Found { what: what.into(), from_round: 1 }),
        part.clone().prop_map(|what| Fact::Missing { what: what.into(), why: "not installed".into() }),
        part.prop_map(|what| Fact::Failed { what: what.into(), why: "no table".into() }),
        Just(Fact::Checked),
        (0_u64..3).prop_map(|repetition| Fact::Repetition { repetition }),
        level.prop_map(|level| Fact::Calibration {
            advice: PlacementAdvice {
                level: level.map(str::to_owned),
                day: "2026-11-01".into(),
                why: "it is so".into()
            }
        }),
        any::<bool>().prop_map(|fit| Fact::Copies { fit, why: "1 GB".into() }),
        Just(Fact::CopiesSoFar { figures: "2 GB".into() }),
        any::<bool>().prop_map(|shared| Fact::Servers { shared }),
        prop::option::of(1_u32..100).prop_map(|most| Fact::Clients { most }),
    ]
}

/// What is decided, by name.
fn decided(plan: &Plan) -> BTreeMap<String, String> {
    fn of<T: std::fmt::Debug>(decision: &Decision<T>) -> Option<String> {
        (!decision.is_open()).then(|| format!("{decision:?}"))
    }
    let Decisions { repetition, seed, left_out, placement, arm_placement, slices, generator, clients } =
        &plan.decisions;
    let slices = slices.iter().map(|(name, slicing)| (format!("slices of {name}"), of(slicing)));
    let all = [
        ("repetition", of(repetition)),
        ("seed", of(seed)),
        ("left out", of(left_out)),
        ("placement", placement.as_ref().and_then(of)),
        ("standing", arm_placement.as_ref().and_then(of)),
        ("generator", generator.as_ref().and_then(of)),
        ("clients", clients.as_ref().and_then(of)),
    ];
    let all = all.into_iter().map(|(name, decided)| (name.to_owned(), decided)).chain(slices);
    all.filter_map(|(name, decided)| Some((name, decided?))).collect()
}

proptest! {
    #[test]
    fn more_facts_change_no_decision(which in 0_usize..6, learnt in prop::collection::vec(learnable(), 0..14)) {
        let file = file(&undecided()[which]);
        let mut facts = facts_of(&file);
        let mut before = resolve(&file, &facts).unwrap();
        for fact in learnt {
            facts.learn(fact);
            let plan = resolve(&file, &facts).unwrap();
            let (was, now) = (decided(&before), decided(&plan));
            for (name, decision) in &was {
                prop_assert_eq!(now.get(name), Some(decision), "{}", name);
            }
            // The same facts, once more.
            prop_assert_eq!(&resolve(&file, &facts).unwrap(), &plan);
            before = plan;
        }
    }

    #[test]
    fn what_goes_on_has_the_plan_that_it_began_with(
        which in 0_usize..6,
        learnt in prop::collection::vec(learnable(), 0..14),
        later in prop::collection::vec(learnable(), 0..14),
    ) {
        let file = file(&undecided()[which]);
        let mut facts = facts_of(&file);
        learnt.into_iter().for_each(|fact| facts.learn(fact));
        let plan = resolve(&file, &facts).unwrap();
        let stored: Facts = serde_json::from_str(&serde_json::to_string(&facts).unwrap()).unwrap();
        let same = stored.clone().followed_by(facts_of(&file));
        prop_assert_eq!(&resolve(&file, &same).unwrap(), &plan);
        // What another invocation learns decides only what was open.
        let mut again = stored.followed_by(facts_of(&file));
        later.into_iter().for_each(|fact| again.learn(fact));
        let now = decided(&resolve(&file, &again).unwrap());
        for (name, decision) in decided(&plan) {
            prop_assert_eq!(now.get(&name), Some(&decision), "{}", name);
        }
    }
}

/// Runs that differ in their load share the rest of their setups.
#[test]
fn what_setups_share_does_not_depend_on_the_load() {
    let varied = |factors: &str| {
        text(2, &[1, 4], 2, false, 2).replace("clients = [1, 4]", &format!("clients = [1, 4]\n{factors}"))
    };
    let compared = text(1, &[2], 1, false, 2).replace(
        "clients = [2]",
        "clients = [2, 3]\ncache = [\"warm\", \"cold\"]\n[compare]\nfactor = \"clients\"\nbase = 2",
    );
    let more = ["threads = [1, 2]", "rate_per_client = [10, 20]\nmode = [\"simple\", \"prepared\"]"];
    for text in undecided().into_iter().chain(more.map(varied)).chain([compared]) {
        let plan = plan(&text);
        let mut shared = Setups::of(&plan);
        for run in &plan.runs {
            let own = setups::setup(&plan, run);
            assert_eq!(
                (own.clients, own.threads, own.rate()),
                (run.clients, run.threads, run.rate),
                "{text}"
            );
            let common = shared.without_load(run).clone();
            assert_eq!(common.at(), own.at().template(), "{text}");
            let Setup { server, clients, threads, load, promise, seed, .. } = own.clone();
            let common = Setup { server, clients, threads, load, promise, seed, ..common };
            assert_eq!(common, own, "{text}");
        }
    }
}

#[test]
fn enough_facts_decide_everything() {
    for text in undecided() {
        let file = file(&text);
        let mut facts = facts_of(&file);
        let plan = resolve(&file, &facts).unwrap();
        let open = |plan: &Plan| {
            plan.decisions.rows().into_iter().filter(|row| !row.needs.is_empty()).collect::<Vec<_>>()
        };
        assert!(!open(&plan).is_empty(), "{text}");
        for run in &plan.runs {
            facts.learn(Fact::Found {
                what: availability::of_server(&plan, &setups::setup(&plan, run)),
                from_round: 1,
            });
            facts.learn(Fact::Found { what: availability::of_cell(&plan, run), from_round: 1 });
        }
        facts.learn(Fact::Repetition { repetition: 0 });
        facts.learn(Fact::Calibration {
            advice: PlacementAdvice { level: None, day: String::new(), why: String::new() },
        });
        facts.learn(Fact::Servers { shared: false });
        facts.learn(Fact::Copies { fit: true, why: String::new() });
        facts.learn(Fact::Clients { most: Some(90) });
        facts.learn(Fact::Checked);
        assert_eq!(open(&resolve(&file, &facts).unwrap()), [], "{text}");
    }
}
