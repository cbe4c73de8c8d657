//! The least that a client of a web server can cost here, in a process of its own: this program, called with a hidden word.
//! One thread, `epoll`, one read and one write a response; a response is known by its length alone, and no response's time is taken.

use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// The word.
pub(crate) const WORD: &str = "http-floor";

/// Events taken at once.
const EVENTS: usize = 64;

/// `http://HOST:PORT/PATH CONNECTIONS SECONDS`. Prints requests and requests per second.
pub(crate) fn main(arguments: &[OsString]) -> anyhow::Result<()> {
    let word = |index: usize| arguments.get(index).and_then(|word| word.to_str()).context("arguments");
    let (host, path) =
        word(0)?.strip_prefix("http://").and_then(|rest| rest.split_once('/')).context("no URL")?;
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes();
    let length = length_of_response(host, &request)?;
    let mut bare = Bare::connect(host, word(1)?.parse()?, request, length)?;
    let start = Instant::now();
    let done = bare.run(Duration::from_secs(word(2)?.parse()?))?;
    println!("{done} {}", done as f64 / start.elapsed().as_secs_f64());
    Ok(())
}

/// Bytes of a response, head and body: all of them are alike.
fn length_of_response(host: &str, request: &[u8]) -> anyhow::Result<usize> {
    let mut stream = TcpStream::connect(host)?;
    stream.write_all(request)?;
    let mut response = Vec::new();
    let head = loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece)?;
        anyhow::ensure!(count > 0, "the server closed the connection");
        response.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&response).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            break head.to_owned();
        }
    };
    let body = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let body: usize = body.with_context(|| format!("no length in:\n{head}"))?.parse()?;
    Ok(head.len() + 4 + body)
}

/// A connection and what is still to come of its response.
struct Open {
    stream: TcpStream,
    left: usize,
}

struct Bare {
    epoll: i32,
    open: Vec<Open>,
    request: Vec<u8>,
    length: usize,
    buffer: Vec<u8>,
}

impl Bare {
    fn connect(host: &str, connections: usize, request: Vec<u8>, length: usize) -> anyhow::Result<Self> {
        // SAFETY: it takes a number only.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        anyhow::ensure!(epoll >= 0, std::io::Error::last_os_error());
        let mut open = Vec::with_capacity(connections);
        for number in 0..connections {
            let stream = TcpStream::connect(host)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number as u64 };
            // SAFETY: both descriptors are open, and the event is copied.
            let added =
                unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, stream.as_raw_fd(), &raw mut event) };
            anyhow::ensure!(added == 0, std::io::Error::last_os_error());
            open.push(Open { stream, left: length });
        }
        Ok(Self { epoll, open, request, length, buffer: vec![0; 32 * 1024] })
    }

    /// Responses until `length` is over.
    fn run(&mut self, length: Duration) -> anyhow::Result<u64> {
        for open in &mut self.open {
            open.stream.write_all(&self.request)?;
        }
        let start = Instant::now();
        let mut done = 0;
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        while start.elapsed() < length {
            // SAFETY: the array has room for so many events.
            let ready = unsafe { libc::epoll_wait(self.epoll, events.as_mut_ptr(), EVENTS as i32, 1_000) };
            for event in events.iter().take(usize::try_from(ready).unwrap_or_default()) {
                done += u64::from(self.take(event.u64 as usize)?);
            }
        }
        Ok(done)
    }

    /// Reads what there is; asks again, and says so, when that was the end of a response.
    fn take(&mut self, number: usize) -> anyhow::Result<bool> {
        let open = &mut self.open[number];
        let count = match open.stream.read(&mut self.buffer) {
            Ok(0) => bail!("the server closed a connection"),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        anyhow::ensure!(count <= open.left, "a response longer than the first");
        open.left -= count;
        if open.left > 0 {
            return Ok(false);
        }
        open.left = self.length;
        open.stream.write_all(&self.request)?;
        Ok(true)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // SAFETY: it is open, and nobody else closes it.
        unsafe { libc::close(self.epoll) };
    }
}
