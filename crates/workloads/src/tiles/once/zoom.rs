//! All tiles of one zoom: several connections take them in turn, one thread keeps what comes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use spec::Error;
use tile::Tile;

use super::area::ZoomArea;
use super::fetcher::{Fetcher, NoTile, TileOrigin};
use super::kept::Kept;
use super::mbtiles;
use super::progress::{Asked, Progress};
use crate::jobs::Runtime;

/// Time between two commits.
const COMMIT_US: u64 = 1_000_000;
/// Tiles that wait to be kept.
const WAITING: usize = 64;

/// A tile that came, or failed.
struct Came {
    asked: Asked,
    /// As received, and as it is stored; empty where tiles are not kept.
    content: Vec<u8>,
    packed: Vec<u8>,
}

/// How a zoom ended.
#[derive(Debug)]
pub(super) enum ZoomEnd {
    Done,
    /// Because the time is over, or the user stopped it.
    Early,
    Lost(Error),
}

pub(super) struct ZoomWork<'a> {
    pub(super) area: &'a ZoomArea,
    /// Its place among the zooms.
    pub(super) zoom: usize,
    pub(super) origin: TileOrigin<'a>,
    pub(super) connections: u32,
    pub(super) runtime: &'a dyn Runtime,
    /// No tile is begun after this time of the runtime's clock, µs.
    pub(super) until_us: u64,
}

/// Places that connections take in turn.
struct Places {
    next: AtomicU64,
    /// Done by an earlier run.
    done: Vec<u64>,
    ended: AtomicBool,
}

impl ZoomWork<'_> {
    /// Asks for the tiles that are not done yet. `doing` is called after each commit.
    pub(super) fn carry_out(
        &self,
        progress: &mut Progress,
        kept: &mut Kept,
        doing: &mut dyn FnMut(&Progress),
    ) -> Result<ZoomEnd, Error> {
        let own = &progress.zooms[self.zoom];
        let done = own.ahead().iter().copied().collect();
        let places = Places { next: own.next().into(), done, ended: AtomicBool::new(false) };
        let takes_tiles = kept.takes_tiles();
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(WAITING);
            let left = self.area.count().saturating_sub(progress.zooms[self.zoom].done()).max(1);
            let workers: Vec<_> = (0..u64::from(self.connections).min(left))
                .map(|_| {
                    let (places, sender) = (&places, sender.clone());
                    scope.spawn(move || self.work(places, &sender, takes_tiles))
                })
                .collect();
            drop(sender);
            let kept = self.keep(&receiver, progress, kept, doing);
            places.ended.store(true, Ordering::Relaxed);
            // Workers that wait to send end with the receiver.
            drop(receiver);
            let lost = workers.into_iter().filter_map(|worker| worker.join().ok().flatten()).next();
            kept?;
            Ok(match lost {
                Some(lost) => ZoomEnd::Lost(lost),
                None if progress.zooms[self.zoom].done() == self.area.count() => ZoomEnd::Done,
                None => ZoomEnd::Early,
            })
        })
    }

    /// One connection; why its server is lost, if it is.
    fn work(&self, places: &Places, sender: &SyncSender<Came>, takes_tiles: bool) -> Option<Error> {
        let mut fetcher = Fetcher::new(self.origin, self.runtime);
        while let Some((at, tile)) = self.take(places) {
            let (content, took_us, result) = match fetcher.fetch(tile) {
                Ok((content, took_us)) => {
                    let bytes = content.len() as u64;
                    (content, took_us, Ok(bytes))
                }
                Err(NoTile::Failed(why)) => (Vec::new(), 0, Err(why)),
                Err(NoTile::Stopped) => break,
                Err(NoTile::Lost(error)) => {
                    places.ended.store(true, Ordering::Relaxed);
                    return Some(error);
                }
            };
            let packed =
                if takes_tiles && !content.is_empty() { mbtiles::packed(&content) } else { Vec::new() };
            let content = if takes_tiles { content } else { Vec::new() };
            let came = Came { asked: Asked { at, tile, took_us, result }, content, packed };
            if sender.send(came).is_err() {
                break;
            }
        }
        None
    }

    fn take(&self, places: &Places) -> Option<(u64, Tile)> {
        loop {
            let is_over = places.ended.load(Ordering::Relaxed) || self.runtime.stopped();
            if is_over || self.runtime.now_us() >= self.until_us {
                return None;
            }
            let at = places.next.fetch_add(1, Ordering::Relaxed);
            let tile = self.area.tile(at)?;
            if places.done.binary_search(&at).is_err() {
                return Some((at, tile));
            }
        }
    }

    /// Keeps what comes, until all connections are done.
    fn keep(
        &self,
        receiver: &Receiver<Came>,
        progress: &mut Progress,
        kept: &mut Kept,
        doing: &mut dyn FnMut(&Progress),
    ) -> Result<(), Error> {
        let before = progress.zooms[self.zoom].elapsed_us;
        let start = self.runtime.now_us();
        let mut committed = start;
        loop {
            match receiver.recv_timeout(Duration::from_micros(COMMIT_US)) {
                Ok(came) => {
                    progress.add(self.zoom, &came.asked);
                    if !came.content.is_empty() {
                        kept.put(came.asked.tile, (&came.content, &came.packed))?;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = self.runtime.now_us();
            if now.saturating_sub(committed) >= COMMIT_US {
                committed = now;
                progress.zooms[self.zoom].elapsed_us = before + now.saturating_sub(start);
                kept.commit(progress)?;
                doing(progress);
            }
        }
        progress.zooms[self.zoom].elapsed_us = before + self.runtime.now_us().saturating_sub(start);
        kept.commit(progress)
    }
}
