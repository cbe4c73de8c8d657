//! Invalid scripts and their messages: the snapshot was compared with pgbench 15.18, line by line.

use std::fmt::Write;

use script::{ParseError, Script, Scripts, Symbols};

fn message(text: &str) -> String {
    match Script::parse("f.sql", text.as_bytes(), &mut Symbols::new()) {
        Ok(_) => "accepted".into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn messages_and_carets() {
    let many = format!("\\shell echo{}", " arg".repeat(255));
    let enough = format!("\\shell echo{}", " arg".repeat(254));
    let cases = [
        // \set
        "\\set",
        "\\set i",
        "\\set i 1 +",
        "\\set i 1 +\n",
        "\\set i 1 + \\\n  2 + ) \\\n 3\nselect",
        "\\set i \\\n",
        "\\set i\\\n1",
        "\\set i 1 2\nselect 1;",
        "\\set i ;",
        "\\set i 1 + ) ;",
        "\\set i nofunc(1) ; 100000000000000000000",
        "\\set i noSuchFunction()",
        "\\set d ln(1.0, 2.0))",
        "\\set i greatest())",
        "\\set i hash()",
        "\\set i hash(1,2,3)",
        "\\set i permute(1)",
        "\\set i permute(1,2,3,4)",
        "\\set x PoW()",
        "\\set i ln",
        "\\set i ln 1",
        "\\set i ln(,1)",
        "\\set i ln(1,)",
        "\\set i 100000000000000000000",
        "\\set i 9223372036854775808",
        "\\set i - 9223372036854775808",
        "\\set i -(9223372036854775808)",
        "\\set d 1.0E309",
        "\\set d .1E310",
        "\\set d 1e-400",
        "\\set i 1e",
        "\\set i 1..2",
        "\\set i 0x1",
        "\\set i !1",
        "\\set i :",
        "\\set i ::x",
        "\\set i :1",
        "\\set i 1 < 2 < 3",
        "\\set i 1 = 2 <> 3",
        "\\set i 1 is null is null",
        "\\set i 1 is 2",
        "\\set i 1 is not",
        "\\set i CASE TRUE THEN 1 ELSE 0 END",
        "\\set i case when 1 then 2",
        "\\set i case when 1 else 3 end",
        "\\set i (1",
        "\\set i ()",
        "\\SET X 1 ]",
        "\\ set x 1 ]",
        "\\set . 1",
        "select 1;\n\n  \\set x 1 ]  \t\r\n",
        "select (1;2); \\set",
        "select 'abc\\set x ]",
        // conditions
        "\\if\n\\endif\n",
        "\\if 0\n\\elif +\n\\endif\n",
        "\\if 0\n\\else BAD\n\\endif\n",
        "\\if 0\n\\endif BAD\n",
        "\\if 1",
        "\\elif 1",
        "\\else",
        "select 1;\n\\endif",
        "\\if 1\n\\else\n\\elif 0\n\\endif",
        "\\if 1\n\\else\n\\else\n\\endif",
        "\\if 1\n\\if 0\n\\endif\nselect 1;\n",
        // \sleep
        "\\sleep",
        "\\sleep too many args",
        "\\sleep 1 week",
        "\\sleep 1week",
        "\\sleep bla",
        "\\sleep 10ms us",
        "\\sleep 10 ms us",
        "\\sleep 10 MS",
        "\\sleep 10us",
        "\\sleep :x ms",
        "\\sleep 1.5",
        "\\sleep +",
        // shell
        "\\shell",
        "\\setshell x",
        &many,
        &enough,
        // \gset and \aset
        "\\gset",
        "\\aset",
        "\\set i +1\n\\gset",
        "SELECT 1 \\gset a b",
        "SELECT 1 AS i \\gset\n\\gset",
        "SELECT 1 \\aset x\n\\gset",
        "SELECT 1; \\gset",
        // pipelines
        "\\startpipeline x",
        "\\syncpipeline x",
        "\\endpipeline x",
        "\\startpipeline\n\\syncpipeline\n\\endpipeline",
        // others
        "\\nosuchcommand a b\nselect 1;",
        "",
        "-- nothing\n",
        "/* c */",
        "\\\n",
        "\\ \n",
    ];
    let mut listing = String::new();
    for text in cases {
        let shown = if text.len() < 100 { format!("{text:?}") } else { format!("{:?}...", &text[..20]) };
        let message = message(text).replace(&" arg".repeat(253), " arg...");
        writeln!(listing, "{shown}\n{message}\n").expect("strings can be written to");
    }
    insta::assert_snapshot!(listing);
}

#[test]
fn too_many_variables_matter_to_the_extended_protocol_only() {
    let text = format!("select {}:i", ":i, ".repeat(255));
    let mut scripts = Scripts::new();
    scripts.add("f", text.as_bytes(), 1).expect("good for the simple protocol");
    assert_eq!(scripts.check(false), Ok(()));
    let error = scripts.check(true).expect_err("256 variables");
    assert!(
        error.to_string().starts_with("statement has too many arguments (maximum is 255): select :i, :i")
    );
}

#[test]
fn limits_of_a_set_of_scripts() {
    let mut scripts = Scripts::new();
    for _ in 0..128 {
        scripts.add("f", b"select 1", 0).expect("up to 128");
    }
    let refused = scripts.add("f", b"select 1", 1).expect_err("too many");
    assert_eq!(refused.to_string(), "at most 128 SQL scripts are allowed");
    assert_eq!(scripts.check(false), Err(ParseError::ZeroWeight));
}

#[test]
fn nesting_has_a_limit_and_long_chains_have_none() {
    let nested = format!("\\set x {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(message(&nested).starts_with("f.sql:1: memory exhausted in command \"set\""));
    let chain = format!("\\set x 1{}", " + 1".repeat(100_000));
    assert_eq!(message(&chain), "accepted");
    assert!(
        message(&format!("\\set x {}", ";".repeat(100_000))).starts_with("f.sql:1: unexpected character (;)")
    );
}

#[test]
fn a_command_that_was_removed_says_what_to_write_instead() {
    for (text, wanted) in [
        (
            "\\set n 5\n\\setrandom bid 1 :n\nselect 1;",
            "f.sql:2: invalid command (removed in 9.6; write \\set bid random(1, :n)) in command \"setrandom\"\n\
             \\setrandom bid 1 :n",
        ),
        ("\\setrandom a 0 9 uniform", "write \\set a random(0, 9))"),
        ("\\setrandom a 0 :m gaussian 2.5", "write \\set a random_gaussian(0, :m, 2.5))"),
        ("\\SetRandom a 0 9 exponential 3", "write \\set a random_exponential(0, 9, 3))"),
        ("\\setrandom a", "write \\set NAME random(MIN, MAX))"),
    ] {
        assert!(message(text).contains(wanted), "{}", message(text));
    }
}

#[test]
fn variables_that_the_server_cannot_see_as_parameters_are_found() {
    let hidden = |text: &str| {
        let mut scripts = Scripts::new();
        scripts.add("f.sql", text.as_bytes(), 1).expect("scripts");
        assert_eq!(scripts.check(true), Ok(()), "pgbench starts");
        scripts.hidden_variable().map(|error| error.to_string())
    };
    for (text, wanted) in [
        (
            "select 1;\nselect\n  'k:key';",
            "f.sql:3: :key is within quotes, where the server sees no parameter",
        ),
        ("select $$ :a $$;", "f.sql:1: :a is within quotes"),
        ("select E'\\':a';", "f.sql:1: :a is within quotes"),
        ("select \"col:a\" from t;", "f.sql:1: :a is within quotes"),
        ("select 1 -- see :a\n;", "f.sql:1: :a is within a comment"),
        ("select :b /* :a\n*/;", "f.sql:1: :a is within a comment"),
    ] {
        let error = hidden(text).expect(text);
        assert!(error.starts_with(wanted) && error.contains("-M simple"), "{error}");
    }
    for text in ["select :a, '10:30', 'x'::text, ':'", "-- of :a\nselect :a", "select ':' || :a || 'b'"] {
        assert_eq!(hidden(text), None, "{text}");
    }
}
