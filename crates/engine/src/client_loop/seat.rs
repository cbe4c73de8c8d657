//! The loop's state of one client.

use super::link::LinkState;
use super::user::UserState;
use crate::client::{Abandoned, Client, Endpoint};
use crate::recorder::{Activity, StartedTransaction};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeatState {
    /// Connecting or preparing, at the start or again.
    Setup,
    Idle,
    Busy,
    Over,
}

/// One client, its links and its state in the run.
pub(super) struct Seat {
    pub(super) client: Box<dyn Client>,
    /// Number of the client in its thread, and in the whole run.
    pub(super) index: usize,
    pub(super) number: usize,
    pub(super) links: Vec<LinkState>,
    pub(super) state: SeatState,
    /// It was ready once, or is over: the start of the load does not wait for it.
    pub(super) settled: bool,
    pub(super) transaction: StartedTransaction,
    pub(super) activity: Activity,
    /// Transactions that ended in the measured part, skipped ones included.
    pub(super) ended: u64,
    /// Its session, if it is a user.
    pub(super) user: UserState,
    /// It is in the queue of free clients.
    pub(super) queued: bool,
    /// It is in the list of clients to continue in the next turn.
    pub(super) runnable: bool,
    pub(super) disturbed: bool,
    /// It lost a link under load, wants it back, and was not ready since.
    pub(super) away: bool,
    /// It is in a transaction, about to start one, or connecting: not held.
    pub(super) at_work: bool,
}

impl Seat {
    /// Nothing is set up before its first slot.
    pub(super) fn connects_on_demand(&mut self) {
        (self.state, self.settled) = (SeatState::Idle, true);
    }

    /// Whether it can take an arrival.
    pub(super) fn is_free(&self) -> bool {
        self.state == SeatState::Idle && !self.user.in_session
    }

    pub(super) fn abandoned(&self) -> impl Iterator<Item = Abandoned> {
        let links = self.links.iter().enumerate().filter(|(_, link)| link.open);
        links.filter_map(|(number, link)| {
            let request = self.client.abandon(number)?;
            Some(Abandoned { address: link.endpoint.address.clone(), request })
        })
    }

    /// A client whose links are the thread's connections from `first_conn` on.
    pub(super) fn new(
        client: Box<dyn Client>,
        (index, number, seed): (usize, usize, u64),
        first_conn: usize,
        endpoints: Vec<Endpoint>,
    ) -> Self {
        // Nothing is set up before the first slot, and no event would report it.
        let settled = endpoints.is_empty() || client.on_demand();
        let links = endpoints.into_iter().enumerate();
        Self {
            client,
            index,
            number,
            links: links.map(|(link, endpoint)| LinkState::new(first_conn + link, endpoint)).collect(),
            state: if settled { SeatState::Idle } else { SeatState::Setup },
            settled,
            transaction: StartedTransaction::default(),
            activity: Activity::BEFORE,
            ended: 0,
            user: UserState::new(seed, number),
            queued: false,
            runnable: false,
            disturbed: false,
            away: false,
            at_work: false,
        }
    }
}
