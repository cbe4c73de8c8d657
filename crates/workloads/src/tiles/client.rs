//! A client that fetches a tile per slot, or all tiles of a view at once over several links. Statements are
//! prepared once per link; answers are binary.

use std::sync::Arc;

use engine::{Abort, Client, Endpoint, Event, Failure, Io, Link, Returned, Step, Time, TransactionOutcome};
use protocol::postgres::{Message, ServerError, ValueFormat, Want, frontend};
use script::Random;
use tile::Tile;

use super::atlas::{Atlas, Pick};
use crate::link::{LinkProgress, MOST_MESSAGES, NotConnected, PgLink, endpoint, returned};
use crate::statement_names::StatementNames;
use crate::views::Visit;

/// OID of type integer.
pub(super) const INT4: u32 = 23;

/// What a link waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TileLinkState {
    Connecting,
    Preparing,
    Idle,
    Fetching,
}

/// A link, and the tile it fetches.
#[derive(Debug)]
struct TileLink {
    link: PgLink,
    names: StatementNames,
    state: TileLinkState,
    pick: Pick,
    asked: Time,
    error: Option<Box<ServerError>>,
}

#[derive(Debug)]
pub(super) struct TileClient {
    atlas: Arc<Atlas>,
    number: usize,
    tile_links: Vec<TileLink>,
    random: Random,
    visit: Visit,
    /// Tiles of the transaction that no link has requested yet, the last one first.
    waiting: Vec<Pick>,
    /// Number of links that fetch.
    busy: usize,
    script: u16,
    returned: Returned,
    failure: Option<Failure>,
    /// Decimal digits of z, x and y, in reused memory.
    digits: [Vec<u8>; 3],
    reported: u32,
}

impl TileClient {
    pub(super) fn new(
        atlas: Arc<Atlas>,
        number: usize,
        links: impl IntoIterator<Item = PgLink>,
        random: Random,
    ) -> Self {
        let tile_link = |link| TileLink {
            link,
            names: StatementNames::random(atlas.statements.len()),
            state: TileLinkState::Connecting,
            pick: Pick::NOWHERE,
            asked: 0,
            error: None,
        };
        let tile_links = links.into_iter().map(tile_link).collect();
        Self {
            atlas,
            number,
            tile_links,
            random,
            visit: Visit::default(),
            waiting: Vec::new(),
            busy: 0,
            script: 0,
            returned: Returned::default(),
            failure: None,
            digits: Default::default(),
            reported: 0,
        }
    }

    fn connected(
        &mut self,
        link: Link,
        progress: Result<LinkProgress, NotConnected>,
        io: &mut Io<'_>,
    ) -> Step {
        match progress {
            Ok(LinkProgress::Step(step)) => step,
            Ok(LinkProgress::Up) => self.prepare(link, io),
            Err(why) => self.give_up(link, &why.message, why.code, true, io),
        }
    }

    /// Parses every statement once, before the load starts.
    fn prepare(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        let out = io.out(link);
        let tile_link = &mut self.tile_links[link];
        for (number, text) in self.atlas.statements.iter().enumerate() {
            frontend::parse(out, tile_link.names.of(number), text, &[INT4, INT4, INT4]);
        }
        frontend::sync(out);
        tile_link.link.connection.request_rows(Want::Skip);
        tile_link.state = TileLinkState::Preparing;
        Step::Wait
    }

    /// Starts the next transaction on all links.
    fn begin(&mut self, io: &mut Io<'_>) -> Step {
        let picks = self.atlas.next(&mut self.random, &mut self.visit);
        self.waiting.clear();
        self.waiting.extend(picks.iter().rev());
        self.script = picks.first().map_or(0, |pick| pick.script);
        (self.returned, self.failure) = (Returned::default(), None);
        for link in 0..self.tile_links.len() {
            let Some(pick) = self.waiting.pop() else { break };
            self.fetch(link, pick, io);
        }
        Step::Wait
    }

    fn fetch(&mut self, link: Link, pick: Pick, io: &mut Io<'_>) {
        let Tile { z, x, y } = pick.tile;
        for (digits, number) in self.digits.iter_mut().zip([u32::from(z), x, y]) {
            write_number(digits, number);
        }
        let parameters = self.digits.iter().map(|digits| Some(digits.as_slice()));
        let name = self.tile_links[link].names.of(usize::from(pick.statement));
        let now = io.now;
        let out = io.out(link);
        // Three parameters are never too many.
        let _ = frontend::bind(out, "", name, parameters, ValueFormat::Binary);
        frontend::execute(out, "", 0);
        frontend::sync(out);
        let tile_link = &mut self.tile_links[link];
        tile_link.link.connection.take_counts();
        (tile_link.state, tile_link.pick, tile_link.asked) = (TileLinkState::Fetching, pick, now);
        self.busy += 1;
    }

