//! What scripts cost the client that runs them: reading once, evaluating and pasting for every transaction.

use std::sync::Arc;

use divan::{Bencher, black_box};
use script::{Action, BUILTINS, Random, Scripts, Symbols, Value, Variables};

/// Expressions as scripts have them, from none to much work.
const EXPRESSIONS: &[&str] = &[
    "1",
    ":scale",
    "100000 * :scale",
    "random(1, 100000 * :scale)",
    "random_exponential(1, 100000, 2.5)",
    "random_gaussian(1, 100000, 2.5)",
    "random_zipfian(1, 100000, 1.2)",
    "permute(:scale, 100000)",
    "1 + hash(:scale) % 100000",
    "case when :scale > 5 and not :scale is null then abs(-1.5) * 2 else greatest(1, 2, 3) end",
];

/// The builtin scripts by their names.
const NAMES: &[&str] = &["tpcb-like", "simple-update", "select-only"];

fn main() {
    divan::main();
}

/// A script, alone, with a client's variables.
fn client(text: &str) -> (Scripts, Variables) {
    let mut scripts = Scripts::new();
    scripts.add("bench.sql", text.as_bytes(), 1).expect("a good script");
    let mut variables = Variables::new(Arc::new(scripts.symbols().clone()));
    variables.set(Symbols::SCALE, Value::Int(10));
    variables.set(Symbols::DEFAULT_SEED, Value::Int(5432));
    (scripts, variables)
}

fn builtin(name: &str) -> &'static str {
    BUILTINS.iter().find(|builtin| builtin.name == name).expect("a builtin").text
}

#[divan::bench(args = NAMES)]
fn parse(bencher: Bencher<'_, '_>, name: &str) {
    let text = builtin(name);
    bencher.counter(divan::counter::BytesCount::of_str(text)).bench(|| client(black_box(text)));
}

#[divan::bench(args = EXPRESSIONS)]
fn set(bencher: Bencher<'_, '_>, expression: &str) {
    let (scripts, mut variables) = client(&format!("\\set x {expression}"));
    let mut random = Random::new(1);
    let Action::Set { target, expression } = &scripts.scripts()[0].commands[0].action else {
        unreachable!("the script is a \\set");
    };
    bencher.bench_local(|| {
        let value = expression.eval(&mut variables, &mut random, &mut |_| {}).expect("a value");
        target.store(&mut variables, "set", black_box(value)).expect("a good name");
    });
}

/// All that a client does for a transaction but to send it: values are drawn and pasted into the statements.
#[divan::bench(args = NAMES)]
fn transaction(bencher: Bencher<'_, '_>, name: &str) {
    let (scripts, mut variables) = client(builtin(name));
    let mut random = Random::new(1);
    let mut out = Vec::new();
    bencher.bench_local(|| {
        out.clear();
        for command in &scripts.scripts()[0].commands {
            match &command.action {
                Action::Set { target, expression } => {
                    let value = expression.eval(&mut variables, &mut random, &mut |_| {}).expect("a value");
                    target.store(&mut variables, "set", value).expect("a good name");
                }
                Action::Sql(statement) => statement.append_simple(&variables, &mut out),
                _ => {}
            }
        }
        black_box(out.len())
    });
}
