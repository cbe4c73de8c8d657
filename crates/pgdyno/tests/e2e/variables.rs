//! Variables of pgbench scripts from a CSV file or a query, with a real server.

use crate::support::{Place, Server, in_one_line};

const TOUCH: &str = "\\if :user_id % 2 = 0\nUPDATE touched SET n = n + 1 WHERE id = :user_id;\n\\else\n\
                     UPDATE touched SET n = n + 1 WHERE id = :user_id AND name IS NOT DISTINCT FROM :name;\n\\endif\n";

/// 400 rows, none of them touched, and a file of the same rows.
fn prepared() -> (Place, Server) {
    let (place, server) = (Place::new(), Server::start());
    server.psql(
        "create table touched as select id, 'it''s ' || id as name, 0 as n from generate_series(1, 400) id",
    );
    let lines: String = (1..=400).map(|id| format!("{id},\"it's {id}\"\n")).collect();
    place.write("users.csv", format!("user_id,name\n{lines}"));
    // By the simple protocol a value is pasted into the text.
    place.write("touch.sql", TOUCH.replace(":name", "$$:name$$"));
    place.write("parameters.sql", TOUCH);
    (place, server)
}

const ALL: [&str; 7] = ["bench", "-n", "-c", "4", "-j", "2", "--variables-use=once"];

#[test]
fn every_row_is_used_exactly_once_by_four_clients_on_two_threads() {
    let (place, server) = prepared();
    let mut times = 0;
    for mode in ["simple", "extended", "prepared"] {
        for order in ["listed", "random"] {
            let script = if mode == "simple" { "touch.sql" } else { "parameters.sql" };
            let how = [
                "-f",
                script,
                "-t",
                "100",
                "-M",
                mode,
                "--variables",
                "users.csv",
                "--variables-order",
                order,
            ];
            place.run(ALL.iter().chain(&how).chain(&[server.url().as_str()])).expect(0);
            times += 1;
            let others = server.psql(&format!("select count(*) from touched where n <> {times}"));
            assert_eq!(others, "0", "{mode} {order}");
        }
    }
}

#[test]
fn a_query_gives_the_rows_and_is_asked_once() {
    let (place, server) = prepared();
    let query = "query: SELECT id AS user_id, name FROM touched ORDER BY id DESC";
    let url = server.url();
    let used = ["-f", "touch.sql", "-t", "100", "--variables", query, &url];
    place.run(ALL.iter().chain(&used)).expect(0);
    assert_eq!(server.psql("select count(*) from touched where n <> 1"), "0");
    // Rows that do not suffice are found before the run.
    let more = ["-f", "touch.sql", "-t", "101", "--variables", query, &url];
    let words =
        "the query has 400 rows, but 4 clients with 101 transactions each use 404, none of them twice";
    place.run(ALL.iter().chain(&more)).expect(65).says(&[words, "add rows, let them repeat"]);
    assert_eq!(server.psql("select count(*) from touched where n <> 1"), "0");
    // Rows that run out end their clients.
    let long = ["-f", "touch.sql", "-T", "30", "--variables", query, &url];
    let ended = place.run(ALL.iter().chain(&long)).expect(69);
    let ended = ended.says(&["stopped: the 400 rows of the query are used up"]);
    // No transaction began without a row, and the cause stands once.
    assert!(ended.stdout.contains("number of failed transactions: 0 (0.000%)"), "{}", ended.stdout);
    assert!(
        in_one_line(&ended.stdout).contains("verdict = invalid: errors: 4 clients gave up"),
        "{}",
        ended.stdout
    );
    assert_eq!(format!("{}{}", ended.stdout, ended.stderr).matches("used up").count(), 1, "{}", ended.stderr);
    assert_eq!(server.psql("select count(*) from touched where n <> 2"), "0");
    // Regression: formats for other programs were empty without a word.
    let table = place.run(["table", "runs", "--format", "benchstat"]).expect(0);
    table.says(&["without 1 invalid run; the reasons: pgdyno table runs"]);
}

