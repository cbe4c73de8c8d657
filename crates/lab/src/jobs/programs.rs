//! The programs of jobs (osm2pgsql), run under a watchdog.

use target::child::{CutShort, Line, Overseen, Program, Stream};
use workloads::jobs::{ChildEnd, ChildOrder, Output, RunChild};

/// Runs the programs that a job describes.
#[derive(Debug)]
pub(super) struct Programs {
    overseen: Overseen,
    /// What became of a program whose server was found dead, if that was so, in words.
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
        let name = order.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut program = Program::new(&order.program).args(order.args.iter().cloned());
        program.env.clone_from(&order.env);
        program.unwanted = order.unwanted;
        let mut pass_on = |line: Line| {
            let output = match line.stream {
                Stream::Stdout => Output::Stdout,
                Stream::Stderr => Output::Stderr,
            };
            on_line(output, line.at_us, &line.text);
        };
        let finished = self.overseen.run(program, &mut pass_on).map_err(|error| {
            if let CutShort::DeadServer(why) = &error {
                let what = "was stopped, because its server does not answer";
                self.dead_server = Some(format!("{name} {what}: {why}"));
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
            own_cpu_us: finished.own_cpu_us,
        })
    }
}
