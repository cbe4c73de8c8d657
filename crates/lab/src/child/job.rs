//! Programs that workloads run (osm2pgsql), kept under a watchdog.

use std::cell::RefCell;
use std::ffi::OsString;
use std::time::Instant;

use workloads::Connect;
use workloads::jobs::{ChildEnd, ChildOrder, Output, RunChild};

use super::{Line, Program, Stream, Watchdog};
use crate::control::{LOOK_AFTER, LOOK_BOUND, Looker, Seen};

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

/// Runs a workload's programs as the user we are, in our environment; stops them when asked, and when the server they
/// work on is found dead.
#[derive(Debug)]
pub struct JobRunner {
    watchdog: Watchdog,
    stop: engine::Stop,
    env: Vec<(OsString, OsString)>,
    server: Option<Connect>,
    dead: Option<String>,
}

impl JobRunner {
    /// A runner that gives programs up once `stop` is set. `env` is set for every program, such as `PGOPTIONS`.
    #[must_use]
    pub fn new(watchdog: &Watchdog, stop: &engine::Stop, env: Vec<(OsString, OsString)>) -> Self {
        Self { watchdog: watchdog.clone(), stop: stop.clone(), env, server: None, dead: None }
    }

    /// The server that programs work on: while one of them is silent, it is looked whether the server answers.
    #[must_use]
    pub fn working_on(self, server: Connect) -> Self {
        Self { server: Some(server), ..self }
    }

    /// Why a program was ended, if its server was found dead.
    #[must_use]
    pub fn dead_server(&self) -> Option<&str> {
        self.dead.as_deref()
    }
}

/// Looks after the server of a silent program.
struct Overseer<'a> {
    server: Option<&'a Connect>,
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

impl RunChild for JobRunner {
    fn run(
        &mut self,
        order: &ChildOrder,
        on_line: &mut dyn FnMut(Output, u64, &str),
    ) -> Result<ChildEnd, String> {
        let mut program = Program::new(&order.program).args(order.args.iter().cloned());
        program.removed_env = MISLEADING.iter().map(OsString::from).collect();
        program.env = self.env.iter().chain(&order.env).cloned().collect();
        let overseer = RefCell::new(Overseer {
            server: self.server.as_ref(),
            looker: Looker::default(),
            heard: Instant::now(),
            dead: None,
        });
        let mut pass_on = |line: Line| {
            overseer.borrow_mut().heard = Instant::now();
            let output = match line.stream {
                Stream::Stdout => Output::Stdout,
                Stream::Stderr => Output::Stderr,
            };
            on_line(output, line.at_us, &line.text);
        };
        let stop = || self.stop.is_set() || overseer.borrow_mut().is_dead();
        let finished = self.watchdog.run(&program, &stop, &mut pass_on);
        self.dead = overseer.into_inner().dead;
        if let Some(why) = &self.dead {
            return Err(format!("stopped, because its server does not answer: {why}"));
        }
        let finished = finished.map_err(|error| error.to_string())?;
        if finished.stopped {
            return Err("stopped".to_owned());
        }
        Ok(ChildEnd {
            code: finished.ended.code,
            signal: finished.ended.signal,
            wall_us: finished.wall_us,
            user_us: finished.ended.user_us,
            system_us: finished.ended.system_us,
            max_rss_bytes: finished.ended.max_rss_bytes,
        })
    }
}
