//! What each run needs: its cell and arm, brought to a setup; and the servers and workloads of those.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use engine::Until;
use server::managed::Via;
use spec::Class;
use workloads::Spec;

use super::cells::Cell;
use super::generator::with_generator;
use super::workload;
use super::{Content, Plan, PlannedLoad, PlannedPreparation, PlannedRun};
use crate::error::LabError;
use crate::factors::{self, PLACEMENT, factor, with_options};
use crate::setup::{Arm, At, Cache, Connection, Counting, Load, Placement, Server, Setup, driver_choice};
use crate::target_spec::{TargetSpec, on_storage, with_data, with_version};

impl Content {
    /// What a run of these levels, and of this arm, needs; its seed is the plan's to give.
    ///
    /// # Errors
    /// In words, when a level is none of its factor.
    pub(crate) fn setup(&self, cell: &BTreeMap<String, String>, arm: Option<&str>) -> Result<Setup, String> {
        let only = <&[Arm; 1]>::try_from(&self.arms[..]).map(|[only]| only.clone());
        let mut setup = Setup {
            server: Server::Target(At::default()),
            connection: Connection::Direct,
            changes: None,
            cache: Cache::AsLeft,
            arm: only.ok(),
            workload: String::new(),
            options: BTreeMap::new(),
            load: match self.measure.load {
                PlannedLoad::Users { think_s, ramp_s } => Load::Users {
                    think: Duration::from_secs_f64(think_s),
                    ramp: Duration::from_secs_f64(ramp_s),
                },
                PlannedLoad::Closed | PlannedLoad::Rate => Load::Closed,
            },
            clients: 1,
            threads: self.measure.threads,
            promise: self.measure.promise_s.map(Duration::from_secs_f64),
            warmup: Duration::from_secs_f64(self.measure.warmup_s),
            until: Until::Elapsed(Duration::from_secs_f64(self.measure.duration_s).as_nanos() as u64),
            statements: false,
            transactions: false,
            driver: driver_choice(self.measure.driver),
            waiting: self.measure.wait,
            placement: Placement::default(),
            seed: 0,
            sought: None,
            counting: Counting::EXPERIMENT,
        };
        let levels = cell.iter().map(|(key, level)| (key.as_str(), level.as_str()));
        let mut levels: Vec<_> = levels.chain(arm.map(|arm| (self.compared(), arm))).collect();
        let known = self.known();
        levels.sort_by_key(|(key, _)| factors::place(key, &known));
        for (key, level) in levels {
            factor(key, &known)
                .ok_or_else(|| format!("there is no factor {key:?}"))?
                .apply(key, level, &mut setup, &known)?;
        }
        setup.threads = setup.threads.min(setup.clients).max(1);
        if known.workloads.get(setup.workload.as_str()).is_some_and(|spec| spec.is_job()) {
            return Ok(Setup {
                load: Load::Job,
                clients: 0,
                threads: 0,
                promise: None,
                warmup: Duration::ZERO,
                ..setup
            });
        }
        if self.spec(&setup).is_ok_and(|spec| spec.begins_cold()) {
            setup.warmup = Duration::ZERO;
        }
        if let Some(asked) = &self.measure.search {
            setup.promise = setup.load.profile().map(|_| asked.longest());
            setup.sought = Some(asked.clone());
        }
        Ok(setup)
    }
    /// The server of these levels.
    #[must_use]
    pub(crate) fn target(&self, at: &At) -> TargetSpec {
        let server = at.server.as_ref().and_then(|name| self.named.servers.get(name)).unwrap_or(&self.target);
        let server = match &at.version {
            Some(level) => with_version(server, level, self.named.builds.get(level)),
            None => server.clone(),
        };
        let on = at.storage.as_ref().and_then(|level| Some((level, self.named.storages.get(level)?)));
        let server = on.map_or_else(|| server.clone(), |(level, on)| on_storage(&server, level, on));
        at.data.iter().fold(server, |server, (key, level)| with_data(&server, key, level))
    }

    /// What is put on the server of these levels.
    #[must_use]
    pub(crate) fn preparation(&self, at: &At) -> &PlannedPreparation {
        let data = At { data: at.data.clone(), ..At::default() };
        self.data.get(&data.to_string()).unwrap_or(&self.prepare)
    }

    /// What an arm is in a cell, whatever it is called.
    fn effect(&self, cell: &Cell, arm: &str) -> Result<(Setup, Option<String>), String> {
        let mut setup = self.setup(cell, Some(arm))?;
        let asked =
            self.workloads.get(&setup.workload).map(|planned| workload::effect(planned, &setup.options));
        setup.arm.iter_mut().for_each(|arm| arm.name = None);
        // Whatever a storage is called.
        if let Server::Target(At { storage: Some(level), .. }) = &mut setup.server
            && let Some(storage) = self.named.storages.get(level)
        {
            *level = format!("{storage:?}");
        }
        for own in setup.changes.iter_mut().flat_map(BTreeMap::values_mut) {
            // A check looks, and does nothing.
            (own.level, own.change.check) = Default::default();
        }
        (setup.workload, setup.options) = Default::default();
        Ok((setup, asked))
    }

