//! The bare loop, in a process of its own: this program, called with a hidden word. No interpreter, no decoder, no
//! histogram, no timer, no second thread; multishot receives into provided buffers and sends through the ring, one call
//! into the kernel per turn.

use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use io_uring::types::{BufRingEntry, Fd};
use io_uring::{IoUring, cqueue, opcode, squeue};

use crate::floor_talk::{connect, execution, is_answer, query};

/// The word.
pub(crate) const WORD: &str = "floor-load";

/// What the error says where the kernel gives no ring.
pub(crate) const REFUSED: &str = "io_uring cannot be had here";

/// Size of a buffer: larger than any answer.
const SIZE: usize = 4096;
/// Group of the buffers.
const GROUP: u16 = 0;
/// Marks the completion of a send; the rest of a token is the client's number.
const SENT: u64 = 1 << 32;

/// `SOCKET MODE CLIENTS KEYS SECONDS`: prints what pgbench prints of transactions. No seconds: one transaction per client.
pub(crate) fn main(arguments: &[OsString]) -> anyhow::Result<()> {
    let word = |index: usize| arguments.get(index).context("arguments");
    let number =
        |index: usize| -> anyhow::Result<u64> { Ok(word(index)?.to_str().unwrap_or_default().parse()?) };
    let request = match word(1)?.to_str() {
        Some("prepared") => execution,
        Some("simple") => query,
        mode => bail!("{mode:?} is no mode"),
    };
    let (clients, keys, length) = (number(2)?, number(3)?, Duration::from_secs(number(4)?));
    let streams = (0..clients).map(|_| connect(Path::new(word(0)?))).collect::<anyhow::Result<_>>()?;
    let mut bare = Bare::new(streams, request, keys)?;
    let start = Instant::now();
    let done = bare.run(start, length)?;
    let tps = done as f64 / start.elapsed().as_secs_f64();
    println!("number of transactions actually processed: {done}\ntps = {tps:.1}");
    Ok(())
}

/// Appends the request for a key.
type Request = fn(u64, &mut Vec<u8>);

/// Ring, connections and buffers.
struct Bare {
    /// Dropped before the memory it uses.
    ring: IoUring,
    streams: Vec<UnixStream>,
    request: Request,
    /// What each client sends; not touched until its answer is there.
    requests: Vec<Vec<u8>>,
    entries: Box<[Page]>,
    memory: Vec<u8>,
    count: u16,
    tail: u16,
    /// Sends ordered since the last wait: they complete at once, and mean nothing.
    sends: usize,
    keys: u64,
    random: u64,
}

/// The ring of buffers begins at a page.
#[repr(C, align(4096))]
struct Page([u8; 4096]);

impl Bare {
    fn new(streams: Vec<UnixStream>, request: Request, keys: u64) -> anyhow::Result<Self> {
        let clients = streams.len();
        let entries = (2 * clients).next_power_of_two().clamp(64, 4096) as u32;
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_clamp()
            .setup_cqsize(4 * entries)
            .build(entries)
            .context(REFUSED)?;
        let count = clients.next_power_of_two().clamp(16, 4096) as u16;
        let pages = (usize::from(count) * size_of::<BufRingEntry>()).div_ceil(size_of::<Page>());
        let mut bare = Self {
            ring,
            streams,
            request,
            requests: vec![Vec::with_capacity(128); clients],
            entries: (0..pages).map(|_| Page([0; 4096])).collect(),
            memory: vec![0; usize::from(count) * SIZE],
            count,
            tail: 0,
            sends: 0,
            keys,
            random: 88_172_645_463_325_252,
        };
        let start = bare.entries.as_mut_ptr() as u64;
        // SAFETY: a zeroed, page-aligned array of `count` entries, which outlives the ring.
        unsafe { bare.ring.submitter().register_buf_ring_with_flags(start, count, GROUP, 0) }
            .context(REFUSED)?;
        for number in 0..count {
            bare.give_back(number);
        }
        Ok(bare)
    }

    /// Transactions until no client has one under way, the last begun before `length` was over.
    fn run(&mut self, start: Instant, length: Duration) -> anyhow::Result<u64> {
        for client in 0..self.streams.len() {
            self.receive(client);
            self.send(client);
        }
        let (mut done, mut under_way) = (0, self.streams.len());
        let mut completions: Vec<(u64, i32, u32)> = Vec::new();
        while under_way > 0 {
            self.ring.submit_and_wait(1 + std::mem::take(&mut self.sends))?;
            completions.extend(
                self.ring.completion().map(|entry| (entry.user_data(), entry.result(), entry.flags())),
            );
            let go_on = start.elapsed() < length;
            for (token, result, flags) in completions.drain(..) {
                let client = (token & !SENT) as usize;
                if token & SENT != 0 {
                    if result != self.requests[client].len() as i32 {
                        bail!("a send gave {result}");
                    }
                    continue;
                }
                if self.answered(client, result, flags)? {
                    done += 1;
                    if go_on {
                        self.send(client);
                    } else {
                        under_way -= 1;
                    }
                }
            }
        }
        Ok(done)
    }

    /// Takes what a receive gave; whether it was an answer. All that is not one in full ends the run: answers are much
    /// smaller than what a server sends at once.
    fn answered(&mut self, client: usize, result: i32, flags: u32) -> anyhow::Result<bool> {
        if !cqueue::more(flags) {
            self.receive(client);
        }
        let Some(number) = cqueue::buffer_select(flags) else {
            if result == -libc::ENOBUFS {
                return Ok(false);
            }
            bail!("a receive gave {result}");
        };
        let start = usize::from(number) * SIZE;
        let bytes = &self.memory[start..start + result.clamp(0, SIZE as i32) as usize];
        if !is_answer(bytes) {
            bail!("not an answer: {}", String::from_utf8_lossy(bytes));
        }
        self.give_back(number);
        Ok(true)
    }

    fn send(&mut self, client: usize) {
        // xorshift64 (Marsaglia 2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let request = &mut self.requests[client];
        request.clear();
        (self.request)(1 + self.random % self.keys, request);
        let descriptor = Fd(self.streams[client].as_raw_fd());
        let send = opcode::Send::new(descriptor, request.as_ptr(), request.len() as u32)
            .flags(libc::MSG_WAITALL | libc::MSG_NOSIGNAL)
            .build();
        self.order(&send.user_data(client as u64 | SENT));
        self.sends += 1;
    }

    fn receive(&mut self, client: usize) {
        let receive = opcode::RecvMulti::new(Fd(self.streams[client].as_raw_fd()), GROUP).build();
        self.order(&receive.user_data(client as u64));
    }

    fn order(&mut self, entry: &squeue::Entry) {
        // SAFETY: streams and requests live as long as the ring, and a request stays as it is until it is answered.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            let _ = self.ring.submit();
        }
    }

    /// Gives a buffer to the kernel again.
    fn give_back(&mut self, number: u16) {
        let entries = self.entries.as_mut_ptr().cast::<BufRingEntry>();
        let address = self.memory[usize::from(number) * SIZE..].as_mut_ptr();
        // SAFETY: the slot is inside the array; the kernel reads an entry only after the tail has passed it.
        let entry = unsafe { &mut *entries.add(usize::from(self.tail & (self.count - 1))) };
        entry.set_addr(address as u64);
        entry.set_len(SIZE as u32);
        entry.set_bid(number);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in the first entry and is shared with the kernel; an atomic store of an aligned u16.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(entries).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}
