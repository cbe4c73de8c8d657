//! Users as a load, with a real server.

use crate::support::{Place, Server, in_one_line};

const SESSION: &str = "login.sql, 20ms, search.sql x3, exp(10ms), order.sql, lognormal(5ms, 0.5), search.sql";

/// A table into which each script of a session writes its name.
fn prepared() -> (Place, Server) {
    let (place, server) = (Place::new(), Server::start());
    server.psql(
        "create table log (id bigint generated always as identity, client int, what text, pid int default pg_backend_pid())",
    );
    for script in ["login", "search", "order"] {
        let text = format!("INSERT INTO log (client, what) VALUES (:client_id, '{script}');\n");
        place.write(&format!("{script}.sql"), text);
    }
    (place, server)
}

#[test]
fn every_user_runs_its_scripts_in_order() {
    let (place, server) = prepared();
    let run =
        ["bench", "-n", "-c", "6", "-j", "2", "--sessions", "4", "--users", SESSION, "--active-share", "5%"];
    let told = place.run(run.iter().chain(&[server.url().as_str()])).expect(0).stdout;
    for words in [
        "number of users: 6",
        "sessions: 24 begun, 24 finished, 0 failed, 0 cut",
        "number of transactions actually processed: 144",
        "sessions per hour = ",
        "step 4: search.sql (2)",
        "6 users: about 120 registered people, assuming that 5 % of them are active at a time",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let session = "login search search search order search".repeat(4).replace("searchlogin", "search login");
    let orders = server.psql(
        "select string_agg(distinct o, ';') from (select string_agg(what, ' ' order by id) o from log group by client) s",
    );
    assert_eq!(orders, session);
    assert_eq!(server.psql("select count(distinct pid) from log"), "6");
    // The stored run has the same, and sessions have their own connections on request.
    let row = "select (select value from run_count where name = 'sessions_finished'), \
               (select count from hist where kind = 'session'), (select count(*) from sample where source = 'users') > 0";
    let stored = place.sql(row);
    assert!(stored.contains("24"), "{stored}");
    server.psql("truncate log");
    let run = ["bench", "-n", "-C", "-c", "3", "--sessions", "4", "--users", SESSION, "--format", "json"];
    let json = place.run(run.iter().chain(&[server.url().as_str()])).expect(0).stdout;
    assert!(json.contains("\"sessions_finished\": 12") && json.contains("\"session_p50_ms\": "), "{json}");
    assert_eq!(server.psql("select count(distinct pid) from log"), "12");
}

#[test]
fn users_who_cannot_be_had_are_refused_before_anything_is_measured() {
    let (place, server) = prepared();
    let url = server.url();
    place.write("two.csv", "id\n1\n2\n");
    let bench = |more: &[&str]| {
        let words =
            ["bench", "-n", "-T", "2"].iter().chain(more).chain(&[url.as_str()]).copied().collect::<Vec<_>>();
        place.run(words)
    };
    bench(&["-c", "500", "--users", "login.sql, 1s"])
        .expect(67)
        .says(&["500 users need a connection each", "pooler"]);
    // A search silently began with fewer.
    for option in ["-c", "--highest"] {
        let limit = ["limit", "-n", option, "480", "--promise", "p95 < 1s", "--users", SESSION, &url];
        place.run(limit).expect(67).says(&["480 users need a connection each"]);
    }
    bench(&["-c", "2", "--users", "login.sql, 1s, none.sql"])
        .expect(65)
        .says(&["--users: none.sql: cannot be read"]);
    bench(&["-c", "2", "--users", "login.sql, -1s"])
        .expect(64)
        .says(&["the think time -1s is below zero, at character 12"]);
    place.write("find.sql", "SELECT 1;\nSELECT :shelf;\n");
    bench(&["-c", "2", "--users", "login.sql, find.sql"])
        .expect(65)
        .says(&["find.sql, line 2: the variable :shelf is not set", "--variables"]);
    bench(&["-c", "2", "--users", " "]).expect(64).says(&["is an empty session"]);
    bench(&["-c", "3", "--users", "login.sql, 1s", "--variables", "two.csv", "--variables-per", "client"])
        .expect(65)
        .says(&["two.csv has 2 rows, but 3 clients take one each"]);
    assert_eq!(server.psql("select count(*) from log"), "0");
}

/// Regression: they spoke of keys of files, and neighbours had other exit codes and other punctuation.
#[test]
fn errors_speak_the_words_of_the_command_line() {
    let place = Place::new();
    place.write("visit.sql", "SELECT 1;\n");
    place.write("add.sql", "INSERT INTO t VALUES (1);\n");
    let nowhere = "postgres://pgdyno@127.0.0.1:1/nowhere";
    for (given, code, words) in [
        ("--users|visit.sql, 2s|--arrivals|3 per min|-T|9", 64, "--arrivals: a user who comes openly leaves"),
        ("--users|visit.sql, -3s", 64, "--users: the think time -3s is below zero"),
        ("--users|visit.sql,,", 64, "--users has nothing at character 11"),
        ("--users|gone.sql", 65, "--users: gone.sql: cannot be read"),
        ("-f|visit.sql|--replicas|2", 64, "--replicas must be the address of a replica"),
        ("-f|visit.sql|--target|replica", 64, "--target: workload visit sends scripts to a replica"),
        ("-f|visit.sql|--target|replica", 64, "give --replicas 1"),
        ("-f|add.sql|--target|replica|--replicas|postgres://127.0.0.1:2/x", 65, "--target primary"),
        ("-f|visit.sql|--replication|sync|--replicas|0", 64, "--replicas"),
    ] {
        let given = given.split('|').chain(["-n", nowhere]);
        let told = place.run(["bench"].into_iter().chain(given)).expect(code).says(&[words]).stderr;
        for other in ["[target]", "[factors]", "replicas = ", "target = ", "(not shown)"] {
            assert!(!told.contains(other), "{other}: {told}");
        }
    }
}

/// More users come than connections can serve; a share of people is of those who are there.
#[test]
fn users_who_come_openly_and_find_no_connection_are_an_overload() {
    let (place, server) = prepared();
    let url = server.url();
    let run = ["bench", "-n", "-c", "2", "-T", "3", "--warmup", "0", "--arrivals", "600 per min"];
    let users = ["--users", "login.sql, 900ms, order.sql", "--active-share", "20"];
    let told = place.run(run.iter().chain(&users).chain(&[url.as_str()])).expect(0).stdout;
    for words in
        ["overloaded: ", "users never found a free connection", "users offered = ", " active users: about "]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
    let table = place.run(["table", "users"]).expect(0).stdout;
    let is_sentence = |line: &str| line.ends_with('.') || line.starts_with("- ");
    assert!(
        table.lines().all(|line| line.chars().count() <= if is_sentence(line) { 100 } else { 80 }),
        "{table}"
    );
    assert!(table.contains("2 connections: ") && table.contains("no time includes the others"), "{table}");
}

#[test]
fn a_limit_and_a_ladder_are_of_users() {
    let (place, server) = prepared();
    let url = server.url();
    let users = ["--users", "login.sql, 20ms, order.sql, 10ms", "--active-share", "10"];
    let limit = ["limit", "--promise", "p95 < 10s", "-T", "1", "--warmup", "0", "--highest", "3"];
    let told = place.run(limit.iter().chain(&users).chain(&[url.as_str()]));
    let told = in_one_line(&told.stdout);
    assert!(told.contains("up to 3 users, the highest number that was tried"), "{told}");
    assert!(told.contains("3 users: about 30 registered people, assuming that 10 % of them"), "{told}");
    let spike = ["--arrivals", "spike 0.4 to 1 for 500ms at 200ms"];
    let told = place.run(limit.iter().chain(&users).chain(&spike).chain(&[url.as_str()]));
    let told = in_one_line(&told.stdout);
    assert!(told.contains(" active users: about ") && !told.contains("3 users: about"), "{told}");
    let ladder = ["ladder", "--clients", "1,4", "-T", "1", "--warmup", "0", "--rounds", "1"];
    place.run(ladder.iter().chain(&users).chain(&[url.as_str()])).expect(0);
    let table = place.run(["table", "users", "--format", "csv"]).expect(0).stdout;
    assert_eq!(table.lines().count(), 3, "{table}");
}

/// As many users as the shape has, from an experiment file with the study's arrivals.
#[test]
fn an_experiment_has_users_who_come_one_after_the_other() {
    let (place, server) = prepared();
    let file = format!(
        "question = \"Can it take these users?\"\n[target]\nurl = \"{}\"\n[workload.shop]\n\
         pgbench = {{ files = [\"login.sql\", \"search.sql\", \"order.sql\"], vacuum = false }}\n\
         [load.users]\nsession = \"{SESSION}, 10ms\"\narrivals = \"0.2s apart\"\n\
         [factors]\nclients = [5]\n[measure]\nwarmup = \"0s\"\nduration = \"2s\"\nrounds = 1\n",
        server.url()
    );
    place.write("garden.toml", file);
    place.run(["run", "garden.toml"]).expect(0);
    let starts = server.psql("select string_agg(client::text, ' ' order by first) from (select client, min(id) first from log group by client) f");
    assert_eq!(starts, "0 1 2 3 4");
    let report = place.run(["report", "-o", "report.html"]).expect(0);
    drop(report);
    let page = std::fs::read_to_string(place.path().join("report.html")).unwrap();
    assert!(page.contains("users, sessions (sess) and transactions (tx)"), "the section of users");
    let wrong = place.path().join("garden.toml");
    let text =
        std::fs::read_to_string(&wrong).unwrap().replace("login.sql\", \"search", "enter.sql\", \"search");
    place.write("enter.sql", "SELECT 1;\n");
    std::fs::write(&wrong, text).unwrap();
    place.run(["run", "garden.toml"]).expect(65).says(&["script login.sql is missing", "garden.toml:7"]);
}
