//! What the server counted of functions, over the transactions of a sample.

use std::collections::BTreeSet;

use spec::{FunctionTime, StatementPart};

use super::{Distribution, TransactionPlans};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FunctionFigures {
    pub(crate) name: String,
    pub(crate) part: StatementPart,
    /// Mean number of calls.
    pub(crate) calls: f64,
    /// Time booked under the function's part; of functions booked nowhere, the server's measurement.
    pub(crate) ms: Distribution,
    pub(crate) share: Distribution,
    pub(crate) is_booked: bool,
}

pub(super) fn of(transactions: &[TransactionPlans<'_>], totals: &[f64]) -> Vec<FunctionFigures> {
    let all = || transactions.iter().flatten().flat_map(|plan| &plan.functions);
    let names: BTreeSet<&str> = all().map(|function| function.name.as_str()).collect();
    let one = |name: &str| {
        let each = |of: fn(&FunctionTime) -> f64| -> Vec<f64> {
            let own = |function: &&FunctionTime| function.name == name;
            let sum = |plans: &TransactionPlans<'_>| {
                plans.iter().flat_map(|plan| &plan.functions).filter(own).map(of).sum()
            };
            transactions.iter().map(sum).collect()
        };
        let is_booked = all().any(|function| function.name == name && function.booked_ms > 0.0);
        let ms = each(match is_booked {
            true => |own| own.booked_ms,
            false => |own| own.self_ms,
        });
        let share = |(ms, total): (&f64, &f64)| if *total > 0.0 { ms / total } else { 0.0 };
        FunctionFigures {
            name: name.to_owned(),
            part: StatementPart::of_function(name),
            calls: Distribution::of(each(|function| function.calls as f64)).mean,
            share: Distribution::of(ms.iter().zip(totals).map(share).collect()),
            ms: Distribution::of(ms),
            is_booked,
        }
    };
    let mut found: Vec<FunctionFigures> = names.into_iter().map(one).collect();
    found.sort_by(|one, other| other.ms.mean.total_cmp(&one.ms.mean));
    found
}

#[cfg(test)]
mod tests {
    use spec::StatementPlan;

    use super::*;

    fn function(name: &str, self_ms: f64, booked_ms: f64) -> FunctionTime {
        FunctionTime {
            name: name.into(),
            calls: 10,
            self_ms,
            part: StatementPart::of_function(name),
            booked_ms,
        }
    }

    #[test]
    fn calls_of_a_transaction_are_added_and_what_took_most_is_first() {
        let plan = |functions: Vec<FunctionTime>| StatementPlan { functions, ..StatementPlan::default() };
        let both = plan(vec![function("box2d", 1.0, 0.0), function("st_area", 4.0, 4.0)]);
        let one = plan(vec![function("st_area", 2.0, 2.0)]);
        let none = plan(Vec::new());
        let found = of(&[vec![&both, &one], vec![&none]], &[10.0, 10.0]);
        let names: Vec<&str> = found.iter().map(|own| own.name.as_str()).collect();
        assert_eq!(names, ["st_area", "box2d"]);
        assert_eq!((found[0].calls, found[0].ms.mean, found[0].share.mean), (10.0, 3.0, 0.3));
        assert_eq!((found[0].is_booked, found[1].is_booked, found[1].calls), (true, false, 5.0));
    }

    /// Regression: for a parallel query it was the time of the leader only, next to parts with the mean of
    /// all processes.
    #[test]
    fn what_is_booked_is_shown_and_not_what_was_measured_in_the_leader() {
        let functions = vec![function("st_area", 2.0, 6.0), function("box2d", 1.0, 0.0)];
        let plan = StatementPlan { functions, ..StatementPlan::default() };
        let found = of(&[vec![&plan]], &[12.0]);
        assert_eq!((found[0].ms.mean, found[0].share.mean, found[1].ms.mean), (6.0, 0.5, 1.0));
    }
}