    fn messages(&mut self, link: Link, data: &[u8], used: &mut usize, io: &mut Io<'_>) -> Step {
        loop {
            let tile_link = &mut self.tile_links[link];
            match tile_link.link.connection.next(data, used) {
                Ok(None) => return Step::Wait,
                Ok(Some(Message::ReadyForQuery(_))) => return self.server_ready(link, io),
                Ok(Some(Message::Error(fields))) => {
                    let error = fields.to_owned();
                    if error.is_fatal() {
                        return self.give_up(link, &error.to_string(), Some(error.code), true, io);
                    }
                    tile_link.error.get_or_insert_with(|| Box::new(error));
                }
                Ok(Some(_)) => {}
                Err(broken) => return self.give_up(link, &broken.to_string(), None, false, io),
            }
        }
    }

    fn server_ready(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        let tile_link = &mut self.tile_links[link];
        let error = tile_link.error.take();
        match (tile_link.state, error) {
            (TileLinkState::Preparing, Some(error)) => {
                self.give_up(link, &error.to_string(), Some(error.code), false, io)
            }
            (TileLinkState::Preparing, None) => {
                tile_link.state = TileLinkState::Idle;
                // The client is ready when all its links are.
                match self.tile_links.iter().all(|tile_link| tile_link.state == TileLinkState::Idle) {
                    true => Step::Ready,
                    false => Step::Wait,
                }
            }
            (TileLinkState::Fetching, error) => self.came(link, error, io),
            _ => Step::Wait,
        }
    }

    /// A tile came, or failed.
    fn came(&mut self, link: Link, error: Option<Box<ServerError>>, io: &mut Io<'_>) -> Step {
        let tile_link = &mut self.tile_links[link];
        tile_link.state = TileLinkState::Idle;
        self.busy -= 1;
        let counted = returned(tile_link.link.connection.take_counts());
        // The query always returns one row; a tile without features is empty.
        self.returned.rows += u64::from(counted.bytes > 0);
        self.returned.bytes += counted.bytes;
        self.returned.queries += counted.queries;
        let pick = tile_link.pick;
        if let Some(error) = error {
            let failure = match error.code.as_str() {
                "40001" => Failure::Serialization,
                "40P01" => Failure::Deadlock,
                _ => Failure::Other,
            };
            self.failure.get_or_insert(failure);
            if self.reported < MOST_MESSAGES {
                self.reported += 1;
                io.message(format!("client {}, tile {}: {error}", self.number, pick.tile));
            }
        } else if let Some(item) = pick.item {
            io.item(item, io.now.saturating_sub(tile_link.asked), counted.bytes);
        }
        if let Some(next) = self.waiting.pop() {
            self.fetch(link, next, io);
        }
        if self.busy > 0 {
            return Step::Wait;
        }
        let Self { script, failure, returned, .. } = *self;
        Step::Ended(TransactionOutcome { script, failure, tries: 1, returned })
    }

    /// The client stops; with `lost` because of its server.
    fn give_up(
        &mut self,
        link: Link,
        reason: &str,
        code: Option<String>,
        lost: bool,
        io: &mut Io<'_>,
    ) -> Step {
        let tile_link = &self.tile_links[link];
        let message = match tile_link.state {
            TileLinkState::Connecting if self.tile_links.len() > 1 => {
                format!(
                    "{reason}\n(each client opens {} links, picker.sessions.links)",
                    self.tile_links.len()
                )
            }
            TileLinkState::Connecting => reason.to_owned(),
            TileLinkState::Preparing => {
                format!("client {} aborted while preparing tile queries: {reason}", self.number)
            }
            TileLinkState::Idle | TileLinkState::Fetching => {
                format!("client {} aborted at tile {}: {reason}", self.number, tile_link.pick.tile)
            }
        };
        io.abort_because(Abort { message, code, lost, ..Abort::default() });
        Step::Done
    }
}

pub(super) fn write_number(digits: &mut Vec<u8>, number: u32) {
    use std::io::Write;
    digits.clear();
    // Writing to a vector cannot fail.
    let _ = write!(digits, "{number}");
}

impl Client for TileClient {
    fn endpoints(&self) -> Vec<Endpoint> {
        self.tile_links.iter().map(|tile_link| endpoint(tile_link.link.connect())).collect()
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Opened(link) => {
                let progress = self.tile_links[link].link.opened(io);
                self.connected(link, progress, io)
            }
            Event::Secured { link, certificate } => {
                let progress = self.tile_links[link].link.secured(certificate, io);
                self.connected(link, progress, io)
            }
            Event::Bytes { link, data, used } if self.tile_links[link].link.is_up() => {
                self.messages(link, data, used, io)
            }
            Event::Bytes { link, data, used } => {
                let progress = self.tile_links[link].link.bytes(data, used, io);
                self.connected(link, progress, io)
            }
            Event::Slot { .. } => self.begin(io),
            Event::Closed { link, error } => {
                let progress = self.tile_links[link].link.closed(error);
                self.connected(link, progress, io)
            }
            Event::Timer | Event::Woken => Step::Wait,
        }
    }

    fn abandon(&self, link: Link) -> Option<Vec<u8>> {
        let tile_link = &self.tile_links[link];
        (tile_link.state == TileLinkState::Fetching).then(|| tile_link.link.cancel()).flatten()
    }

    fn script(&mut self) -> u16 {
        self.script
    }
}
