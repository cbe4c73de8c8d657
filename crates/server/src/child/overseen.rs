//! Programs of others that work on a database (osm2pgsql), while it is looked whether their server still lives.

use std::cell::RefCell;
use std::ffi::OsString;
use std::time::Instant;

use protocol::postgres::Place;
use spec::Error;

use super::{Account, Finished, Line, Program, Watchdog};
use crate::control::{LOOK_AFTER, LOOK_BOUND, Looker, Seen};
use crate::stop::Stop;

/// libpq's variables that would lead a program elsewhere than it is told.
const MISLEADING: [&str; 10] = [
    "PGHOST",
    "PGHOSTADDR",
    "PGPORT",
    "PGUSER",
    "PGDATABASE",
    "PGPASSWORD",
    "PGSERVICE",
    "PGOPTIONS",
    "PGTARGETSESSIONATTRS",
    "PGLOADBALANCEHOSTS",
];

/// Why a program came to no end of its own.
#[derive(Debug, thiserror::Error)]
pub enum CutShort {
    /// It could not be started, or was lost.
    #[error(transparent)]
    Failed(#[from] Error),
    /// The user wants to stop.
    #[error("stopped")]
    Stopped,
    /// Its server is dead, for this reason.
    #[error("stopped, because its server does not answer: {0}")]
    DeadServer(String),
}

/// Beginnings of variables that tell such programs where their own files are.
const KEPT: [&str; 4] = ["LUA_", "OSMIUM_", "OMP_", "PROJ_"];

/// Runs programs, and stops them when asked or when their server is dead. They run as the user we are, in our environment. If
/// that is root, they run as the account that runs servers, with a small part of the environment.
#[derive(Debug)]
pub struct Overseen {
    watchdog: Watchdog,
    stop: Stop,
    env: Vec<(OsString, OsString)>,
    server: Option<Place>,
}

impl Overseen {
    /// A runner that gives programs up once `stop` is set. `env` is set for every program, such as `PGOPTIONS`.
    #[must_use]
    pub fn new(watchdog: &Watchdog, stop: &Stop, env: Vec<(OsString, OsString)>) -> Self {
        Self { watchdog: watchdog.clone(), stop: stop.clone(), env, server: None }
    }

    /// The server that programs work on: while one of them is silent, it is looked whether the server answers.
    #[must_use]
    pub fn working_on(self, server: Place) -> Self {
        Self { server: Some(server), ..self }
    }

    /// Runs a program to its end; what it prints is handed out line by line.
    ///
    /// # Errors
    /// [`CutShort`]; a program that fails is no error here.
    pub fn run(&self, mut program: Program, on_line: &mut dyn FnMut(Line)) -> Result<Finished, CutShort> {
        program.account = Account::unprivileged()?;
        if program.account.is_some() {
            // Root's environment may hold secrets, and what runs as another account can be read by it.
            program.clean_environment = true;
            let is_kept = |name: &OsString| {
                name.to_str().is_some_and(|name| KEPT.iter().any(|it| name.starts_with(it)))
            };
            program.env.splice(0..0, std::env::vars_os().filter(|(name, _)| is_kept(name)));
        }
        program.removed_env = MISLEADING.iter().map(OsString::from).collect();
        program.env.splice(0..0, self.env.iter().cloned());
        let overseer = RefCell::new(Overseer {
            server: self.server.as_ref(),
            looker: Looker::default(),
            heard: Instant::now(),
            dead: None,
        });
        let mut pass_on = |line: Line| {
            overseer.borrow_mut().heard = Instant::now();
            on_line(line);
        };
        let stop = || self.stop.at_once() || overseer.borrow_mut().is_dead();
        let finished = self.watchdog.run(&program, &stop, &mut pass_on);
        match (overseer.into_inner().dead, finished?) {
            (Some(why), _) => Err(CutShort::DeadServer(why)),
            (None, Finished { stopped: true, .. }) => Err(CutShort::Stopped),
            (None, finished) => Ok(finished),
        }
    }
}

/// Looks after the server of a silent program.
struct Overseer<'a> {
    server: Option<&'a Place>,
    looker: Looker,
    /// When the program last said something.
    heard: Instant,
    dead: Option<String>,
}

impl Overseer<'_> {
    fn is_dead(&mut self) -> bool {
        let Some(server) = self.server else { return false };
        if let Some(Seen::NoAnswer(why)) = self.looker.poll() {
            self.dead = Some(why);
        }
        let quiet_since = self.looker.ended().map_or(self.heard, |ended| ended.max(self.heard));
        if self.dead.is_none() && !self.looker.is_busy() && quiet_since.elapsed() >= LOOK_AFTER {
            self.looker.begin(server, None, LOOK_BOUND);
        }
        self.dead.is_some()
    }
}
