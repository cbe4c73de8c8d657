//! A file sorted by kind, made in three passes over the cells: each draws every cell again and writes one kind of its
//! objects. So nothing is kept, and what is in memory does not grow with the scale.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::{Options, Progress, SynthError, cell};
use crate::extract::{Block, Kind};

/// Cells that a thread draws at a time. They share blocks, which are the larger for it: a county.
const UNIT: u64 = 9;

/// Blobs of a unit of cells.
struct Unit {
    blobs: Vec<Vec<u8>>,
    objects: u64,
}

/// Objects and bytes of a kind.
pub(super) struct Written {
    pub objects: u64,
    pub bytes: u64,
}

/// Writes the objects of a kind of all cells, in the order of their ids.
///
/// Units are dealt out to the threads in turn and taken back in turn; each thread is at most two units ahead.
pub(super) fn write(
    kind: Kind,
    options: &Options,
    out: &mut dyn Write,
    told: &mut dyn FnMut(Progress),
    stop: &dyn Fn() -> bool,
) -> Result<Written, SynthError> {
    let cells = options.scale.cells();
    let units = cells.div_ceil(UNIT);
    let threads = (options.threads.get() as u64).min(units);
    thread::scope(|scope| {
        let receivers: Vec<Receiver<Unit>> = (0..threads)
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
            // A thread that panicked is told by the scope.
            let Ok(made) = receivers[(unit % threads) as usize].recv() else { break };
            for blob in &made.blobs {
                out.write_all(blob)?;
                written.bytes += blob.len() as u64;
            }
            written.objects += made.objects;
            told(Progress { kind, cells: ((unit + 1) * UNIT).min(cells), of_cells: cells });
        }
        Ok(written)
    })
}

/// Makes units until all are made or nobody takes them any more.
fn send(kind: Kind, seed: u64, cells: u64, units: impl Iterator<Item = u64>, to: &SyncSender<Unit>) {
    for unit in units {
        let mut made = Unit { blobs: Vec::new(), objects: 0 };
        let mut block = Block::new(kind);
        for index in unit * UNIT..((unit + 1) * UNIT).min(cells) {
            let piece = cell::draw(seed, index);
            made.objects += piece.write(kind, &mut block, &mut |blob| made.blobs.push(blob));
        }
        if !block.is_empty() {
            made.blobs.push(block.take_blob());
        }
        if to.send(made).is_err() {
            return;
        }
    }
}
