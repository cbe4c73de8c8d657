//! The number of clients.

use toml::Value;

use super::{Factor, LevelNames};
use crate::setup::Setup;
use spec::experiment::value::whole_number;

const MOST: u64 = 100_000;

pub(super) struct ClientsFactor;

impl Factor for ClientsFactor {
    fn name(&self) -> &'static str {
        "clients"
    }

    fn levels(&self) -> &'static str {
        "numbers, 1 to 100000"
    }

    fn meaning(&self) -> &'static str {
        "Clients. Default: 1."
    }

    fn read(&self, _key: &str, value: &Value, _known: &LevelNames<'_>) -> Result<String, String> {
        whole_number(value, 1, MOST).map(|clients| clients.to_string())
    }

    fn concerns(&self, _key: &str, workload: &str, known: &LevelNames<'_>) -> bool {
        !known.is_job(workload)
    }

    fn apply(
        &self,
        _key: &str,
        level: &str,
        setup: &mut Setup,
        _known: &LevelNames<'_>,
    ) -> Result<(), String> {
        let clients = level.parse().ok().filter(|clients| *clients > 0);
        setup.clients = clients.ok_or_else(|| format!("invalid number of clients {level:?}"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::setups;
    use crate::plan::tests::{plan, text};

    /// It became 1.
    #[test]
    fn a_level_of_clients_that_is_no_number_is_refused() {
        let plan = plan(&text(1, &[1], 1, false, 1));
        let mut setup = setups::setup(&plan, &plan.runs[0]);
        let known = LevelNames::default();
        for level in ["many", "0", "-1", "1.5", ""] {
            let refused = ClientsFactor.apply("clients", level, &mut setup, &known).unwrap_err();
            assert_eq!(refused, format!("invalid number of clients {level:?}"));
        }
        assert_eq!(ClientsFactor.apply("clients", "16", &mut setup, &known), Ok(()));
        assert_eq!(setup.clients, 16);
    }
}
