//! The rows: branches, tellers and accounts with balance 0; the history is empty.

use std::io::Write;

use super::options::InitOptions;
use super::{ACCOUNTS, TELLERS, statement};
use crate::error::WorkloadError;
use crate::jobs::PhaseTimer;
use crate::sql::Sql;

/// Rows between two messages.
const MESSAGE_ROWS: u64 = 100_000;
/// Time between two messages of a quiet run, µs.
const MESSAGE_US: u64 = 5_000_000;
/// Bytes handed over at a time.
const PIECE: usize = 64 * 1024;

const TRUNCATE: &str = "truncate table pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";

/// A table to fill.
struct Table {
    name: &'static str,
    /// Rows for each unit of scale.
    rows_per_scale: u64,
    /// What follows number and branch in a row of COPY's text format.
    tail: &'static [u8],
    /// Whether the branch is a column of its own.
    has_branch: bool,
}

/// The accounts' filler is empty, which takes its full width; the others' is NULL.
const TABLES: [Table; 3] = [
    Table { name: "pgbench_branches", rows_per_scale: 1, tail: b"\t0\t\\N\n", has_branch: false },
    Table { name: "pgbench_tellers", rows_per_scale: TELLERS, tail: b"\t0\t\\N\n", has_branch: true },
    Table { name: "pgbench_accounts", rows_per_scale: ACCOUNTS, tail: b"\t0\t\n", has_branch: true },
];

/// Makes the rows here and copies them, in one transaction; gives their number.
pub(super) fn client_side(
    sql: &mut dyn Sql,
    options: &InitOptions,
    timer: &mut PhaseTimer<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<u64, WorkloadError> {
    statement(sql, "begin")?;
    statement(sql, TRUNCATE)?;
    let freezes = server_version(sql)? >= 140_000;
    let mut rows = 0;
    for table in &TABLES {
        let partitioned = table.name == "pgbench_accounts" && options.partitions > 0;
        let freeze = if freezes && !partitioned { " with (freeze on)" } else { "" };
        let copy = format!("copy {} from stdin{freeze}", table.name);
        let mut source = Source::new(table, options, timer);
        let copied = sql.copy_in(&copy, &mut |piece| source.fill(piece, timer, say));
        rows += copied.map_err(WorkloadError::sql(format!("running \"{copy}\"")))?;
    }
    statement(sql, "commit")?;
    Ok(rows)
}

/// Has the server make the rows, in one transaction; gives their number.
pub(super) fn server_side(sql: &mut dyn Sql, options: &InitOptions) -> Result<u64, WorkloadError> {
    let scale = u64::from(options.scale);
    let (tellers, accounts) = (scale * TELLERS, scale * ACCOUNTS);
    statement(sql, "begin")?;
    statement(sql, TRUNCATE)?;
    for text in [
        format!(
            "insert into pgbench_branches(bid, bbalance) select bid, 0 from generate_series(1, {scale}) as bid"
        ),
        format!(
            "insert into pgbench_tellers(tid, bid, tbalance) \
             select tid, (tid - 1) / {TELLERS} + 1, 0 from generate_series(1, {tellers}) as tid"
        ),
        format!(
            "insert into pgbench_accounts(aid, bid, abalance, filler) \
             select aid, (aid - 1) / {ACCOUNTS} + 1, 0, '' from generate_series(1, {accounts}) as aid"
        ),
    ] {
        statement(sql, &text)?;
    }
    statement(sql, "commit")?;
    Ok(scale + tellers + accounts)
}

/// `server_version_num`.
fn server_version(sql: &mut dyn Sql) -> Result<u32, WorkloadError> {
    let version = sql
        .scalar("show server_version_num")
        .map_err(WorkloadError::sql("asking for the server's version"))?;
    Ok(version.and_then(|version| version.parse().ok()).unwrap_or(0))
}

/// The rows of one table, as they are asked for.
struct Source<'a> {
    table: &'a Table,
    rows: u64,
    next: u64,
    quiet: bool,
    start_us: u64,
    told_us: u64,
}

impl<'a> Source<'a> {
    fn new(table: &'a Table, options: &InitOptions, timer: &mut PhaseTimer<'_>) -> Self {
        let start_us = timer.now_us();
        let rows = table.rows_per_scale * u64::from(options.scale);
        Self { table, rows, next: 0, quiet: options.quiet, start_us, told_us: start_us }
    }

    /// Appends rows; answers whether more will come.
    fn fill(&mut self, piece: &mut Vec<u8>, timer: &mut PhaseTimer<'_>, say: &mut dyn FnMut(&str)) -> bool {
        while self.next < self.rows && piece.len() < PIECE {
            self.next += 1;
            self.row(piece);
            if self.next.is_multiple_of(MESSAGE_ROWS) {
                self.tell(timer, say);
            }
        }
        self.next < self.rows
    }

    fn row(&self, piece: &mut Vec<u8>) {
        // Writing to a vector cannot fail.
        let _ = write!(piece, "{}", self.next);
        if self.table.has_branch {
            let _ = write!(piece, "\t{}", (self.next - 1) / self.table.rows_per_scale + 1);
        }
        piece.extend_from_slice(self.table.tail);
    }

    fn tell(&mut self, timer: &mut PhaseTimer<'_>, say: &mut dyn FnMut(&str)) {
        let now_us = timer.now_us();
        if self.quiet && now_us - self.told_us < MESSAGE_US && self.next < self.rows {
            return;
        }
        self.told_us = now_us;
        let elapsed = (now_us - self.start_us) as f64 / 1e6;
        let (next, rows, name) = (self.next, self.rows, self.table.name);
        let remaining = (rows - next) as f64 * elapsed / next as f64;
        say(&format!(
            "{next} of {rows} tuples ({}%) of {name} done (elapsed {elapsed:.2} s, remaining {remaining:.2} s)",
            next * 100 / rows
        ));
    }
}
