//! The programs of jobs (osm2pgsql), run under a watchdog.

use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use record::given;
use target::child::{Account, CutShort, Line, Overseen, Program, Stream};
use workloads::jobs::{ChildEnd, ChildInput, ChildOrder, Output, RunChild};

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

/// Where programs run as another account than ours, it is lent what it cannot get to by name, already open: root's extract
/// in root's own folder.
fn lend(program: &mut Program, inputs: &[ChildInput]) -> Result<(), String> {
    let Some(account) = Account::unprivileged().map_err(|error| error.to_string())? else { return Ok(()) };
    for input in inputs {
        let shown = input.path.display();
        let file = given::open(&input.path).map_err(|error| format!("cannot open {shown}: {error}"))?;
        let metadata = file.metadata().map_err(|error| format!("cannot look at {shown}: {error}"))?;
        if !account.may_read(&metadata) {
            return Err(format!(
                "user {}, who runs programs when pgdyno is root, may not read {shown}; let it with: chmod a+r",
                account.name
            ));
        }
        if input.path.parent().is_some_and(|folder| account.may_enter(folder)) {
            continue;
        }
        let by_number = OsString::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        for arg in program.args.iter_mut().filter(|arg| **arg == *input.path.as_os_str()) {
            arg.clone_from(&by_number);
        }
        program.args.splice(0..0, input.without_name.iter().cloned());
        program.inherited.push(Arc::new(file));
    }
    Ok(())
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
        lend(&mut program, &order.inputs)?;
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
