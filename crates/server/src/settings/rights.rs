//! Checks whether our role may change settings of a whole server, and restore them.

use super::SettingValues;
use super::catalog::{Catalog, TakesEffect};
use super::check::Means;
use super::compare::is_in_force;
use super::error::Refusal;
use crate::control::Control;
use protocol::postgres::sql::{Sql, SqlError};
use spec::{Class, Error};

/// What reading former values and reloading need, for every setting.
const FOR_ALL: [(&str, &str); 3] = [
    ("has_table_privilege('pg_catalog.pg_file_settings', 'SELECT')", "SELECT ON pg_file_settings"),
    (
        "has_function_privilege('pg_catalog.pg_show_all_file_settings()', 'EXECUTE')",
        "EXECUTE ON FUNCTION pg_show_all_file_settings()",
    ),
    (
        "has_function_privilege('pg_catalog.pg_reload_conf()', 'EXECUTE')",
        "EXECUTE ON FUNCTION pg_reload_conf()",
    ),
];

/// The settings that our role may not change for the whole server.
pub fn without_right(
    control: &mut Control,
    catalog: &Catalog,
    wanted: &SettingValues,
    means: Means,
) -> Result<Vec<Refusal>, SqlError> {
    if means.superuser || !means.server {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (name, value) in wanted {
        let Ok(entry) = catalog.known(name) else { continue };
        if entry.way(means.superuser) == TakesEffect::Reload && !is_in_force(value, entry) {
            let lacks = lacks(control, &entry.name)?;
            if !lacks.is_empty() {
                let (setting, lacks) = (&entry.name, lacks.join(", "));
                let what = format!(
                    "{setting} can only be set for the whole server, and this role may not do that: it lacks {lacks}"
                );
                found.push(Refusal {
                    setting: Some(setting.clone()),
                    error: Error::new(Class::Missing, what),
                });
            }
        }
    }
    Ok(found)
}

fn lacks(control: &mut Control, name: &str) -> Result<Vec<String>, SqlError> {
    let granted = FOR_ALL.map(|(asked, _)| asked).join(", ");
    let rows =
        control.rows(&format!("SELECT {granted}, current_setting('server_version_num')::int >= 150000"))?;
    let row = rows.into_iter().next().unwrap_or_default();
    let is = |at: usize| row.get(at).and_then(|value| value.as_deref()) == Some("t");
    let mut lacks: Vec<String> =
        (0..FOR_ALL.len()).filter(|at| !is(*at)).map(|at| FOR_ALL[at].1.to_owned()).collect();
    // Before 15 only superusers could.
    let parameter = match is(FOR_ALL.len()) {
        false => false,
        true => {
            let name = name.replace('\'', "''");
            let asked = format!("SELECT has_parameter_privilege('{name}', 'ALTER SYSTEM')");
            control.rows(&asked)?.first().and_then(|row| row.first().cloned().flatten()).as_deref()
                == Some("t")
        }
    };
    if !parameter {
        lacks.push(format!("ALTER SYSTEM ON PARAMETER {name}"));
    }
    Ok(lacks)
}