/// Regression: a server was started, and tables were made, before these were refused.
#[test]
fn what_needs_no_server_is_refused_before_one_is_asked() {
    let place = Place::new();
    let nowhere = "postgres://pgdyno@127.0.0.1:1/nowhere";
    place.write("five.csv", "shelf\n1\n2\n3\n4\n5\n");
    place.write("take.sql", "SELECT :shelf;\n");
    place.write("other.sql", "SELECT :shelf, :aisle;\n");
    let refused = |given: &str, words: &str| {
        let given = given.split(' ').chain(["-n", nowhere]);
        place.run(["bench"].into_iter().chain(given)).expect(65).says(&[words]);
    };
    let per_client = "-f take.sql --variables five.csv --variables-per client";
    refused(&format!("{per_client} -c 6 -t 1"), "five.csv has 5 rows, but 6 clients take one each");
    let against = "--against script:take.sql --rounds 2 -T 1";
    refused(&format!("{per_client} -c 7 {against}"), "five.csv has 5 rows, but 7 clients take one each");
    refused(
        "-f take.sql --variables five.csv --variables-use once -c 2 -t 3",
        "2 clients with 3 transactions each use 6",
    );
    refused("-f take.sql -t 1", "take.sql, line 1: the variable :shelf is not set");
    refused("-f other.sql -t 1 --variables five.csv", "other.sql, line 1: the variable :aisle is not set");
    refused("-D shelf=1 --users other.sql,1s", "the variable :aisle is not set");
    // Only the server knows the columns of a query; a server that is not there ends it otherwise.
    let query = ["bench", "-n", "-f", "other.sql", "--variables", "query: SELECT 1 AS aisle", nowhere];
    let told = place.run(query);
    assert!(!told.stderr.contains("is not set") && told.status.code() != Some(65), "{}", told.stderr);
}

/// NULL is the empty text, as after `\gset`; each client keeps its row.
#[test]
fn a_client_can_keep_its_row_for_the_run() {
    let (place, server) = prepared();
    server.psql("create table seen (client int, v text)");
    place.write("seen.sql", "INSERT INTO seen VALUES (:client_id, ':v');\n");
    let query = "query: SELECT CASE WHEN i = 1 THEN NULL ELSE 'v' || i END AS v FROM generate_series(0, 2) i";
    let url = server.url();
    let run = [
        "bench",
        "-n",
        "-f",
        "seen.sql",
        "-c",
        "3",
        "-t",
        "5",
        "--variables-per=client",
        "--variables",
        query,
        &url,
    ];
    place.run(run).expect(0);
    let seen = server.psql("select string_agg(client || '=' || v || '*' || n, ' ' order by client) from (select client, v, count(*) n from seen group by 1, 2) s");
    assert_eq!(seen, "0=v0*5 1=*5 2=v2*5");
    let run = [
        "bench",
        "-n",
        "-f",
        "seen.sql",
        "-c",
        "4",
        "-t",
        "5",
        "--variables-per=client",
        "--variables",
        query,
        &url,
    ];
    place
        .run(run)
        .expect(65)
        .says(&["the query has 3 rows, but 4 clients take one each", "use fewer clients"]);
}

#[test]
fn arms_get_the_rows_of_one_query_and_other_rows_are_another_experiment() {
    let (place, server) = prepared();
    let file = |mode: &str| {
        format!(
            "question = \"?\"\n[target]\nurl = \"{}\"\n[workload.w.pgbench]\nfiles = \"ids.sql\"\n\
             variables = {{ query = \"SELECT id AS user_id FROM touched WHERE random() < 0.5\" }}\n\
             [factors]\nw.mode = [\"simple\", \"{mode}\"]\n[compare]\nfactor = \"w.mode\"\nbase = \"simple\"\n\
             [measure]\nduration = \"200ms\"\nwarmup = \"100ms\"\nrounds = 1\nexplain = false\n",
            server.url()
        )
    };
    place.write("arms.toml", file("prepared"));
    place.write("ids.sql", "UPDATE touched SET n = n + 1 WHERE id = :user_id;\n");
    let first = place.run(["run", "arms.toml"]);
    assert!(first.stderr.matches("rows of the query").count() == 2, "{first:?}");
    let hashes = "select count(distinct json_extract(cast(bytes as text), '$.variables.hash')) from artifact \
                  where name like 'prepared/%'";
    assert_eq!(place.sql(hashes), "1");
    // The query gives other rows now: new runs could not be compared.
    let again = place.run(["run", "arms.toml", "--rounds", "4"]);
    again.says(&["the data is not what it was when the experiment began"]);
}

