use super::*;
use crate::commands::bench::against::base::Folder;
use crate::commands::{Cli, Command, parse_from};
use crate::exit::CommandFailure;

fn made(line: &[&str]) -> anyhow::Result<MadeExperiment> {
    let words = ["pgdyno", "limit"].iter().chain(line);
    let cli: Cli = parse_from(words.map(Into::into))?;
    let Command::Limit(args) = cli.command else { panic!("another command") };
    args.made.asked().check("in a limit")?;
    let change = against::change(&args.compare)?;
    let made = file::made(&args, change.as_ref(), &Folder::of(None))?;
    made.read(NOWHERE, None)?;
    Ok(made)
}

#[test]
fn a_search_is_a_file() {
    let made = made(&["--promise", "p99 < 20ms", "--promise", "p50 < 2ms", "-S", "shop"]).unwrap();
    let file: toml::Table = made.text().parse().unwrap();
    assert_eq!(
        file["load"].to_string(),
        r#"{ search = { grow_clients = true, promise = "p99 < 20ms and p50 < 2ms" } }"#
    );
    assert_eq!(file["measure"].to_string(), r#"{ duration = "20s", warmup = "3s" }"#);
    assert_eq!(made.name, "select-only-limit");
}

#[test]
fn bounds_and_clients_of_ones_own() {
    let line = "--lowest 100 --highest 5000.5 --width 5 -c 16 -T 5 --warmup 1 -j 2 -S shop";
    let words = ["--promise", "late(20ms) < 0.5%", "--confirm", "ramp 0.5..1 over 5s"];
    let line: Vec<&str> = words.into_iter().chain(line.split(' ')).collect();
    let file: toml::Table = made(&line).unwrap().text().parse().unwrap();
    assert_eq!(
        file["load"].to_string(),
        r#"{ search = { confirm = ["ramp 0.5..1 over 5s"], highest = 5000.5, lowest = 100.0, promise = "late(20ms) < 0.5%", width = "5%" } }"#
    );
    assert_eq!(file["factors"].to_string(), "{ clients = 16 }");
}

#[test]
fn limits_of_two_sides_are_a_comparison() {
    let line = ["--promise", "p99 < 20ms", "-S", "shop", "--against", "settings: jit=off", "--margin", "5"];
    let made = made(&line).unwrap();
    let file: toml::Table = made.text().parse().unwrap();
    assert_eq!(file["compare"].to_string(), r#"{ base = "base", factor = "settings", margin = "5%" }"#);
    assert_eq!(file["load"]["search"]["promise"].as_str(), Some("p99 < 20ms"));
    let question = file["question"].as_str().unwrap();
    assert_eq!(question, "Can select-only with jit = off take more than without at p99 < 20ms?");
    assert_eq!(made.name, "select-only-jit-off-limit");
}

#[test]
fn what_cannot_be_searched_is_told_in_words_of_the_command() {
    for (line, wanted) in [
        (&["-S", "shop"][..], "--promise"),
        (&["--promise", "p99 > 2s", "-S", "shop"], "needs an upper bound: write <"),
        (&["--promise", "p99 < 2s", "-S", "postgres://h:54321x/shop"], "invalid port value"),
        (
            &["--promise", "p99 < 2s", "-S", "--partitions", "8", "shop"],
            "--partitions is for pgbench's tables",
        ),
        (
            &["--promise", "p99 < 2s", "-S", "--managed", "--against", "sql: create index on t (a)"],
            "is done and undone on one server",
        ),
        (&["--promise", "mean < 2s", "-S", "shop"], "unknown figure \"mean\""),
        (&["--promise", "p99 < 1s and p50 < 2s", "-S", "shop"], "follows from"),
        (&["--promise", "p99 < 1s", "--lowest", "9", "--highest", "8", "-S"], "wrong way round"),
        (&["--promise", "p99 < 1s", "--lowest", "-1", "-S"], "--lowest must be from"),
        (&["--promise", "p99 < 1s", "--width", "90", "-S"], "--width must be from 0.5%"),
        (&["--promise", "p99 < 1s", "-c", "0", "-S"], "at least 1, or auto"),
        (&["--promise", "p99 < 1s", "-S", "--undo", "x"], "--against"),
        (&["--promise", "p99 < 1s", "-S", "--against", "setting: x=1"], "did you mean 'settings: …'?"),
        (&["--promise", "p99 < 1s", "-S", "--against", "version: 18"], "need a private server"),
        (&["--promise", "p99 < 1s", "--confirm", "0.5", "-S"], "--confirm must be rates that change"),
        (&["--promise", "p99 < 1s", "--confirm", "ramp 1..20 over 5s", "-S"], "10 times the limit"),
        (&["--promise", "p99 < 1s", "--confirm", "saw 1..2", "-S"], "--confirm cannot be \"saw 1..2\""),
        (&["--promise", "p99 < 1s", "--confirm", "ramp 0.5..1 over 30s", "-S"], "trials last 20 s"),
        (&["--promise", "p99 < 1s", "-P", "1", "-S"], "-P cannot be used in a limit"),
        (&["--promise", "p99 < 1s", "-f", "/nowhere/x.sql"], "/nowhere/x.sql"),
    ] {
        let error = made(line).expect_err(&line.join(" "));
        let hint = error.downcast_ref::<CommandFailure>().and_then(|failure| failure.hint.clone());
        let told = format!("{error} {}", hint.unwrap_or_default());
        assert!(told.contains(wanted), "{line:?}: {told}");
    }
}
