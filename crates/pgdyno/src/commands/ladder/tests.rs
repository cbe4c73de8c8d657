use super::*;
use crate::commands::bench::against::base::Folder;
use crate::commands::{Cli, Command, parse_from};
use crate::exit::CommandFailure;

fn args(line: &str) -> Box<Args> {
    let words = ["pgdyno", "ladder"].into_iter().chain(line.split_whitespace());
    let cli: Cli = parse_from(words.map(Into::into)).unwrap_or_else(|error| panic!("{line}: {error}"));
    match cli.command {
        Command::Ladder(args) => args,
        other => panic!("{other:?}"),
    }
}

fn made(line: &str) -> anyhow::Result<MadeExperiment> {
    let args = args(line);
    args.made.asked().check("in a ladder")?;
    let written = file::made(&args, &Folder::of(None))?;
    written.read(NOWHERE, None)?;
    Ok(written)
}

/// One command repeats both ladders of the study.
#[test]
fn the_ladders_of_the_study() {
    let folder = tempfile::tempdir().unwrap();
    let scripts = [1, 2, 3].map(|number| folder.path().join(format!("reporting{number}.sql")));
    for script in &scripts {
        std::fs::write(script, "SELECT 1;\n").unwrap();
    }
    let [one, two, three] = scripts.each_ref().map(|script| script.display());
    let line = format!(
        "--clients 3,8,10,12,14,16 --rate-per-client 1 --promise 500ms --promise 250ms -T 20 -j 2 --rounds 1 \
         -f {one}@1 -f {two}@1 -f {three}@1 --managed=pi"
    );
    let written = made(&line).unwrap();
    let file: toml::Table = written.text().parse().unwrap();
    assert_eq!(file["factors"].to_string(), {
        r#"{ clients = [3, 8, 10, 12, 14, 16], promise = ["500ms", "250ms"], rate_per_client = 1 }"#
    });
    assert_eq!(written.name, "reporting1-and-reporting2-and-reporting3-ladder");
    assert_eq!(
        file["question"].as_str(),
        Some(
            "Up to which rate does reporting1 and reporting2 and reporting3 keep p99 < 500ms and p99 < 250ms?"
        )
    );
    let measure = r#"{ duration = "20s", rounds = 1, threads = 2, warmup = "2s" }"#;
    assert_eq!(file["measure"].to_string(), measure);
    assert!(!written.text().contains("[prepare]"), "scripts of one's own need no pgbench tables");
}

/// `--driver` was refused, with a false reason.
#[test]
fn a_ladder_has_the_driver_that_is_asked_for() {
    let written = made("-S -c 4,16 --driver io_uring --wait spin shop").unwrap();
    let file: toml::Table = written.text().parse().unwrap();
    assert_eq!(file["measure"]["driver"].as_str(), Some("io_uring"));
    assert_eq!(file["measure"]["wait"].as_str(), Some("spin"));
}

#[test]
fn rates_clients_and_both_in_step() {
    for (line, wanted) in [
        ("-S -c 1,2,4 shop", "{ clients = [1, 2, 4] }"),
        ("-S -R 100,200.5 shop", "{ clients = 16, rate = [100, 200.5] }"),
        ("-S -R 100,200 -c 4 shop", "{ clients = 4, rate = [100, 200] }"),
        ("-S -c 2,4,8 -R 100 shop", "{ clients = [2, 4, 8], rate = 100 }"),
        ("-S -c 2,4,8 -R 3,6,12 shop", "{ clients = [2, 4, 8], rate_per_client = 1.5 }"),
        ("-S -c 2,4 -L 250 shop", "{ clients = [2, 4], promise = \"250ms\" }"),
        ("-S -c 2,4 -L p99<250ms shop", "{ clients = [2, 4], promise = \"250ms\" }"),
        (
            "-S -c 2,4 --client 1,3 --promise 1s,0.5s shop",
            "{ clients = [2, 4, 1, 3], promise = [\"1s\", \"0.5s\"] }",
        ),
    ] {
        let file: toml::Table = made(line).unwrap().text().parse().unwrap();
        assert_eq!(file["factors"].to_string(), wanted, "{line}");
    }
    let file: toml::Table = made("-S -c 1,2 --bound 5 -s 3 --managed").unwrap().text().parse().unwrap();
    assert_eq!(file["load"].to_string(), "{ bound = \"5%\" }");
    assert_eq!(file["prepare"].to_string(), "{ pgbench = { scale = 3 } }");
    // A private server allows a hundred connections by default.
    let file: toml::Table = made("-S -c 50,200 --managed").unwrap().text().parse().unwrap();
    assert_eq!(file["settings"].to_string(), "{ room = { max_connections = 210 } }");
}

#[test]
fn what_is_no_ladder_is_told_in_words_of_the_command() {
    for (line, wanted) in [
        ("-S -c 1,2 postgres://h:54321x/shop", "invalid port value"),
        ("-S -c 1,2 --unlogged-tables shop", "--unlogged-tables is for pgbench's tables"),
        ("-S shop", "two rungs"),
        ("-S -c 4 shop", "two rungs"),
        ("-S -R 100 shop", "two rungs"),
        ("-S -c 4 --rate-per-client 2 shop", "two rungs"),
        ("-S -c 1,2 -R 10,30 shop", "do not rise in step"),
        ("-S -c 1,2,3 -R 10,20 shop", "do not rise in step"),
        ("-S -c 2,2 shop", "-c: lists 2 twice"),
        ("-S -c 0,2 shop", "-c must be from 1"),
        ("-S -R 0,2 shop", "-R must be from 0.001"),
        ("-S -c 1,2 --rate-per-client -3 shop", "--rate-per-client must be from"),
        ("-S -c 1,2 -L 5min,xs shop", "must be a length of time"),
        ("-S -c 1,2 -L p99<1s --bound 5 shop", "p99 is a bound of 1 %"),
        ("-S -c 1,2 -L 5x shop", "-L"),
        ("-S -c 1,2 -L 2h shop", "-L must be from"),
        ("-S -c 1,2 -i shop", "-i cannot be used in a ladder"),
        ("-S -c 1,2 -P 1 shop", "-P cannot be used in a ladder"),
        ("-S -c 1,2 shop --managed", "leave one of them out"),
        ("-f /nowhere/x.sql -c 1,2 shop", "/nowhere/x.sql"),
    ] {
        let words = ["pgdyno", "ladder"].into_iter().chain(line.split_whitespace());
        let told = match parse_from(words.map(Into::into)) {
            Err(error) => error.to_string(),
            Ok(_) => {
                let error = made(line).expect_err(line);
                let hint = error.downcast_ref::<CommandFailure>().and_then(|failure| failure.hint.clone());
                format!("{error} {}", hint.unwrap_or_default())
            }
        };
        assert!(told.contains(wanted), "{line}: {told}");
    }
}
