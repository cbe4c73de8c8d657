//! The readiness interface of macOS and the BSDs: kqueue with edge-triggered events.
//!
//! Both filters are set for every socket: unlike epoll's, an edge of the write filter is not repeated while
//! the socket stays writable, so the interest never has to change.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::Timespec;
use rustix::event::kqueue::{Event, EventFilter, EventFlags, kevent_timespec, kqueue};
use rustix::io::Errno;

use super::{Interest, Ready, Wait};
use crate::wake::Notify;

pub(super) const NAME: &str = "kqueue";

/// Events taken per wait.
const BATCH: usize = 256;
const WAKE: u64 = u64::MAX;

pub(super) struct Poller {
    kqueue: OwnedFd,
    /// The read end of the wake pipe.
    woken: OwnedFd,
    wake: Arc<WakePipe>,
    events: Vec<Event>,
}

struct WakePipe(OwnedFd);

impl Notify for WakePipe {
    fn notify(&self) {
        // A pipe that is full wakes as well.
        let _ = rustix::io::write(&self.0, &[1]);
    }
}

impl Poller {
    pub(super) fn new() -> io::Result<Self> {
        let (woken, wake) = std::io::pipe()?;
        let (woken, wake) = (OwnedFd::from(woken), OwnedFd::from(wake));
        for end in [&woken, &wake] {
            rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(end, true)?;
        }
        let this = Self {
            kqueue: kqueue()?,
            woken,
            wake: Arc::new(WakePipe(wake)),
            events: Vec::with_capacity(BATCH),
        };
        this.change(&[filter(EventFilter::Read(this.woken.as_raw_fd()), WAKE)])?;
        Ok(this)
    }

    pub(super) fn notifier(&self) -> Arc<dyn Notify> {
        Arc::clone(&self.wake) as Arc<dyn Notify>
    }

    /// Watches a new socket until it is closed.
    pub(super) fn add(&mut self, socket: BorrowedFd<'_>, token: u64, _interest: Interest) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        self.change(&[filter(EventFilter::Read(fd), token), filter(EventFilter::Write(fd), token)])
    }

    /// Sets the filters again; a readiness that already exists is reported again.
    pub(super) fn modify(
        &mut self,
        socket: BorrowedFd<'_>,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        self.add(socket, token, interest)
    }

    /// Waits, and gives every socket that became ready to `found`; whether anything happened.
    pub(super) fn wait(&mut self, wait: Wait, mut found: impl FnMut(Ready)) -> io::Result<bool> {
        let timeout = match wait {
            Wait::Not => Some(Timespec { tv_sec: 0, tv_nsec: 0 }),
            Wait::Until(at) => Some(until(at)),
            Wait::Forever => None,
        };
        self.events.clear();
        // SAFETY: no change refers to a descriptor; the list is empty.
        let outcome = unsafe {
            kevent_timespec(
                &self.kqueue,
                &[],
                rustix::buffer::spare_capacity(&mut self.events),
                timeout.as_ref(),
            )
        };
        match outcome {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &self.events {
            let token = event.udata() as u64;
            if token == WAKE {
                let _ = rustix::io::read(&self.woken, &mut [0u8; 64]);
                continue;
            }
            found(Ready {
                token,
                readable: matches!(event.filter(), EventFilter::Read(_)),
                writable: matches!(event.filter(), EventFilter::Write(_)),
                hangup: event.flags().intersects(EventFlags::EOF | EventFlags::ERROR),
                reads: 0,
            });
        }
        Ok(!self.events.is_empty())
    }

    fn change(&self, changes: &[Event]) -> io::Result<()> {
        let mut nothing: [Event; 0] = [];
        // SAFETY: the descriptors are open during the call; a closed one leaves the queue by itself.
        unsafe { kevent_timespec(&self.kqueue, changes, &mut nothing[..], None)? };
        Ok(())
    }
}

fn filter(filter: EventFilter, token: u64) -> Event {
    Event::new(filter, EventFlags::ADD | EventFlags::CLEAR, token as usize as *mut _)
}

fn until(at: u64) -> Timespec {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let left = at.saturating_sub(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64);
    Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ }
}
