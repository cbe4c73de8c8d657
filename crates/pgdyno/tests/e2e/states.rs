//! Server states as factors: cold or warm caches, and user-defined changes that fail. `pgdyno run` end to
//! end.

use std::path::PathBuf;

use crate::support::{self, Finished, Place, Server, line_of};

const CACHE: &str = r#"
question = "What does a cold start cost?"
[target]
TARGET
[prepare]
pgbench = { scale = 1 }
[workload.lookup]
pgbench = { builtin = "select-only" }
[factors]
cache = ["warm", "cold"]
[compare]
factor = "cache"
base = "warm"
[measure]
warmup = "50ms"
duration = "400ms"
rounds = 2
"#;

#[test]
fn a_cold_run_begins_with_nothing_in_memory_and_a_warm_one_with_all() {
    let place = Place::with_private("cache");
    let file = place.write("cache.toml", CACHE.replace("TARGET", "managed = { name = \"cache\" }"));
    if let Err(kept) = server::page_cache::can_drop(place.path()) {
        let done = place.run(["run", "--dry-run", file.to_str().unwrap()]).expect(68);
        done.says(&["cache cold: ", &kept.to_string()]);
        return support::not_available("cold runs", &kept.to_string());
    }
    let plan = place.run(["run", "--dry-run", file.to_str().unwrap()]).expect(0);
    plan.says(&["cache cold: the server is restarted", "none where cold"]);
    let done = place.run(["run", "--verbose", file.to_str().unwrap()]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert_eq!(done.stderr.matches("step: cache: ").count(), 4, "{}", done.stderr);
    let runs = "select group_concat(told) from (select arm || ' ' || count(*) || ' ' || sum(warmup_s > 0) \
                || ' ' || sum(value > 95) || ' ' || sum(value < 5) as told from v_run join run_figure using (run_id) \
                where name = 'page_cache_pct' group by arm order by arm)";
    assert_eq!(place.sql(runs).trim_matches('"'), "cold 2 0 0 2,warm 2 2 2 0");
    let told =
        "select count(*) from event where kind = 'cache' and detail like '%while the server was stopped%'";
    assert_eq!(place.sql(told), "4");
    place.run(["target", "destroy", "cache"]).expect(0);
}

/// A user's server may not be restarted, which is reported before any request.
#[test]
fn the_cache_of_a_server_by_url_is_not_run() {
    let place = Place::new();
    let file = place.write("url.toml", CACHE.replace("TARGET", "url = \"postgres://127.0.0.1:1/x\""));
    let done = place.run(["run", "--dry-run", file.to_str().unwrap()]).expect(68);
    done.says(&[
        "not run: workload lookup, cache cold: a server given by a connection string is not restarted",
    ]);
    assert!(!place.results().exists() && !place.home().exists());
}

/// A user-defined factor, with TEST_URL set to the server.
const CHANGE: &str = r#"
question = "Does the index help?"
[target]
url = "$TEST_URL"
change_server = true
[workload.lookup]
pgbench = { files = ["lookup.sql"] }
[change.index.without]
[change.index.with]
do = "CREATE INDEX t_x ON public.t (x)"
undo = "DROP INDEX public.t_x"
check = "SELECT true"
[compare]
factor = "index"
base = "without"
[measure]
warmup = "20ms"
duration = "100ms"
rounds = 2
"#;

struct Changing {
    place: Place,
    server: Server,
}

impl Changing {
    fn new() -> Self {
        let (place, server) = (Place::new(), Server::start());
        server.psql("CREATE TABLE public.t AS SELECT i AS x FROM generate_series(1, 9) i");
        Self { place, server }
    }

    /// A file in a separate folder, where commands start.
    fn file(&self, name: &str, text: &str) -> PathBuf {
        std::fs::create_dir_all(self.place.path().join("study")).unwrap();
        self.place.write("study/lookup.sql", "SELECT count(*) FROM public.t WHERE x = 1;\n");
        self.place.write(&format!("study/{name}"), text)
    }

    fn run(&self, args: &[&str]) -> Finished {
        let mut command = self.place.command(args);
        command.env("TEST_URL", self.server.url());
        support::finish(command)
    }
}

/// Measurement continued with a warning, also in the next experiment.
#[test]
fn a_server_with_a_change_that_could_not_be_undone_is_not_measured_any_further() {
    let at = Changing::new();
    let text = CHANGE.replace("DROP INDEX public.t_x", "DROP INDEX public.other");
    let file = at.file("index.toml", &text);
    let done = at.run(&["run", file.to_str().unwrap()]).expect(69);
    let undo = format!("{}: [change.index.with] undo \"DROP INDEX public.other\"", line_of(&file, "undo ="));
    let done = done.says(&[&undo, "what \"CREATE INDEX t_x", "is still there", "pgdyno target restore"]);
    assert_eq!(done.stderr.matches("[change.index.with]").count(), 1, "{}", done.stderr);

    let (head, rest) = CHANGE.split_once("[change.index.without]").unwrap();
    let (_, measure) = rest.split_once("[measure]").unwrap();
    let other =
        at.file("other.toml", &format!("{head}[measure]{measure}").replace("change_server = true\n", ""));
    at.run(&["run", other.to_str().unwrap()]).expect(69).says(&[
        "nothing is measured there",
        "CREATE INDEX t_x",
        "DROP INDEX public.other",
        "pgdyno target restore",
    ]);
    assert!(!at.place.results().exists() || at.place.sql("select count(*) from run") == "0");

    // The exit code follows from the server's error.
    at.run(&["target", "restore", "--url", &at.server.url()]).expect(69).says(&["DROP INDEX public.other"]);
    at.server.psql("CREATE INDEX other ON public.t (x)");
    at.run(&["target", "restore", "--url", &at.server.url()]).expect(0);
    at.run(&["run", other.to_str().unwrap()]).expect(0);
}

#[test]
fn errors_of_changes_name_file_line_and_table() {
    let at = Changing::new();
    let command = "do = { command = \"test -f lookup.sql && exit 3\" }";
    for (right, wrong, code, line, says) in [
        (
            "ON public.t (x)",
            "ON public.t (nothing)",
            65,
            "do =",
            &["do \"CREATE INDEX", "\"nothing\" does not exist"][..],
        ),
        ("SELECT true", "SELECT false", 69, "check =", &["the check \"SELECT false\"", "it returned f"]),
        ("do = \"CREATE INDEX t_x ON public.t (x)\"", command, 71, "do =", &["ended with exit code 3"]),
    ] {
        let text = CHANGE.replace(right, wrong).replace("DROP INDEX public", "DROP INDEX IF EXISTS public");
        let file = at.file("wrong.toml", &text);
        let done = at.run(&["run", "--allow-commands", file.to_str().unwrap()]).expect(code);
        let place = format!("{}: [change.index.with] ", line_of(&file, line));
        done.says(&[&place]).says(says);
        assert_eq!(at.server.psql("SELECT to_regclass('public.t_x') IS NULL"), "t", "it is undone");
    }
}

/// Both changes were undone and made again if one of them changed.
#[test]
fn only_the_change_whose_level_differs_is_made_anew() {
    let at = Changing::new();
    let two = "[change.two.off]\n[change.two.on]\ndo = { command = \"true two\" }\nundo = { command = \"true\" }\n[compare]";
    let file = at.file("two.toml", &CHANGE.replace("[compare]", two));
    let done = at.run(&["run", "--verbose", "--allow-commands", file.to_str().unwrap()]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let mut switches: Vec<Vec<&str>> = vec![Vec::new()];
    for line in done.stderr.lines().filter(|line| line.starts_with("step: ")) {
        match line.strip_prefix("step: change: ") {
            Some(change) => switches.last_mut().unwrap().push(change),
            None => switches.push(Vec::new()),
        }
    }
    switches.retain(|switch| !switch.is_empty());
    for switch in &switches {
        for name in ["index with: ", "two on: "] {
            let mut of_it = switch.iter().filter_map(|change| change.strip_prefix(name));
            let redone = of_it.any(|does| does == "undo") && of_it.any(|does| does != "undo");
            assert!(!redone, "{switches:#?}");
        }
    }
    let both = |switch: &&Vec<&str>| switch.iter().any(|change| change.starts_with("index"));
    let index_alone =
        |switch: &&Vec<&str>| both(switch) && !switch.iter().any(|change| change.starts_with("two"));
    assert!(switches.iter().any(|switch| index_alone(&switch)), "{switches:#?}");
    assert_eq!(at.server.psql("SELECT to_regclass('public.t_x') IS NULL"), "t", "it is undone");
}
