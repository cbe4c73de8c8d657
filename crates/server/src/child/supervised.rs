//! Runs others' programs on a database (osm2pgsql), and checks meanwhile that their server lives.

use std::cell::RefCell;
use std::ffi::OsString;
use std::time::Instant;

use protocol::postgres::Place;
use spec::{Class, Error};

use super::{Account, FinishedProgram, OutputLine, Program, Watchdog};
use crate::control::{LOOK_AFTER, LOOK_BOUND, ServerCheck, ServerChecker};
use crate::stop::Stop;

/// libpq's variables that could redirect a program to another server.
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

/// Why the server of a program is considered dead; attached to the error of the program that was stopped for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadServer(pub String);

/// Prefixes of variables with the paths of such programs' files.
const KEPT: [&str; 4] = ["LUA_", "OSMIUM_", "OMP_", "PROJ_"];

/// Runs programs, and stops them on request or when their server is dead. They run as the current user, in
/// our environment. If that is root, they run as the account for servers, with a small part of the
/// environment.
#[derive(Debug)]
pub struct Supervised {
    watchdog: Watchdog,
    stop: Stop,
    env: Vec<(OsString, OsString)>,
    server: Option<Place>,
}

impl Supervised {
    /// A runner that stops programs once `stop` is set. `env` is set for every program, such as `PGOPTIONS`.
    #[must_use]
    pub fn new(watchdog: &Watchdog, stop: &Stop, env: Vec<(OsString, OsString)>) -> Self {
        Self { watchdog: watchdog.clone(), stop: stop.clone(), env, server: None }
    }

    /// Sets the server that programs work on. While a program is silent, the server is checked.
    #[must_use]
    pub fn working_on(self, server: Place) -> Self {
        Self { server: Some(server), ..self }
    }

    /// Runs a program to its end; its output is passed on line by line.
    ///
    /// # Errors
    /// When it could not run, was stopped, or its server is dead; a failing program is not an error here.
    pub fn run(
        &self,
        mut program: Program,
        on_line: &mut dyn FnMut(OutputLine),
    ) -> Result<FinishedProgram, Error> {
        program.account = Account::unprivileged()?;
        if program.account.is_some() {
            // Root's environment may contain secrets, and another account can read its processes'
            // environment.
            program.clean_environment = true;
            let is_kept = |name: &OsString| {
                name.to_str().is_some_and(|name| KEPT.iter().any(|it| name.starts_with(it)))
            };
            program.env.splice(0..0, std::env::vars_os().filter(|(name, _)| is_kept(name)));
        }
        program.removed_env = MISLEADING.iter().map(OsString::from).collect();
        program.env.splice(0..0, self.env.iter().cloned());
        let overseer = RefCell::new(Supervisor {
            server: self.server.as_ref(),
            looker: ServerChecker::default(),
            last_output: Instant::now(),
            dead: None,
        });
        let mut pass_on = |line: OutputLine| {
            overseer.borrow_mut().last_output = Instant::now();
            on_line(line);
        };
        let stop = || self.stop.at_once() || overseer.borrow_mut().is_dead();
        let finished = self.watchdog.run(&program, &stop, &mut pass_on);
        match (overseer.into_inner().dead, finished?) {
            (Some(why), _) => {
                let what = format!("stopped, because its server does not answer: {why}");
                Err(Error::new(Class::Unreachable, what).attach(DeadServer(why)))
            }
            (None, FinishedProgram { stopped: true, .. }) => Err(Error::stopped()),
            (None, finished) => Ok(finished),
        }
    }
}

/// Checks the server of a silent program.
struct Supervisor<'a> {
    server: Option<&'a Place>,
    looker: ServerChecker,
    /// Time of the program's last output.
    last_output: Instant,
    dead: Option<String>,
}

impl Supervisor<'_> {
    fn is_dead(&mut self) -> bool {
        let Some(server) = self.server else { return false };
        if let Some(ServerCheck::NoAnswer(why)) = self.looker.poll() {
            self.dead = Some(why);
        }
        let quiet_since = self.looker.ended().map_or(self.last_output, |ended| ended.max(self.last_output));
        if self.dead.is_none() && !self.looker.is_busy() && quiet_since.elapsed() >= LOOK_AFTER {
            self.looker.begin(server, None, LOOK_BOUND);
        }
        self.dead.is_some()
    }
}
