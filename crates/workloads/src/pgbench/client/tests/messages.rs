//! What clients say, word for word.

use super::*;

/// The last message of the only client.
fn last_message(
    options: &PgbenchOptions,
    script: &str,
    answer: impl FnMut(usize, &str) -> Vec<AnswerPart>,
) -> String {
    messages_of(options, script, answer).last().cloned().unwrap_or_default()
}

#[test]
fn clients_give_up_in_pgbench_s_words() {
    let simple = PgbenchOptions::default();
    let syntax = |_: usize, sql: &str| match sql {
        "bad;" => vec![AnswerPart::Error("42601", "syntax error at or near \"bad\"")],
        sql => usual(sql),
    };
    let cases = [
        (
            "select 1;\nbad;",
            "client 0 script 0 aborted in command 1 query 0: ERROR:  syntax error at or near \"bad\"",
        ),
        (
            "\\SET x 1/0\nselect 1;",
            "division by zero\nclient 0 aborted in command 0 (SET) of script 0; evaluation of meta-command failed",
        ),
        (
            "\\if :none\n\\endif",
            "undefined variable \"none\"\nclient 0 aborted in command 0 (if) of script 0; evaluation of meta-command failed",
        ),
        (
            "\\set 1x 1",
            "set: invalid variable name: \"1x\"\nclient 0 aborted in command 0 (set) of script 0; assignment of meta-command failed",
        ),
        (
            "\\sleep :none",
            "sleep: undefined variable \"none\"\nclient 0 aborted in command 0 (sleep) of script 0; execution of meta-command failed",
        ),
        ("begin;", "client 0 aborted: end of script reached without completing the last transaction"),
        (
            "\\startpipeline\nselect 1;\n\\endpipeline",
            "client 0 aborted in command 0 (startpipeline) of script 0; cannot use pipeline mode with the simple query protocol",
        ),
    ];
    for (script, wanted) in cases {
        assert_eq!(last_message(&simple, script, syntax), format!("abort: {wanted}"));
    }
    let copy = |_: usize, _: &str| vec![AnswerPart::CopyIn];
    let words = last_message(&simple, "copy t from stdin;", copy);
    assert_eq!(words, "abort: COPY is not supported in pgbench, aborting");
    let lost = |_: usize, _: &str| vec![AnswerPart::Lost];
    assert_eq!(
        last_message(&simple, "select 1;", lost),
        "abort: client 0 aborted in command 0 (SQL) of script 0; perhaps the backend died while processing"
    );
    let killed = |_: usize, _: &str| {
        vec![AnswerPart::Fatal("57P01", "terminating connection due to administrator command")]
    };
    assert_eq!(
        last_message(&simple, "select 1;", killed),
        "abort: client 0 script 0 aborted in command 0 query 0: FATAL:  terminating connection due to administrator command"
    );
}

#[test]
fn rows_that_do_not_fit_end_the_client() {
    let simple = PgbenchOptions::default();
    let rows = |count: usize| {
        move |_: usize, _: &str| vec![AnswerPart::Rows(vec!["a"], vec![vec![Some("1")]; count])]
    };
    let place = "abort: client 0 script 0 command 0 query 0:";
    for count in [0, 2] {
        let words = last_message(&simple, "select 1 as a \\gset", rows(count));
        assert_eq!(words, format!("{place} expected one row, got {count}"));
    }
    let done = |_: usize, _: &str| {
        vec![AnswerPart::Rows(vec!["a"], vec![vec![Some("1")]]), AnswerPart::Done("INSERT 0 1")]
    };
    assert_eq!(
        last_message(&simple, "select 1 as a \\; insert \\gset", done),
        "abort: client 0 script 0 command 0 query 1: expected one row, got 0"
    );
    let badly_named = |_: usize, _: &str| vec![AnswerPart::Rows(vec!["?column?"], vec![vec![Some("1")]])];
    for capture in ["gset", "aset"] {
        let words = last_message(&simple, &format!("select 1 \\{capture} x"), badly_named);
        let cause = format!("abort: {capture}: invalid variable name: \"x?column?\"");
        let last = "client 0 script 0 command 0 query 0: error storing into variable x?column?";
        assert_eq!(words, format!("{cause}\n{last}"));
    }
    let none = |_: usize, _: &str| vec![AnswerPart::Rows(vec!["a"], vec![])];
    assert_eq!(messages_of(&simple, "select 1 as a \\aset", none), [""; 0]);
}

