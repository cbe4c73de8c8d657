//! Arms that take turns in slices, on real servers: order, stored data, and transactions that never end.

use std::time::{Duration, Instant};

use crate::support::{PATIENCE, Place, Server, Watched, in_one_line, signal};

/// Time limit for watchdogs.
const BOUND: Duration = Duration::from_secs(10);

const EXPERIMENT: &str = r#"
question = "Does it matter?"
[target]
TARGET
[workload.ask]
pgbench = { files = ["ask.sql"] }
[factors]
clients = 2
[compare]
factor = "settings"
base = "one"
[settings.one]
SETTING = 10
[settings.other]
SETTING = 11
[measure]
warmup = "100ms"
duration = "400ms"
rounds = 4
SLICES
"#;

/// Two arms that differ in `setting`, with the workload `script`.
fn experiment(place: &Place, target: &str, setting: &str, slices: &str, script: &str) -> String {
    place.write("ask.sql", script);
    let text = EXPERIMENT.replace("TARGET", target).replace("SETTING", setting).replace("SLICES", slices);
    place.write("ask.toml", text).to_str().unwrap().to_owned()
}

/// Arms and the quads of their slices by time, for each round.
fn order(place: &Place) -> String {
    let slices = "select round, arm || quad as turn, start_us from slice join run using (run_id) order by round, start_us";
    let rounds = format!("select round, group_concat(turn, ' ') as turns from ({slices}) group by round");
    place.sql(&format!("select group_concat(turns, '; ') from ({rounds})")).trim_matches('"').to_owned()
}