#[test]
fn what_cannot_be_used_is_refused_with_one_message() {
    let (place, server) = prepared();
    let url = server.url();
    place.write("empty.csv", "");
    place.write("names.csv", "1,Ann\n2,Bob\n");
    place.write("twice.csv", "id,id\n1,2\n");
    place.write("short.csv", "id,name\n1,Ann\n2\n");
    place.write("quote.csv", "id\n1\n\"2\n");
    place.write("latin1.csv", b"name\nM\xfcller\n");
    for (rows, code, words) in [
        ("missing.csv", 65, "--variables: missing.csv: cannot be read"),
        ("empty.csv", 65, "--variables: empty.csv: is empty"),
        ("names.csv", 65, "--variables: names.csv: line 1: invalid variable name: \"1\""),
        ("twice.csv", 65, "--variables: twice.csv: line 1: names the variable id twice"),
        ("short.csv", 65, "--variables: short.csv: line 3: 1 value where the first line names 2 variables"),
        ("quote.csv", 65, "--variables: quote.csv: line 3: a quote is opened and never closed"),
        ("latin1.csv", 65, "--variables: latin1.csv: is not UTF-8 text"),
        ("query: SELECT 1 AS id WHERE false", 65, "query: returns no rows"),
        ("query: SELECT 1", 65, "query: invalid variable name: \"?column?\""),
        ("query: SELECT 1 AS id; SELECT 2", 65, "query: must be a single SELECT"),
        (
            "query: SELECT id FROM nowhere",
            68,
            "while asking for variables: ERROR:  relation \"nowhere\" does not exist",
        ),
        ("query: DELETE FROM touched", 65, "query: must be a single SELECT"),
        ("query:", 65, "needs one of csv (a file) and query"),
    ] {
        let refused = place.run(["bench", "-n", "-f", "touch.sql", "-t", "1", "--variables", rows, &url]);
        refused.expect(code).says(&[words]);
    }
    place.run(["bench", "-i", "--variables", "users.csv", &url]).expect(64);
    place.run(["bench", "-S", "--variables-use", "once", &url]).expect(64);
    std::fs::create_dir(place.path().join("e")).unwrap();
    place.write(
        "e/theirs.toml",
        format!(
            "question = \"?\"\n[target]\nurl = \"{url}\"\n[workload.w.pgbench]\nfiles = \"touch.sql\"\n\
             variables = {{ csv = \"../users.csv\" }}\n"
        ),
    );
    place.write("e/touch.sql", TOUCH);
    place.run(["run", "e/theirs.toml"]).expect(64).says(&["../users.csv, outside the experiment's folder"]);
    assert_eq!(server.psql("select count(*) from touched where n <> 0"), "0");
}

/// The rest of the text ended the read-only transaction, and was executed.
#[test]
fn a_query_of_several_statements_executes_none_of_them() {
    let (place, server) = prepared();
    let url = server.url();
    let texts = [
        "SELECT id AS user_id, name FROM touched; COMMIT; DROP TABLE touched",
        "SELECT 1 AS user_id; COMMIT; CREATE TABLE left_behind AS SELECT 1",
        "UPDATE touched SET n = 9 RETURNING id AS user_id",
        "SELECT '\\'' AS user_id; COMMIT; DROP TABLE touched; --'",
        "COMMIT",
    ];
    for text in texts {
        let query = format!("query: {text}");
        place.run(["bench", "-n", "-f", "touch.sql", "-t", "1", "--variables", &query, &url]).expect(65);
    }
    assert_eq!(server.psql("select count(*) from touched where n <> 0"), "0");
    assert_eq!(server.psql("select to_regclass('left_behind') is null"), "t");
}
