//! One driver and one way of waiting for all runs of an experiment, chosen for its largest cell. Runs that differ in them differ
//! in speed for a reason that nobody asked about.

use engine::DriverChoice;
use spec::Class;

use super::{Generator, Plan};
use crate::error::LabError;
use crate::setup::{AskedDriver, Placement, Setup, Waiting, driver_choice};

/// The same setup with this generator.
pub(super) fn with_generator(generator: &Generator, setup: Setup) -> Setup {
    let driver = match generator.driver {
        AskedDriver::Auto => DriverChoice::Suits(generator.clients_per_thread as usize),
        asked => driver_choice(asked),
    };
    let waiting = if generator.spins { Waiting::Spin } else { Waiting::Sleep };
    Setup { driver, waiting, ..setup }
}

impl Plan {
    /// The plan with what moves the bytes of its runs, as they are placed now.
    #[must_use]
    pub(crate) fn with_generator(mut self) -> Self {
        self.generator = None;
        let measure = &self.content.measure;
        let mut clients = self.runs.iter().filter(|run| !run.is_job()).peekable();
        if clients.peek().is_none() {
            return self;
        }
        let most = clients.clone().map(|run| run.clients.div_ceil(run.threads.max(1))).max().unwrap_or(0);
        let spins = match measure.wait {
            Waiting::Sleep => false,
            Waiting::Spin => true,
            Waiting::Auto => {
                Placement::is_to_spin(most as usize, 1)
                    && clients.all(|run| self.setup(run).placement.can_spin(run.threads as usize))
            }
        };
        self.generator = Some(Generator { driver: measure.driver, clients_per_thread: most, spins });
        self
    }

    /// Refuses threads that are to spin where they have no CPUs for themselves.
    ///
    /// # Errors
    /// In words, with what to write.
    pub fn check_waiting(&self) -> Result<(), LabError> {
        let cannot = |run: &&super::PlannedRun| {
            !run.is_job() && !self.setup(run).placement.can_spin(run.threads as usize)
        };
        let wanted = self.content.measure.wait == Waiting::Spin;
        match self.runs.iter().find(cannot).filter(|_| wanted) {
            None => Ok(()),
            Some(run) => Err(LabError::failed(
                Class::Usage,
                format!("{}: client threads that spin need a CPU each, which nothing else uses", run.words()),
                "a placement such as \"apart\" (docs/placement.md) gives them CPUs; or wait = \"sleep\"",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;

    const LADDER: &str = "question = \"?\"\n[target]\nmanaged = {}\n[workload.w]\npgbench = { builtin = \"select-only\" }\n\
        [measure]\nrounds = 2\n";

    fn drivers(more: &str, factors: &str) -> Vec<DriverChoice> {
        let plan = plan(&format!("{LADDER}{more}[factors]\n{factors}\n"));
        let mut drivers: Vec<_> = plan.runs.iter().map(|run| plan.setup(run).driver).collect();
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

    /// From 32 clients on threads span, where they had CPUs for themselves.
    #[test]
    fn the_way_of_waiting_switched_inside_one_curve() {
        let ways = |more: &str, factors: &str| {
            let mut plan = plan(&format!("{LADDER}{more}[factors]\n{factors}\n"));
            let own = Placement { clients: "0".parse().ok(), alone: true, ..Placement::default() };
            plan.placement = Some(super::super::ChosenPlacement {
                level: "own".to_owned(),
                placement: own,
                why: String::new(),
            });
            let plan = plan.with_generator();
            let mut ways: Vec<_> = plan.runs.iter().map(|run| plan.setup(run).spin()).collect();
            ways.sort();
            ways.dedup();
            ways.into_iter().map(|spin| !spin.is_zero()).collect::<Vec<_>>()
        };
        assert_eq!(ways("", "clients = [8, 31, 32, 64]"), [true]);
        assert_eq!(ways("", "clients = [8, 31]"), [false]);
        assert_eq!(ways("wait = \"sleep\"\n", "clients = [8, 64]"), [false]);
        assert_eq!(ways("wait = \"spin\"\n", "clients = [2, 4]"), [true]);
        // Two threads have no CPU each.
        assert_eq!(ways("threads = 2\n", "clients = [8, 80]"), [false]);
    }

    #[test]
    fn threads_that_are_to_spin_without_a_cpu_are_refused() {
        let plan = plan(&format!("{LADDER}wait = \"spin\"\n[factors]\nclients = 4\n"));
        let refused = plan.check_waiting().unwrap_err().to_string();
        assert!(refused.contains("need a CPU each"), "{refused}");
    }
}