#[test]
fn arms_take_turns_there_and_back_and_swap_each_round() {
    let place = Place::with_private("default");
    let file = experiment(&place, "managed = {}", "geqo_threshold", "", "SELECT 1;\n");
    let plan =
        place.run(["run", "--dry-run", &file]).expect(0).says(&["one server", "slices of 0.1 s", "A B B A"]);
    assert!(!plan.stdout.contains("switch"), "connections carry the settings: {}", plan.stdout);
    let done = place.run(["run", &file, "-v"]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert!(in_one_line(&done.stdout).contains("slices of 100 ms: 8 quads"), "{}", done.stdout);
    let there = "one0 other0 other0 one0 one1 other1 other1 one1";
    let back = "other0 one0 one0 other0 other1 one1 one1 other1";
    assert_eq!(order(&place), [there, back, there, back].join("; "));
    // One works at a time.
    let overlap = "select count(*) from (select start_us, lead(start_us) over (partition by round order by start_us) as next, \
                   length_us + drain_us as took from slice join run using (run_id)) where start_us + took > next + 1000";
    assert_eq!(place.sql(overlap), "0");
    // All counted transactions are in slices, and the rate is computed from slices.
    let lost = "select count(*) from run r where kind = 'client' and (select sum(succeeded) from slice s where s.run_id = r.run_id) \
                <> (select value from run_count c where c.run_id = r.run_id and name = 'ok')";
    assert_eq!(place.sql(lost), "0");
    let rate = "select count(*) from run r where kind = 'client' and abs(tps / (select 1e6 * clients * sum(succeeded) / sum(at_work_us) \
                from slice s where s.run_id = r.run_id and is_void = 0) - 1) > 1e-6";
    assert_eq!(place.sql(rate), "0");
    // Writes of two arms to one server belong to neither; CPU time is measured around each slice, and per
    // client.
    let figures = |name: &str| place.sql(&format!("select count(*) from run_figure where name = '{name}'"));
    assert_eq!([figures("wal_bytes"), figures("server_cpu_s"), figures("client_cpu_s")], ["0", "8", "8"]);
    // Each arm's settings were active, on separate connections.
    let in_force = "select group_concat(arm || ' ' || value, ', ') from (select distinct arm, value from v_run \
                    join v_run_setting using (run_id) where name = 'geqo_threshold' and kind = 'client' order by arm)";
    assert_eq!(place.sql(in_force).trim_matches('"'), "one 10, other 11");
    // Percentiles have the mark.
    assert_eq!(done.stderr.matches(" in slices  ").count(), 8, "{}", done.stderr);
    let table = place.run(["table", "runs"]).expect(0).stdout;
    assert!(
        table.ends_with(
            "sliced: Percentiles are from slices, which empty the queues. They are not compared.\n"
        ),
        "{table}"
    );
    let csv = place.run(["table", "runs", "--format", "csv"]).expect(0).stdout;
    assert_eq!(csv.matches(",yes,").count(), 8, "{csv}");
    let by_p99 = place.run(["compare", "--metric", "p99", "--format", "csv"]).stdout;
    assert!(by_p99.contains("compared in uncut runs only (slices = false)"), "{by_p99}");
    let json = place.run(["compare", "--format", "json"]).stdout;
    assert!(json.contains("\"quads\": 8") && json.contains("\"slice_ms\": 100"), "{json}");
}

#[test]
fn what_cannot_be_cut_says_why() {
    let place = Place::new();
    let none =
        |slices: &str, script: &str| experiment(&place, "managed = {}", "geqo_threshold", slices, script);
    let file = none("slices = false", "SELECT 1;\n");
    place.run(["run", "--dry-run", &file]).expect(0).says(&["no slices: slices = false"]);
    let beside =
        experiment(&place, "managed = {}\ntile_servers = \"tipg\"", "geqo_threshold", "", "SELECT 1;\n");
    let why = "its tile servers have the settings of one arm at a time";
    place.run(["run", "--dry-run", &beside]).expect(0).says(&[why]);
    // Half of the transactions take longer than a twentieth of a second: one run after the other.
    let file = none("", "SELECT pg_sleep(0.06);\n");
    let done = place.run(["run", &file, "-v"]);
    assert!(matches!(done.status.code(), Some(0..=3)), "{}", done.stderr);
    assert!(
        in_one_line(&done.stdout)
            .contains("No slices: ask: in the warm-up half of the transactions took longer than 6"),
        "{}",
        done.stdout
    );
    assert_eq!(place.sql("select count(*) from slice"), "0");
    // If required, slices are refused.
    let file = none("slices = \"100ms\"", "SELECT pg_sleep(0.07);\n");
    let refused = place.run(["run", &file]);
    assert_eq!(refused.status.code(), Some(65), "{}", refused.stderr);
    assert!(refused.stderr.contains("less than two transactions"), "{}", refused.stderr);
    assert!(refused.stderr.contains("a longer `slices`"), "{}", refused.stderr);
}

/// "too many clients already" ended the experiment, although one arm at a time needs only half of them.
#[test]
fn a_server_with_room_for_one_arm_is_measured_uncut() {
    let (place, server) =
        (Place::new(), Server::start_with(&["max_connections=6", "superuser_reserved_connections=0"]));
    let target = format!("url = \"{}\"", server.url());
    let file = experiment(&place, &target, "geqo_threshold", "", "SELECT 1;\n");
    let text = std::fs::read_to_string(&file).unwrap();
    place.write("ask.toml", text.replace("clients = 2", "clients = 4"));
    let done = place.run(["run", &file, "-v"]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let why =
        "No slices: ask: connected at the same time, all arms need more connections than the server takes";
    assert!(in_one_line(&done.stdout).contains(why), "{}", done.stdout);
    assert_eq!(place.sql("select count(*) from slice"), "0");
}

/// Requests of clients continued on a user's server, during the next rounds.
#[test]
fn what_clients_leave_running_is_cancelled() {
    let (place, server) = (Place::new(), Server::start());
    let hangs = "\\set r random(1, 2000)\n\\if :r = 1\nSELECT pg_sleep(100);\n\\else\nSELECT 1;\n\\endif\n";
    let target = format!("url = \"{}\"", server.url());
    let file = experiment(&place, &target, "geqo_threshold", "", hangs);
    let done = place.run(["run", &file, "-v"]);
    assert!(done.stderr.contains("not over 10 s after its arm was to be held"), "{}", done.stderr);
    assert_eq!(asleep(&server), "0", "after its pair was given up");
    let script = place.write("sleep.sql", "SELECT pg_sleep(100);\n");
    let bench = ["bench", "-c", "2", "-T", "60", "-n", "-f", script.to_str().unwrap(), &server.url()];
    let running = Watched::start(place.command(bench));
    let start = Instant::now();
    while asleep(&server) != "2" {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(running.child.id(), "INT");
    let (status, said) = running.end();
    assert_eq!(status.code(), Some(75), "{said}");
    assert_eq!(asleep(&server), "0", "after Ctrl-C");
}

/// Sleeping statements, after a delay for cancellation.
fn asleep(server: &Server) -> String {
    std::thread::sleep(Duration::from_millis(300));
    server.psql("select count(*) from pg_stat_activity where wait_event = 'PgSleep'").trim().to_owned()
}

/// A hanging transaction blocked the other arm forever.
#[test]
fn a_transaction_that_hangs_ends_its_pair_and_not_the_machine() {
    let place = Place::with_private("default");
    let hangs = "\\set r random(1, 2000)\n\\if :r = 1\nSELECT pg_sleep(100);\n\\else\nSELECT 1;\n\\endif\n";
    let file = experiment(&place, "managed = {}", "geqo_threshold", "", hangs);
    let start = Instant::now();
    let done = place.run(["run", &file, "-v"]);
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    assert!(done.stderr.contains("not over 10 s after its arm was to be held"), "{}", done.stderr);
    place.wait_until_quiet(BOUND);
}

#[test]
fn ctrl_c_while_an_arm_is_held_keeps_the_rounds_that_are_over() {
    let place = Place::with_private("default");
    let file = experiment(&place, "managed = {}", "geqo_threshold", "", "SELECT 1;\n");
    let mut running = Watched::start(place.command(["run", &file]));
    assert!(running.until("3/8"), "two rounds");
    signal(running.child.id(), "INT");
    std::thread::sleep(Duration::from_millis(50));
    signal(running.child.id(), "INT");
    let start = Instant::now();
    let (status, said) = running.end();
    assert_eq!(status.code(), Some(75), "{said}");
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    // Both arms of a round, or neither.
    let halves = "select count(*) from (select round from run where kind = 'client' group by round having count(*) <> 2)";
    assert_eq!(place.sql(halves), "0");
    place.wait_until_quiet(BOUND);
    let done = place.run(["run", &file]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert_eq!(place.sql("select count(*) from run where kind = 'client'"), "8");
}

#[test]
fn a_server_that_dies_while_its_arm_is_held_is_told_and_ends_the_run() {
    let place = Place::new();
    let mut server = Server::start();
    let target = format!("url = \"{}\"", server.url());
    let file = experiment(&place, &target, "geqo_threshold", "", "SELECT 1;\n");
    let mut running = Watched::start(place.command(["run", &file]));
    assert!(running.until("3/8"), "two rounds");
    server.crash();
    let start = Instant::now();
    let (status, said) = running.end();
    assert!(matches!(status.code(), Some(64..)), "{status:?} {said}");
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    let halves = "select count(*) from (select round from run where kind = 'client' group by round having count(*) <> 2)";
    assert_eq!(place.sql(halves), "0");
}
