//! A client that asks the cache first: GET; if the tile is missing, the database makes it, and it is SET.

use std::sync::Arc;

use engine::{Abort, Client, Endpoint, Event, Failure, Io, Link, Returned, Step, Time, TransactionOutcome};
use protocol::Address;
use protocol::postgres::{Message, ServerError, ValueFormat, Want, frontend};
use protocol::redis::{Replies, Reply, Want as WantReply};
use script::Random;

use super::super::atlas::{Atlas, Pick};
use super::super::client::{INT4, write_number};
use super::keys::Keys;
use crate::link::{LinkProgress, MOST_MESSAGES, NotConnected, PgLink, address, endpoint, returned};
use crate::statement_names::StatementNames;
use crate::views::Visit;

const CACHE: Link = 0;
const DATABASE: Link = 1;

/// Common to all clients of a run.
#[derive(Debug)]
pub(in crate::tiles) struct Shared {
    pub(in crate::tiles) atlas: Arc<Atlas>,
    pub(in crate::tiles) keys: Keys,
    pub(in crate::tiles) redis: Address,
    /// Whether missing tiles are stored in the cache.
    pub(in crate::tiles) stores: bool,
}

/// What the client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CacheClientState {
    /// Its links, and its statements.
    SettingUp,
    Idle,
    LookingUp,
    Making,
    Storing,
}

#[derive(Debug)]
pub(in crate::tiles) struct CachedClient {
    shared: Arc<Shared>,
    number: usize,
    random: Random,
    visit: Visit,
    database: PgLink,
    names: StatementNames,
    replies: Replies,
    cache_is_up: bool,
    is_prepared: bool,
    state: CacheClientState,
    pick: Pick,
    asked: Time,
    /// The tile from the database.
    tile: Vec<u8>,
    returned: Returned,
    error: Option<Box<ServerError>>,
    key: Vec<u8>,
    digits: [Vec<u8>; 3],
    reported: u32,
}

impl CachedClient {
    pub(in crate::tiles) fn new(
        shared: Arc<Shared>,
        number: usize,
        database: PgLink,
        random: Random,
    ) -> Self {
        Self {
            names: StatementNames::random(shared.atlas.statements.len()),
            shared,
            number,
            random,
            visit: Visit::default(),
            database,
            replies: Replies::new(),
            cache_is_up: false,
            is_prepared: false,
            state: CacheClientState::SettingUp,
            pick: Pick::NOWHERE,
            asked: 0,
            tile: Vec::new(),
            returned: Returned::default(),
            error: None,
            key: Vec::new(),
            digits: Default::default(),
            reported: 0,
        }
    }

    fn connected(&mut self, progress: Result<LinkProgress, NotConnected>, io: &mut Io<'_>) -> Step {
        match progress {
            Ok(LinkProgress::Step(step)) => step,
            Ok(LinkProgress::Up) => {
                let out = io.out(DATABASE);
                for (number, text) in self.shared.atlas.statements.iter().enumerate() {
                    frontend::parse(out, self.names.of(number), text, &[INT4, INT4, INT4]);
                }
                frontend::sync(out);
                self.database.connection.request_rows(Want::Read);
                Step::Wait
            }
            Err(why) => self.give_up(why.message, why.code, true, io),
        }
    }

    /// Both links are up and the statements are prepared.
    fn settled(&mut self) -> Step {
        if self.state == CacheClientState::SettingUp && self.cache_is_up && self.is_prepared {
            self.state = CacheClientState::Idle;
            return Step::Ready;
        }
        Step::Wait
    }

    fn begin(&mut self, io: &mut Io<'_>) -> Step {
        let shared = Arc::clone(&self.shared);
        // Sessions cannot use a cache: a transaction is one tile.
        let Some(pick) = shared.atlas.next(&mut self.random, &mut self.visit).first() else {
            return self.give_up("there is nothing to ask for".to_owned(), None, false, io);
        };
        (self.pick, self.asked, self.state) = (*pick, io.now, CacheClientState::LookingUp);
        self.returned = Returned { queries: 1, ..Returned::default() };
        shared.keys.write(pick, &mut self.key);
        Keys::append_get(&self.key, io.out(CACHE));
        Step::Wait
    }

