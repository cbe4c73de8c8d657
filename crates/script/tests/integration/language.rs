//! How scripts are taken apart and followed.

use std::sync::Arc;
use std::time::Duration;

use script::{
    Action, Builtin, Capture, Cursor, EvalError, Random, Script, Scripts, Slot, Statement, Symbols, Value,
    Variables,
};

fn parse(text: &str) -> (Script, Symbols) {
    let mut symbols = Symbols::new();
    let script =
        Script::parse("f.sql", text.as_bytes(), &mut symbols).unwrap_or_else(|error| panic!("{error}"));
    (script, symbols)
}

fn statements(script: &Script) -> Vec<&Statement> {
    script.commands.iter().filter_map(|command| statement(&command.action)).collect()
}

fn statement(action: &Action) -> Option<&Statement> {
    match action {
        Action::Sql(statement) => Some(statement),
        _ => None,
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn statements_end_where_psql_ends_them() {
    let cases: [(&str, &[&str]); 22] = [
        ("select 1; select 2", &["select 1;", "select 2"]),
        ("-- first\n \n select 1 -- inner\n, 2;", &["select 1 -- inner\n, 2;"]),
        (";;", &[";", ";"]),
        ("select ';', \";\"; x", &["select ';', \";\";", "x"]),
        ("select 'it''s;'; x", &["select 'it''s;';", "x"]),
        ("select 'a\\'; x", &["select 'a\\';", "x"]),
        ("select E'a\\';'; x", &["select E'a\\';';", "x"]),
        ("select E'a'\n'\\';'; x", &["select E'a'\n'\\';';", "x"]),
        ("select E'a' '\\'; x", &["select E'a' '\\';", "x"]),
        ("select $$;$a$;$$; x", &["select $$;$a$;$$;", "x"]),
        ("select $a$;$$;$a$; x", &["select $a$;$$;$a$;", "x"]),
        ("select a$b$; x $b$", &["select a$b$;", "x $b$"]),
        ("select $1;x", &["select $1;", "x"]),
        ("select 1a$b$; x $b$", &["select 1a$b$;", "x $b$"]),
        ("/* ; /* ; */ ; */ select 1; x", &["/* ; /* ; */ ; */ select 1;", "x"]),
        ("select 1--;\n; x", &["select 1--;\n;", "x"]),
        ("select (1;2); x)", &["select (1;2);", "x)"]),
        ("select 1 \\; select 2; x", &["select 1 ; select 2;", "x"]),
        ("select 1 \\:a; x", &["select 1 :a;", "x"]),
        (
            "create or replace function f() returns int begin atomic; select case when 1 then 2 end; end; x",
            &[
                "create or replace function f() returns int begin atomic; select case when 1 then 2 end; end;",
                "x",
            ],
        ),
        ("begin; select 1; end; x", &["begin;", "select 1;", "end;", "x"]),
        ("select 1\\set x 1\n, 2;", &["select 1", ", 2;"]),
    ];
    for (source, expected) in cases {
        let (script, _) = parse(source);
        let found: Vec<&str> = statements(&script).iter().map(|statement| text(statement.text())).collect();
        assert_eq!(found, expected, "{source}");
    }
}

#[test]
fn lines_summaries_and_words() {
    let (script, _) = parse("-- c\n\nselect 1,\n 2;\n\\set a 1 + \\\n 2\n\\SLEEP 5 ms\n\\shell echo  :a b\n");
    let described: Vec<_> = script
        .commands
        .iter()
        .map(|command| (command.line, &command.summary[..], command.words.join(" ")))
        .collect();
    assert_eq!(
        described,
        [
            (3, "select 1,", String::new()),
            (5, "\\set a 1 + \\\n 2", "set a".into()),
            (7, "\\SLEEP 5 ms", "SLEEP 5 ms".into()),
            (8, "\\shell echo  :a b", "shell echo :a b".into()),
        ]
    );
    let long = format!("select {}", "x".repeat(200));
    assert_eq!(parse(&long).0.commands[0].summary, long[..127]);
}

#[test]
fn captures_belong_to_the_statement_before() {
    let (script, _) = parse("select 1 \\gset\nselect 2; \\gset p_\nselect 3 \\; select 4 \\aset\nselect 5");
    let found: Vec<_> =
        statements(&script).iter().map(|statement| (statement.parts, statement.capture.clone())).collect();
    let empty: Box<[u8]> = Box::default();
    assert_eq!(
        found,
        [
            (1, Capture::Gset(empty.clone())),
            (1, Capture::Gset(b"p_"[..].into())),
            (2, Capture::Aset(empty)),
            (1, Capture::None)
        ]
    );
    assert_eq!(script.commands.len(), 4);
}

#[test]
fn variables_in_statements() {
    let cases = [
        ("select :a, ':a' /* :a */", "select 5, '5' /* 5 */", "select $1, '$2' /* $3 */"),
        ("select :a::int, :::a, x::text", "select 5::int, :::a, x::text", "select $1::int, :::a, x::text"),
        ("select :unset, :ab, :9", "select :unset, :ab, :9", "select $1, $2, :9"),
        ("select :n:t:f", "select NULLtruex y", "select $1$2$3"),
    ];
    for (source, simple, extended) in cases {
        let (script, mut symbols) = parse(source);
        let slots: [Slot; 4] = ["a", "n", "t", "f"].map(|name| symbols.intern(name));
        let mut variables = Variables::new(Arc::new(symbols));
        variables.set(slots[0], Value::Int(5));
        variables.set(slots[1], Value::Null);
        variables.set(slots[2], Value::Bool(true));
        variables.set_text(slots[3], b"x y");
        let statement = statements(&script)[0];
        let mut sent = Vec::new();
        statement.append_simple(&variables, &mut sent);
        assert_eq!((text(&sent), text(statement.extended_text())), (simple, extended));
    }
    let (script, symbols) = parse("select :a, :b, :a");
    let names: Vec<_> =
        statements(&script)[0].parameters().iter().map(|&slot| symbols.display_name(slot)).collect();
    assert_eq!(names, ["a", "b", "a"]);
}

/// The commands (by index) that a client runs, and its variable `x` afterwards.
fn follow(source: &str) -> (Vec<usize>, Result<Value, EvalError>) {
    let (script, mut symbols) = parse(source);
    let x = symbols.intern("x");
    let mut variables = Variables::new(Arc::new(symbols));
    let mut random = Random::new(1);
    let (mut visited, mut cursor) = (Vec::new(), Cursor::start());
    while let Some(command) = script.commands.get(cursor.command()) {
        visited.push(cursor.command());
        let mut truth = false;
        let mut eval = |expression: &script::Expression, variables: &mut Variables| {
            expression.eval(variables, &mut random, &mut |_| {}).expect("no errors")
        };
        if let Some(condition) = cursor.condition(&script) {
            truth = eval(condition, &mut variables).truth();
        } else if let Action::Set { expression, .. } = &command.action {
            let value = eval(expression, &mut variables);
            variables.set(x, value);
        }
        cursor = cursor.next(&script, truth);
    }
    (visited, variables.value(x))
}

#[test]
fn conditions_lead_where_pgbench_goes() {
    let branches = |first: &str, second: &str| {
        format!(
            "\\if {first}\n\\set x 1\n\\elif {second}\n\\set x 2\n\\else\n\\set x 3\n\\endif\n\\set y 4\n"
        )
    };
    // An \elif or \else behind a branch that ran is seen (and counted), the rest up to \endif is not.
    assert_eq!(follow(&branches("1", "1")).0, [0, 1, 2, 7]);
    assert_eq!(follow(&branches("0", "2.5")).0, [0, 2, 3, 4, 7]);
    assert_eq!(follow(&branches("null", "false")).0, [0, 2, 5, 6, 7]);
    assert_eq!(follow("\\if 0\n\\set x 1\n\\endif\nselect 1;").0, [0, 3]);
    assert_eq!(follow("\\if 0\n\\if 1\n\\else\n\\endif\n\\else\n\\set x 9\n\\endif").0, [0, 5, 6]);
    // The condition of an \elif that is not needed is not evaluated: here it would fail.
    let nested = "\\if true\n\\if 1 = 2\n\\set x 1\n\\else\n\\set x 2\n\\endif\n\\elif 1/0\n\\endif";
    assert_eq!(follow(nested), (vec![0, 1, 4, 5, 6], Ok(Value::Int(2))));
}

#[test]
fn pauses() {
    let cases = [
        ("2", Ok(2_000_000)),
        ("2 ms", Ok(2_000)),
        ("2us", Ok(2)),
        ("-3 s", Ok(0)),
        ("4000", Ok(4_000_000_000)),
        (":v MS", Ok(7_000)),
        (":none", Err("sleep: undefined variable \"none\"")),
        (":word", Err("sleep: invalid sleep time \"soon\" for variable \"word\"")),
    ];
    for (words, expected) in cases {
        let (script, mut symbols) = parse(&format!("\\sleep {words}"));
        let (v, word) = (symbols.intern("v"), symbols.intern("word"));
        let mut variables = Variables::new(Arc::new(symbols));
        variables.set(v, Value::Double(7.9));
        variables.set_text(word, b"soon");
        let Action::Sleep(sleep) = &script.commands[0].action else { panic!("{words}") };
        let found = sleep.duration(&variables).map_err(|error| error.to_string());
        assert_eq!(found, expected.map(Duration::from_micros).map_err(String::from), "{words}");
    }
}

#[test]
fn shell_commands() {
    let run = |words: &str| {
        let (script, mut symbols) = parse(&format!("\\shell {words}"));
        let v = symbols.intern("v");
        let mut variables = Variables::new(Arc::new(symbols));
        variables.set(v, Value::Int(7));
        let Action::Shell(shell) = &script.commands[0].action else { panic!("{words}") };
        let mut command = Vec::new();
        shell.append_command(&variables, &mut command).map_err(|error| error.to_string())?;
        Ok(text(&command).to_owned())
    };
    assert_eq!(run("echo   :v ::v a:v"), Ok("echo 7 :v a:v".into()));
    assert_eq!(run("echo :w"), Err("echo: undefined variable \":w\"".into()));
    assert_eq!(run(&"x".repeat(254)), Ok("x".repeat(254)));
    assert_eq!(run(&"x".repeat(255)), Err(format!("{}: shell command is too long", "x".repeat(255))));
}

#[test]
fn text_is_typed_on_first_use_and_kept() {
    let cases = [
        ("NuLL", Ok(Value::Null)),
        ("t", Ok(Value::Bool(true))),
        ("YES", Ok(Value::Bool(true))),
        ("on", Ok(Value::Bool(true))),
        ("f", Ok(Value::Bool(false))),
        ("n", Ok(Value::Bool(false))),
        ("of", Ok(Value::Bool(false))),
        ("+3", Ok(Value::Int(3))),
        (" 12", Ok(Value::Int(12))),
        ("-9223372036854775808", Ok(Value::Int(i64::MIN))),
        ("1.0", Ok(Value::Double(1.0))),
        ("1e2", Ok(Value::Double(100.0))),
        ("0x1p4", Ok(Value::Double(16.0))),
        ("-inf", Ok(Value::Double(f64::NEG_INFINITY))),
        ("9223372036854775808", Err("value \"9223372036854775808\" is out of range for type bigint")),
        ("+", Err("invalid input syntax for type bigint: \"+\"")),
        ("12 ", Err("malformed variable \"scale\" value: \"12 \"")),
        ("o", Err("malformed variable \"scale\" value: \"o\"")),
        ("trueX", Err("malformed variable \"scale\" value: \"trueX\"")),
        ("1e999", Err("malformed variable \"scale\" value: \"1e999\"")),
        ("", Err("variable \"scale\" is empty")),
    ];
    let mut variables = Variables::new(Arc::new(Symbols::new()));
    for (source, expected) in cases {
        variables.set_text(Symbols::SCALE, source.as_bytes());
        for _use in 0..2 {
            let value = variables.value(Symbols::SCALE).map_err(|error| error.to_string());
            assert_eq!(value, expected.map_err(String::from), "{source}");
        }
        let mut kept = Vec::new();
        assert!(variables.append_text(Symbols::SCALE, &mut kept));
        assert_eq!(text(&kept), source);
    }
}

#[test]
fn bad_names_matter_when_they_are_stored_to() {
    let (script, symbols) = parse("\\set . 1");
    let mut variables = Variables::new(Arc::new(symbols));
    let Action::Set { target, .. } = &script.commands[0].action else { panic!("not a \\set") };
    let error = target.store(&mut variables, "set", Value::Int(1)).expect_err("no variable's name");
    assert_eq!(error.to_string(), "set: invalid variable name: \".\"");
}

#[test]
fn columns_are_stored_by_name() {
    let mut symbols = Symbols::new();
    let slot = symbols.intern("p_x");
    let mut variables = Variables::new(Arc::new(symbols));
    assert_eq!(variables.store_column("gset", b"p_", b"x", Some(b"7")), Ok(()));
    assert_eq!(variables.value(slot), Ok(Value::Int(7)));
    assert_eq!(variables.store_column("gset", b"p_", b"unknown", Some(b"7")), Ok(()));
    assert_eq!(variables.store_column("gset", b"p_", b"x", None), Ok(()));
    let mut kept = Vec::new();
    assert!(variables.append_text(slot, &mut kept) && kept.is_empty(), "null is stored as empty text");
    let error = variables.store_column("gset", b"", b"?column?", Some(b"7")).expect_err("no name");
    assert_eq!(error.to_string(), "gset: invalid variable name: \"?column?\"");
}

#[test]
fn numbers_as_text() {
    let cases = [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-27.0, "-27"),
        (0.1 + 0.2, "0.3"),
        (1.0 / 3.0, "0.333333333333333"),
        (-0.00032, "-0.00032"),
        (0.0001, "0.0001"),
        (0.000_012_345, "1.2345e-05"),
        (1e14, "100000000000000"),
        (999_999_999_999_999.0, "999999999999999"),
        (1e15, "1e+15"),
        (123_456_789_012_345_678.0, "1.23456789012346e+17"),
        (8.507_059_173_023_46e37, "8.50705917302346e+37"),
        (1e100, "1e+100"),
        (5e-324, "4.94065645841247e-324"),
        (100_000_000_000_000.5, "100000000000000"),
        (1234.5, "1234.5"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
        (f64::NAN, "NaN"),
    ];
    for (value, expected) in cases {
        let mut out = Vec::new();
        Value::Double(value).append_text(&mut out);
        assert_eq!(text(&out), expected);
    }
}

#[test]
fn builtin_scripts() {
    let mut scripts = Scripts::new();
    for name in ["t", "simple-update", "se"] {
        scripts.add_builtin(Builtin::find(name).expect("unambiguous"), 1).expect("builtin scripts are right");
    }
    let shapes: Vec<_> =
        scripts.scripts().iter().map(|script| (&script.name[..], script.commands.len())).collect();
    assert_eq!(
        shapes,
        [("<builtin: TPC-B (sort of)>", 11), ("<builtin: simple update>", 9), ("<builtin: select only>", 2)]
    );
    assert_eq!(scripts.statements(), 13);
    assert_eq!(statements(&scripts.scripts()[2])[0].number, 12);
    let message = |name| Builtin::find(name).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(message("no-such"), Err("no builtin script found for name \"no-such\"".into()));
    assert_eq!(message("s"), Err("ambiguous builtin name: 2 builtin scripts found for prefix \"s\"".into()));
    insta::assert_snapshot!(Builtin::list(), @r"
    Available builtin scripts:
          tpcb-like: <builtin: TPC-B (sort of)>
      simple-update: <builtin: simple update>
        select-only: <builtin: select only>
    ");
}
