//! Plans of the statements inside functions: `auto_explain` sends them to the session as notices.

use protocol::postgres::sql::{Sql, SqlError, long};
use serde_json::{Deserializer, Value};
use spec::{LayerTime, LayerTimeSource};

use super::layers;

/// Statements that take less than this share of a tile are not reported: a function that is called for each row
/// would report thousands.
const SHARE: f64 = 0.01;
/// Below this length all statements are reported.
const SHORT_MS: f64 = 20.0;

/// Whether the session reports nested plans.
#[derive(Debug)]
pub(super) enum NestedPlans {
    Available,
    /// With the reason.
    Not(String),
}

impl NestedPlans {
    /// Loads the module into this session only.
    pub(super) fn open(sql: &mut dyn Sql) -> Result<Self, SqlError> {
        // Only a superuser may load it; elsewhere it may be among the preloaded ones.
        let loaded = sql.execute("LOAD 'auto_explain'");
        let refused = match loaded {
            Ok(()) => None,
            Err(error) if error.sqlstate.is_some() => Some(error),
            Err(error) => return Err(error),
        };
        // Before a module is loaded its settings can be set, and do nothing.
        let is_there =
            sql.scalar("SELECT count(*) FROM pg_settings WHERE name = 'auto_explain.log_analyze'")?;
        if let Some(error) = refused
            && is_there.as_deref() != Some("1")
        {
            return Ok(Self::Not(first_line(&error)));
        }
        match sql.execute(&format!("{SETTINGS}; {}", minimum(-1.0))) {
            Ok(()) => Ok(Self::Available),
            Err(error) if error.sqlstate.is_some() => Ok(Self::Not(first_line(&error))),
            Err(error) => Err(error),
        }
    }

    /// The layers in the statements that this one calls; none where plans are not available.
    pub(super) fn layers(
        &self,
        sql: &mut dyn Sql,
        statement: &str,
        expected_ms: f64,
    ) -> Result<Vec<LayerTime>, SqlError> {
        if !self.is_available() {
            return Ok(Vec::new());
        }
        let least_ms = if expected_ms < SHORT_MS { 0.0 } else { (SHARE * expected_ms).ceil() };
        sql.execute(&minimum(least_ms))?;
        sql.take_notices();
        let executed = long(sql).execute(statement);
        let notices = sql.take_notices();
        sql.execute(&minimum(-1.0))?;
        executed?;
        let total_ms = notices.iter().filter_map(|notice| duration_ms(notice)).reduce(f64::max);
        Ok(layers::with_rest(of_notices(&notices), total_ms.unwrap_or(expected_ms), LayerTimeSource::Nested))
    }

    pub(super) fn is_available(&self) -> bool {
        matches!(self, Self::Available)
    }

    pub(super) fn why_not(&self) -> Option<&str> {
        match self {
            Self::Available => None,
            Self::Not(why) => Some(why),
        }
    }
}

const SETTINGS: &str = "SET auto_explain.log_analyze = on; SET auto_explain.log_timing = on; \
    SET auto_explain.log_verbose = on; SET auto_explain.log_nested_statements = on; SET auto_explain.log_format = 'json'; \
    SET auto_explain.log_level = 'notice'; SET auto_explain.sample_rate = 1; SET client_min_messages = 'notice'";

/// Statements from this length on are reported; none below 0.
fn minimum(ms: f64) -> String {
    format!("SET auto_explain.log_min_duration = {ms:.0}")
}

fn first_line(error: &SqlError) -> String {
    error.text.lines().next().unwrap_or_default().trim_start_matches("ERROR:").trim().to_owned()
}

fn of_notices(notices: &[String]) -> Vec<LayerTime> {
    let mut found: Vec<LayerTime> = Vec::new();
    let plans = notices.iter().filter_map(|notice| plan(notice));
    plans.flat_map(|plan| layers::of_nested(&plan)).for_each(|layer| layers::add(&mut found, layer));
    found
}

/// Of `NOTICE:  duration: 3.204 ms  plan:`. The longest is that of the statement that calls the others.
fn duration_ms(notice: &str) -> Option<f64> {
    let (_, rest) = notice.split_once("duration: ")?;
    rest.split_once(" ms")?.0.parse().ok()
}

/// `NOTICE:  duration: 3.204 ms  plan:`, then the plan, then perhaps the function that ran it.
fn plan(notice: &str) -> Option<Value> {
    let (_, rest) = notice.split_once("plan:")?;
    Deserializer::from_str(rest).into_iter::<Value>().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sql::FakeSql;

    fn notice(layer: &str, ms: f64) -> String {
        let plan = serde_json::json!({"Query Text": "SELECT st_asmvt(t, $1) FROM t", "Plan": {
            "Node Type": "Aggregate", "Actual Total Time": ms, "Actual Loops": 1, "Actual Rows": 1,
            "Output": [format!("st_asmvt(t.*, '{layer}'::text)")],
        }});
        format!(
            "NOTICE:  duration: {ms} ms  plan:\n{plan}\nCONTEXT:  PL/pgSQL function f(integer) line 3 at RETURN {{"
        )
    }

    #[test]
    fn layers_come_from_the_notices_of_a_statement() {
        let other = "NOTICE:  relation \"x\" already exists, skipping".to_owned();
        let found = of_notices(&[notice("roads", 4.0), other, notice("water", 1.0), notice("roads", 2.5)]);
        let found: Vec<(&str, f64)> = found.iter().map(|layer| (layer.name.as_str(), layer.ms)).collect();
        assert_eq!(found, [("roads", 6.5), ("water", 1.0)]);
    }

    #[test]
    fn who_may_not_load_it_is_told_why() {
        let refused = "ERROR:  access to library \"auto_explain\" is not allowed";
        let open = |preloaded: &str| {
            let mut sql = FakeSql::new();
            sql.refuse("LOAD", "42501", refused);
            sql.answer("FROM pg_settings", &[&[preloaded]]);
            (NestedPlans::open(&mut sql).unwrap(), sql)
        };
        let (not, mut sql) = open("0");
        assert_eq!(not.why_not(), Some("access to library \"auto_explain\" is not allowed"));
        assert_eq!(not.layers(&mut sql, "EXECUTE f", 1.0), Ok(Vec::new()));
        assert!(!sql.asked.iter().any(|asked| asked.contains("EXECUTE")));
        let (preloaded, mut sql) = open("1");
        assert!(preloaded.is_available());
        preloaded.layers(&mut sql, "EXECUTE f", 500.0).unwrap();
        let asked = &sql.asked[sql.asked.len() - 3..];
        assert_eq!(asked[0], "SET auto_explain.log_min_duration = 5");
        assert_eq!(
            (asked[1].as_str(), asked[2].as_str()),
            ("EXECUTE f", "SET auto_explain.log_min_duration = -1")
        );
    }
}
