//! What must hold for any script and any expression.

use std::sync::Arc;

use proptest::prelude::*;
use script::{Action, Expression, Random, Script, Scripts, Symbols, Value, Variables};

/// Pieces that scripts are made of, right or wrong.
const PIECES: &[&str] = &[
    "select ",
    "1",
    "2.5",
    " ",
    "\n",
    "\t",
    ";",
    "\\;",
    "\\",
    "'",
    "''",
    "\"",
    "$$",
    "$a$",
    "$1",
    "E'",
    "--",
    "/*",
    "*/",
    "(",
    ")",
    ",",
    "begin ",
    "end",
    "create function f() begin atomic ",
    ":x",
    "::int",
    ":",
    "é",
    "\\set x ",
    "\\set ",
    "\\if ",
    "\\elif ",
    "\\else",
    "\\endif\n",
    "\\sleep ",
    "ms",
    "\\gset",
    "\\aset p_",
    "\\shell echo ",
    "\\setshell v ",
    "+",
    "-",
    "~",
    "not ",
    " is null",
    "case when ",
    " then ",
    " else ",
    "hash(",
    "random(",
    "least(",
    "<",
    "=",
    "\\\n",
    "\r\n",
    "\0",
    "1e",
];

fn expression_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|value| value.to_string()),
        any::<u32>().prop_map(|value| format!("{:e}", f64::from(value) / 7.0)),
        prop::sample::select(&[":x", ":y", "null", "true", "FALSE", "pi()", "0"][..]).prop_map(String::from),
    ];
    leaf.prop_recursive(5, 60, 4, |inner| {
        let operators = &[
            "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "=", "<>", "&", "|", "#", "<<", ">>", " and ",
            " or ",
        ][..];
        let tests = &[" is null", " is not true", " notnull"][..];
        prop_oneof![
            (inner.clone(), prop::sample::select(operators), inner.clone())
                .prop_map(|(a, op, b)| format!("({a}{op}{b})")),
            (prop::sample::select(&["-", "~", "not ", "+"][..]), inner.clone())
                .prop_map(|(op, a)| format!("({op} {a})")),
            (inner.clone(), prop::sample::select(tests)).prop_map(|(a, test)| format!("({a}{test})")),
            (prop::sample::select(&["abs", "hash", "debug", "int"][..]), inner.clone())
                .prop_map(|(name, a)| format!("{name}({a})")),
            (
                prop::sample::select(&["least", "permute", "random_zipfian"][..]),
                inner.clone(),
                inner.clone(),
                inner.clone()
            )
                .prop_map(|(name, a, b, c)| format!("{name}({a},{b},{c})")),
            (prop::collection::vec(inner.clone(), 17)).prop_map(|all| format!("greatest({})", all.join(","))),
            (inner.clone(), inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c, d)| format!("case when {a} then {b} when {c} then {d} end")),
        ]
    })
}

fn set_expression(text: &str, symbols: &mut Symbols) -> Expression {
    let script = Script::parse("f", format!("\\set v {text}").as_bytes(), symbols);
    match script.map(|script| script.commands.into_iter().next().map(|command| command.action)) {
        Ok(Some(Action::Set { expression, .. })) => expression,
        other => panic!("{text}: {other:?}"),
    }
}

/// Runs everything in a parsed script that can be run here.
fn exercise(scripts: &Scripts) {
    let mut variables = Variables::new(Arc::new(scripts.symbols().clone()));
    let mut random = Random::new(1);
    let mut out = Vec::new();
    for command in scripts.scripts().iter().flat_map(|script| &script.commands) {
        match &command.action {
            Action::Sql(statement) => statement.append_simple(&variables, &mut out),
            Action::Set { expression, .. } => drop(expression.eval(&mut variables, &mut random, &mut |_| {})),
            Action::Sleep(sleep) => drop(sleep.duration(&variables)),
            Action::Shell(shell) | Action::SetShell { shell, .. } => {
                drop(shell.append_command(&variables, &mut out));
            }
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn any_pieces_parse_or_fail(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        let mut scripts = Scripts::new();
        match scripts.add("f", pieces.concat().as_bytes(), 1) {
            Ok(()) => exercise(&scripts),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn any_bytes_parse_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut scripts = Scripts::new();
        if scripts.add("f", &bytes, 1).is_ok() {
            exercise(&scripts);
        }
    }

    #[test]
    fn plain_text_is_sent_as_it_is(text in "[a-z]([a-z0-9 ,=\n]|'[;:a-z]*')*") {
        let mut symbols = Symbols::new();
        let script = Script::parse("f", format!("{text}x;").as_bytes(), &mut symbols).expect("SQL");
        let variables = Variables::new(Arc::new(symbols));
        let mut sent = Vec::new();
        for command in &script.commands {
            if let Action::Sql(statement) = &command.action {
                statement.append_simple(&variables, &mut sent);
            }
        }
        prop_assert_eq!(String::from_utf8_lossy(&sent), format!("{text}x;"));
    }

    #[test]
    fn printed_expressions_parse_to_the_same(text in expression_text()) {
        let mut symbols = Symbols::new();
        let expression = set_expression(&text, &mut symbols);
        let printed = expression.to_text(&symbols);
        prop_assert_eq!(&set_expression(&printed, &mut symbols), &expression, "{}", printed);
    }

    #[test]
    fn integers_survive_as_text(value in any::<i64>()) {
        let mut variables = Variables::new(Arc::new(Symbols::new()));
        variables.set(Symbols::SCALE, Value::Int(value));
        let mut text = Vec::new();
        variables.append_text(Symbols::SCALE, &mut text);
        prop_assert_eq!(String::from_utf8_lossy(&text), value.to_string());
        variables.set_text(Symbols::SCALE, &text);
        prop_assert_eq!(variables.value(Symbols::SCALE), Ok(Value::Int(value)));
    }

    #[test]
    fn doubles_survive_to_fifteen_digits(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_normal());
        let mut variables = Variables::new(Arc::new(Symbols::new()));
        variables.set(Symbols::SCALE, Value::Double(value));
        let mut text = Vec::new();
        variables.append_text(Symbols::SCALE, &mut text);
        let back: f64 = String::from_utf8_lossy(&text).parse().expect("a number");
        prop_assert!(((back - value) / value).abs() <= 5.01e-15, "{} {}", value, back);
    }

    #[test]
    fn permutations_hit_everything_once(size in 1_i64..300, seed in any::<i64>()) {
        let mut seen: Vec<i64> = (0..size).map(|value| script::permute(value, size, seed)).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..size).collect::<Vec<_>>());
    }

    #[test]
    fn random_numbers_stay_in_their_range(low in any::<i32>(), len in any::<u32>(), seed in any::<u64>()) {
        let (low, high) = (i64::from(low), i64::from(low) + i64::from(len));
        let mut random = Random::new(seed);
        for value in [
            random.uniform(low, high),
            random.exponential(low, high, 2.0),
            random.gaussian(low, high, 2.5),
            random.zipfian(low, high, 1.2),
        ] {
            prop_assert!((low..=high).contains(&value), "{}", value);
        }
    }
}
