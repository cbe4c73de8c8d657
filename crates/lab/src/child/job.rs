//! Programs that workloads run (osm2pgsql), kept under a watchdog.

use std::ffi::OsString;

use workloads::jobs::{ChildEnd, ChildOrder, Output, RunChild};

use super::{Line, Program, Stream, Watchdog};

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

/// Runs a workload's programs as the user we are, in our environment; stops them when asked.
#[derive(Debug, Clone)]
pub struct JobRunner {
    watchdog: Watchdog,
    stop: engine::Stop,
    env: Vec<(OsString, OsString)>,
}

impl JobRunner {
    /// A runner that gives programs up once `stop` is set. `env` is set for every program, such as `PGOPTIONS`.
    #[must_use]
    pub fn new(watchdog: &Watchdog, stop: &engine::Stop, env: Vec<(OsString, OsString)>) -> Self {
        Self { watchdog: watchdog.clone(), stop: stop.clone(), env }
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
        let mut pass_on = |line: Line| {
            let output = match line.stream {
                Stream::Stdout => Output::Stdout,
                Stream::Stderr => Output::Stderr,
            };
            on_line(output, line.at_us, &line.text);
        };
        let finished = self
            .watchdog
            .run(&program, &|| self.stop.is_set(), &mut pass_on)
            .map_err(|error| error.to_string())?;
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
