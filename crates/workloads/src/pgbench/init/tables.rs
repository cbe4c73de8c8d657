//! The statements that make pgbench's tables and keys; names, columns and types are its own.

use super::ACCOUNTS;
use super::options::{InitOptions, PartitionMethod};
use crate::sql::quote_identifier;

pub(super) const DROP: &str =
    "drop table if exists pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";

pub(super) const VACUUM: [&str; 4] = [
    "vacuum analyze pgbench_branches",
    "vacuum analyze pgbench_tellers",
    "vacuum analyze pgbench_accounts",
    "vacuum analyze pgbench_history",
];

pub(super) const FOREIGN_KEYS: [&str; 5] = [
    "alter table pgbench_tellers add constraint pgbench_tellers_bid_fkey foreign key (bid) references pgbench_branches",
    "alter table pgbench_accounts add constraint pgbench_accounts_bid_fkey foreign key (bid) references pgbench_branches",
    "alter table pgbench_history add constraint pgbench_history_bid_fkey foreign key (bid) references pgbench_branches",
    "alter table pgbench_history add constraint pgbench_history_tid_fkey foreign key (tid) references pgbench_tellers",
    "alter table pgbench_history add constraint pgbench_history_aid_fkey foreign key (aid) references pgbench_accounts",
];

/// Scale from which account numbers need 64 bits; pgbench's own threshold.
const LARGE: u32 = 20_000;

/// A table of pgbench.
struct Table {
    name: &'static str,
    columns: &'static str,
    /// The same with 64-bit account numbers.
    large_columns: &'static str,
    /// The history is only appended to, so a fill factor means nothing there.
    fillfactor: bool,
}

const TABLES: [Table; 4] = [
    Table {
        name: "pgbench_history",
        columns: "tid int, bid int, aid int, delta int, mtime timestamp, filler char(22)",
        large_columns: "tid int, bid int, aid bigint, delta int, mtime timestamp, filler char(22)",
        fillfactor: false,
    },
    Table {
        name: "pgbench_tellers",
        columns: "tid int not null, bid int, tbalance int, filler char(84)",
        large_columns: "tid int not null, bid int, tbalance int, filler char(84)",
        fillfactor: true,
    },
    Table {
        name: "pgbench_accounts",
        columns: "aid int not null, bid int, abalance int, filler char(84)",
        large_columns: "aid bigint not null, bid int, abalance int, filler char(84)",
        fillfactor: true,
    },
    Table {
        name: "pgbench_branches",
        columns: "bid int not null, bbalance int, filler char(88)",
        large_columns: "bid int not null, bbalance int, filler char(88)",
        fillfactor: true,
    },
];

/// Statements that create the tables and the partitions.
pub(super) fn create(options: &InitOptions) -> Vec<String> {
    let mut statements: Vec<String> = TABLES.iter().map(|table| create_table(table, options)).collect();
    statements.extend((1..=options.partitions).map(|number| create_partition(number, options)));
    statements
}

fn create_table(table: &Table, options: &InitOptions) -> String {
    let columns = if options.scale >= LARGE { table.large_columns } else { table.columns };
    let partitioned = options.partitions > 0 && table.name == "pgbench_accounts";
    // A partitioned table has no rows of its own: no fill factor, and it is not unlogged.
    let mut text = format!("create{} table {}({columns})", unlogged(options, !partitioned), table.name);
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
    format!(
        "create{} table pgbench_accounts_{number} partition of pgbench_accounts for values {bounds}{}{}",
        unlogged(options, true),
        fillfactor(options),
        tablespace(options)
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
    [
        "pgbench_branches add primary key (bid)",
        "pgbench_tellers add primary key (tid)",
        "pgbench_accounts add primary key (aid)",
    ]
    .iter()
    .map(|key| format!("alter table {key}{space}"))
    .collect()
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
