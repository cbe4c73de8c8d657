//! Waking a client from outside its thread.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Ends the wait of one thread's driver, from any thread.
pub(crate) trait Notify: Send + Sync {
    /// Makes the current or next wait return at once.
    fn notify(&self);
}

/// The clients of one thread that are to be woken.
pub(crate) struct WakeQueue {
    raised: AtomicBool,
    clients: Mutex<Vec<usize>>,
    notify: Arc<dyn Notify>,
}

impl WakeQueue {
    pub(crate) fn new(notify: Arc<dyn Notify>) -> Self {
        Self { raised: AtomicBool::new(false), clients: Mutex::default(), notify }
    }

    /// Moves the waiting clients into `into`; costs one load when there are none.
    pub(crate) fn take(&self, into: &mut Vec<usize>) {
        if self.raised.load(Ordering::Relaxed) && self.raised.swap(false, Ordering::Acquire) {
            into.append(&mut self.clients.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl fmt::Debug for WakeQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WakeQueue").field("raised", &self.raised).finish_non_exhaustive()
    }
}

/// Sends [`crate::Event::Woken`] to one client, from any thread; see [`crate::Io::waker`].
#[derive(Debug, Clone)]
pub struct Waker {
    pub(crate) queue: Arc<WakeQueue>,
    pub(crate) client: usize,
}

impl Waker {
    /// Wakes the client; several calls before it is served may become one event each.
    pub fn wake(&self) {
        self.queue.clients.lock().unwrap_or_else(PoisonError::into_inner).push(self.client);
        self.queue.raised.store(true, Ordering::Release);
        self.queue.notify.notify();
    }
}
