//! Sessions as texts.

use super::*;

fn of(text: &str) -> Session {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn shown(session: &Session) -> String {
    let visits = session.visits();
    let each = visits.iter().map(|visit| {
        let pauses: Vec<String> = visit.pauses.iter().map(ToString::to_string).collect();
        format!("{}[{}]", visit.step, pauses.join("+"))
    });
    each.collect::<Vec<_>>().join(" ")
}

#[test]
fn scripts_and_think_times_are_read_in_order() {
    let session = of("login.sql, 5s, search.sql x3, 2s, order.sql");
    assert_eq!(session.steps(), ["login.sql", "search.sql", "order.sql"]);
    assert_eq!(shown(&session), "0[5s] 1[] 1[] 1[2s] 2[]");
    let session = of("a.sql, (b.sql, exp(2s)) x2, 500ms, a.sql, lognormal(mean 8 s, 0.5)");
    assert_eq!(session.steps(), ["a.sql", "b.sql", "a.sql"]);
    assert_eq!(shown(&session), "0[] 1[exp(2s)] 1[exp(2s)+500ms] 2[lognormal(mean 8s, 0.5)]");
    assert!(session.pauses_after());
    let session = of("select-only, file(pauses.txt), \"my, own.sql\" ×2, 2fa.sql, ./3.sql");
    assert_eq!(session.steps(), ["select-only", "my, own.sql", "2fa.sql", "./3.sql"]);
    assert_eq!(session.pause_files(), ["pauses.txt"]);
}

#[test]
fn what_is_written_is_read_again() {
    for text in [
        "login.sql, 5s, search.sql x3, 2s, order.sql",
        "a, (b, exp(1.5s), (c, 20ms) x2) x4, lognormal(8s, 0.5), \"d e\", file(p.txt)",
    ] {
        assert_eq!(of(text).to_string(), text);
    }
    assert_eq!(of(" a ,2min,b  x1 ").to_string(), "a, 120s, b");
    assert_eq!(of("\"5s\", 5s").to_string(), "\"5s\", 5s");
}

#[test]
fn a_mistake_is_told_with_its_place() {
    for (text, wanted) in [
        ("", "is an empty session: it has no script"),
        ("  ", "is an empty session: it has no script"),
        ("5s", "is an empty session: it has think times, and no script"),
        ("5s, a.sql", "begins with a think time"),
        ("a.sql, -5s, b.sql", "the think time -5s is below zero, at character 8"),
        ("a.sql, exp(-5s)", "the think time -5s is below zero, at character 8"),
        ("a.sql, 5, b.sql", "\"5\" has no unit: write 5s, or 5ms, at character 8"),
        ("a.sql, 5 apples", "\"5 apples\" is not a length of time, at character 8"),
        ("a.sql, 25h", "the think time 25h is longer than a day, at character 8"),
        ("a.sql, gamma(5s)", "has the unknown word \"gamma(\"; there are exp(5s)"),
        ("a.sql b.sql", "has the unknown word \"b.sql\" at character 7"),
        ("a.sql y3", "has the unknown word \"y3\" at character 7"),
        ("a.sql x0", "has the repetition \"x0\" at character 7"),
        ("a.sql xmany", "has the repetition \"xmany\" at character 7"),
        ("a.sql,, b.sql", "has nothing at character 7"),
        ("a.sql,", "has nothing at character 7"),
        ("(a.sql, 5s", "has a ( at character 1 that is never closed"),
        ("a.sql) x2", "has a ) at character 6 without a ("),
        ("a.sql, (5s) x2", "has parentheses without a script at character 8"),
        ("a.sql, exp(5s", "has a ( at character 11 that is never closed"),
        ("\"a.sql", "has a quote at character 1 that is never closed"),
        ("a.sql, lognormal(5s)", "lognormal() needs a median and a sigma"),
        ("a.sql, lognormal(5s, 4)", "the sigma of lognormal() must be a number from 0 to 3"),
        ("a.sql, lognormal(0s, 1)", "the median or mean of lognormal() must be above 0"),
        ("a.sql, file()", "file() needs the name of a file"),
        (
            &format!("{}a.sql{}", "(".repeat(5000), ")".repeat(5000)),
            "has more than 32 parentheses in each other",
        ),
        ("((a.sql x1000) x1000) x1000", "has 1000000000 transactions, and at most 10000"),
    ] {
        let told = text.parse::<Session>().unwrap_err();
        assert!(told.what().starts_with(wanted), "{text:?}: {told}");
    }
}

proptest::proptest! {
    /// Whatever is written, it is read or refused; what is read is written and read again alike.
    #[test]
    fn any_text_is_read_or_refused(text in "(a|b\\.sql|5s|-|x3|exp|lognormal|file|mean|\\(|\\)|,|\"| |0\\.5|[a-z]|é){0,24}") {
        if let Ok(session) = text.parse::<Session>() {
            proptest::prop_assert!(!session.visits().is_empty() && !session.steps().is_empty());
            let again: Session = session.to_string().parse().unwrap();
            proptest::prop_assert_eq!(again, session);
        }
        drop(text.parse::<crate::users::UserArrivals>());
    }
}
