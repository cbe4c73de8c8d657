use super::*;
use crate::sql::fake::FakeSql;

/// The statements and messages of a run at this many ms a clock reading.
fn run(options: &InitOptions) -> (Vec<String>, Vec<String>, JobReport) {
    let mut sql = FakeSql::new();
    sql.answer("show server_version_num", &[&["150018"]]);
    let (mut messages, mut now) = (Vec::new(), 0);
    let mut clock = || {
        now += 10_000;
        now
    };
    let report = initialize(&mut sql, options, &mut clock, &mut |line| messages.push(line.to_owned()));
    (sql.asked, messages, report.unwrap())
}

#[test]
fn the_default_steps() {
    let (statements, messages, report) = run(&InitOptions::at_scale(2));
    insta::assert_snapshot!("default_statements", statements.join("\n"));
    insta::assert_snapshot!("default_messages", messages.join("\n"));
    let phases: Vec<_> = report.phases.iter().map(|phase| (phase.name.as_str(), phase.count)).collect();
    assert_eq!(
        phases,
        [
            ("drop tables", None),
            ("create tables", None),
            ("client-side generate", Some(2 + 20 + 200_000)),
            ("vacuum", None),
            ("primary keys", None),
        ]
    );
}

#[test]
fn every_option_is_used() {
    let options = InitOptions {
        steps: parse_steps("t Gpf").unwrap(),
        scale: 20_000,
        fillfactor: 70,
        unlogged: true,
        partitions: 3,
        tablespace: Some("fast".into()),
        index_tablespace: Some("faster".into()),
        ..InitOptions::default()
    };
    let (statements, _, _) = run(&options);
    insta::assert_snapshot!("all_options", statements.join("\n"));
    let hash =
        InitOptions { partition_method: PartitionMethod::Hash, partitions: 2, ..InitOptions::default() };
    let created = tables::create(&hash);
    assert_eq!(
        created.last().unwrap(),
        "create table pgbench_accounts_2 partition of pgbench_accounts for values with (modulus 2, remainder 1) with \
         (fillfactor=100)"
    );
}

#[test]
fn foreign_keys_are_added_once() {
    let steps = |text: &str| InitOptions {
        steps: parse_steps(text).unwrap(),
        foreign_keys: true,
        ..InitOptions::default()
    };
    let letters =
        |options: InitOptions| options.all_steps().iter().map(|step| step.letter()).collect::<String>();
    assert_eq!(letters(steps("dtg")), "dtgf");
    assert_eq!(letters(steps("dtfg")), "dtfg");
}

#[test]
fn wrong_steps_are_named() {
    assert!(parse_steps("dtx").unwrap_err().contains("\"x\""));
    assert!(parse_steps("").is_err());
}

#[test]
fn errors_name_their_statement() {
    let mut sql = FakeSql::new();
    sql.refuse("drop table", "42501", "ERROR:  must be owner of table pgbench_accounts");
    let result = initialize(&mut sql, &InitOptions::default(), &mut || 0, &mut |_| ());
    let message = result.unwrap_err().to_string();
    assert!(message.starts_with("while running \"drop table"), "{message}");
    assert!(message.ends_with("must be owner of table pgbench_accounts"), "{message}");
}
