//! Synthetic extracts at any scale: land that looks like real land to a database.
//!
//! Streets share nodes where they meet, areas have holes, trees are near benches, boundaries are relations of
//! ways that neighbours share. Everything is drawn cell by cell from a seed; the scale is the number of
//! cells. So every larger extract of the same seed contains the same objects, with the same ids.
//!
//! Left out: what only a reader of the map notices, such as streets that lead somewhere, and metadata of
//! objects (versions, times, users).

mod cell;
mod grid;
mod kept;
mod piece;
mod rng;
mod scale;

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::extract::{Bbox, BlobBuilder, ObjectKind, header_blob};
use grid::GridCell;
pub use kept::{KeepError, Synthetic, USUAL_SEED, VERSION};
pub use scale::{ExtractScale, ScaleError};

/// What to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SynthOptions {
    pub scale: ExtractScale,
    /// Each seed gives other land.
    pub seed: u64,
    /// Threads that draw; another one writes. The file does not depend on it.
    pub threads: NonZeroUsize,
}

/// Progress: objects are written by kind, with a pass over the cells for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SynthProgress {
    pub kind: ObjectKind,
    /// Cells whose objects of this kind are written.
    pub cells: u64,
    pub of_cells: u64,
}

/// The written extract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenExtract {
    pub nodes: u64,
    pub ways: u64,
    pub relations: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Around all cells, as in the header.
    pub bbox: Bbox,
}

/// Why it was not completed.
#[derive(Debug, thiserror::Error)]
pub enum SynthError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("stopped before the extract was whole")]
    Stopped,
}

/// Writes an extract in PBF, sorted by kind, then by id. Memory depends on the number of threads, not on the
/// scale.
///
/// Every few cells `progress` is called, and `stop` is asked whether to give up.
///
/// # Errors
/// [`SynthError`]; the output so far is not an extract.
pub fn write(
    options: &SynthOptions,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(SynthProgress),
    stop: &dyn Fn() -> bool,
) -> Result<WrittenExtract, SynthError> {
    let cells = (0..options.scale.cells()).map(|index| GridCell::nth(index).bbox());
    let bbox = cells.reduce(Bbox::with).expect("a scale has a cell");
    let header = header_blob(bbox);
    out.write_all(&header)?;
    let mut pass = |kind| write_kind(kind, options, out, progress, stop);
    let (nodes, ways, relations) =
        (pass(ObjectKind::Nodes)?, pass(ObjectKind::Ways)?, pass(ObjectKind::Relations)?);
    out.flush()?;
    Ok(WrittenExtract {
        nodes: nodes.objects,
        ways: ways.objects,
        relations: relations.objects,
        bytes: header.len() as u64 + nodes.bytes + ways.bytes + relations.bytes,
        bbox,
    })
}

/// Cells that a thread draws at a time, a county. They share blocks, which are larger that way.
const UNIT: u64 = 9;

/// Blobs of a unit of cells.
#[derive(Default)]
struct CellUnit {
    blobs: Vec<Vec<u8>>,
    objects: u64,
}

struct Written {
    objects: u64,
    bytes: u64,
}

/// Writes the objects of a kind, in the order of their ids. Each kind draws every cell again, so that memory
/// does not grow with the scale.
///
/// Threads get units in turn, and their results are taken in turn; each thread is at most two units ahead.
fn write_kind(
    kind: ObjectKind,
    options: &SynthOptions,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(SynthProgress),
    stop: &dyn Fn() -> bool,
) -> Result<Written, SynthError> {
    let cells = options.scale.cells();
    let units = cells.div_ceil(UNIT);
    let threads = (options.threads.get() as u64).min(units);
    thread::scope(|scope| {
        let receivers: Vec<Receiver<CellUnit>> = (0..threads)
            .map(|thread| {
                let (sender, receiver) = sync_channel(1);
                let dealt = (thread..units).step_by(threads as usize);
                scope.spawn(move || send(kind, options.seed, cells, dealt, &sender));
                receiver
            })
            .collect();
        let mut written = Written { objects: 0, bytes: 0 };
        for unit in 0..units {
            if stop() {
                return Err(SynthError::Stopped);
            }
            // The scope reports a thread that panicked.
            let Ok(made) = receivers[(unit % threads) as usize].recv() else { break };
            for blob in &made.blobs {
                out.write_all(blob)?;
                written.bytes += blob.len() as u64;
            }
            written.objects += made.objects;
            progress(SynthProgress { kind, cells: ((unit + 1) * UNIT).min(cells), of_cells: cells });
        }
        Ok(written)
    })
}

/// Makes units until all are made or nobody takes them any more.
fn send(
    kind: ObjectKind,
    seed: u64,
    cells: u64,
    units: impl Iterator<Item = u64>,
    to: &SyncSender<CellUnit>,
) {
    for unit in units {
        let (mut made, mut block) = (CellUnit::default(), BlobBuilder::default());
        for index in unit * UNIT..((unit + 1) * UNIT).min(cells) {
            let objects = cell::draw(seed, index).finish();
            for object in objects.iter().filter(|object| object.key().0 == kind) {
                made.objects += 1;
                block.push(object);
                if block.is_full() {
                    made.blobs.push(block.take_blob());
                }
            }
        }
        if !block.is_empty() {
            made.blobs.push(block.take_blob());
        }
        if to.send(made).is_err() {
            return;
        }
    }
}
