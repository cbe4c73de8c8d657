//! A socket for control connections, outside the timed part of a run. While it waits it repeatedly calls a
//! `watch`, so that a silent peer cannot block the program.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use protocol::postgres::conninfo::TcpOptions;
use protocol::{Address, wording};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use socket2::{Domain, SockAddr, TcpKeepalive, Type};

/// Time between two calls of the watch.
pub const SLICE: Duration = Duration::from_millis(50);

/// Called before a wait and in each slice of it; its error ends the wait.
pub type WaitWatch<'a> = dyn FnMut() -> io::Result<()> + 'a;

/// What to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// Something to read, or the peer's close.
    Input,
    Room,
}

/// A connected non-blocking socket; children do not inherit it.
#[derive(Debug)]
pub struct Socket(socket2::Socket);

impl Socket {
    /// Connects.
    ///
    /// # Errors
    /// The system's, or the error of `watch`.
    pub fn connect(address: &Address, options: &TcpOptions, watch: &mut WaitWatch<'_>) -> io::Result<Self> {
        let socket = loop {
            watch()?;
            match start(address, options) {
                // The queue of a Unix socket is full: its server takes no connections now, and no event will
                // report when it does.
                Err(error) if is_passing(&error) => std::thread::sleep(SLICE),
                started => break started?,
            }
        };
        wait(&socket, For::Room, watch)?;
        match socket.take_error()? {
            Some(error) => Err(error),
            None => Ok(Self(socket)),
        }
    }

