//! The statements that make pgbench's tables and keys, with pgbench's names, columns and types.

use super::ACCOUNTS;
use super::options::{InitOptions, PartitionMethod};
use protocol::postgres::sql::quote_identifier;

pub(super) const DROP: &str =
    "drop table if exists pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";

pub(super) const VACUUM: [&str; 4] = [
    "vacuum analyze pgbench_branches",
    "vacuum analyze pgbench_tellers",
    "vacuum analyze pgbench_accounts",
    "vacuum analyze pgbench_history",
];

/// The largest table, and the only one that can be partitioned.
pub(super) const ACCOUNTS_TABLE: &str = "pgbench_accounts";

/// Empties all, in one statement because of foreign keys.
pub(super) const TRUNCATE: &str =
    "truncate table pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";

/// Scale from which account numbers need 64 bits, as in pgbench.
const LARGE: u32 = 20_000;

struct TableDefinition {
    name: &'static str,
    /// Columns, with `@` for the type of an account's number.
    columns: &'static str,
    /// The history is only appended to, so a fill factor means nothing there.
    fillfactor: bool,
}

const TABLES: [TableDefinition; 4] = [
    TableDefinition {
        name: "pgbench_history",
        columns: "tid int,bid int,aid @,delta int,mtime timestamp,filler char(22)",
        fillfactor: false,
    },
    TableDefinition {
        name: "pgbench_tellers",
        columns: "tid int not null,bid int,tbalance int,filler char(84)",
        fillfactor: true,
    },
    TableDefinition {
        name: "pgbench_accounts",
        columns: "aid @ not null,bid int,abalance int,filler char(84)",
        fillfactor: true,
    },
    TableDefinition {
        name: "pgbench_branches",
        columns: "bid int not null,bbalance int,filler char(88)",
        fillfactor: true,
    },
];

/// Statements that create the tables. Their text is exactly pgbench's: servers log it, and errors quote it.
pub(super) fn create(options: &InitOptions) -> Vec<String> {
    TABLES.iter().map(|table| create_table(table, options)).collect()
}

pub(super) fn create_partitions(options: &InitOptions) -> Vec<String> {
    (1..=options.partitions).map(|number| create_partition(number, options)).collect()
}

/// Whether account numbers need 64 bits at this scale.
pub(super) fn is_large(scale: u32) -> bool {
    scale >= LARGE
}

fn create_table(table: &TableDefinition, options: &InitOptions) -> String {
    let columns = table.columns.replace('@', if is_large(options.scale) { "bigint" } else { "   int" });
    let partitioned = options.partitions > 0 && table.name == ACCOUNTS_TABLE;
    // A partitioned table has no rows itself, so no fill factor; it cannot be unlogged, and then its foreign
    // keys forbid that for the others.
    let mut text =
        format!("create{} table {}({columns})", unlogged(options, options.partitions == 0), table.name);
    if partitioned {
        text.push_str(match options.partition_method {
            PartitionMethod::Range => " partition by range (aid)",
            PartitionMethod::Hash => " partition by hash (aid)",
        });
    } else if table.fillfactor {
        text.push_str(&fillfactor(options));
    }
    text.push_str(&tablespace(options));
    text
}

fn create_partition(number: u32, options: &InitOptions) -> String {
    let bounds = match options.partition_method {
        PartitionMethod::Range => range_bounds(number, options),
        PartitionMethod::Hash => format!("with (modulus {}, remainder {})", options.partitions, number - 1),
    };
    // Inherits the tablespace of the partitioned table.
    format!(
        "create{} table pgbench_accounts_{number}\n  partition of pgbench_accounts\n  for values {bounds}{}",
        unlogged(options, true),
        fillfactor(options),
    )
}

/// Equal ranges from 1 on; the first and the last are open.
fn range_bounds(number: u32, options: &InitOptions) -> String {
    let accounts = u64::from(options.scale) * ACCOUNTS;
    let size = accounts.div_ceil(u64::from(options.partitions));
    let bound = |index: u32| (u64::from(index) * size + 1).to_string();
    let low = if number == 1 { "minvalue".to_owned() } else { bound(number - 1) };
    let high = if number == options.partitions { "maxvalue".to_owned() } else { bound(number) };
    format!("from ({low}) to ({high})")
}

pub(super) fn primary_keys(options: &InitOptions) -> Vec<String> {
    let space = options.index_tablespace.as_ref();
    let space =
        space.map(|name| format!(" using index tablespace {}", quote_identifier(name))).unwrap_or_default();
    let key = |(table, column)| format!("alter table {table} add primary key ({column}){space}");
    [("pgbench_branches", "bid"), ("pgbench_tellers", "tid"), (ACCOUNTS_TABLE, "aid")].map(key).into()
}

/// Table, column and referenced table.
const REFERENCES: [(&str, &str, &str, &str); 5] = [
    ("pgbench_tellers", "pgbench_tellers_bid_fkey", "bid", "pgbench_branches"),
    (ACCOUNTS_TABLE, "pgbench_accounts_bid_fkey", "bid", "pgbench_branches"),
    ("pgbench_history", "pgbench_history_bid_fkey", "bid", "pgbench_branches"),
    ("pgbench_history", "pgbench_history_tid_fkey", "tid", "pgbench_tellers"),
    ("pgbench_history", "pgbench_history_aid_fkey", "aid", ACCOUNTS_TABLE),
];

pub(super) fn foreign_keys() -> Vec<String> {
    let key = |(table, constraint, column, other)| {
        format!("alter table {table} add constraint {constraint} foreign key ({column}) references {other}")
    };
    REFERENCES.map(key).into()
}

fn unlogged(options: &InitOptions, can_be: bool) -> &'static str {
    if options.unlogged && can_be { " unlogged" } else { "" }
}

fn fillfactor(options: &InitOptions) -> String {
    format!(" with (fillfactor={})", options.fillfactor)
}

fn tablespace(options: &InitOptions) -> String {
    let space = options.tablespace.as_ref();
    space.map(|name| format!(" tablespace {}", quote_identifier(name))).unwrap_or_default()
}
