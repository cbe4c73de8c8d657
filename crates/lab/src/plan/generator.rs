//! One driver and one way of waiting for all runs of an experiment, chosen for its largest cell. Otherwise
//! runs would differ in speed for an unrelated reason.

use spec::plan::{Decision, Generator, Needed, Placement, Plan, Waiting};
use spec::{Class, Error};

use super::setups::Setups;

/// The driver and the way of waiting for these runs; `None` with jobs only.
pub(super) fn generator(plan: &Plan) -> Option<Decision<Generator>> {
    let measure = &plan.content.measure;
    let clients = || plan.runs.iter().filter(|run| !run.is_job());
    let most = clients().map(|run| run.clients.div_ceil(run.threads.max(1))).max()?;
    let mut setups = Setups::of(plan);
    let mut can_spin =
        || clients().all(|run| setups.without_load(run).placement.can_spin(run.threads as usize));
    let many = Placement::is_to_spin(most as usize, 1);
    let (spins, reason) = match measure.wait {
        Waiting::Sleep => (false, "wait = \"sleep\""),
        Waiting::Spin => (true, "wait = \"spin\""),
        Waiting::Auto if !many => (false, "few clients per thread"),
        Waiting::Auto if can_spin() => (true, "many clients per thread, which has a CPU for itself"),
        Waiting::Auto => (false, "threads have no CPU for themselves"),
    };
    let generator = Generator { driver: measure.driver, clients_per_thread: most, spins };
    let waits = plan.decisions.placement.as_ref().is_some_and(Decision::is_open);
    Some(match measure.wait == Waiting::Auto && many && waits {
        true => Decision::open(generator, "threads spin if each has a CPU for itself", [Needed::Calibration]),
        false => Decision::decided(generator, reason),
    })
}

/// Refuses spinning threads without CPUs for themselves.
///
/// # Errors
/// As text, with what to write.
pub fn check_waiting(plan: &Plan) -> Result<(), Error> {
    if plan.content.measure.wait != Waiting::Spin {
        return Ok(());
    }
    let mut setups = Setups::of(plan);
    let mut of_clients = plan.runs.iter().filter(|run| !run.is_job());
    match of_clients.find(|run| !setups.without_load(run).placement.can_spin(run.threads as usize)) {
        None => Ok(()),
        Some(run) => Err(Error::new(
            Class::Usage,
            format!("{}: client threads that spin need a CPU each, which nothing else uses", run.words()),
        )
        .with_hint(
            "a placement such as \"apart\" (docs/how-to/placement.md) gives them CPUs; or wait = \"sleep\"",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::setups;
    use super::super::tests::plan;
    use super::*;
    use engine::DriverChoice;

    const LADDER: &str = "question = \"?\"\n[target]\nmanaged = {}\n[workload.w]\npgbench = { builtin = \"select-only\" }\n\
        [measure]\nrounds = 2\n";

    fn drivers(more: &str, factors: &str) -> Vec<DriverChoice> {
        let plan = plan(&format!("{LADDER}{more}[factors]\n{factors}\n"));
        let mut drivers: Vec<_> = plan.runs.iter().map(|run| setups::setup(&plan, run).driver).collect();
        drivers.dedup();
        drivers
    }

    /// Four levels had epoll, epoll, io_uring and io_uring, and one law was fitted to all four.
    #[test]
    fn the_driver_switched_inside_one_curve() {
        assert_eq!(drivers("", "clients = [4, 7, 8, 16]"), [DriverChoice::Suits(16)]);
        assert_eq!(drivers("threads = 4\n", "clients = [4, 7, 8, 18]"), [DriverChoice::Suits(5)]);
        assert_eq!(drivers("driver = \"portable\"\n", "clients = [4, 16]"), [DriverChoice::Portable]);
        assert_eq!(drivers("driver = \"io_uring\"\n", "clients = [4, 16]"), [DriverChoice::IoUring]);
    }

    /// From 32 clients on, threads were spinning if they had CPUs for themselves.
    #[test]
    fn the_way_of_waiting_switched_inside_one_curve() {
        let ways = |more: &str, factors: &str| {
            let mut plan = plan(&format!("{LADDER}{more}[factors]\n{factors}\n"));
            let own = Placement { clients: "0".parse().ok(), alone: true, ..Placement::default() };
            let own = spec::plan::ChosenPlacement { level: "own".to_owned(), placement: own };
            plan.decisions.placement = Some(Decision::decided(own, ""));
            plan.decisions.generator = generator(&plan);
            let mut ways: Vec<_> = plan.runs.iter().map(|run| setups::setup(&plan, run).spin()).collect();
            ways.sort();
            ways.dedup();
            ways.into_iter().map(|spin| !spin.is_zero()).collect::<Vec<_>>()
        };
        assert_eq!(ways("", "clients = [8, 31, 32, 64]"), [true]);
        assert_eq!(ways("", "clients = [8, 31]"), [false]);
        assert_eq!(ways("wait = \"sleep\"\n", "clients = [8, 64]"), [false]);
        assert_eq!(ways("wait = \"spin\"\n", "clients = [2, 4]"), [true]);
        // One CPU is too few for two threads.
        assert_eq!(ways("threads = 2\n", "clients = [8, 80]"), [false]);
    }

    #[test]
    fn threads_that_are_to_spin_without_a_cpu_are_refused() {
        let plan = plan(&format!("{LADDER}wait = \"spin\"\n[factors]\nclients = 4\n"));
        let refused = check_waiting(&plan).unwrap_err().to_string();
        assert!(refused.contains("need a CPU each"), "{refused}");
    }
}
