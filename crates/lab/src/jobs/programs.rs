//! The programs of jobs (osm2pgsql), run under a watchdog.

use target::child::{CutShort, Line, Overseen, Program, Stream};
use workloads::jobs::{ChildEnd, ChildOrder, Output, RunChild};

/// Runs the programs that a job describes.
#[derive(Debug)]
pub(super) struct Programs {
    overseen: Overseen,
    /// Why a program was ended, if its server was found dead.
    pub(super) dead_server: Option<String>,
}

impl Programs {
    pub(super) fn new(overseen: Overseen) -> Self {
        Self { overseen, dead_server: None }
    }
}

impl RunChild for Programs {
    fn run(
        &mut self,
        order: &ChildOrder,
        on_line: &mut dyn FnMut(Output, u64, &str),
    ) -> Result<ChildEnd, String> {
        let mut program = Program::new(&order.program).args(order.args.iter().cloned());
        program.env.clone_from(&order.env);
        let mut pass_on = |line: Line| {
            let output = match line.stream {
                Stream::Stdout => Output::Stdout,
                Stream::Stderr => Output::Stderr,
            };
            on_line(output, line.at_us, &line.text);
        };
        let finished = self.overseen.run(program, &mut pass_on).map_err(|error| {
            if let CutShort::DeadServer(why) = &error {
                self.dead_server = Some(why.clone());
            }
            error.to_string()
        })?;
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
