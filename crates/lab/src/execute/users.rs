//! Whether a server accepts all users: each has its own connection.

use std::collections::BTreeMap;

use protocol::postgres::sql::Sql;
use spec::plan::Plan;
use spec::{Class, Error};

use crate::error::of_sql;
use crate::plan::setups::Setups;
use crate::runner::Stage;
use crate::setup::{At, ConnectionPath};
use crate::words::count;

/// Connections left for clients, without two of our own: of the server, or of a role or database with a lower
/// limit.
pub(super) const LET_IN: &str = "SELECT greatest(1, least(pg_catalog.current_setting('max_connections')::int \
     - pg_catalog.current_setting('superuser_reserved_connections')::int - seen.all_there, \
     CASE WHEN r.rolsuper OR r.rolconnlimit < 0 THEN NULL ELSE r.rolconnlimit - seen.of_role END, \
     CASE WHEN r.rolsuper OR d.datconnlimit < 0 THEN NULL ELSE d.datconnlimit - seen.of_database END) - 2) \
     FROM pg_catalog.pg_roles r, pg_catalog.pg_database d, \
     (SELECT pg_catalog.count(*) AS all_there, pg_catalog.count(*) FILTER (WHERE usename = session_user) AS of_role, \
     pg_catalog.count(*) FILTER (WHERE datname = pg_catalog.current_database()) AS of_database \
     FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend') seen \
     WHERE r.rolname = session_user AND d.datname = pg_catalog.current_database()";

/// Refuses more users than a server accepts, before anything is measured. An arm that sets `max_connections` was
/// checked with the file. A search without a highest number ends at what the server accepts.
///
/// # Errors
/// How many there are, and what to try.
pub(super) fn fit(plan: &Plan, stages: &mut [(At, Stage)]) -> Result<(), Error> {
    if plan.content.measure.load.users().is_none() {
        return Ok(());
    }
    let searched = plan.content.measure.search.as_ref();
    let highest =
        searched.map(|asked| asked.highest.map_or(asked.users.unwrap_or(1), |highest| highest as u32));
    let sets_them = |name: &String| name.eq_ignore_ascii_case("max_connections");
    if plan.content.arms.iter().any(|arm| arm.settings.keys().any(sets_them)) {
        return Ok(());
    }
    let mut most: BTreeMap<At, u32> = BTreeMap::new();
    let mut setups = Setups::of(plan);
    for run in plan.runs.iter().filter(|run| !run.is_job()) {
        let setup = setups.without_load(run);
        if !matches!(setup.connection, ConnectionPath::Pooler(_)) {
            let at = most.entry(setup.at().template()).or_default();
            *at = highest.unwrap_or(run.clients).max(*at);
        }
    }
    for (at, stage) in stages {
        let Some(users) = most.get(&at.template()) else { continue };
        let row = stage.control()?.rows(LET_IN).map_err(of_sql)?;
        let let_in = row.iter().flatten().flatten().find_map(|text| text.parse::<u32>().ok());
        if let Some(let_in) = let_in.filter(|let_in| let_in < users) {
            let what = format!(
                "{} need a connection each, and {} accepts {let_in} more (max_connections without reserved ones and those in use)",
                count(*users as usize, "user"),
                stage.target.redacted()
            );
            let hint = "use fewer users, raise max_connections, or connect through a pooler";
            return Err(Error::new(Class::Refused, what).with_hint(hint));
        }
    }
    Ok(())
}
