//! The programs of jobs (osm2pgsql), run under a watchdog.

use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use server::child::{Account, DeadServer, OutputLine, Program, Stream, Supervised};
use spec::given;
use workloads::jobs::{ChildEnd, ChildInput, ChildOrder, OutputStream, RunChild};

#[derive(Debug)]
pub(super) struct Programs {
    overseen: Supervised,
    /// What happened to a program whose server died, as text.
    pub(super) dead_server: Option<String>,
}

impl Programs {
    pub(super) fn new(overseen: Supervised) -> Self {
        Self { overseen, dead_server: None }
    }
}

/// If programs run under another account, they get already open files that they cannot open by name, such as
/// an extract in root's own folder. Returns the name of each file there and its own name.
fn lend(program: &mut Program, inputs: &[ChildInput]) -> Result<Vec<(String, String)>, String> {
    let mut lent = Vec::new();
    let Some(account) = Account::unprivileged().map_err(|error| error.to_string())? else { return Ok(lent) };
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
        let by_number = format!("/proc/self/fd/{}", file.as_raw_fd());
        for arg in program.args.iter_mut().filter(|arg| **arg == *input.path.as_os_str()) {
            *arg = OsString::from(&by_number);
        }
        lent.push((by_number, shown.to_string()));
        program.args.splice(0..0, input.without_name.iter().cloned());
        program.inherited.push(Arc::new(file));
    }
    Ok(lent)
}

/// A program's line of output, with the names of these files instead of their numbers.
fn with_names(text: &str, lent: &[(String, String)]) -> String {
    lent.iter().fold(text.to_owned(), |text, (by_number, name)| {
        let mut parts = text.split(by_number.as_str());
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |said, rest| {
            let is_longer = rest.starts_with(|next: char| next.is_ascii_digit());
            said + if is_longer { by_number } else { name } + rest
        })
    })
}

impl RunChild for Programs {
    fn run(
        &mut self,
        order: &ChildOrder,
        on_line: &mut dyn FnMut(OutputStream, u64, &str),
    ) -> Result<ChildEnd, String> {
        let name = order.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut program = Program::new(&order.program).args(order.args.iter().cloned());
        program.env.clone_from(&order.env);
        program.unwanted = order.unwanted;
        let lent = lend(&mut program, &order.inputs)?;
        let mut pass_on = |line: OutputLine| {
            let output = match line.stream {
                Stream::Stdout => OutputStream::Stdout,
                Stream::Stderr => OutputStream::Stderr,
            };
            on_line(output, line.at_us, &with_names(&line.text, &lent));
        };
        let finished = self.overseen.run(program, &mut pass_on).map_err(|error| {
            if let Some(DeadServer(why)) = error.attached() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lent_file_is_called_by_its_name_in_what_a_program_says() {
        let lent = [("7", "/root/a.lua"), ("71", "/root/b.osm.pbf")];
        let lent = lent.map(|(number, name)| (format!("/proc/self/fd/{number}"), name.to_owned()));
        let cases = [
            ("error in /proc/self/fd/7:3: near x", "error in /root/a.lua:3: near x"),
            ("/proc/self/fd/71 and /proc/self/fd/7", "/root/b.osm.pbf and /root/a.lua"),
            ("/proc/self/fd/72, /proc/self/fd/7", "/proc/self/fd/72, /root/a.lua"),
            ("nothing", "nothing"),
        ];
        for (said, wanted) in cases {
            assert_eq!(with_names(said, &lent), wanted);
        }
    }
}
