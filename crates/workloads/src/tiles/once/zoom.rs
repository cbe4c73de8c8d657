//! All tiles of one zoom: several connections take them in turn, one thread keeps what comes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use spec::Error;
use tile::Tile;

use super::super::fetched;
use super::area::ZoomArea;
use super::fetcher::{Fetcher, NoTile};
use super::kept::Kept;
use super::mbtiles;
use super::progress::{Asked, Progress};
use crate::http::body::BodyKind;
use crate::jobs::Runtime;

/// Time between two commits.
const COMMIT_US: u64 = 1_000_000;
/// Tiles that wait to be kept.
const WAITING: usize = 64;

/// A tile that came, or failed.
struct Came {
    asked: Asked,
    /// As it is stored; empty where tiles are not kept.
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
    /// Its place among the zooms.
    pub(super) zoom: usize,
    pub(super) wanted: Wanted<'a>,
    pub(super) runtime: &'a dyn Runtime,
    /// No tile is begun after this time of the runtime's clock, µs.
    pub(super) until_us: u64,
}

/// The tiles of a zoom that are asked for.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// Those that are not done yet.
    Left(&'a ZoomArea),
    /// Those that failed before.
    Again(&'a [Tile]),
}

/// Places that connections take in turn.
struct Places {
    next: AtomicU64,
    /// Done by an earlier run.
    done: Vec<u64>,
    ended: AtomicBool,
    /// The format of the first tile with contents, which all have.
    format: OnceLock<&'static str>,
}

impl ZoomWork<'_> {
    /// Asks for the tiles, each connection for one at a time. `doing` is called after each commit.
    pub(super) fn carry_out(
        &self,
        fetchers: &mut [Fetcher<'_>],
        progress: &mut Progress,
        kept: &mut Kept,
        doing: &mut dyn FnMut(&Progress),
    ) -> Result<ZoomEnd, Error> {
        let own = &progress.zooms[self.zoom];
        let (next, done, left) = match self.wanted {
            Wanted::Left(area) => {
                (own.next(), own.ahead().iter().copied().collect(), area.count().saturating_sub(own.done()))
            }
            Wanted::Again(tiles) => (0, Vec::new(), tiles.len() as u64),
        };
        let ended = AtomicBool::new(false);
        let places = Places { next: next.into(), done, ended, format: OnceLock::new() };
        let takes_tiles = kept.takes_tiles();
        let connections = fetchers.len() as u32;
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(WAITING);
            let used = fetchers.iter_mut().take(usize::try_from(left.max(1)).unwrap_or(usize::MAX));
            let workers: Vec<_> = used
                .map(|fetcher| {
                    let (places, sender) = (&places, sender.clone());
                    scope.spawn(move || self.work(fetcher, places, &sender, takes_tiles))
                })
                .collect();
            drop(sender);
            let kept = self.keep(&receiver, progress, (kept, connections), doing);
            places.ended.store(true, Ordering::Relaxed);
            // Workers that wait to send end with the receiver.
            drop(receiver);
            let lost = workers.into_iter().filter_map(|worker| worker.join().ok().flatten()).next();
            let came = kept?;
            Ok(match lost {
                Some(lost) => ZoomEnd::Lost(lost),
                None if came == left => ZoomEnd::Done,
                None => ZoomEnd::Early,
            })
        })
    }

    /// One connection; why its server is lost, if it is.
    fn work(
        &self,
        fetcher: &mut Fetcher<'_>,
        places: &Places,
        sender: &SyncSender<Came>,
        takes_tiles: bool,
    ) -> Option<Error> {
        while let Some((at, tile)) = self.take(places) {
            let (mut content, took_us, mut result) = match fetcher.fetch(tile) {
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
            if let Err(why) = places.check(&content) {
                (content, result) = (Vec::new(), Err(why));
            }
            let packed =
                if takes_tiles && !content.is_empty() { mbtiles::packed(&content) } else { Vec::new() };
            let came = Came { asked: Asked { at, tile, took_us, result }, packed };
            if sender.send(came).is_err() {
                break;
            }
        }
        None
    }

    fn take(&self, places: &Places) -> Option<(Option<u64>, Tile)> {
        loop {
            let is_over = places.ended.load(Ordering::Relaxed) || self.runtime.stopped();
            if is_over || self.runtime.now_us() >= self.until_us {
                return None;
            }
            let at = places.next.fetch_add(1, Ordering::Relaxed);
            match self.wanted {
                Wanted::Again(tiles) => return Some((None, *tiles.get(usize::try_from(at).ok()?)?)),
                Wanted::Left(area) => {
                    let tile = area.tile(at)?;
                    if places.done.binary_search(&at).is_err() {
                        return Some((Some(at), tile));
                    }
                }
            }
        }
    }

    /// Keeps what comes, until all connections are done; how many came.
    fn keep(
        &self,
        receiver: &Receiver<Came>,
        progress: &mut Progress,
        (kept, connections): (&mut Kept, u32),
        doing: &mut dyn FnMut(&Progress),
    ) -> Result<u64, Error> {
        let mut all = 0;
        let before = progress.zooms[self.zoom].elapsed_us;
        let start = self.runtime.now_us();
        let mut committed = start;
        loop {
            match receiver.recv_timeout(Duration::from_micros(COMMIT_US)) {
                Ok(came) => {
                    progress.add(self.zoom, &came.asked);
                    *progress.connections.entry(connections).or_default() += 1;
                    all += 1;
                    if !came.packed.is_empty() {
                        kept.put(came.asked.tile, &came.packed)?;
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
        kept.commit(progress)?;
        Ok(all)
    }
}

impl Places {
    /// Whether it is a tile, and of the same format as the others.
    fn check(&self, content: &[u8]) -> Result<(), String> {
        if content.is_empty() {
            return Ok(());
        }
        if let Some(broken) = fetched::broken(content) {
            let kind = BodyKind::of(content).words();
            return Err(format!("what came is {kind}, and not a tile: {broken}"));
        }
        let format = mbtiles::format_of(content);
        let usual = *self.format.get_or_init(|| format);
        match usual == format {
            true => Ok(()),
            false => Err(format!("it is of the format {format}, and others are {usual}")),
        }
    }
}