    /// Our address and the peer's; `None` for a Unix socket.
    pub(super) fn tcp_ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        Some((self.0.local_addr().ok()?.as_socket()?, self.0.peer_addr().ok()?.as_socket()?))
    }

    /// Acknowledges the next packets at once, which the system may delay otherwise.
    pub(crate) fn acknowledge_at_once(&self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        return self.0.set_tcp_quickack(true);
        #[cfg(not(target_os = "linux"))]
        Err(ErrorKind::Unsupported.into())
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Reads what has arrived, and waits for it; 0 means that the peer closed.
    pub fn receive(&mut self, buffer: &mut [u8], watch: &mut WaitWatch<'_>) -> io::Result<usize> {
        watch()?;
        loop {
            match self.read(buffer) {
                Err(error) if is_passing(&error) => wait(self, For::Input, watch)?,
                other => return other,
            }
        }
    }

    /// Writes everything, and waits for room.
    pub fn send(&mut self, mut bytes: &[u8], watch: &mut WaitWatch<'_>) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if is_passing(&error) => wait(self, For::Room, watch)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether a retry after a wait may succeed.
#[must_use]
pub fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Waits until a socket is ready.
pub fn wait(socket: &impl AsFd, wanted: For, watch: &mut WaitWatch<'_>) -> io::Result<()> {
    let flags = match wanted {
        For::Input => PollFlags::IN,
        For::Room => PollFlags::OUT,
    };
    let slice = Timespec { tv_sec: 0, tv_nsec: SLICE.subsec_nanos().into() };
    loop {
        watch()?;
        match poll(&mut [PollFd::new(socket, flags)], Some(&slice)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// A socket that is connecting.
fn start(address: &Address, options: &TcpOptions) -> io::Result<socket2::Socket> {
    let (domain, to) = match address {
        Address::Tcp(address) => (Domain::for_address(*address), SockAddr::from(*address)),
        Address::Unix(path) => (Domain::UNIX, SockAddr::unix(path)?),
    };
    let socket = socket2::Socket::new(domain, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    if matches!(address, Address::Tcp(_)) {
        set_tcp_options(&socket, options)?;
    }
    match socket.connect(&to) {
        Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
        _ => Ok(socket),
    }
}

fn set_tcp_options(socket: &socket2::Socket, options: &TcpOptions) -> io::Result<()> {
    let TcpOptions { keepalives, idle, interval, count, user_timeout } = *options;
    socket.set_tcp_nodelay(true)?;
    if keepalives {
        let new = TcpKeepalive::new;
        let options = [
            ("keepalives_idle", idle.map(|time| new().with_time(time))),
            ("keepalives_interval", interval.map(|time| new().with_interval(time))),
            ("keepalives_count", count.map(|count| new().with_retries(count))),
        ];
        socket.set_keepalive(true)?;
        for (name, keepalive) in options {
            // The system's limits are unknown, and its error is only "invalid argument".
            let refused = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
            keepalive.map_or(Ok(()), |keepalive| socket.set_tcp_keepalive(&keepalive)).map_err(refused)?;
        }
    }
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(user_timeout)?;
    #[cfg(not(target_os = "linux"))]
    let _ = user_timeout;
    Ok(())
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Timeout for connecting, and for each answer.
const SHORT_TIMEOUT: Duration = Duration::from_secs(30);

/// A watch for servers other than PostgreSQL that ends at the timeout, or when `given_up` returns true.
pub(crate) fn short_watch(given_up: &dyn Fn() -> bool) -> impl FnMut() -> io::Result<()> + '_ {
    let start = Instant::now();
    move || match () {
        () if given_up() => Err(io::Error::other("stopped")),
        () if start.elapsed() >= SHORT_TIMEOUT => Err(io::ErrorKind::TimedOut.into()),
        () => Ok(()),
    }
}

/// Why a wait with [`short_watch`] ended without an answer.
pub(crate) fn short_wait_error(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
        io::ErrorKind::TimedOut if error.raw_os_error().is_none() => {
            format!("no answer within {} s", SHORT_TIMEOUT.as_secs())
        }
        _ => wording::system(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::time::Instant;

    use super::*;

    /// A wait with this timeout.
    fn at_most(bound: Duration) -> impl FnMut() -> io::Result<()> {
        let start = Instant::now();
        move || if start.elapsed() < bound { Ok(()) } else { Err(ErrorKind::TimedOut.into()) }
    }

    #[test]
    fn a_silent_peer_does_not_hold_whoever_waits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let mut socket =
            Socket::connect(&Address::Unix(path), &TcpOptions::default(), &mut || Ok(())).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let start = Instant::now();
        let bound = Duration::from_millis(200);
        let error = socket.receive(&mut [0; 8], &mut at_most(bound)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        // Nobody reads: the buffers fill up.
        let error = socket.send(&[0; 1 << 22], &mut at_most(bound)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(start.elapsed() < Duration::from_secs(2));
        peer.write_all(b"yes").unwrap();
        let mut buffer = [0; 8];
        assert_eq!(socket.receive(&mut buffer, &mut || Ok(())).unwrap(), 3);
    }

    #[test]
    fn a_full_queue_of_a_server_that_accepts_nobody_does_not_hold_whoever_connects() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let _listener = UnixListener::bind(&path).unwrap();
        let address = Address::Unix(path);
        let start = Instant::now();
        // As many as the queue takes, and another one that waits.
        let mut waiting = Vec::new();
        let error = loop {
            match Socket::connect(&address, &TcpOptions::default(), &mut at_most(Duration::from_millis(100)))
            {
                Ok(socket) => waiting.push(socket),
                Err(error) => break error,
            }
            assert!(waiting.len() < 10_000);
        };
        assert!(matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::ConnectionRefused), "{error}");
        assert!(start.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn nobody_listening_is_told_at_once() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = Socket::connect(&Address::Tcp(free), &TcpOptions::default(), &mut || Ok(())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    }

    /// They were read from connection strings and then ignored.
    #[test]
    fn tcp_keepalive_settings_reach_the_socket() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let options = TcpOptions {
            keepalives: true,
            idle: seconds(31),
            interval: seconds(32),
            count: Some(33),
            user_timeout: seconds(34),
        };
        let socket = Socket::connect(&address, &options, &mut || Ok(())).unwrap().0;
        assert!(socket.keepalive().unwrap());
        assert_eq!(Some(socket.tcp_keepalive_time().unwrap()), options.idle);
        assert_eq!(Some(socket.tcp_keepalive_interval().unwrap()), options.interval);
        assert_eq!(Some(socket.tcp_keepalive_retries().unwrap()), options.count);
        #[cfg(target_os = "linux")]
        assert_eq!(socket.tcp_user_timeout().unwrap(), options.user_timeout);
        let off = TcpOptions { keepalives: false, ..options };
        let socket = Socket::connect(&address, &off, &mut || Ok(())).unwrap().0;
        assert!(!socket.keepalive().unwrap());
    }

    /// The error was only "Invalid argument".
    #[test]
    fn a_keepalive_setting_that_the_system_refuses_is_named() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let options = TcpOptions { count: Some(100_000), ..TcpOptions::default() };
        let error = Socket::connect(&address, &options, &mut || Ok(())).unwrap_err();
        assert!(error.to_string().starts_with("keepalives_count: "), "{error}");
    }
}
