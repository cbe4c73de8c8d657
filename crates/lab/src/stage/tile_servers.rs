//! Tile servers between clients and the database: started before the first run that uses them, and again
//! after anything that breaks their database connections.

use std::collections::BTreeMap;

use server::Stop;
use server::child::Watchdog;
use server::home::Home;
use server::tile_server::{Installed, ServedTables, TileServer, schemas};
use spec::Error;
use spec::plan::tile_server::TileServerOptions;
use workloads::HttpPlace;

use super::Stage;
use crate::error::of_sql;

#[derive(Debug, Default)]
pub(super) struct TileServers {
    all: Vec<Wanted>,
    /// Most connections of the clients of any run: pools keep their size from one run to the next.
    connections: u32,
}

#[derive(Debug)]
struct Wanted {
    options: TileServerOptions,
    installed: Installed,
    /// The last port, which clients may already have.
    port: Option<u16>,
    running: Option<TileServer>,
}

impl TileServers {
    /// Finds the programs; nothing is started yet.
    pub(super) fn find(
        options: &[TileServerOptions],
        watchdog: &Watchdog,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let found = options.iter().map(|options| {
            let installed = Installed::find(options, watchdog, stop)?;
            Ok(Wanted { options: options.clone(), installed, port: None, running: None })
        });
        Ok(Self { all: found.collect::<Result<_, Error>>()?, connections: 0 })
    }

    /// The same for another server.
    pub(super) fn not_started(&self) -> Self {
        let not_started = |wanted: &Wanted| {
            let (options, installed) = (wanted.options.clone(), wanted.installed.clone());
            Wanted { options, installed, port: None, running: None }
        };
        Self { all: self.all.iter().map(not_started).collect(), connections: self.connections }
    }

    pub(super) fn stop(&mut self) {
        self.all.iter_mut().for_each(|wanted| wanted.running = None);
    }

    pub(super) fn check(&mut self) -> Result<(), Error> {
        for running in self.all.iter_mut().filter_map(|wanted| wanted.running.as_mut()) {
            running.check()?;
        }
        Ok(())
    }

    pub(super) fn pids(&self) -> impl Iterator<Item = u32> {
        self.running().map(|(_, running)| running.pid())
    }

    pub(super) fn places(&self) -> BTreeMap<&'static str, HttpPlace> {
        let place = |(wanted, running): (&Wanted, &TileServer)| {
            let kind = wanted.options.kind;
            let place = HttpPlace { address: running.address(), tiles: kind.tiles_of_source().to_owned() };
            (kind.name(), place)
        };
        self.running().map(place).collect()
    }

    pub(super) fn versions(&self) -> impl Iterator<Item = (String, String)> {
        self.all
            .iter()
            .map(|wanted| (wanted.options.kind.name().to_owned(), wanted.installed.version.clone()))
    }

    fn running(&self) -> impl Iterator<Item = (&Wanted, &TileServer)> {
        self.all.iter().filter_map(|wanted| Some((wanted, wanted.running.as_ref()?)))
    }
}

impl Stage {
    /// Sets the most connections of the clients of a run, before the first.
    pub(crate) fn expect_connections(&mut self, most: u32) {
        self.tile_servers.connections = most;
    }

    pub(crate) fn start_tile_servers(&mut self) -> Result<(), Error> {
        if self.tile_servers.all.iter().all(|wanted| wanted.running.is_some()) {
            return Ok(());
        }
        let schemas = schemas(self.control()?).map_err(of_sql)?;
        let (home, upstream) = (Home::locate()?, self.target.arm_upstream());
        let clients = self.tile_servers.connections.max(1);
        let before = ServedTables { upstream: &upstream, schemas: &schemas, clients };
        for wanted in self.tile_servers.all.iter_mut().filter(|wanted| wanted.running.is_none()) {
            let Wanted { options, installed, port, .. } = &*wanted;
            let both = (&self.watchdog, &self.stop);
            let started = TileServer::start(&home, (installed, options), &before, *port, both)?;
            wanted.port = Some(started.address().port());
            wanted.running = Some(started);
        }
        Ok(())
    }

    /// Stops them: the next change to the server would leave them with old state.
    pub(crate) fn stop_tile_servers(&mut self) {
        self.tile_servers.stop();
    }

    pub(crate) fn tile_server_words(&self) -> Vec<String> {
        let words = |(wanted, running): (&Wanted, &TileServer)| {
            format!("{} {}: {}", wanted.options.kind, wanted.installed.version, running.words())
        };
        self.tile_servers.running().map(words).collect()
    }
}
