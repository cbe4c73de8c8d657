//! The number of replicas.

use spec::experiment::value::whole_number;
use spec::plan::topology::{MOST_REPLICAS, Topology};
use toml::Value;

use super::{Factor, LevelNames};
use crate::setup::Setup;

pub(crate) const NAME: &str = "replicas";

pub(super) struct ReplicasFactor;

impl Factor for ReplicasFactor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn levels(&self) -> &'static str {
        "numbers"
    }

    fn meaning(&self) -> &'static str {
        "Numbers of replicas of a managed server. With 0, scripts for a replica go to the primary."
    }

    /// A replica begins with a base backup.
    fn is_dear(&self) -> bool {
        true
    }

    fn read(&self, _key: &str, value: &Value, _known: &LevelNames<'_>) -> Result<String, String> {
        whole_number(value, 0, MOST_REPLICAS.into()).map(|replicas| replicas.to_string())
    }

    fn concerns(&self, _key: &str, workload: &str, known: &LevelNames<'_>) -> bool {
        known.asks_postgres(workload)
    }

    fn apply(
        &self,
        _key: &str,
        level: &str,
        setup: &mut Setup,
        _known: &LevelNames<'_>,
    ) -> Result<(), String> {
        let replicas = level.parse().ok().filter(|replicas| *replicas <= MOST_REPLICAS);
        let replicas = replicas.ok_or_else(|| format!("invalid number of replicas {level:?}"))?;
        setup.topology = Topology { replicas, ..setup.topology };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use spec::plan::Scheme;
    use spec::plan::topology::Replication;

    use crate::plan::setups;
    use crate::plan::tests::plan;

    const FILE: &str = "question = \"?\"\n[target]\nmanaged = {}\nTARGET\n[workload.w]\npgbench = { builtin = \"select-only\" }\n\
        [prepare.pgbench]\nscale = 1\n[factors]\nFACTORS\n[measure]\nrounds = 2\n";

    /// The topologies of the runs, in order, each once.
    fn topologies(target: &str, factors: &str) -> Vec<String> {
        let plan = plan(&FILE.replace("TARGET", target).replace("FACTORS", factors));
        let mut words: Vec<String> =
            plan.runs.iter().map(|run| setups::setup(&plan, run).topology.words()).collect();
        words.sort();
        words.dedup();
        words
    }

    #[test]
    fn a_level_takes_the_place_of_what_the_target_says() {
        assert_eq!(topologies("", ""), ["no replica"]);
        let target = "replicas = 2\nreplication = \"sync\"";
        assert_eq!(topologies(target, ""), ["2 synchronous replicas"]);
        assert_eq!(topologies(target, "replicas = [0, 1]"), ["1 synchronous replica", "no replica"]);
        let modes = "replication = [\"async\", \"remote_apply\"]";
        let wanted = ["2 asynchronous replicas", "2 synchronous (remote_apply) replicas"];
        assert_eq!(topologies(target, modes), wanted);
        assert_eq!(topologies("", &format!("replicas = 1\n{modes}")).len(), 2);
    }

    #[test]
    fn arms_of_other_replicas_are_half_rounds_and_uncut() {
        let compare = "replicas = [0, 1]\n[compare]\nfactor = \"replicas\"\nbase = 0";
        let plan = plan(&FILE.replace("TARGET", "replication = \"sync\"").replace("FACTORS", compare));
        assert_eq!(plan.content.scheme, Scheme::HalfRounds);
        let words = plan.decisions.slices.values().map(|decision| decision.why().to_owned());
        assert!(
            words.into_iter().all(|why| why.starts_with("replicas go on")),
            "{:?}",
            plan.decisions.slices
        );
        let of = |arm: &str| plan.runs.iter().find(|run| run.arm.as_deref() == Some(arm)).expect("an arm");
        assert_eq!(setups::setup(&plan, of("1")).topology.replication, Replication::Sync);
        assert!(setups::setup(&plan, of("0")).topology.is_alone());
    }
}
