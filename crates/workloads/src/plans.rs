//! Plans of the statements of a sample of transactions.

use spec::StatementPlan;

/// What was explained, and what was not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Explained {
    /// In the order in which they were taken.
    pub plans: Vec<StatementPlan>,
    /// What the server said of the one that took longest, the first of several such.
    pub slowest: Option<Slowest>,
    /// Plans that are kept as they are, and are no part of the sample.
    pub kept: Vec<Kept>,
    /// Which statements or transactions are missing, and why; in words that can follow a colon.
    pub missing: Vec<String>,
}

/// The plan of the statement that took longest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slowest {
    /// Index into [`Explained::plans`].
    pub plan: usize,
    /// As the server told it.
    pub json: String,
}

/// A plan beside the sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Of what: `roads, z14/14/8851/6439`.
    pub name: String,
    /// In words.
    pub caption: String,
    /// As the server told it.
    pub json: String,
}

impl Explained {
    /// Nothing, for this reason.
    #[must_use]
    pub fn not(why: impl Into<String>) -> Self {
        Self { missing: vec![why.into()], ..Self::default() }
    }

    /// Adds a plan and what the server said of it.
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
        let mut explained = Explained::default();
        for (execution_ms, json) in [(2.0, "two"), (3.0, "three"), (1.0, "one")] {
            explained.add(StatementPlan { execution_ms, ..StatementPlan::default() }, json.to_owned());
        }
        assert_eq!(explained.slowest, Some(Slowest { plan: 1, json: "three".to_owned() }));
        explained.miss("a".to_owned());
        explained.miss("a".to_owned());
        assert_eq!((explained.plans.len(), explained.missing.len()), (3, 1));
        assert_eq!(Explained::not("b").missing, ["b"]);
    }
}
