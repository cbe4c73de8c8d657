//! Plans of a sample of transactions: `pgdyno run` end to end.

mod support;

use support::{Finished, Place, Server};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS public.t AS SELECT i AS id, i % 1000 AS x FROM generate_series(1, 20000) i;\n\
                     CREATE UNIQUE INDEX IF NOT EXISTS t_id ON public.t (id);\nANALYZE public.t;\n";

/// One lookup under two settings, which can take turns on one server.
const SETTINGS: &str = r#"
question = "What is the index worth?"
[target]
url = "$TEST_URL"
[prepare]
sql = ["table.sql"]
[workload.lookup]
pgbench = { files = ["lookup.sql"] }
[compare]
factor = "settings"
base = "usual"
[settings.usual]
[settings.scans]
enable_indexscan = "off"
enable_indexonlyscan = "off"
enable_bitmapscan = "off"
"#;

/// A query and a script that writes.
const WRITES: &str = r#"
question = "Does reading or writing take longer?"
[target]
url = "$TEST_URL"
[prepare]
sql = ["table.sql"]
[workload.reads]
pgbench = { files = ["lookup.sql"] }
[workload.writes]
pgbench = { files = ["update.sql"] }
[factors]
workload = ["reads", "writes"]
[compare]
factor = "workload"
base = "reads"
"#;

const MEASURE: &str = "[measure]\nwarmup = \"50ms\"\nduration = \"600ms\"\nrounds = 2\n";

fn run(place: &Place, server: &Server, file: &str) -> Finished {
    place.write("table.sql", TABLE);
    place.write("lookup.sql", "\\set id random(1, 20000)\nSELECT x FROM public.t WHERE id = :id;\n");
    place.write("update.sql", "SELECT 1;\nUPDATE public.t SET x = -1 WHERE id = 1;\n");
    let file = place.write("plans.toml", file);
    let mut command = place.command(["run", file.to_str().unwrap(), "--report", "report.html"]);
    command.env("TEST_URL", server.url());
    let done = support::finish(command);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}\n{}", done.stdout, done.stderr);
    done
}

/// They are explained when the last turn is over: by then the other arm's settings are in force.
#[test]
fn each_arm_is_explained_under_its_own_settings() {
    let (place, server) = (Place::new(), Server::start());
    let done = run(&place, &server, &format!("{SETTINGS}{MEASURE}"));
    assert!(place.sql("select count(*) from slice").parse::<u32>().unwrap() > 0, "they took turns");
    let nodes = "select group_concat(distinct run.round || ' ' || arm || ' ' || node_type || index_name) \
                 from (select * from plan_node order by run_id) n join run using (run_id)";
    let found = place.sql(nodes);
    let mut found: Vec<&str> = found.trim_matches('"').split(',').collect();
    found.sort();
    assert_eq!(found, ["1 scans Seq Scan", "1 usual Index Scant_id"]);
    assert_eq!(place.sql("select count(distinct draw) || ' ' || count(*) from statement_plan"), "16 32");
    let sums = "select count(*) from (select run_id, draw, sum(own_ms) as ms from v_plan_part group by 1, 2) \
                join statement_plan p using (run_id, draw) where abs(ms - planning_ms - execution_ms) > 0.01";
    assert_eq!(place.sql(sums), "0");
    assert!(done.stdout.contains("plans differ: scans:"), "{}", done.stdout);
    let report = std::fs::read_to_string(place.path().join("report.html")).unwrap();
    let change = "With scans: Seq Scan on t instead of Index Scan using t_id on t.";
    assert!(report.contains(change), "the report does not say what changed");
    let table = support::finish(place.command(["table", "plans", "--format", "csv"]));
    assert!(table.stdout.contains(",seq_scan,") && table.stdout.contains(",index,"), "{}", table.stdout);
    let slowest = "select count(*) from artifact where name = 'plan/lookup.sql/2' and cast(bytes as text) like '%Execution Time%'";
    assert_eq!(place.sql(slowest), "2");
}

#[test]
fn what_writes_is_not_explained_and_nothing_is_where_that_is_not_wanted() {
    let (place, server) = (Place::new(), Server::start());
    let done = run(&place, &server, &format!("{WRITES}{MEASURE}"));
    assert_eq!(
        place.sql("select count(*) || ' ' || min(arm) from statement_plan join run using (run_id)"),
        "16 reads"
    );
    let said = "select group_concat(distinct arm || ': ' || detail) from event join run using (run_id) \
                where event.kind = 'no plans' and detail like '%writes'";
    assert_eq!(place.sql(said), "writes: update.sql writes");
    assert!(!done.stdout.contains("plans differ"), "{}", done.stdout);
    let (place, server) = (Place::new(), Server::start());
    run(&place, &server, &format!("{SETTINGS}{MEASURE}explain = false\n"));
    assert_eq!(place.sql("select count(*) from statement_plan"), "0");
}
