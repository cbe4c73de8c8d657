//! Whether a server accepts all users: each has its own connection.

use std::collections::BTreeMap;

use protocol::postgres::sql::Sql;
use spec::plan::Plan;
use spec::{Class, Error};

use super::servers::LET_IN;
use crate::error::of_sql;
use crate::plan::setups;
use crate::runner::Stage;
use crate::setup::{At, ConnectionPath};
use crate::words::count;

/// Refuses more users than a server accepts, before anything is measured. An arm that sets `max_connections` was
/// checked with the file; a search ends at what the server accepts.
///
/// # Errors
/// How many there are, and what to try.
pub(super) fn fit(plan: &Plan, stages: &mut [(At, Stage)]) -> Result<(), Error> {
    if plan.content.measure.load.users().is_none() || plan.content.measure.search.is_some() {
        return Ok(());
    }
    let sets_them = |name: &String| name.eq_ignore_ascii_case("max_connections");
    if plan.content.arms.iter().any(|arm| arm.settings.keys().any(sets_them)) {
        return Ok(());
    }
    let mut most: BTreeMap<At, u32> = BTreeMap::new();
    for run in plan.runs.iter().filter(|run| !run.is_job()) {
        let setup = setups::setup(plan, run);
        if !matches!(setup.connection, ConnectionPath::Pooler(_)) {
            let at = most.entry(setup.at().template()).or_default();
            *at = setup.clients.max(*at);
        }
    }
    for (at, stage) in stages {
        let Some(users) = most.get(&at.template()) else { continue };
        let row = stage.control()?.rows(LET_IN).map_err(of_sql)?;
        let let_in = row.iter().flatten().flatten().find_map(|text| text.parse::<u32>().ok());
        if let Some(let_in) = let_in.filter(|let_in| let_in < users) {
            let what = format!(
                "{} need a connection each, and {} lets in {let_in} more (max_connections without reserved ones and those in use)",
                count(*users as usize, "user"),
                stage.target.redacted()
            );
            let hint = "use fewer users, raise max_connections, or connect through a pooler";
            return Err(Error::new(Class::BadInput, what).with_hint(hint));
        }
    }
    Ok(())
}
