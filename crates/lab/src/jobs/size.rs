//! Whether the data of a job fit on the disk of its server: reported before it begins, and refused if they
//! cannot.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use protocol::postgres::sql::{Sql, quote_literal};
use server::control::Control;
use server::home::Home;
use server::host::Disk;
use server::managed::{disks_of, sizes_of};
use server::settings::journal::ServerId;
use spec::plan::{PlannedPreparation, TargetSpec};
use spec::{Class, Error, bytes};
use workloads::jobs::Fill;

use crate::error::of_sql;
use crate::plan::jobs_of;
use crate::stage::Stage;

/// The size of the data and the free space, as text.
///
/// # Errors
/// When they cannot fit.
fn fits(what: &str, needed: u64, free: Option<u64>) -> Result<String, Error> {
    let size = format!("{what}: about {}", bytes(needed));
    match free {
        None => Ok(format!("{size}; how much is free on the server's disk is not known")),
        Some(free) if free < needed => {
            let what = format!("{size}, but {} are free on the server's disk", bytes(free));
            Err(Error::new(Class::Io, what)
                .with_hint("choose a smaller scale, or a server with a larger disk"))
        }
        Some(free) => Ok(format!("{size}; {} are free on the server's disk", bytes(free))),
    }
}

pub(super) fn fits_on(stage: &mut Stage, what: &str, fill: &Fill) -> Result<String, Error> {
    let managed = stage.target.data_folder();
    fits_at_hand(stage.control()?, managed, what, fill)
}

/// The same for a reachable server; `managed` is the data folder of a private one.
pub(crate) fn fits_at_hand(
    control: &mut Control,
    managed: Option<PathBuf>,
    what: &str,
    fill: &Fill,
) -> Result<String, Error> {
    let free = if fill.elsewhere { None } else { free_on(control, managed, fill.drops)? };
    fits(what, fill.bytes, free)
}

/// Free bytes for a database's files, including tables that are dropped before; `None` if the server's disk
/// is not visible from here.
fn free_on(control: &mut Control, managed: Option<PathBuf>, drops: &[&str]) -> Result<Option<u64>, Error> {
    let Some(folder) = managed.map_or_else(|| folder_of(control), |folder| Ok(Some(folder)))? else {
        return Ok(None);
    };
    let Some(disk) = Disk::of(&folder.join("base")).or_else(|| Disk::of(&folder)) else { return Ok(None) };
    let names: Vec<String> = drops.iter().map(|name| quote_literal(name)).collect();
    let dropped = match names.is_empty() {
        true => None,
        false => control.scalar(&format!(
            "SELECT sum(pg_catalog.pg_total_relation_size(pg_catalog.to_regclass(name))) FROM unnest(ARRAY[{}]) AS name",
            names.join(", ")
        )).map_err(of_sql)?,
    };
    let dropped = dropped.and_then(|sum| sum.parse::<u64>().ok()).unwrap_or(0);
    Ok(Some(disk.free_bytes + dropped))
}

/// The folder of the database's files, if a server given by URL runs on this machine.
fn folder_of(control: &mut Control) -> Result<Option<PathBuf>, Error> {
    let tablespace = control
        .scalar(
            "SELECT pg_catalog.pg_tablespace_location(dattablespace) FROM pg_catalog.pg_database \
         WHERE datname = pg_catalog.current_database()",
        )
        .map_err(of_sql)?;
    let server = ServerId::ask(control).map_err(of_sql)?;
    let folder = server.folder_here().map(Path::to_owned);
    Ok(match tablespace.filter(|path| !path.is_empty()) {
        Some(tablespace) => folder.map(|_| PathBuf::from(tablespace)),
        None => folder,
    })
}

