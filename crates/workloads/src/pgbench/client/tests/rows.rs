//! Variables from rows.

use std::path::Path;

use super::*;
use crate::pgbench::{RowOptions, RowOrder, RowPer, RowUse, ScriptOption};

fn csv(rows: usize) -> (tempfile::TempDir, RowOptions) {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..rows).map(|row| format!("{row},\"it's {row}\"\n")).collect();
    std::fs::write(folder.path().join("rows.csv"), format!("id,name\n{lines}")).unwrap();
    (folder, RowOptions { csv: Some("rows.csv".into()), ..RowOptions::default() })
}

fn opened(folder: &Path, mode_used: QueryProtocol, rows: RowOptions, scripts: &[&str]) -> Pgbench {
    let script = |text: &&str| ScriptOption { text: Some((*text).to_owned()), ..ScriptOption::default() };
    let scripts = scripts.iter().map(script).collect();
    let options = PgbenchOptions { scripts, variables: Some(rows), ..mode(mode_used) };
    Pgbench::open(&options, folder).unwrap()
}

/// The numbers in the statements `select NUMBER …` that arrived, sorted; and what was measured.
fn ids(workload: &Pgbench, count: usize, threads: usize, each: u64) -> (Vec<u64>, EngineResult) {
    let wanted = Clients { count, threads, seed: 7, statements: false };
    let clients = workload.clients(&places(), wanted).unwrap();
    let mut server = FakePostgres::new(|_, sql: &str| usual(sql));
    let measured = server.run(clients, each, workload.scripts().len()).unwrap();
    let number = |sql: &&str| sql.strip_prefix("select ")?.split([',', ';']).next()?.parse().ok();
    let mut ids: Vec<u64> = server.asked().iter().filter_map(number).collect();
    ids.sort_unstable();
    (ids, measured)
}

#[test]
fn each_row_is_used_once_in_every_mode() {
    for mode_used in [QueryProtocol::Simple, QueryProtocol::Extended, QueryProtocol::Prepared] {
        for order in [RowOrder::Listed, RowOrder::Random] {
            let (folder, rows) = csv(20);
            let rows = RowOptions { usage: RowUse::Once, order, ..rows };
            let name = if mode_used == QueryProtocol::Simple { "':name'" } else { ":name" };
            let chosen = format!("\\if :id % 2 = 0\nselect :id, {name};\n\\else\nselect :id;\n\\endif");
            let scripts = [chosen.as_str(), "select :id;"];
            let (found, measured) = ids(&opened(folder.path(), mode_used, rows, &scripts), 4, 2, 5);
            assert_eq!(found, (0..20).collect::<Vec<_>>(), "{mode_used:?} {order:?}");
            assert_eq!((measured.totals().ok, measured.aborts.len()), (20, 0));
        }
    }
}

#[test]
fn a_client_without_a_further_row_stops_with_the_reason() {
    let (folder, rows) = csv(5);
    let rows = RowOptions { usage: RowUse::Once, ..rows };
    let workload = opened(folder.path(), QueryProtocol::Simple, rows, &["select :id;"]);
    let (found, measured) = ids(&workload, 2, 1, 3);
    assert_eq!(found, [0, 1, 2, 3, 4]);
    let [only] = &measured.aborts[..] else { panic!("{:?}", measured.aborts) };
    assert_eq!(
        only.message,
        "client 1 stopped: the 5 rows of rows.csv are used up; add rows, let them repeat, or make the run shorter"
    );
    let told = workload
        .suffices(2, Some(crate::each::Each { transactions: 3, sessions: None }))
        .unwrap_err()
        .to_string();
    assert!(told.contains("rows.csv has 5 rows"), "{told}");
}

/// With a connection per transaction none is opened for the missing row.
#[test]
fn a_client_without_a_row_does_not_connect() {
    let (folder, rows) = csv(3);
    let script = ScriptOption { text: Some("select :id;".into()), ..ScriptOption::default() };
    let variables = Some(RowOptions { usage: RowUse::Once, ..rows });
    let options =
        PgbenchOptions { scripts: vec![script], variables, reconnect: true, ..PgbenchOptions::default() };
    let (found, measured) = ids(&Pgbench::open(&options, folder.path()).unwrap(), 1, 1, 5);
    let totals = measured.totals();
    assert_eq!((found.len(), totals.ok, totals.failed, measured.aborts.len()), (3, 3, 0, 1));
}

#[test]
fn a_client_can_keep_one_row() {
    let (folder, rows) = csv(3);
    let rows = RowOptions { per: RowPer::Client, ..rows };
    let workload = opened(folder.path(), QueryProtocol::Prepared, rows, &["select :id;"]);
    assert_eq!(ids(&workload, 3, 2, 2).0, [0, 0, 1, 1, 2, 2]);
    assert!(workload.clients(&places(), load(4)).is_err());
}

/// A transaction that is tried again keeps its row.
#[test]
fn a_retry_has_the_same_row() {
    let (folder, rows) = csv(2);
    let script = ScriptOption { text: Some("select :id;".into()), ..ScriptOption::default() };
    let options = PgbenchOptions {
        scripts: vec![script],
        variables: Some(rows),
        max_tries: 2,
        ..PgbenchOptions::default()
    };
    let workload = Pgbench::open(&options, folder.path()).unwrap();
    let mut tries = 0;
    let mut server = FakePostgres::new(move |_, _: &str| {
        tries += 1;
        match tries {
            1 => vec![AnswerPart::Error("40001", "could not serialize access")],
            _ => one("1"),
        }
    });
    server.run(workload.clients(&places(), load(1)).unwrap(), 2, 1).unwrap();
    assert_eq!(server.asked(), ["select 0;", "select 0;", "select 1;"]);
}
