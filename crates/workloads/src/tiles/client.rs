//! The clients: a slot asks for a tile, or for all tiles of a view at once over several links, each over a statement prepared
//! once for each link, answers in binary.

use std::sync::Arc;

use engine::{Abort, Client, Endpoint, Event, Failure, Io, Link, Outcome, Returned, Step, Time};
use protocol::postgres::{Format, Message, ServerError, Want, frontend};
use script::Random;
use tile::Tile;

use super::atlas::{Atlas, Pick};
use crate::link::{NotConnected, PgLink, Progress, endpoint, returned};
use crate::statement_names::StatementNames;
use crate::views::Visit;

/// Failures told in words; the rest is only counted.
const TOLD: u32 = 3;
/// OID of type integer.
pub(super) const INT4: u32 = 23;

/// What a link waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Connecting,
    Preparing,
    Idle,
    Fetching,
}

/// A link, and the tile it fetches.
#[derive(Debug)]
struct Courier {
    link: PgLink,
    names: StatementNames,
    state: State,
    pick: Pick,
    asked: Time,
    error: Option<Box<ServerError>>,
}

#[derive(Debug)]
pub(super) struct TileClient {
    atlas: Arc<Atlas>,
    number: usize,
    couriers: Vec<Courier>,
    random: Random,
    visit: Visit,
    /// Tiles of the transaction, the last one first; those that no link has asked for yet.
    waiting: Vec<Pick>,
    /// Links that fetch.
    busy: usize,
    script: u16,
    returned: Returned,
    failure: Option<Failure>,
    /// Decimal digits of z, x and y, in memory that is used again.
    digits: [Vec<u8>; 3],
    told: u32,
}

impl TileClient {
    pub(super) fn new(
        atlas: Arc<Atlas>,
        number: usize,
        links: impl IntoIterator<Item = PgLink>,
        random: Random,
    ) -> Self {
        let courier = |link| Courier {
            link,
            names: StatementNames::random(atlas.statements.len()),
            state: State::Connecting,
            pick: Pick::NOWHERE,
            asked: 0,
            error: None,
        };
        let couriers = links.into_iter().map(courier).collect();
        Self {
            atlas,
            number,
            couriers,
            random,
            visit: Visit::default(),
            waiting: Vec::new(),
            busy: 0,
            script: 0,
            returned: Returned::default(),
            failure: None,
            digits: Default::default(),
            told: 0,
        }
    }

    fn connected(&mut self, link: Link, progress: Result<Progress, NotConnected>, io: &mut Io<'_>) -> Step {
        match progress {
            Ok(Progress::Step(step)) => step,
            Ok(Progress::Up) => self.prepare(link, io),
            Err(why) => self.give_up(link, &why.message, why.code, true, io),
        }
    }

    /// Parses every statement once, before the load starts.
    fn prepare(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        let out = io.out(link);
        let courier = &mut self.couriers[link];
        for (number, text) in self.atlas.statements.iter().enumerate() {
            frontend::parse(out, courier.names.of(number), text, &[INT4, INT4, INT4]);
        }
        frontend::sync(out);
        courier.link.connection.rows(Want::Skip);
        courier.state = State::Preparing;
        Step::Wait
    }

