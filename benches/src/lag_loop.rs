//! A loop that does as little as can be between arrivals: a thread of its own, with a timer as exact as the system has.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, anyhow};
use stats::Histogram;

use crate::floor_talk::{connect, query};

/// What arrives: Poisson.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arriving {
    /// Per second.
    pub(crate) per_second: f64,
    /// Seconds.
    pub(crate) seconds: u32,
    /// Connections, where it talks to a server.
    pub(crate) clients: u32,
}

/// How late each arrival was met, ns; with a socket, of those that found a free client.
///
/// # Errors
/// When the server cannot be reached, or hangs up.
pub(crate) fn run(arriving: Arriving, socket: Option<&Path>) -> anyhow::Result<Histogram> {
    let socket = socket.map(Path::to_owned);
    let thread = std::thread::spawn(move || {
        // SAFETY: it takes numbers only.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) };
        match socket {
            Some(socket) => Talk::new(&socket, arriving)?.run(arriving),
            None => Ok(sleep(arriving)),
        }
    });
    thread.join().map_err(|_| anyhow!("the bare loop panicked"))?
}

/// When arrivals are due, ns of the monotonic clock.
struct Due {
    next: f64,
    end: f64,
    gap_ns: f64,
    random: u64,
}

impl Due {
    fn new(arriving: Arriving) -> Self {
        // Not at once: whoever asks is not asleep yet.
        let start = now() as f64 + 1e7;
        let end = start + f64::from(arriving.seconds) * 1e9;
        let mut due =
            Self { next: start, end, gap_ns: 1e9 / arriving.per_second, random: 88_172_645_463_325_252 };
        due.advance();
        due
    }

    /// When the next arrival is due; `None` at the end.
    fn peek(&self) -> Option<u64> {
        (self.next < self.end).then_some(self.next as u64)
    }

    fn advance(&mut self) {
        // Xorshift (Marsaglia, 2003): as good as any for gaps.
        for shift in [13, -7, 17] {
            self.random ^= if shift > 0 { self.random << shift } else { self.random >> -shift };
        }
        let unit = ((self.random >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        self.next -= unit.ln() * self.gap_ns;
    }
}

fn sleep(arriving: Arriving) -> Histogram {
    let (mut due, mut lag) = (Due::new(arriving), Histogram::new());
    while let Some(at) = due.peek() {
        let until = timespec(at);
        // SAFETY: the pointer is valid during the call; what is left of an absolute time is not asked for.
        while now() < at {
            unsafe {
                libc::clock_nanosleep(
                    libc::CLOCK_MONOTONIC,
                    libc::TIMER_ABSTIME,
                    &until,
                    std::ptr::null_mut(),
                )
            };
        }
        lag.record(now() - at);
        due.advance();
    }
    lag
}

/// Connections of a loop that asks and reads.
struct Talk {
    streams: Vec<UnixStream>,
    free: Vec<usize>,
    epoll: i32,
    request: Vec<u8>,
}

impl Talk {
    fn new(socket: &Path, arriving: Arriving) -> anyhow::Result<Self> {
        let streams: Vec<UnixStream> =
            (0..arriving.clients).map(|_| connect(socket)).collect::<anyhow::Result<_>>()?;
        // SAFETY: it takes a number only.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        for (number, stream) in streams.iter().enumerate() {
            stream.set_nonblocking(true)?;
            let mut event =
                libc::epoll_event { events: (libc::EPOLLIN | libc::EPOLLET) as u32, u64: number as u64 };
            // SAFETY: both descriptors are open, and the pointer is valid during the call.
            let added =
                unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, stream.as_raw_fd(), &mut event) };
            anyhow::ensure!(added == 0, std::io::Error::last_os_error());
        }
        let mut request = Vec::new();
        query(1, &mut request);
        Ok(Self { free: (0..streams.len()).collect(), streams, epoll, request })
    }

    fn run(mut self, arriving: Arriving) -> anyhow::Result<Histogram> {
        let (mut due, mut lag) = (Due::new(arriving), Histogram::new());
        let mut found_free = true;
        while let Some(at) = due.peek() {
            let time = now();
            match self.free.pop() {
                Some(client) if time >= at => {
                    if std::mem::replace(&mut found_free, true) {
                        lag.record(time - at);
                    }
                    (&self.streams[client]).write_all(&self.request).context("the sink hung up")?;
                    due.advance();
                }
                Some(client) => {
                    self.free.push(client);
                    self.wait(Some(at - time))?;
                }
                None => {
                    found_free = time < at;
                    self.wait(None)?;
                }
            }
        }
        Ok(lag)
    }

    /// Sleeps until a reply is there or so many ns are over, and reads what is there.
    fn wait(&mut self, ns: Option<u64>) -> anyhow::Result<()> {
        const EVENTS: usize = 64;
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        let timeout = ns.map(timespec);
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the pointers are valid during the call, and no signal mask is given.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll,
                events.as_mut_ptr(),
                EVENTS as libc::c_int,
                timeout,
                std::ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        for event in events.iter().take(usize::try_from(count).unwrap_or(0)) {
            let client = event.u64 as usize;
            let mut reply = [0; 4096];
            anyhow::ensure!((&self.streams[client]).read(&mut reply)? > 0, "the sink hung up");
            self.free.push(client);
        }
        Ok(())
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // SAFETY: it is this value's own, and nobody uses it any more.
        unsafe { libc::close(self.epoll) };
    }
}

fn now() -> u64 {
    let mut time = timespec(0);
    // SAFETY: the pointer is valid during the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as libc::time_t, tv_nsec: (ns % 1_000_000_000) as _ }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_loop_meets_its_arrivals() {
        let arriving = Arriving { per_second: 2000.0, seconds: 1, clients: 0 };
        let lag = run(arriving, None).unwrap();
        // Poisson: 2,000 and five standard deviations.
        assert!(lag.count().abs_diff(2000) < 224, "{}", lag.count());
        assert!(lag.quantile_ns(0.5).unwrap() < 10_000_000);
    }
}
