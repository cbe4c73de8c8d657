//! Making pgbench's tables, compared with pgbench.

use std::ffi::OsString;
use std::path::Path;

use crate::pairs::{CostSample, compare};
use crate::served::{PrivateServer, Way};
use crate::{Args, What, child, page};

const SCALE: u32 = 50;

/// `-i -s 50` of both, wall time; the same final tables.
pub(crate) fn tables(options: &Args) -> anyhow::Result<()> {
    println!("{}", page::title(options, What::Init, &format!("pgbench -i -s {SCALE}"), ""));
    // Tables of this size exist already, so that the first to measure drops as much as the others.
    let server = PrivateServer::start(options, Way::Socket, SCALE, 1)?;
    println!("{}", page::INIT_HEAD);
    for (name, more) in [("as pgbench does it", &[][..]), ("--init-jobs 2", &["--init-jobs", "2"][..])] {
        let measure = |program: &Path, ours: bool| -> anyhow::Result<CostSample> {
            let mut arguments: Vec<OsString> = Vec::new();
            if ours {
                arguments.push("pgbench".into());
                arguments.extend(more.iter().map(OsString::from));
            }
            arguments.extend(["-i", "-q", "-s", &SCALE.to_string()].map(OsString::from));
            // Dirty pages of the run before must not count.
            server.checkpoint()?;
            let ran = child::run(program, &arguments, &server.env)?;
            Ok(CostSample { cost: ran.wall_s, speed: ran.cpu_s })
        };
        let compared = compare(
            options.pairs(),
            options.patience(),
            || measure(&options.pgdyno, true),
            || measure(&server.pgbench, false),
        )?;
        println!("{}", page::init_row(name, &compared));
    }
    Ok(())
}