    fn replied(&mut self, data: &[u8], used: &mut usize, io: &mut Io<'_>) -> Step {
        match self.replies.next(data, used) {
            Ok(None) => Step::Wait,
            Ok(Some(reply)) => match (self.state, reply) {
                (CacheClientState::LookingUp, Reply::Skipped(skipped)) => {
                    self.ended(false, skipped.bytes, io)
                }
                (CacheClientState::LookingUp, Reply::Nil) => self.make(io),
                (CacheClientState::Storing, Reply::Status(_)) => {
                    self.returned.affected = 1;
                    self.ended(true, self.tile.len() as u64, io)
                }
                (CacheClientState::LookingUp | CacheClientState::Storing, Reply::Error(text)) => {
                    let text = String::from_utf8_lossy(text).into_owned();
                    let command = if self.state == CacheClientState::Storing { "SET" } else { "GET" };
                    self.failed(format!("{command}: {text}"), Failure::Other, io)
                }
                _ => {
                    let reason = "Redis sent a reply that nothing asked for".to_owned();
                    self.give_up(reason, None, false, io)
                }
            },
            Err(broken) => self.give_up(broken.to_string(), None, false, io),
        }
    }

    /// Asks the database for the tile.
    fn make(&mut self, io: &mut Io<'_>) -> Step {
        let tile::Tile { z, x, y } = self.pick.tile;
        for (digits, number) in self.digits.iter_mut().zip([u32::from(z), x, y]) {
            write_number(digits, number);
        }
        let parameters = self.digits.iter().map(|digits| Some(digits.as_slice()));
        let name = self.names.of(usize::from(self.pick.statement));
        let out = io.out(DATABASE);
        // Three parameters are never too many.
        let _ = frontend::bind(out, "", name, parameters, ValueFormat::Binary);
        frontend::execute(out, "", 0);
        frontend::sync(out);
        self.database.connection.take_counts();
        self.tile.clear();
        self.state = CacheClientState::Making;
        Step::Wait
    }

    fn messages(&mut self, data: &[u8], used: &mut usize, io: &mut Io<'_>) -> Step {
        loop {
            match self.database.connection.next(data, used) {
                Ok(None) => return Step::Wait,
                Ok(Some(Message::ReadyForQuery(_))) => return self.server_ready(io),
                Ok(Some(Message::DataRow(row))) => {
                    // NULL is an empty tile.
                    self.tile.extend_from_slice(row.iter().next().flatten().unwrap_or_default());
                }
                Ok(Some(Message::Error(fields))) => {
                    let error = fields.to_owned();
                    if error.is_fatal() {
                        return self.give_up(error.to_string(), Some(error.code), true, io);
                    }
                    self.error.get_or_insert_with(|| Box::new(error));
                }
                Ok(Some(_)) => {}
                Err(broken) => return self.give_up(broken.to_string(), None, false, io),
            }
        }
    }

    fn server_ready(&mut self, io: &mut Io<'_>) -> Step {
        match (self.state, self.error.take()) {
            (CacheClientState::SettingUp, Some(error)) => {
                let reason = format!("client {} aborted while preparing tile queries: {error}", self.number);
                self.give_up(reason, Some(error.code), false, io)
            }
            (CacheClientState::SettingUp, None) => {
                self.is_prepared = true;
                self.settled()
            }
            (CacheClientState::Making, Some(error)) => {
                let failure = match error.code.as_str() {
                    "40001" => Failure::Serialization,
                    "40P01" => Failure::Deadlock,
                    _ => Failure::Other,
                };
                self.failed(error.to_string(), failure, io)
            }
            (CacheClientState::Making, None) => {
                self.returned.queries += returned(self.database.connection.take_counts()).queries;
                if self.shared.stores {
                    self.returned.changes = 1;
                    self.shared.keys.set(&self.key, &self.tile, io.out(CACHE));
                    self.state = CacheClientState::Storing;
                    return Step::Wait;
                }
                self.ended(true, self.tile.len() as u64, io)
            }
            _ => Step::Wait,
        }
    }

