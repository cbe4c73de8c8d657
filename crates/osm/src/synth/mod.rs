//! Synthetic extracts at any scale: land that looks like real land to a database, without being any.
//!
//! Roads share nodes where they meet, buildings stand along them, land use and water have holes, trees stand near
//! benches, boundaries are relations of ways that neighbours share. All is drawn cell by cell from a seed; a scale says
//! how many cells there are. So what is in an extract is in every larger one of that seed, with the same id.
//!
//! Left out: metadata of objects (versions, times, users), bridges and tunnels where ways cross.

mod areas;
mod block_site;
mod blocks;
mod boundaries;
mod buildings;
mod cell;
mod greens;
mod grid;
mod ground;
mod kept;
mod land;
mod lanes;
mod names;
mod net;
mod passes;
mod piece;
mod places;
mod points;
mod rng;
mod roads;
mod scale;
mod settlement;
mod shape;
mod site;
mod streets;
mod tracks;
mod trig;
mod waterways;

use std::io::{self, Write};
use std::num::NonZeroUsize;

use crate::extract::{Bbox, Kind, header_blob};
use grid::{Cell, PATCH, PATCHES};
pub use kept::{KeepError, Synthetic, USUAL_SEED, VERSION};
pub use scale::{Scale, ScaleError};

/// What to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    pub scale: Scale,
    /// Other land for each.
    pub seed: u64,
    /// Threads that draw; one more writes. The file is the same for any number.
    pub threads: NonZeroUsize,
}

/// How far it is: objects come by kind, the cells once for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub kind: Kind,
    /// Cells whose objects of this kind are written.
    pub cells: u64,
    pub of_cells: u64,
}

/// What was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Made {
    pub nodes: u64,
    pub ways: u64,
    pub relations: u64,
    /// Length of the file.
    pub bytes: u64,
    /// That of the header: around all objects, by up to a patch (140 m) more than they need.
    pub bbox: Bbox,
}

/// Why it was not made to its end.
#[derive(Debug, thiserror::Error)]
pub enum SynthError {
    /// What was given to write to does not take it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// As was asked for.
    #[error("stopped before the extract was whole")]
    Stopped,
}

/// Writes an extract in PBF, sorted by kind, then by id. Memory depends on the number of threads, not on the scale.
///
/// `told` hears of progress every few cells; `stop` is asked as often whether to give up.
///
/// # Errors
/// [`SynthError`]; what was written by then is no extract.
pub fn write(
    options: &Options,
    out: &mut dyn Write,
    told: &mut dyn FnMut(Progress),
    stop: &dyn Fn() -> bool,
) -> Result<Made, SynthError> {
    let bbox = bbox(options.scale.cells());
    let header = header_blob(bbox);
    out.write_all(&header)?;
    let mut pass = |kind| passes::write(kind, options, out, told, stop);
    let (nodes, ways, relations) = (pass(Kind::Nodes)?, pass(Kind::Ways)?, pass(Kind::Relations)?);
    out.flush()?;
    Ok(Made {
        nodes: nodes.objects,
        ways: ways.objects,
        relations: relations.objects,
        bytes: header.len() as u64 + nodes.bytes + ways.bytes + relations.bytes,
        bbox,
    })
}

/// Around so many cells, which may lean out by part of a patch.
fn bbox(cells: u64) -> Bbox {
    let around = |index| {
        let (west, south) = Cell::nth(index).corner();
        Bbox {
            west: west - PATCH.0,
            south: south - PATCH.1,
            east: west + (PATCHES + 1) * PATCH.0,
            north: south + (PATCHES + 1) * PATCH.1,
        }
    };
    (1..cells).map(around).fold(around(0), Bbox::with)
}
