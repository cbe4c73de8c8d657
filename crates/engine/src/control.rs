//! What the caller's thread and the load threads tell each other.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::client::Abort;
use crate::client::Time;
use crate::error::EngineError;
use crate::measured::{Second, Stretch, ThreadFigures};
use crate::observer::{Entry, Message};
use crate::wake::Notify;
use stats::Histogram;

/// Orders from the caller's thread; read once per turn, hardly ever written.
pub(crate) struct Control {
    load: AtomicU64,
    end: AtomicU64,
    stopped: AtomicBool,
    cancelled: AtomicBool,
    open: AtomicUsize,
    /// Orders to let go that were given so far, and the last of them.
    orders: AtomicU64,
    order: Mutex<Order>,
    /// What wakes the threads for them.
    notifiers: Mutex<Vec<Arc<dyn Notify>>>,
}

/// Lets the clients of a held run go.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Order {
    /// How far the clock of the run is behind the driver's from now on, ns: the time it was held.
    pub(crate) behind: Time,
    /// When the clients are let go, on the clock of the run.
    pub(crate) from: Time,
    /// No transaction is started from then on.
    pub(crate) until: Time,
    /// When the measured part begins, or began; `None` in warm-up.
    pub(crate) measured: Option<Time>,
}

impl Control {
    pub(crate) fn new() -> Self {
        Self {
            load: AtomicU64::new(Time::MAX),
            end: AtomicU64::new(Time::MAX),
            stopped: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            orders: AtomicU64::new(0),
            order: Mutex::default(),
            notifiers: Mutex::default(),
        }
    }

    /// A thread can be woken from now on; it is, since there may be orders already.
    pub(crate) fn enrol(&self, notify: Arc<dyn Notify>) {
        let mut notifiers = self.notifiers.lock().unwrap_or_else(PoisonError::into_inner);
        notify.notify();
        notifiers.push(notify);
    }

    /// Wakes all threads, so that they hear of orders.
    pub(crate) fn wake_all(&self) {
        let notifiers = self.notifiers.lock().unwrap_or_else(PoisonError::into_inner);
        notifiers.iter().for_each(|notify| notify.notify());
    }

    pub(crate) fn let_go(&self, order: Order) {
        *self.order.lock().unwrap_or_else(PoisonError::into_inner) = order;
        self.orders.fetch_add(1, Ordering::Release);
    }

    /// The order to let go that a thread has not heard of, which `heard` so many; and how many there were.
    pub(crate) fn order_after(&self, heard: u64) -> Option<(u64, Order)> {
        let orders = self.orders.load(Ordering::Acquire);
        (orders != heard).then(|| (orders, *self.order.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// When the load starts; `Time::MAX` until all clients are ready.
    pub(crate) fn load(&self) -> Time {
        self.load.load(Ordering::Acquire)
    }

    pub(crate) fn set_load(&self, at: Time) {
        self.load.store(at, Ordering::Release);
    }

    /// An end earlier than the plan's; `Time::MAX` when there is none.
    pub(crate) fn end(&self) -> Time {
        self.end.load(Ordering::Acquire)
    }

    pub(crate) fn set_end(&self, at: Time) {
        self.end.store(at, Ordering::Release);
    }

    /// Whether the end was ordered from outside: drain only shortly.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(crate) fn set_stopped(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Whether the run failed elsewhere: leave at once.
    pub(crate) fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    /// Transactions that are waited for after the end, over all threads.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    /// A thread waits for `now` transactions, and for `before` until now.
    pub(crate) fn set_open(&self, before: usize, now: usize) {
        self.open.fetch_add(now.wrapping_sub(before), Ordering::AcqRel);
    }
}

/// What a load thread tells the caller's thread; `thread` is its number.
pub(crate) enum Report {
    /// The thread runs.
    Up { driver: &'static str, note: Option<String> },
    /// All its clients are ready or done.
    Ready,
    /// One second of its load.
    Second { thread: usize, second: Box<Second> },
    /// What its clients said and did.
    Batch { thread: usize, batch: Box<Batch> },
    /// None of its clients has anything left to do, since `at`.
    Idle { at: Time },
    /// All its clients rest after a stretch, its clock stands at `at`; in warm-up with the response times so far.
    Rests { at: Time, stretch: Stretch, warm: Option<Box<Histogram>> },
    /// It cannot go on.
    Failed { error: EngineError },
    /// It ended as it should.
    Finished { thread: usize, figures: Box<ThreadFigures> },
    /// It is gone, after `Finished`, `Failed` or a panic.
    Gone,
}

/// What becomes known of a client.
#[derive(Debug)]
pub(crate) enum Said {
    Message(Message),
    /// Its last words.
    Abort(Abort),
    /// It lost a connection and wants it back.
    Left {
        client: usize,
        at: Time,
    },
    /// It goes on, or nobody waits for it any more.
    Back {
        client: usize,
        at: Time,
    },
}

/// What is handed over at once.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) entries: Vec<Entry>,
    pub(crate) said: Vec<Said>,
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.said.is_empty()
    }
}
