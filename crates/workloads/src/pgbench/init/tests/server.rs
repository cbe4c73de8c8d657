//! A server for tests: keeps the accounts that are committed, and loses connections on request.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::jobs::{BoxedSql, Runtime};
use protocol::postgres::sql::{ResultSet, Sql, SqlError, Supply};

/// What is to go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The connection is lost, and the statement has no effect.
    Before,
    /// The statement is carried out, and then the connection is lost.
    After,
    Refused,
    /// Somebody wants to stop.
    Stop,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// All statements, in order.
    pub(super) asked: Vec<String>,
    pub(super) accounts: Accounts,
    /// Rows of branches and tellers, committed.
    pub(super) small: [u64; 2],
    pub(super) tables: bool,
    /// Answers to statements that contain a text; they go before what the server knows by itself.
    pub(super) answers: Vec<(String, Vec<Vec<String>>)>,
    /// Numbers of statements (from 0) at which something goes wrong.
    pub(super) troubles: Vec<(usize, Trouble)>,
    committed: BTreeSet<u64>,
    transactions: u64,
    stopped: bool,
    now_us: u64,
}

/// Accounts by number, none twice.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Accounts(Vec<bool>);

impl Accounts {
    fn insert(&mut self, account: u64) {
        let index = account as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, false);
        }
        assert!(!std::mem::replace(&mut self.0[index], true), "account {account} twice");
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().filter(|there| **there).count()
    }
}

impl FromIterator<u64> for Accounts {
    fn from_iter<I: IntoIterator<Item = u64>>(accounts: I) -> Self {
        let mut all = Self::default();
        accounts.into_iter().for_each(|account| all.insert(account));
        all
    }
}

/// The server, the clock and the wish to stop.
#[derive(Debug, Clone, Default)]
pub(super) struct FakeServer(Arc<Mutex<State>>);

impl FakeServer {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(super) fn open(&self) -> BoxedSql {
        Box::new(Link { server: self.clone(), transaction: None, lost: false })
    }
}

impl Runtime for FakeServer {
    fn connect(&self) -> Result<BoxedSql, SqlError> {
        Ok(self.open())
    }

    fn now_us(&self) -> u64 {
        let mut state = self.state();
        state.now_us += 10_000;
        state.now_us
    }

    fn sleep_us(&self, us: u64) {
        self.state().now_us += us;
        // For those who wait in a loop.
        std::thread::sleep(std::time::Duration::from_millis(1));
    }

    fn stopped(&self) -> bool {
        self.state().stopped
    }
}

/// What a transaction has done so far.
#[derive(Debug, Default)]
struct Transaction {
    number: u64,
    truncates: bool,
    accounts: Vec<u64>,
    small: [u64; 2],
}

#[derive(Debug)]
struct Link {
    server: FakeServer,
    transaction: Option<Transaction>,
    lost: bool,
}

fn gone() -> SqlError {
    SqlError { sqlstate: None, text: "server closed the connection unexpectedly".to_owned() }
}

impl Link {
    /// Notes the statement; the trouble that is due with it.
    fn ask(&mut self, sql: &str) -> Result<Option<Trouble>, SqlError> {
        if self.lost {
            return Err(gone());
        }
        let mut state = self.server.state();
        let number = state.asked.len();
        state.asked.push(sql.to_owned());
        let trouble = state.troubles.iter().find(|(at, _)| *at == number).map(|(_, trouble)| *trouble);
        match trouble {
            Some(Trouble::Before) => {
                drop(state);
                self.lose();
                Err(gone())
            }
            Some(Trouble::Refused) => {
                Err(SqlError { sqlstate: Some("53100".into()), text: "ERROR:  disk full".into() })
            }
            Some(Trouble::Stop) => {
                state.stopped = true;
                Err(SqlError { sqlstate: Some("57014".into()), text: "ERROR:  canceling statement".into() })
            }
            other => Ok(other),
        }
    }

    fn lose(&mut self) {
        self.lost = true;
        self.transaction = None;
    }

    fn answer(&mut self, sql: &str) -> Vec<Vec<String>> {
        let mut state = self.server.state();
        if let Some((_, rows)) = state.answers.iter().find(|(part, _)| sql.contains(part.as_str())) {
            return rows.clone();
        }
        let one = |value: String| vec![vec![value]];
        match sql {
            "begin" => {
                state.transactions += 1;
                let number = state.transactions;
                self.transaction = Some(Transaction { number, ..Transaction::default() });
            }
            "commit" => {
                let done = self.transaction.take().unwrap();
                if done.truncates {
                    state.accounts = Accounts::default();
                    state.small = [0, 0];
                }
                for account in done.accounts {
                    state.accounts.insert(account);
                }
                state.small[0] += done.small[0];
                state.small[1] += done.small[1];
                state.committed.insert(done.number);
            }
            "rollback" => self.transaction = None,
            _ if sql.starts_with("truncate") => self.transaction.as_mut().unwrap().truncates = true,
            _ if sql.starts_with("drop") => *state = State { tables: false, ..std::mem::take(&mut state) },
            _ if sql.starts_with("create table pgbench_branches") => state.tables = true,
            _ if sql.contains("txid_current") => {
                return one(self.transaction.as_ref().unwrap().number.to_string());
            }
            _ if sql.contains("txid_status") => {
                let number = sql.rsplit(['(', ')']).nth(1).unwrap().parse().unwrap();
                let known = state.committed.contains(&number);
                return one(if known { "committed" } else { "aborted" }.to_owned());
            }
            _ => {}
        }
        Vec::new()
    }
}

impl Sql for Link {
    fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError> {
        let trouble = self.ask(sql)?;
        let rows = self.answer(sql);
        if trouble == Some(Trouble::After) {
            self.lose();
            return Err(gone());
        }
        let columns = rows.first().map_or(0, Vec::len);
        Ok(vec![ResultSet {
            columns: (0..columns).map(|column| format!("column{column}")).collect(),
            rows: rows.into_iter().map(|row| row.into_iter().map(Some).collect()).collect(),
            types: Vec::new(),
            tag: String::new(),
        }])
    }

    fn copy_in(&mut self, sql: &str, fill: &mut dyn FnMut(&mut Vec<u8>) -> Supply) -> Result<u64, SqlError> {
        let trouble = self.ask(sql)?;
        let (mut data, mut piece) = (Vec::new(), Vec::new());
        loop {
            piece.clear();
            let supply = fill(&mut piece);
            data.append(&mut piece);
            match supply {
                Supply::More => {}
                Supply::End => break,
                Supply::GiveUp => {
                    return Err(SqlError { sqlstate: Some("57014".into()), text: "given up".into() });
                }
            }
        }
        let text = String::from_utf8(data).unwrap();
        let numbers = text.lines().map(|line| line.split('\t').next().unwrap().parse::<u64>().unwrap());
        let transaction = self.transaction.as_mut().unwrap();
        let table = sql.split(' ').nth(1).unwrap();
        match table {
            "pgbench_branches" => transaction.small[0] += numbers.count() as u64,
            "pgbench_tellers" => transaction.small[1] += numbers.count() as u64,
            _ => transaction.accounts.extend(numbers),
        }
        if trouble == Some(Trouble::After) {
            self.lose();
            return Err(gone());
        }
        Ok(text.lines().count() as u64)
    }
}