    /// The next transaction: all links go out at once.
    fn begin(&mut self, io: &mut Io<'_>) -> Step {
        let picks = self.atlas.next(&mut self.random, &mut self.visit);
        self.waiting.clear();
        self.waiting.extend(picks.iter().rev());
        self.script = picks.first().map_or(0, |pick| pick.script);
        (self.returned, self.failure) = (Returned::default(), None);
        for link in 0..self.couriers.len() {
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
        let name = self.couriers[link].names.of(usize::from(pick.statement));
        let now = io.now;
        let out = io.out(link);
        // Three parameters are never too many.
        let _ = frontend::bind(out, "", name, parameters, Format::Binary);
        frontend::execute(out, "", 0);
        frontend::sync(out);
        let courier = &mut self.couriers[link];
        courier.link.connection.take_counts();
        (courier.state, courier.pick, courier.asked) = (State::Fetching, pick, now);
        self.busy += 1;
    }

    fn messages(&mut self, link: Link, data: &[u8], used: &mut usize, io: &mut Io<'_>) -> Step {
        loop {
            let courier = &mut self.couriers[link];
            match courier.link.connection.next(data, used) {
                Ok(None) => return Step::Wait,
                Ok(Some(Message::ReadyForQuery(_))) => return self.server_ready(link, io),
                Ok(Some(Message::Error(fields))) => {
                    let error = fields.to_owned();
                    if error.is_fatal() {
                        return self.give_up(link, &error.to_string(), Some(error.code), true, io);
                    }
                    courier.error.get_or_insert_with(|| Box::new(error));
                }
                Ok(Some(_)) => {}
                Err(broken) => return self.give_up(link, &broken.to_string(), None, false, io),
            }
        }
    }

    fn server_ready(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        let courier = &mut self.couriers[link];
        let error = courier.error.take();
        match (courier.state, error) {
            (State::Preparing, Some(error)) => {
                self.give_up(link, &error.to_string(), Some(error.code), false, io)
            }
            (State::Preparing, None) => {
                courier.state = State::Idle;
                // The client is ready when all its links are.
                match self.couriers.iter().all(|courier| courier.state == State::Idle) {
                    true => Step::Ready,
                    false => Step::Wait,
                }
            }
            (State::Fetching, error) => self.came(link, error, io),
            _ => Step::Wait,
        }
    }

    /// A tile came, or will not come.
    fn came(&mut self, link: Link, error: Option<Box<ServerError>>, io: &mut Io<'_>) -> Step {
        let courier = &mut self.couriers[link];
        courier.state = State::Idle;
        self.busy -= 1;
        let counted = returned(courier.link.connection.take_counts());
        // The query always gives one row; a tile without features is an empty one.
        self.returned.rows += u64::from(counted.bytes > 0);
        self.returned.bytes += counted.bytes;
        self.returned.queries += counted.queries;
        let pick = courier.pick;
        if let Some(error) = error {
            let failure = match error.code.as_str() {
                "40001" => Failure::Serialization,
                "40P01" => Failure::Deadlock,
                _ => Failure::Other,
            };
            self.failure.get_or_insert(failure);
            if self.told < TOLD {
                self.told += 1;
                io.message(format!("client {}, tile {}: {error}", self.number, pick.tile));
            }
        } else if let Some(item) = pick.item {
            io.item(item, io.now.saturating_sub(courier.asked), counted.bytes);
        }
        if let Some(next) = self.waiting.pop() {
            self.fetch(link, next, io);
        }
        if self.busy > 0 {
            return Step::Wait;
        }
        let Self { script, failure, returned, .. } = *self;
        Step::Ended(Outcome { script, failure, tries: 1, returned })
    }

    /// It stops; `lost`: its server did.
    fn give_up(
        &mut self,
        link: Link,
        reason: &str,
        code: Option<String>,
        lost: bool,
        io: &mut Io<'_>,
    ) -> Step {
        let courier = &self.couriers[link];
        let message = match courier.state {
            State::Connecting if self.couriers.len() > 1 => {
                format!("{reason}\n(each client opens {} links, picker.sessions.links)", self.couriers.len())
            }
            State::Connecting => reason.to_owned(),
            State::Preparing => {
                format!("client {} aborted while preparing tile queries: {reason}", self.number)
            }
            State::Idle | State::Fetching => {
                format!("client {} aborted at tile {}: {reason}", self.number, courier.pick.tile)
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
        self.couriers.iter().map(|courier| endpoint(courier.link.connect())).collect()
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Opened(link) => {
                let progress = self.couriers[link].link.opened(io);
                self.connected(link, progress, io)
            }
            Event::Secured { link, certificate } => {
                let progress = self.couriers[link].link.secured(certificate, io);
                self.connected(link, progress, io)
            }
            Event::Bytes { link, data, used } if self.couriers[link].link.is_up() => {
                self.messages(link, data, used, io)
            }
            Event::Bytes { link, data, used } => {
                let progress = self.couriers[link].link.bytes(data, used, io);
                self.connected(link, progress, io)
            }
            Event::Slot { .. } => self.begin(io),
            Event::Closed { link, error } => {
                let progress = self.couriers[link].link.closed(error);
                self.connected(link, progress, io)
            }
            Event::Timer | Event::Woken => Step::Wait,
        }
    }

    fn abandon(&self, link: Link) -> Option<Vec<u8>> {
        let courier = &self.couriers[link];
        (courier.state == State::Fetching).then(|| courier.link.cancel()).flatten()
    }

    fn script(&mut self) -> u16 {
        self.script
    }
}