/// The same before a server is created, started or reached: sentences for each server that pgdyno owns, and
/// for those whose disk is visible only after connecting.
///
/// # Errors
/// When the data of servers on one disk cannot fit there.
pub(crate) fn foresee<'p>(
    servers: impl Iterator<Item = (TargetSpec, &'p PlannedPreparation)>,
) -> Result<Vec<String>, Error> {
    let home = Home::locate().ok();
    let mut said = Vec::new();
    // By disk: free bytes, needed bytes, and for what.
    let mut disks: BTreeMap<u64, (u64, u64, Vec<String>)> = BTreeMap::new();
    for (spec, prepare) in servers {
        for job in jobs_of(prepare).jobs() {
            let Some(fill) = job.fill().filter(|fill| fill.bytes > 0) else { continue };
            let place = home.as_ref().filter(|_| !fill.elsewhere).and_then(|home| place_of(home, &spec));
            let Some((device, free, there)) = place else {
                said.push(fits(&job.what(), fill.bytes, None)?);
                continue;
            };
            let disk = disks.entry(device).or_insert((free, 0, Vec::new()));
            // Existing data of a server of this name are reused or deleted.
            disk.1 += fill.bytes.saturating_sub(there);
            disk.2.push(job.what());
            said.push(format!(
                "{}: about {}; {} are free on the server's disk",
                job.what(),
                bytes(fill.bytes),
                bytes(free)
            ));
        }
    }
    for (free, needed, what) in disks.into_values() {
        fits(&what.join("; "), needed, Some(free))?;
    }
    Ok(said)
}

/// The disk of a private server, by its device: free bytes, and bytes of the server. `None` if not visible
/// yet.
fn place_of(home: &Home, spec: &TargetSpec) -> Option<(u64, u64, u64)> {
    let TargetSpec::Managed { name, storage: None, .. } = spec else { return None };
    let there = disks_of(home, name).into_iter().next().map(|(folder, _)| folder);
    let folder =
        there.or_else(|| home.folder().ancestors().find(|folder| folder.exists()).map(Path::to_owned))?;
    let device = std::fs::metadata(&folder).ok()?.dev();
    let size = sizes_of(home, name).map_or(0, |sizes| sizes.data);
    Some((device, Disk::of(&folder)?.free_bytes, size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workloads::Preparation;
    use workloads::pgbench::init::InitOptions;

    #[test]
    fn the_size_is_told_and_what_cannot_fit_is_refused() {
        let what = "make pgbench's tables, scale 25804";
        let told = fits(what, 75 << 20, Some(71 << 30)).unwrap();
        assert!(
            told.starts_with(&format!("{what}: about ")) && told.ends_with("are free on the server's disk"),
            "{told}"
        );
        assert!(fits(what, 75 << 20, None).unwrap().ends_with("is not known"));
        let error = fits(what, 387 << 30, Some(71 << 30)).unwrap_err();
        assert!(error.to_string().contains(", but ") && error.class() == Class::Io, "{error}");
    }

    /// 25,804 times 15 MB began to fill a disk with 71 GB.
    #[test]
    fn no_private_server_is_filled_beyond_its_disk() {
        let of = |scale| {
            let pgbench = Some(InitOptions::at_scale(scale));
            crate::facts::preparation(&Preparation { pgbench, ..Preparation::default() }).unwrap()
        };
        let asked = |scale| {
            let prepare = of(scale);
            foresee([(TargetSpec::managed("nowhere", &[]), &prepare)].into_iter())
        };
        assert!(asked(1).unwrap()[0].contains("scale 1: about 15"), "{:?}", asked(1));
        // 32 TB.
        assert!(asked(i32::MAX as u32 / 1000).is_err());
        let url = protocol::postgres::conninfo::ConnectionString::parse("postgres://elsewhere/x").unwrap();
        let url = crate::target_spec::by_url(&url, None, false);
        let prepare = of(i32::MAX as u32);
        let said = foresee([(url, &prepare)].into_iter()).unwrap();
        assert!(said[0].ends_with("is not known"), "{said:?}");
    }
}
