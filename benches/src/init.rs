//! Making pgbench's tables, beside pgbench.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use crate::Options;
use crate::child;
use crate::page;
use crate::pairs::{Sample, compare};
use crate::server::Server;

/// `-i -s 50` of both, wall time; the same final tables.
pub(crate) fn tables(options: &Options) -> anyhow::Result<()> {
    let server = Server::start(options, 1)?;
    println!("\n## pgbench -i -s 50\n\n{}", page::INIT_HEAD);
    for (name, more) in [("as pgbench does it", &[][..]), ("--init-jobs 2", &["--init-jobs", "2"][..])] {
        let measure = |program: &Path, ours: bool| -> anyhow::Result<Sample> {
            let mut arguments: Vec<OsString> = Vec::new();
            if ours {
                arguments.push("pgbench".into());
                arguments.extend(more.iter().map(OsString::from));
            }
            arguments.extend(["-i", "-q", "-s", "50"].map(OsString::from));
            let ran = child::run(program, &arguments, &server.env, None)?;
            Ok(Sample { cost: ran.wall_s, speed: ran.cpu_s() })
        };
        let compared = compare(
            options.pairs,
            Duration::from_secs(options.patience),
            || measure(&options.pgdyno, true),
            || measure(&server.pgbench, false),
        )?;
        println!("{}", page::init_row(name, &compared));
    }
    Ok(())
}
