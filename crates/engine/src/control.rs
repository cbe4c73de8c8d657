//! Orders from the caller's thread to the load threads, and their reports.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::client::Abort;
use crate::client::Time;
use crate::measured::{Second, Stretch, ThreadFigures};
use crate::observer::{ClientMessage, TransactionEntry};
use crate::wake::Notify;
use spec::Error;
use stats::Histogram;

/// Orders from the caller's thread; read once per turn, rarely written.
pub(crate) struct RunControl {
    load: AtomicU64,
    end: AtomicU64,
    stopped: AtomicBool,
    cancelled: AtomicBool,
    open: AtomicUsize,
    /// Number of release orders so far, and the last of them.
    orders: AtomicU64,
    order: Mutex<Order>,
    notifiers: Mutex<Vec<Arc<dyn Notify>>>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Order {
    /// How far the clock of the run is behind the driver's from now on, ns: the total time held.
    pub(crate) behind: Time,
    /// When the clients are released, on the clock of the run.
    pub(crate) from: Time,
    /// No transaction starts after this.
    pub(crate) until: Time,
    /// When the measured part begins, or began; `None` in warm-up.
    pub(crate) measured: Option<Time>,
    /// Number of the part, from 0: with another one, the figures so far are handed over.
    pub(crate) part: u32,
}

impl RunControl {
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

    /// Registers a thread to be woken, and wakes it, since orders may exist already.
    pub(crate) fn enrol(&self, notify: Arc<dyn Notify>) {
        let mut notifiers = self.notifiers.lock().unwrap_or_else(PoisonError::into_inner);
        notify.notify();
        notifiers.push(notify);
    }

    pub(crate) fn wake_all(&self) {
        let notifiers = self.notifiers.lock().unwrap_or_else(PoisonError::into_inner);
        notifiers.iter().for_each(|notify| notify.notify());
    }

    pub(crate) fn release(&self, order: Order) {
        *self.order.lock().unwrap_or_else(PoisonError::into_inner) = order;
        self.orders.fetch_add(1, Ordering::Release);
    }

    /// The last release order and its number, if the thread has seen fewer than that.
    pub(crate) fn order_after(&self, seen: u64) -> Option<(u64, Order)> {
        let orders = self.orders.load(Ordering::Acquire);
        (orders != seen).then(|| (orders, *self.order.lock().unwrap_or_else(PoisonError::into_inner)))
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

    /// Whether the end was ordered from outside: the drain is short.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(crate) fn set_stopped(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Whether the run failed in another thread: leave at once.
    pub(crate) fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    /// Open transactions after the end, over all threads.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    /// Changes a thread's number of open transactions from `before` to `now`.
    pub(crate) fn set_open(&self, before: usize, now: usize) {
        self.open.fetch_add(now.wrapping_sub(before), Ordering::AcqRel);
    }
}

/// What a load thread reports to the caller's thread; `thread` is its number.
pub(crate) enum ThreadReport {
    Up {
        driver: &'static str,
        note: Option<String>,
    },
    /// All its clients are ready or done.
    Ready,
    Second {
        thread: usize,
        second: Box<Second>,
    },
    /// Notices and transaction records of its clients.
    Batch {
        thread: usize,
        batch: Box<Batch>,
    },
    /// All its clients have been idle since `at`, with nothing left to do.
    Idle {
        at: Time,
    },
    /// All its clients are idle after a stretch, and its clock is stopped at `at`; in warm-up with the
    /// response times so far.
    Rests {
        at: Time,
        stretch: Stretch,
        warm: Option<Box<Histogram>>,
    },
    Failed {
        error: Error,
    },
    /// The figures of a part of a held run; it goes on with the next one.
    Part {
        thread: usize,
        figures: Box<ThreadFigures>,
    },
    Finished {
        thread: usize,
        figures: Box<ThreadFigures>,
    },
    /// It is gone, after `Finished`, `Failed` or a panic.
    Gone,
}

#[derive(Debug)]
pub(crate) enum Notice {
    Message(ClientMessage),
    Abort(Abort),
    /// It lost a connection and reconnects.
    Left {
        client: usize,
        at: Time,
    },
    /// It is ready again, or has stopped.
    Back {
        client: usize,
        at: Time,
    },
}

#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) entries: Vec<TransactionEntry>,
    pub(crate) said: Vec<Notice>,
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.said.is_empty()
    }
}
