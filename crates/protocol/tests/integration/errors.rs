//! Server errors look as libpq shows them.

use protocol::postgres::ServerError;

fn error(position: Option<u32>) -> ServerError {
    ServerError {
        severity: "ERROR".to_owned(),
        severity_code: Some("ERROR".to_owned()),
        code: "42703".to_owned(),
        message: "column \"abc\" does not exist".to_owned(),
        position,
        ..ServerError::default()
    }
}

#[test]
fn all_parts_in_libpqs_order() {
    let full = ServerError {
        detail: Some("There are two.".to_owned()),
        hint: Some("Take one.".to_owned()),
        context: Some("PL/pgSQL function f() line 1".to_owned()),
        ..error(Some(10))
    };
    insta::assert_snapshot!(full.libpq_text(Some("select 1,\tabc from t")), @r#"
    ERROR:  column "abc" does not exist
    LINE 1: select 1, abc from t
                     ^
    DETAIL:  There are two.
    HINT:  Take one.
    CONTEXT:  PL/pgSQL function f() line 1
    "#);
    assert_eq!(
        full.to_string(),
        "ERROR:  column \"abc\" does not exist at character 10\nDETAIL:  There are two.\nHINT:  Take one.\n\
         CONTEXT:  PL/pgSQL function f() line 1"
    );
}

#[test]
fn notices_come_without_context() {
    let notice = ServerError {
        severity: "NOTIZ".to_owned(),
        severity_code: Some("NOTICE".to_owned()),
        context: Some("somewhere".to_owned()),
        ..error(None)
    };
    assert_eq!(notice.libpq_text(None), "NOTIZ:  column \"abc\" does not exist\n");
    assert!(!notice.is_fatal());
}

#[test]
fn a_position_inside_a_function_shows_the_functions_query() {
    let inner = ServerError {
        internal_position: Some(8),
        internal_query: Some("SELECT abc".to_owned()),
        ..error(None)
    };
    insta::assert_snapshot!(inner.libpq_text(Some("select f()")), @r#"
    ERROR:  column "abc" does not exist
    LINE 1: SELECT abc
                   ^
    QUERY:  SELECT abc
    "#);
}

#[test]
fn lines_are_counted_and_long_ones_cut() {
    // What psql 15 shows for these.
    let (ones, twos) = ("1, ".repeat(30), "2, ".repeat(30));
    let long = format!("select {ones}abc, {twos}2");
    let long_right = format!("select abc, {twos}2");
    let long_left = format!("select {ones}abc");
    let long_wide = format!("select {ones}'日本', abc, {twos}2");
    // Where the error is.
    const PLACE: &str = "abc";
    // Screen columns: a tab is shown as one blank.
    let columns = |text: &str| text.chars().map(|c| if "日本".contains(c) { 2 } else { 1 }).sum::<usize>();
    for (query, line) in [
        ("select\nabc", "LINE 2: abc"),
        ("select\r\nabc", "LINE 2: abc"),
        ("\n\nselect abc\nfrom t", "LINE 3: select abc"),
        ("abc", "LINE 1: abc"),
        ("select 'äö', abc", "LINE 1: select 'äö', abc"),
        ("select '日本', abc", "LINE 1: select '日本', abc"),
        (&long, "LINE 1: ..., 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, abc, 2, 2,..."),
        (&long_right, "LINE 1: select abc, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, ..."),
        (&long_left, "LINE 1: ...1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, abc"),
        (&long_wide, "LINE 1: ...1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, '日本', abc, 2, 2,..."),
        ("select\t'x',\tabc", "LINE 1: select 'x', abc"),
    ] {
        let before = |text: &str| text.split(PLACE).next().expect("a part").to_owned();
        let at = before(query).chars().count() as u32 + 1;
        let caret = format!("{}^", " ".repeat(columns(&before(line))));
        let text = error(Some(at)).libpq_text(Some(query));
        let shown: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(shown, [line, &caret], "{query:?} at {at}");
    }
    let behind = error(Some(7)).libpq_text(Some("select"));
    assert!(behind.ends_with("\nLINE 1: select\n              ^\n"), "{behind}");
    assert_eq!(error(Some(99)).libpq_text(Some("short")).lines().count(), 1, "beyond the query");
    assert_eq!(error(Some(0)).libpq_text(Some("short")).lines().count(), 1, "position 0");
}

#[test]
fn an_error_without_a_message_is_not_shown_as_nothing() {
    let silent = ServerError::default();
    assert_eq!(silent.to_string(), "the server sent an error without a message");
    assert_eq!(silent.libpq_text(None), "\n");
}