    /// The tile is here; `made` by the database. Made tiles are counted after cached ones, as script and as
    /// item.
    fn ended(&mut self, made: bool, bytes: u64, io: &mut Io<'_>) -> Step {
        self.state = CacheClientState::Idle;
        self.returned.rows = u64::from(bytes > 0);
        self.returned.bytes = bytes;
        if let Some(item) = self.pick.item {
            io.item(item + u32::from(made), io.now.saturating_sub(self.asked), bytes);
        }
        self.end(made, None)
    }

    fn failed(&mut self, problem: String, failure: Failure, io: &mut Io<'_>) -> Step {
        let made = self.state != CacheClientState::LookingUp;
        self.state = CacheClientState::Idle;
        if self.reported < MOST_MESSAGES {
            self.reported += 1;
            io.message(format!("client {}, tile {}: {problem}", self.number, self.pick.tile));
        }
        self.end(made, Some(failure))
    }

    fn end(&mut self, made: bool, failure: Option<Failure>) -> Step {
        let script = self.pick.script + u16::from(made);
        Step::Ended(TransactionOutcome { script, failure, tries: 1, returned: self.returned })
    }

    /// The client stops; with `lost` because of a server.
    fn give_up(&mut self, message: String, code: Option<String>, lost: bool, io: &mut Io<'_>) -> Step {
        io.abort_because(Abort { message, code, lost, ..Abort::default() });
        Step::Done
    }

    fn cache_lost(&mut self, error: Option<&std::io::Error>, io: &mut Io<'_>) -> Step {
        let reason =
            error.map_or_else(|| "the server closed the connection".to_owned(), protocol::wording::system);
        let place = self.shared.redis.in_words(None);
        self.give_up(format!("client {} of Redis {place} aborted: {reason}", self.number), None, true, io)
    }
}

impl Client for CachedClient {
    fn endpoints(&self) -> Vec<Endpoint> {
        vec![Endpoint::plain(address(&self.shared.redis)), endpoint(self.database.connect())]
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Opened(CACHE) => {
                self.replies = Replies::new();
                self.replies.want(WantReply::Skip);
                self.cache_is_up = true;
                self.settled()
            }
            Event::Opened(_) => {
                let progress = self.database.opened(io);
                self.connected(progress, io)
            }
            Event::Secured { certificate, .. } => {
                let progress = self.database.secured(certificate, io);
                self.connected(progress, io)
            }
            Event::Bytes { link: CACHE, data, used } => self.replied(data, used, io),
            Event::Bytes { data, used, .. } if self.database.is_up() => self.messages(data, used, io),
            Event::Bytes { data, used, .. } => {
                let progress = self.database.bytes(data, used, io);
                self.connected(progress, io)
            }
            Event::Slot { .. } => self.begin(io),
            Event::Closed { link: CACHE, error } => self.cache_lost(error, io),
            Event::Closed { error, .. } => {
                let progress = self.database.closed(error);
                self.connected(progress, io)
            }
            Event::Timer | Event::Woken => Step::Wait,
        }
    }

    fn abandon(&self, link: Link) -> Option<Vec<u8>> {
        (link == DATABASE && self.state == CacheClientState::Making).then(|| self.database.cancel()).flatten()
    }

    /// Until the result is known, the transaction counts as looked up.
    fn script(&mut self) -> u16 {
        self.pick.script
            + u16::from(matches!(self.state, CacheClientState::Making | CacheClientState::Storing))
    }
}
