//! How the clients of a run connect: directly, or through a pooler that is started for them.

use protocol::postgres::Place;
use server::home::Home;
use server::pooler::{self, RunningPooler};
use server::settings::SettingValues;
use spec::Error;
use spec::plan::pooler::PoolerChoice;
use workloads::LoadNeeds;

use super::Stage;
use crate::setup::ConnectionPath;

#[derive(Debug)]
pub(super) struct InUse {
    pub(super) pooler: RunningPooler,
    options: PoolerChoice,
    clients: u32,
    carried: LoadNeeds,
}

impl Stage {
    /// Sets how the clients of a run connect; a pooler gets the settings in force.
    pub(crate) fn connect_by(
        &mut self,
        connection: &ConnectionPath,
        clients: u32,
        carried: LoadNeeds,
    ) -> Result<(), Error> {
        match connection {
            ConnectionPath::Direct => self.pooler = None,
            ConnectionPath::Via(via) => {
                self.pooler = None;
                self.target.reach_by(*via)?;
            }
            ConnectionPath::Pooler(options) => {
                let same = |used: &InUse| {
                    used.options == *options && used.clients == clients && used.carried == carried
                };
                if !self.pooler.as_ref().is_some_and(same) {
                    self.pooler = None;
                    let pooler = self.start_pooler(options, clients, carried)?;
                    self.pooler = Some(InUse { pooler, options: options.clone(), clients, carried });
                }
            }
        }
        Ok(())
    }

    fn start_pooler(
        &self,
        options: &PoolerChoice,
        clients: u32,
        carried: LoadNeeds,
    ) -> Result<RunningPooler, Error> {
        let load = load_of(clients, carried, &self.target.applied().session);
        let (home, upstream) = (Home::locate()?, self.target.upstream());
        let replicas = self.plain_replica_places();
        let servers = (&upstream, &replicas[..]);
        RunningPooler::start(&home, servers, options, &load, &self.watchdog, &self.stop)
    }

    /// The program of the pooler in use, and its version.
    pub(crate) fn pooler_version(&self) -> Option<String> {
        self.pooler.as_ref().map(|used| used.pooler.to_string())
    }

    /// Where the pooler in use is asked which servers it chose, if it chooses.
    pub(crate) fn balancing_pooler(&self) -> Option<Place> {
        let used = self.pooler.as_ref().filter(|used| used.pooler.balances())?;
        Some(used.pooler.place(self.target.database()))
    }

    /// Pids of the pooler in use, and of replicas that pgdyno made.
    pub(crate) fn member_pids(&self) -> (Option<u32>, Vec<u32>) {
        (self.pooler.as_ref().map(|used| used.pooler.pid()), self.replicas.pids())
    }
}

pub(crate) fn load_of(clients: u32, carried: LoadNeeds, session: &SettingValues) -> pooler::PooledLoad<'_> {
    let LoadNeeds { prepared, transaction_blocks, reconnects } = carried;
    pooler::PooledLoad { clients, reconnects, prepared, transaction_blocks, session }
}
