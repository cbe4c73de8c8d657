//! The statements that change a server's settings and make it reload them.

use std::time::{Duration, Instant};

use protocol::postgres::sql::{Sql, quote_identifier, quote_literal};
use spec::Error;

use super::error::refused;
use crate::control::Control;
use crate::error::sql_error;

/// Timeout of a reload.
const RELOAD_BOUND: Duration = Duration::from_secs(10);

/// Settings that are lists of names: each element is quoted separately.
const LISTS: [&str; 6] = [
    "local_preload_libraries",
    "search_path",
    "session_preload_libraries",
    "shared_preload_libraries",
    "temp_tablespaces",
    "unix_socket_directories",
];

pub(super) fn set(name: &str, value: &str) -> String {
    let value = if LISTS.contains(&name.to_lowercase().as_str()) && !value.trim().is_empty() {
        let items = value.split(',').map(|item| quote_literal(item.trim().trim_matches(['"', '\''])));
        items.collect::<Vec<_>>().join(", ")
    } else {
        quote_literal(value)
    };
    format!("ALTER SYSTEM SET {} = {value}", quote_identifier(name))
}

pub(super) fn reset(name: &str) -> String {
    format!("ALTER SYSTEM RESET {}", quote_identifier(name))
}

/// Makes the server re-read its files, and waits until it did.
pub(super) fn reload(control: &mut Control) -> Result<(), Error> {
    const LOADED: &str = "SELECT pg_catalog.pg_conf_load_time()";
    let failed = |error| sql_error("reloading settings", error);
    let before = control.scalar(LOADED).map_err(failed)?;
    control.execute("SELECT pg_catalog.pg_reload_conf()").map_err(failed)?;
    let start = Instant::now();
    while start.elapsed() < RELOAD_BOUND {
        if control.scalar(LOADED).map_err(failed)? != before {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Err(refused("to re-read its settings", &format!("nothing happened for {} s", RELOAD_BOUND.as_secs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_by_kind() {
        assert_eq!(set("work_mem", "64MB"), "ALTER SYSTEM SET \"work_mem\" = '64MB'");
        assert_eq!(
            set("shared_preload_libraries", "pg_stat_statements, auto_explain"),
            "ALTER SYSTEM SET \"shared_preload_libraries\" = 'pg_stat_statements', 'auto_explain'"
        );
        assert_eq!(set("search_path", ""), "ALTER SYSTEM SET \"search_path\" = ''");
        assert_eq!(reset("a.b"), "ALTER SYSTEM RESET \"a.b\"");
    }
}
