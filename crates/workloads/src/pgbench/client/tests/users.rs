//! Users: scripts in the order of a session, rows and connections per session.

use std::sync::Arc;

use engine::{Load, Pause, RunPlan, SessionStep, Until, UserArrival, Users};

use super::*;
use crate::pgbench::{RowOptions, RowPer, RowUse, ScriptOption};

const MS: u64 = 1_000_000;

/// Each user does this many sessions of three scripts, the second of them twice.
fn sessions(each: u64, reconnect: bool) -> RunPlan {
    let step = |script, pauses| SessionStep { script: Some(script), pauses };
    let think = || vec![Pause::Constant(5 * MS)];
    let session = Arc::from([step(0, think()), step(1, Vec::new()), step(1, think()), step(2, think())]);
    let users = Users { session, arrival: UserArrival::Apart(3 * MS), reconnect };
    RunPlan { load: Load::Users(users), until: Until::PerUser(each), ..plan(1, 3) }
}

/// Statements by connection, in order.
fn asked(
    users: usize,
    plan: &RunPlan,
    rows: Option<(usize, RowOptions)>,
) -> (Vec<Vec<String>>, EngineResult) {
    let folder = tempfile::tempdir().unwrap();
    let script = |text: &str| ScriptOption { text: Some(text.to_owned()), ..ScriptOption::default() };
    let texts = match rows {
        Some(_) => ["select 'login :id';", "select 'search :id';", "select 'order :id';"],
        None => ["select 'login';", "select 'search';", "select 'order';"],
    };
    let variables = rows.map(|(count, options)| {
        let lines: String = (0..count).map(|row| format!("{row}\n")).collect();
        std::fs::write(folder.path().join("rows.csv"), format!("id\n{lines}")).unwrap();
        RowOptions { csv: Some("rows.csv".into()), ..options }
    });
    let options =
        PgbenchOptions { scripts: texts.map(script).to_vec(), variables, ..PgbenchOptions::default() };
    let workload = Pgbench::open(&options, folder.path()).unwrap();
    let clients = workload.clients(&places(), load(users)).unwrap();
    let mut by_connection: Vec<Vec<String>> = Vec::new();
    let mut server = FakePostgres::new(|connection, sql: &str| {
        by_connection.resize(by_connection.len().max(connection + 1), Vec::new());
        by_connection[connection]
            .push(sql.trim_start_matches("select ").trim_matches(['\'', ';']).to_owned());
        one("1")
    });
    let measured = server.run_plan(clients, plan, &mut ()).unwrap();
    drop(server);
    (by_connection, measured)
}

#[test]
fn a_user_runs_the_scripts_of_its_session_in_order() {
    let (asked, measured) = asked(3, &sessions(2, false), None);
    let session = ["login", "search", "search", "order"];
    assert_eq!(asked, vec![session.repeat(2); 3]);
    let ok: Vec<u64> = measured.scripts.iter().map(|script| script.counts.ok).collect();
    assert_eq!(ok, [6, 12, 6]);
    assert_eq!(measured.users.unwrap().finished, 6);
}

#[test]
fn each_session_may_have_its_own_connection() {
    let (asked, measured) = asked(2, &sessions(3, true), None);
    assert_eq!(asked, vec![["login", "search", "search", "order"].to_vec(); 6]);
    assert_eq!(measured.reconnections, 6);
    assert!(measured.aborts.is_empty());
}

#[test]
fn a_row_may_belong_to_a_session_a_transaction_or_a_user() {
    let of = |per, rows| {
        let options = RowOptions { per, usage: RowUse::Once, ..RowOptions::default() };
        let (asked, measured) = asked(2, &sessions(2, false), Some((rows, options)));
        assert!(measured.aborts.is_empty(), "{:?}", measured.aborts);
        asked.concat().join(" ")
    };
    assert_eq!(
        of(RowPer::Session, 4),
        "login 0 search 0 search 0 order 0 login 2 search 2 search 2 order 2 \
         login 1 search 1 search 1 order 1 login 3 search 3 search 3 order 3"
    );
    assert_eq!(
        of(RowPer::Client, 2),
        "login 0 search 0 search 0 order 0 login 0 search 0 search 0 order 0 \
         login 1 search 1 search 1 order 1 login 1 search 1 search 1 order 1"
    );
    assert!(of(RowPer::Transaction, 16).starts_with("login 0 search 2 search 4 order 6 login 8"));
}

#[test]
fn rows_must_suffice_for_all_sessions() {
    let options = RowOptions { per: RowPer::Session, usage: RowUse::Once, ..RowOptions::default() };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rows.csv"), "id\n1\n2\n3\n").unwrap();
    let variables = Some(RowOptions { csv: Some("rows.csv".into()), ..options });
    let workload =
        Pgbench::open(&PgbenchOptions { variables, ..PgbenchOptions::default() }, folder.path()).unwrap();
    let each = |transactions, sessions| crate::each::Each { transactions, sessions };
    assert!(workload.suffices(1, Some(each(12, Some(3)))).is_ok());
    assert_eq!(
        workload.suffices(2, Some(each(8, Some(2)))).unwrap_err().to_string(),
        "rows.csv has 3 rows, but 2 clients with 2 sessions each use 4, none of them twice"
    );
}
