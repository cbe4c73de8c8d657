//! Pipelines.

use super::*;

#[test]
fn a_pipeline_is_sent_at_once() {
    // Where statements are prepared, that is done before the pipeline, and for the last one when it is reached.
    for (options, wanted) in [
        (mode(QueryProtocol::Extended), "EESESESEESESES"),
        (mode(QueryProtocol::Prepared), "SSSEESESSESEESESES"),
    ] {
        let script =
            "\\startpipeline\nselect 1;\nselect 2;\n\\syncpipeline\nselect 3;\n\\endpipeline\nselect 4;";
        let (log, measured) = play(&options, script, 2, |_, _| one("1"));
        let order: String =
            log.iter().filter_map(|line| line.chars().next()).filter(|c| "ES".contains(*c)).collect();
        assert_eq!(order, wanted, "{log:?}");
        assert_eq!(measured.totals().rows, 8);
    }
}

#[test]
fn an_error_in_a_pipeline_skips_to_its_end() {
    let options = PgbenchOptions { continue_on_error: true, ..mode(QueryProtocol::Prepared) };
    let script = "\\startpipeline\nselect 1;\nselect 2;\n\\endpipeline";
    let mut failed = false;
    let (log, measured) = play(&options, script, 2, |_, sql| {
        if sql == "select 1;" && !failed {
            failed = true;
            return vec![AnswerPart::Error("22012", "division by zero")];
        }
        one("1")
    });
    assert_eq!((measured.totals().failed, measured.totals().ok), (1, 1));
    let parsed: Vec<_> = log.iter().filter(|line| line.starts_with("P ")).collect();
    assert_eq!(
        parsed,
        ["P pgdyno_*_0 select 1;", "P pgdyno_*_1 select 2;"],
        "the second one was skipped at first: {log:?}"
    );
}

#[test]
fn pipelines_are_prepared_before_they_begin() {
    let script = "\\startpipeline\nselect 1;\n\\syncpipeline\nselect 2;\n\\endpipeline\nselect 3;";
    let (log, _) = play(&mode(QueryProtocol::Prepared), script, 2, |_, _| one("1"));
    insta::assert_snapshot!(log.join("\n"), @r"
    C
    P pgdyno_*_0 select 1;
    S
    P pgdyno_*_1 select 2;
    S
    E select 1;
    S
    E select 2;
    S
    P pgdyno_*_2 select 3;
    S
    E select 3;
    S
    E select 1;
    S
    E select 2;
    S
    E select 3;
    S
    ");
}

#[test]
fn what_is_prepared_in_a_pipeline_fails_as_in_pgbench() {
    let script = "\\startpipeline\nselect 1;\n\\if false\n\\endpipeline\n\\endif\nselect 2;\n\\endpipeline";
    let messages = messages_of(&mode(QueryProtocol::Prepared), script, |_, _| one("1"));
    insta::assert_snapshot!(messages.join("\n"), @r#"
    error: synchronous command execution functions are not allowed in pipeline mode
    abort: client 0 script 0 aborted in command 6 query 0: ERROR:  prepared statement "P_1" does not exist
    "#);
    let (_, measured) = play(&mode(QueryProtocol::Prepared), script, 1, |_, _| one("1"));
    assert_eq!(
        measured.aborts[0].to_string(),
        "client 0 aborted in command 5 (SQL) of script 0; synchronous command execution functions are not allowed in \
         pipeline mode"
    );
}

#[test]
fn misuse_of_pipelines_ends_the_client() {
    let cases = [
        (
            "\\startpipeline\n\\startpipeline",
            "command 1 (startpipeline) of script 0; already in pipeline mode",
        ),
        ("\\endpipeline", "command 0 (endpipeline) of script 0; not in pipeline mode"),
        ("\\syncpipeline", "command 0 (syncpipeline) of script 0; not in pipeline mode"),
        (
            "\\startpipeline\nselect 1 \\gset\n\\endpipeline",
            "command 1 (gset) of script 0; \\gset is not allowed in pipeline mode",
        ),
        (
            "\\startpipeline\nselect 1 \\aset\n\\endpipeline",
            "command 1 (aset) of script 0; \\aset is not allowed in pipeline mode",
        ),
    ];
    for (script, wanted) in cases {
        let messages = messages_of(&mode(QueryProtocol::Extended), script, |_, _| one("1"));
        assert_eq!(messages, [format!("abort: client 0 aborted in {wanted}")]);
    }
    let messages = messages_of(&mode(QueryProtocol::Extended), "\\startpipeline\nselect 1;", |_, _| one("1"));
    assert_eq!(messages, ["abort: client 0 aborted: end of script reached with pipeline open"]);
    let messages = messages_of(&mode(QueryProtocol::Simple), "\\startpipeline\nselect 1;", |_, _| one("1"));
    let wanted = "abort: client 0 aborted in command 0 (startpipeline) of script 0; cannot use pipeline mode with the \
                  simple query protocol";
    assert_eq!(messages, [wanted]);
}

#[test]
fn the_query_of_a_pipeline_s_error_counts_syncs() {
    let failing = |_: usize, sql: &str| match sql {
        "bad;" => vec![AnswerPart::Error("42601", "syntax error")],
        _ => one("1"),
    };
    let cases = [
        ("select 1;\nbad;\n", 0, 3),
        ("select 1;\n\\syncpipeline\nbad;\nselect 2;\n", 1, 5),
        ("\\syncpipeline\n\\syncpipeline\nselect 1;\nbad;\n", 0, 5),
    ];
    for (body, query, command) in cases {
        let script = format!("\\startpipeline\n{body}\\endpipeline");
        let messages = messages_of(&mode(QueryProtocol::Extended), &script, failing);
        let wanted =
            format!("client 0 script 0 aborted in command {command} query {query}: ERROR:  syntax error");
        assert_eq!(messages, [format!("abort: {wanted}")], "{script}");
    }
}

#[test]
fn a_pipeline_that_fails_to_serialize_is_retried() {
    let options = PgbenchOptions { max_tries: 2, ..mode(QueryProtocol::Extended) };
    let script = "\\startpipeline\nbegin;\nupdate t;\n\\syncpipeline\nselect 1;\nend;\n\\endpipeline";
    let mut failures = 0;
    let (log, measured) = play(&options, script, 1, |_, sql| {
        if sql == "update t;" && failures < 1 {
            failures += 1;
            return vec![AnswerPart::Error("40001", "again")];
        }
        usual(sql)
    });
    assert_eq!(measured.aborts, []);
    assert_eq!((measured.totals().ok, measured.totals().retries), (1, 1), "{log:?}");
    assert_eq!(measured.statements[6].retries, 1);
    assert_eq!(log.iter().filter(|line| *line == "E update t;").count(), 2);
}

#[test]
fn a_pause_in_a_pipeline_sends_nothing() {
    let script = "\\startpipeline\nselect 1;\n\\syncpipeline\n\\sleep 20 ms\nselect 2;\n\\endpipeline";
    let (_, measured) = play(&mode(QueryProtocol::Extended), script, 1, |_, _| one("1"));
    assert_eq!(measured.aborts, []);
    assert_eq!(measured.totals().ok, 1);
}