/// Equal causes are recognised by their code: texts contain numbers of clients.
#[test]
fn a_client_that_gives_up_says_the_code_of_the_error() {
    let refused = |_: usize, sql: &str| match sql {
        "gone;" => vec![AnswerPart::Error("42P01", "relation \"gone\" does not exist")],
        sql => usual(sql),
    };
    let (_, measured) = play(&PgbenchOptions::default(), "gone;", 1, refused);
    assert_eq!(measured.aborts[0].code.as_deref(), Some("42P01"));
    let (_, measured) = play(&PgbenchOptions::default(), "begin;", 1, |_, sql| usual(sql));
    assert_eq!(measured.aborts[0].code, None);
}

/// Whether the server went away was once read out of the words above.
#[test]
fn a_client_that_lost_its_server_says_so() {
    let abort = |options: &PgbenchOptions, answer: AnswerPart, full_at: usize| {
        let mut answers = vec![answer].into_iter();
        let mut server =
            FakePostgres::new(|_, _: &str| answers.next().map_or_else(|| one("1"), |answer| vec![answer]));
        server.full_at = full_at;
        let (_, mut measured) = drop_in(options, DropInOptions::default(), "select 1;", 2, &mut server);
        measured.aborts.swap_remove(0)
    };
    let usual = PgbenchOptions::default();
    assert!(abort(&usual, AnswerPart::Lost, usize::MAX).lost);
    assert!(abort(&mode(QueryProtocol::Prepared), AnswerPart::Lost, usize::MAX).lost);
    assert!(abort(&usual, AnswerPart::Fatal("57P01", "terminating connection"), usize::MAX).lost);
    let refused = abort(&usual, AnswerPart::Error("42P01", "relation \"t\" does not exist"), usize::MAX);
    assert!(!refused.lost);
    let reconnect = PgbenchOptions { reconnect: true, ..usual };
    assert!(abort(&reconnect, AnswerPart::Done("SELECT 1"), 1).lost);
}

#[test]
fn a_variable_without_text_has_no_message_in_pgbench() {
    let options =
        PgbenchOptions { define: [("x".to_owned(), String::new())].into(), ..PgbenchOptions::default() };
    let script = "\\set y :x + 1";
    let last = "client 0 aborted in command 0 (set) of script 0; evaluation of meta-command failed";
    assert_eq!(messages_of(&options, script, |_, _| one("1")), [format!("abort: {last}")]);
    let (_, measured) = play(&options, script, 1, |_, _| one("1"));
    assert_eq!(measured.aborts[0].causes, ["variable \"x\" is empty"]);
}

#[test]
fn the_transaction_that_leaves_a_block_open_counts() {
    let mut server = FakePostgres::new(|_, sql: &str| usual(sql));
    let (_, measured) =
        drop_in(&PgbenchOptions::default(), DropInOptions::default(), "begin;", 5, &mut server);
    assert_eq!((measured.totals().ok, measured.aborts.len()), (1, 1));
    assert_eq!(server.log, ["C", "Q begin;", "X"]);
}

