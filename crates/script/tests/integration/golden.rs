//! Everything in `golden/` was printed by the real pgbench (15.18): the scripts there, run with the seeds named here,
//! must give the same lines.

use std::fmt::Write;
use std::sync::Arc;

use script::{
    Action, Cursor, DebugLine, EvalError, Random, Scripts, Streams, Symbols, Value, Variables, Weighted,
};

const DEFINITIONS: [(&str, &str); 13] = [
    ("i", "+3"),
    ("d", "1.0"),
    ("b", "yes"),
    ("n", "nULL"),
    ("t", "t"),
    ("u", "of"),
    ("v1", "-17"),
    ("x2", "1e2"),
    ("e", "0x1p4"),
    ("bad", "bla"),
    ("plus", "+"),
    ("sp", " 12"),
    ("big", "99999999999999999999"),
];

fn golden(name: &str) -> String {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A run of one thread, as pgbench makes it for scripts that do not send anything.
struct Bench {
    scripts: Scripts,
    variables: Vec<Variables>,
    streams: Streams,
    printed: String,
}

impl Bench {
    fn new(scripts: Scripts, seed: u64, clients: usize) -> Self {
        let mut streams = Streams::new(seed, clients, 1, false);
        let mut first = Variables::new(Arc::new(scripts.symbols().clone()));
        for (name, value) in DEFINITIONS {
            first.define("option", name.as_bytes(), value.as_bytes()).expect("good names");
        }
        first.set_default(Symbols::SCALE, Value::Int(1));
        first.set_default(Symbols::RANDOM_SEED, Value::Int(seed as i64));
        let default_seed = streams.default_seed.take().expect("not given");
        first.set_default(Symbols::DEFAULT_SEED, Value::Int(default_seed));
        let variables = (0..clients as i64).map(|client| {
            let mut variables = first.clone();
            variables.set_default(Symbols::CLIENT_ID, Value::Int(client));
            variables
        });
        Self { variables: variables.collect(), scripts, streams, printed: String::new() }
    }

    /// What is printed by so many transactions of each client.
    fn run(mut self, transactions: usize) -> String {
        let chooser = self.scripts.chooser();
        for _ in 0..transactions {
            for client in 0..self.variables.len() {
                let script = chooser.choose(&mut self.streams.threads[0].choose);
                self.transaction(client, script).expect("the golden scripts have no errors");
            }
        }
        self.printed
    }

    fn transaction(&mut self, client: usize, number: usize) -> Result<(), EvalError> {
        let script = &self.scripts.scripts()[number];
        let (variables, random) = (&mut self.variables[client], &mut self.streams.clients[client]);
        let mut cursor = Cursor::start();
        while let Some(command) = script.commands.get(cursor.command()) {
            let mut debug = |value| {
                let line = DebugLine { script: number, command: cursor.command(), value };
                writeln!(self.printed, "{line}").expect("strings can be written to");
            };
            let mut truth = false;
            if let Some(condition) = cursor.condition(script) {
                truth = condition.eval(variables, random, &mut debug)?.truth();
            } else if let Action::Set { target, expression } = &command.action {
                let value = expression.eval(variables, random, &mut debug)?;
                target.store(variables, "set", value)?;
            }
            cursor = cursor.next(script, truth);
        }
        Ok(())
    }
}

fn scripts(names: &[&str]) -> Scripts {
    let mut scripts = Scripts::new();
    for name in names {
        let Weighted { name, weight } = Weighted::parse(name).expect("good weight");
        scripts.add(&name, golden(&name).as_bytes(), weight).expect("good script");
    }
    scripts
}

fn assert_same_lines(actual: &str, expected: &str, script: &str) {
    for (index, (actual, expected)) in actual.lines().zip(expected.lines()).enumerate() {
        let command = script.lines().nth(index).unwrap_or_default();
        assert_eq!(actual, expected, "line {} {command}", index + 1);
    }
    assert_eq!(actual.lines().count(), expected.lines().count());
}

#[test]
fn expressions() {
    let actual = Bench::new(scripts(&["expressions.sql"]), 5432, 1).run(1);
    assert_same_lines(&actual, &golden("expressions.out"), "");
}

#[test]
fn hashes_permutations_and_distributions() {
    let actual = Bench::new(scripts(&["functions.sql"]), 5432, 1).run(1);
    assert_same_lines(&actual, &golden("functions.out"), &golden("functions.sql"));
}

#[test]
fn streams_of_clients() {
    for seed in [0, 5432, u64::MAX] {
        let actual = Bench::new(scripts(&["streams.sql"]), seed, 5).run(2);
        assert_same_lines(&actual, &golden(&format!("streams-{seed}.out")), "");
    }
}

#[test]
fn choice_of_scripts() {
    let weighted = ["choice-b.sql@5", "choice-c.sql@0", "choice-d.sql@3"];
    let actual = Bench::new(scripts(&weighted), 99, 3).run(40);
    assert_same_lines(&actual, &golden("choice.out"), "");
}

#[test]
fn messages_of_failed_evaluations() {
    for line in golden("errors.tsv").lines() {
        let (text, expected) = line.split_once('\t').expect("two columns");
        let mut scripts = Scripts::new();
        scripts.add("f", format!("\\set r {text}").as_bytes(), 1).expect("good script");
        let mut bench = Bench::new(scripts, 5432, 1);
        let error = bench.transaction(0, 0).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn a_retry_draws_the_same_numbers() {
    let mut random = Random::new(5432);
    random.next_u64();
    let saved = random.clone();
    let drawn: Vec<i64> = (0..9).map(|_| random.zipfian(1, 1000, 1.5)).collect();
    random = saved;
    assert_eq!(drawn, (0..9).map(|_| random.zipfian(1, 1000, 1.5)).collect::<Vec<_>>());
}
