//! Plans of the statements of a sample of transactions.

use spec::StatementPlan;

/// Plans of a sample, and what is missing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SamplePlans {
    pub plans: Vec<StatementPlan>,
    /// The server's answer for the slowest one.
    pub slowest: Option<Slowest>,
    /// Plans stored unchanged, outside the sample.
    pub kept: Vec<KeptPlan>,
    /// Which statements or transactions are missing, and why; can follow a colon.
    pub missing: Vec<String>,
}

/// The plan of the slowest statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slowest {
    /// Index into [`SamplePlans::plans`].
    pub plan: usize,
    /// The server's answer.
    pub json: String,
}

/// A plan outside the sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptPlan {
    /// Its subject: `roads, z14/14/8851/6439`.
    pub name: String,
    pub caption: String,
    /// The server's answer.
    pub json: String,
}

impl SamplePlans {
    /// No plans, for this reason.
    #[must_use]
    pub fn not(why: impl Into<String>) -> Self {
        Self { missing: vec![why.into()], ..Self::default() }
    }

    pub(crate) fn add(&mut self, plan: StatementPlan, json: String) {
        let longest = self.slowest.as_ref().map_or(f64::MIN, |slowest| self.plans[slowest.plan].total_ms());
        if plan.total_ms() > longest {
            self.slowest = Some(Slowest { plan: self.plans.len(), json });
        }
        self.plans.push(plan);
    }

    /// Adds a reason, once.
    pub(crate) fn miss(&mut self, why: String) {
        if !self.missing.contains(&why) {
            self.missing.push(why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_the_slowest_is_kept() {
        let mut explained = SamplePlans::default();
        for (execution_ms, json) in [(2.0, "two"), (3.0, "three"), (1.0, "one")] {
            explained.add(StatementPlan { execution_ms, ..StatementPlan::default() }, json.to_owned());
        }
        assert_eq!(explained.slowest, Some(Slowest { plan: 1, json: "three".to_owned() }));
        explained.miss("a".to_owned());
        explained.miss("a".to_owned());
        assert_eq!((explained.plans.len(), explained.missing.len()), (3, 1));
        assert_eq!(SamplePlans::not("b").missing, ["b"]);
    }
}