    /// The workload that a setup asks for, with the options that it changes.
    ///
    /// # Errors
    /// When it is none of this plan.
    pub(crate) fn spec(&self, setup: &Setup) -> Result<Spec, LabError> {
        let planned = self.workloads.get(&setup.workload).ok_or_else(|| "is not there".to_owned());
        planned.and_then(|planned| with_options(&Spec::of(&planned.spec)?, &setup.options)).map_err(|why| {
            LabError::failed(Class::Internal, format!("workload {}: {why}", setup.asked()), "")
        })
    }
}

impl Plan {
    /// Whether its own levels say where clients and servers run.
    pub(crate) fn chooses_placement(&self) -> bool {
        self.content.compared() == PLACEMENT || self.content.factors.contains_key(PLACEMENT)
    }

    /// The most that clients need to reach a managed server: what it is started with, so that it is not restarted.
    pub(crate) fn widest_way(&self) -> Via {
        let ways = self.runs.iter().map(|run| match self.setup(run).connection {
            Connection::Via(via) => via,
            _ => Via::Socket,
        });
        ways.max().unwrap_or(Via::Socket)
    }

    /// Connections of all clients of the largest of its runs; 0 where there are only jobs.
    pub(crate) fn most_connections(&self) -> u32 {
        let connections = |run| {
            let setup = self.setup(run);
            let links = self.content.spec(&setup).map_or(1, |spec| spec.links());
            setup.clients.saturating_mul(links)
        };
        self.runs.iter().map(connections).max().unwrap_or(0)
    }

    /// The servers that are opened for its runs, that of the base arm first.
    pub(crate) fn sites(&self) -> Vec<At> {
        let base = self.content.compare.as_ref().map(|compare| &compare.base);
        let mut runs: Vec<&PlannedRun> = self.runs.iter().collect();
        runs.sort_by_key(|run| run.arm.as_ref() != base);
        let mut sites = Vec::new();
        for at in runs.into_iter().map(|run| self.setup(run).at().template()) {
            if !sites.contains(&at) {
                sites.push(at);
            }
        }
        sites
    }

    /// Two arms between which there is no difference in any cell: A against A.
    #[must_use]
    pub fn equal_arms(&self) -> Option<[String; 2]> {
        let arms: Vec<String> = self.content.arm_names().into_iter().flatten().collect();
        let cells = self.content.grid();
        let equal = |one: &String, other: &String| {
            cells.iter().all(|cell| self.content.effect(cell, one) == self.content.effect(cell, other))
        };
        let pairs =
            arms.iter().enumerate().flat_map(|(at, one)| arms[..at].iter().map(move |other| [other, one]));
        pairs.into_iter().find(|[one, other]| equal(one, other)).map(|pair| pair.map(Clone::clone))
    }

    /// What the base arm's run of the same cell needs; `None` for runs of the base, and where nothing is compared.
    #[must_use]
    pub(crate) fn base_setup(&self, run: &PlannedRun) -> Option<Setup> {
        let base = &self.content.compare.as_ref()?.base;
        run.arm.as_ref().filter(|arm| *arm != base)?;
        Some(self.setup(&PlannedRun { arm: Some(base.clone()), ..run.clone() }))
    }

    /// Hashes of what a run asks, in order, each once.
    pub(crate) fn scripts(&self, run: &PlannedRun) -> String {
        let setup = self.setup(run);
        let workload = self.content.workloads.get(&setup.workload);
        let hashes: BTreeSet<&String> =
            workload.into_iter().flat_map(|of| workload::texts(of, &setup.options)).collect();
        hashes.into_iter().map(String::as_str).collect::<Vec<_>>().join(",")
    }

    /// What a run of this plan needs.
    #[must_use]
    pub fn setup(&self, run: &PlannedRun) -> Setup {
        let setup = self
            .content
            .setup(&run.factors, run.arm.as_deref())
            .expect("its levels were applied when it was planned");
        // Beside the grid any settings will do.
        let arm = setup.arm.filter(|_| !run.beside);
        let none = || (!self.content.named.changes.is_empty()).then(BTreeMap::new);
        let changes = setup.changes.or_else(none).filter(|_| !run.beside);
        let chosen = self.placement.as_ref().map(|chosen| chosen.placement.clone());
        let placement = chosen.unwrap_or(setup.placement);
        let setup = Setup { seed: run.seed, arm, changes, placement, ..setup };
        let setup = match &self.generator {
            Some(generator) => with_generator(generator, setup),
            None => setup,
        };
        self.on_its_copy(run, setup)
    }
}
