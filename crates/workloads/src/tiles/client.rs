//! A client that fetches tiles, one after another, by prepared statements and in binary form.

use std::sync::Arc;

use engine::{Abort, Client, Endpoint, Event, Failure, Io, Link, Outcome, Returned, Step};
use protocol::postgres::{Format, Message, ServerError, Want, frontend};
use script::Random;

use super::grid::Tile;
use crate::link::{NotConnected, PgLink, Progress, endpoint, returned};

const LINK: usize = 0;
/// Failures told in words; the rest is only counted.
const TOLD: u32 = 3;
/// OID of type integer.
const INT4: u32 = 23;

/// Statements and tiles; shared by all clients.
#[derive(Debug)]
pub(super) struct Atlas {
    pub(super) layers: Vec<AtlasLayer>,
}

/// One layer's tiles.
#[derive(Debug)]
pub(super) struct AtlasLayer {
    /// Statement name and text for each zoom in use.
    pub(super) statements: Vec<(String, String)>,
    /// For each zoom its tiles, each with its statement's place in `statements`.
    pub(super) zooms: Vec<Vec<(Tile, u16)>>,
}

/// What a client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Connecting,
    Preparing,
    Idle,
    Fetching,
}

/// One client.
#[derive(Debug)]
pub(super) struct TileClient {
    atlas: Arc<Atlas>,
    number: usize,
    link: PgLink,
    random: Random,
    state: State,
    layer: usize,
    tile: Tile,
    error: Option<Box<ServerError>>,
    /// Decimal digits of z, x and y, in memory that is used again.
    digits: [Vec<u8>; 3],
    told: u32,
}

impl TileClient {
    pub(super) fn new(atlas: Arc<Atlas>, number: usize, link: PgLink, random: Random) -> Self {
        Self {
            atlas,
            number,
            link,
            random,
            state: State::Connecting,
            layer: 0,
            tile: Tile { z: 0, x: 0, y: 0 },
            error: None,
            digits: Default::default(),
            told: 0,
        }
    }

    fn connected(&mut self, progress: Result<Progress, NotConnected>, io: &mut Io<'_>) -> Step {
        match progress {
            Ok(Progress::Step(step)) => step,
            Ok(Progress::Up) => self.prepare(io),
            Err(why) => self.give_up(&why.message, why.code, true, io),
        }
    }

    /// Parses every statement once, before the load starts.
    fn prepare(&mut self, io: &mut Io<'_>) -> Step {
        let out = io.out(LINK);
        for (name, text) in self.atlas.layers.iter().flat_map(|layer| &layer.statements) {
            frontend::parse(out, name, text, &[INT4, INT4, INT4]);
        }
        frontend::sync(out);
        self.link.connection.rows(Want::Skip);
        self.state = State::Preparing;
        Step::Wait
    }

    /// A layer, a zoom and a tile, each as likely as another of its kind.
    fn fetch(&mut self, io: &mut Io<'_>) -> Step {
        let layers = &self.atlas.layers;
        self.layer = self.random.up_to(layers.len() as u64 - 1) as usize;
        let layer = &layers[self.layer];
        let zoom = &layer.zooms[self.random.up_to(layer.zooms.len() as u64 - 1) as usize];
        let (tile, statement) = zoom[self.random.up_to(zoom.len() as u64 - 1) as usize];
        self.tile = tile;
        for (digits, number) in self.digits.iter_mut().zip([u32::from(tile.z), tile.x, tile.y]) {
            write_number(digits, number);
        }
        let parameters = self.digits.iter().map(|digits| Some(digits.as_slice()));
        let name = &layer.statements[usize::from(statement)].0;
        let out = io.out(LINK);
        // Three parameters are never too many.
        let _ = frontend::bind(out, "", name, parameters, Format::Binary);
        frontend::execute(out, "", 0);
        frontend::sync(out);
        self.link.connection.take_counts();
        self.state = State::Fetching;
        Step::Wait
    }

    fn messages(&mut self, data: &[u8], used: &mut usize, io: &mut Io<'_>) -> Step {
        loop {
            match self.link.connection.next(data, used) {
                Ok(None) => return Step::Wait,
                Ok(Some(Message::ReadyForQuery(_))) => return self.server_ready(io),
                Ok(Some(Message::Error(fields))) => {
                    let error = fields.to_owned();
                    if error.is_fatal() {
                        return self.give_up(&error.to_string(), Some(error.code), true, io);
                    }
                    self.error.get_or_insert_with(|| Box::new(error));
                }
                Ok(Some(_)) => {}
                Err(broken) => return self.give_up(&broken.to_string(), None, false, io),
            }
        }
    }

    fn server_ready(&mut self, io: &mut Io<'_>) -> Step {
        let error = self.error.take();
        match (self.state, error) {
            (State::Preparing, Some(error)) => self.give_up(&error.to_string(), Some(error.code), false, io),
            (State::Preparing, None) => {
                self.state = State::Idle;
                Step::Ready
            }
            (State::Fetching, error) => self.end(error, io),
            _ => Step::Wait,
        }
    }

    fn end(&mut self, error: Option<Box<ServerError>>, io: &mut Io<'_>) -> Step {
        self.state = State::Idle;
        let counted = self.link.connection.take_counts();
        let failure = error.map(|error| {
            if self.told < TOLD {
                self.told += 1;
                io.message(format!("client {}, tile {}: {error}", self.number, self.tile));
            }
            match error.code.as_str() {
                "40001" => Failure::Serialization,
                "40P01" => Failure::Deadlock,
                _ => Failure::Other,
            }
        });
        // The query always gives one row; a tile without features is an empty one.
        let returned = Returned { rows: u64::from(counted.bytes > 0), ..returned(counted) };
        Step::Ended(Outcome { script: self.layer as u16, failure, tries: 1, returned })
    }

    /// It stops; `lost`: its server did.
    fn give_up(&mut self, reason: &str, code: Option<String>, lost: bool, io: &mut Io<'_>) -> Step {
        let message = match self.state {
            State::Connecting => reason.to_owned(),
            State::Preparing => {
                format!("client {} aborted while preparing tile queries: {reason}", self.number)
            }
            State::Idle | State::Fetching => {
                format!("client {} aborted at tile {}: {reason}", self.number, self.tile)
            }
        };
        io.abort_because(Abort { message, code, lost, ..Abort::default() });
        Step::Done
    }
}

fn write_number(digits: &mut Vec<u8>, number: u32) {
    use std::io::Write;
    digits.clear();
    // Writing to a vector cannot fail.
    let _ = write!(digits, "{number}");
}

impl Client for TileClient {
    fn endpoints(&self) -> Vec<Endpoint> {
        vec![endpoint(self.link.connect())]
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Opened(_) => {
                let progress = self.link.opened(io);
                self.connected(progress, io)
            }
            Event::Secured { certificate, .. } => {
                let progress = self.link.secured(certificate, io);
                self.connected(progress, io)
            }
            Event::Bytes { data, used, .. } if self.link.is_up() => self.messages(data, used, io),
            Event::Bytes { data, used, .. } => {
                let progress = self.link.bytes(data, used, io);
                self.connected(progress, io)
            }
            Event::Slot { .. } => self.fetch(io),
            Event::Closed { error, .. } => {
                let progress = self.link.closed(error);
                self.connected(progress, io)
            }
            Event::Timer | Event::Woken => Step::Wait,
        }
    }

    fn abandon(&self, _link: Link) -> Option<Vec<u8>> {
        (self.state == State::Fetching).then(|| self.link.cancel()).flatten()
    }

    fn script(&mut self) -> u16 {
        self.layer as u16
    }
}