#[test]
fn the_drop_in_tells_what_cannot_be_prepared_and_uses_it() {
    let mut server = FakePostgres::new(|_, _: &str| one("1"));
    server.unparsable = vec!["bad"];
    let (messages, _) =
        drop_in(&mode(QueryProtocol::Prepared), DropInOptions::default(), "select 1;\nbad;", 1, &mut server);
    insta::assert_snapshot!(messages.join("\n"), @r#"
    error: ERROR:  syntax error
    abort: client 0 script 0 aborted in command 1 query 0: ERROR:  prepared statement "P_1" does not exist
    "#);
    assert_eq!(server.log, ["C", "P P_0 select 1;", "S", "E select 1;", "S", "P P_1 bad;", "S", "S", "X"]);
}

#[test]
fn the_server_s_own_words_are_passed_on() {
    let noticing = |_: usize, _: &str| vec![AnswerPart::Notice("hello"), AnswerPart::Done("DO")];
    assert_eq!(messages_of(&PgbenchOptions::default(), "do 1;", noticing), ["plain: NOTICE:  hello"]);
}

#[test]
fn a_connection_that_ends_between_statements_is_told_at_the_next_one() {
    let answer = |_: usize, sql: &str| match sql {
        "select 1;" => vec![AnswerPart::Done("SELECT 1"), AnswerPart::Later(1_000_000)],
        sql => usual(sql),
    };
    let script = "select 1;\n\\sleep 20 ms\nselect 2;";
    let messages = messages_of(&PgbenchOptions::default(), script, answer);
    let wanted = "client 0 script 0 aborted in command 2 query 0: FATAL:  terminating connection due to administrator command";
    assert_eq!(messages, [format!("abort: {wanted}")]);
    insta::assert_snapshot!(messages_of(&mode(QueryProtocol::Prepared), script, answer).join("\n"), @r"
    abort: FATAL:  terminating connection due to administrator command
    server closed the connection unexpectedly
    	This probably means the server terminated abnormally
    	before or while processing the request.
    client 0 aborted in command 2 (SQL) of script 0; SQL command send failed
    ");
}

#[test]
fn steps_are_told_when_asked_for() {
    let debug = || DropInOptions { debug: true, ..DropInOptions::default() };
    let script = "\\set v random(1, 1)\n\\sleep 1 us\nselect :v as w;";
    let output = |mode_used| {
        let mut server = FakePostgres::new(|_, _: &str| one("1"));
        drop_in(&mode(mode_used), debug(), script, 1, &mut server).0.join("\n")
    };
    insta::assert_snapshot!(output(QueryProtocol::Simple), @r#"
    debug: client 0 executing script "script0"
    debug: client 0 executing \set v
    debug: client 0 executing \sleep 1 us
    debug: client 0 sending select 1 as w;
    debug: client 0 receiving
    debug: client 0 receiving
    "#);
    insta::assert_snapshot!(output(QueryProtocol::Prepared), @r#"
    debug: client 0 executing script "script0"
    debug: client 0 executing \set v
    debug: client 0 executing \sleep 1 us
    debug: client 0 preparing P_0
    debug: client 0 sending P_0
    debug: client 0 receiving
    debug: client 0 receiving
    "#);
    let mut server = FakePostgres::new(|_, _: &str| one("1"));
    let script = "\\startpipeline\nselect 1;\n\\syncpipeline\nselect 2;\n\\endpipeline";
    let messages = drop_in(&mode(QueryProtocol::Extended), debug(), script, 1, &mut server).0;
    insta::assert_snapshot!(messages.join("\n"), @r#"
    debug: client 0 executing script "script0"
    debug: client 0 executing \startpipeline
    debug: client 0 sending select 1;
    debug: client 0 executing \syncpipeline
    debug: client 0 sending select 2;
    debug: client 0 executing \endpipeline
    debug: client 0 receiving
    debug: client 0 receiving
    debug: client 0 receiving
    debug: client 0 pipeline ending, ongoing syncs: 2
    debug: client 0 receiving
    debug: client 0 pipeline ending, ongoing syncs: 1
    "#);
}

#[test]
fn bytes_of_any_encoding_pass_through() {
    let script = ScriptSource::Text { name: "latin1".into(), text: b"select '\xe9:v';".to_vec(), weight: 1 };
    for mode_used in [QueryProtocol::Simple, QueryProtocol::Prepared] {
        let options = PgbenchOptions { define: [("v".to_owned(), "1".to_owned())].into(), ..mode(mode_used) };
        let workload =
            Pgbench::with_drop_in_options(&options, std::slice::from_ref(&script), DropInOptions::default())
                .unwrap();
        let places = places();
        let mut server = FakePostgres::new(|_, _: &str| one("1"));
        let measured = server.run(workload.clients(&places, load(1)).unwrap(), 1, 1).unwrap();
        assert_eq!(measured.totals().ok, 1);
        assert!(server.log.iter().any(|line| line.ends_with("select '\u{fffd}1';")), "{:?}", server.log);
    }
}

/// The server sees no parameter there, and each transaction fails.
#[test]
fn variables_in_quotes_are_refused_by_line_except_by_the_drop_in_which_warns() {
    let script =
        ScriptSource::Text { name: "q.sql".into(), text: b"select 1;\nselect ':b';".to_vec(), weight: 1 };
    let scripts = std::slice::from_ref(&script);
    for mode_used in [QueryProtocol::Extended, QueryProtocol::Prepared] {
        let error = Pgbench::with_scripts(&mode(mode_used), scripts).err().unwrap().to_string();
        assert!(error.starts_with("q.sql:2: :b is within quotes"), "{error}");
        let drop_in =
            Pgbench::with_drop_in_options(&mode(mode_used), scripts, DropInOptions::default()).unwrap();
        assert_eq!(drop_in.hidden_variable(), Some(error));
    }
    let simple = mode(QueryProtocol::Simple);
    assert!(Pgbench::with_scripts(&simple, scripts).is_ok());
    let drop_in = Pgbench::with_drop_in_options(&simple, scripts, DropInOptions::default()).unwrap();
    assert_eq!(drop_in.hidden_variable(), None);
}
