//! Linux's readiness interface: edge-triggered epoll, a timerfd to sleep by, an eventfd to be woken by.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::{Interest, PollWait, Ready};
use crate::driver::epoch::set_timer_slack;
use crate::wake::Notify;

pub(super) const NAME: &str = "epoll";

/// Events taken per wait.
const BATCH: usize = 256;
const TIMER: u64 = u64::MAX;
const WAKE: u64 = u64::MAX - 1;

/// One epoll instance with its timer.
pub(super) struct Poller {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// Time the timer is set to, ns of the monotonic clock; 0 when it is not set.
    armed: u64,
    wake: Arc<WakeFd>,
    events: Vec<epoll::Event>,
}

struct WakeFd(OwnedFd);

impl Notify for WakeFd {
    fn notify(&self) {
        // A counter that is already full wakes as well.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

impl Poller {
    /// A poller for the calling thread, whose timers become as precise as the system allows.
    pub(super) fn new() -> io::Result<Self> {
        set_timer_slack();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let edges = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), edges)?;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), edges)?;
        let wake = Arc::new(WakeFd(wake));
        Ok(Self { epoll, timer, armed: 0, wake, events: Vec::with_capacity(BATCH) })
    }

    pub(super) fn notifier(&self) -> Arc<dyn Notify> {
        Arc::clone(&self.wake) as Arc<dyn Notify>
    }

    /// Watches a new socket until it is closed.
    pub(super) fn add(&mut self, socket: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(token), flags(interest))?)
    }

    /// Changes what a socket is watched for; a readiness that already exists is reported again.
    pub(super) fn modify(
        &mut self,
        socket: BorrowedFd<'_>,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(token), flags(interest))?)
    }

    /// Waits, and calls `found` for every socket that became ready; true if anything happened.
    pub(super) fn wait(&mut self, wait: PollWait, mut found: impl FnMut(Ready)) -> io::Result<bool> {
        const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timeout = match wait {
            PollWait::Not => Some(&AT_ONCE),
            PollWait::Until(at) => {
                self.arm(at)?;
                None
            }
            PollWait::Forever => None,
        };
        self.events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), timeout) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &self.events {
            match event.data.u64() {
                TIMER => self.armed = 0,
                WAKE => {
                    let _ = rustix::io::read(&self.wake.0, &mut [0u8; 8]);
                }
                token => found(ready(token, event.flags)),
            }
        }
        Ok(!self.events.is_empty())
    }

    fn arm(&mut self, at: u64) -> io::Result<()> {
        // Zero would disarm the timer.
        let at = at.max(1);
        if self.armed != at {
            let value = Timespec { tv_sec: (at / 1_000_000_000) as i64, tv_nsec: (at % 1_000_000_000) as _ };
            let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
            timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)?;
            self.armed = at;
        }
        Ok(())
    }
}

fn flags(interest: Interest) -> EventFlags {
    let read = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
    match interest {
        Interest::Read => read,
        Interest::ReadWrite => read | EventFlags::OUT,
    }
}

fn ready(token: u64, flags: EventFlags) -> Ready {
    Ready {
        token,
        readable: flags.contains(EventFlags::IN),
        writable: flags.contains(EventFlags::OUT),
        hangup: flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR),
        reads: 0,
    }
}
