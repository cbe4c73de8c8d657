//! A real server on real sockets, in threads of the test.
//!
//! A request's body is answered with the same bytes backwards. Bodies that begin with a command word do more.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use engine::Address;

use super::frame;

/// How the server behaves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Manners {
    /// Closes the connection right after every n-th reply on it.
    pub closes_after: Option<u64>,
    /// Writes its replies byte by byte.
    pub dribbles: bool,
    /// Waits before it accepts the first connection.
    pub sleeps: Duration,
    /// Answers after this long.
    pub delay: Duration,
}

/// A running server; its threads end with the test's process.
pub struct Live {
    pub address: Address,
    pub replies: Arc<AtomicU64>,
    dead: Arc<AtomicBool>,
    links: Arc<Mutex<Vec<Cut>>>,
    _folder: Option<tempfile::TempDir>,
}

/// Cuts one connection.
type Cut = Arc<dyn Fn() + Send + Sync>;

/// A connection's two directions, as the server needs them.
pub trait Stream: Read + Write + Send {}
impl<S: Read + Write + Send> Stream for S {}

impl Live {
    /// A server on a Unix-domain socket.
    pub fn unix(manners: Manners) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let (live, parts) = Self::parts(Address::Unix(path), Some(folder));
        thread::spawn(move || {
            thread::sleep(manners.sleeps);
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let handle = stream.try_clone().unwrap();
                let cut = Arc::new(move || drop(handle.shutdown(std::net::Shutdown::Both)));
                if !parts.welcome(cut, manners, move || Ok(Box::new(stream))) {
                    return;
                }
            }
        });
        live
    }

    /// A server on loopback; `dress` puts TLS on a connection, after the agreement in clear.
    pub fn tcp<F>(manners: Manners, dress: F) -> Self
    where
        F: Fn(std::net::TcpStream) -> io::Result<Box<dyn Stream>> + Clone + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (live, parts) = Self::parts(Address::Tcp(listener.local_addr().unwrap()), None);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                let handle = stream.try_clone().unwrap();
                let cut = Arc::new(move || drop(handle.shutdown(std::net::Shutdown::Both)));
                let dress = dress.clone();
                if !parts.welcome(cut, manners, move || dress(stream)) {
                    return;
                }
            }
        });
        live
    }

    fn parts(address: Address, folder: Option<tempfile::TempDir>) -> (Self, Parts) {
        let parts = Parts { replies: Arc::default(), dead: Arc::default(), links: Arc::default() };
        let (replies, dead, links) = (parts.replies.clone(), parts.dead.clone(), parts.links.clone());
        (Self { address, replies, dead, links, _folder: folder }, parts)
    }

    /// The server dies: all connections break, new ones are dropped.
    pub fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.links.lock().unwrap().iter().for_each(|cut| cut());
    }
}

struct Parts {
    replies: Arc<AtomicU64>,
    dead: Arc<AtomicBool>,
    links: Arc<Mutex<Vec<Cut>>>,
}

impl Parts {
    fn welcome<F>(&self, cut: Cut, manners: Manners, open: F) -> bool
    where
        F: FnOnce() -> io::Result<Box<dyn Stream>> + Send + 'static,
    {
        if self.dead.load(Ordering::SeqCst) {
            return false;
        }
        self.links.lock().unwrap().push(Arc::clone(&cut));
        let replies = self.replies.clone();
        // A connection that breaks ends its thread.
        thread::spawn(move || {
            let _ = open().and_then(|mut stream| serve(&mut stream, manners, &replies));
            cut();
        });
        true
    }
}

/// Reads one frame's body.
pub fn read_frame(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut body = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut body)?;
    Ok(body)
}

fn serve(stream: &mut Box<dyn Stream>, manners: Manners, replies: &AtomicU64) -> io::Result<()> {
    let mut asked = 0;
    loop {
        let mut request = read_frame(stream)?;
        if request == b"hello" {
            stream.write_all(&frame(b"hello"))?;
            stream.flush()?;
            continue;
        }
        thread::sleep(manners.delay);
        request.reverse();
        let reply = frame(&request);
        if manners.dribbles {
            for byte in &reply {
                stream.write_all(std::slice::from_ref(byte))?;
                stream.flush()?;
            }
        } else {
            stream.write_all(&reply)?;
            stream.flush()?;
        }
        asked += 1;
        replies.fetch_add(1, Ordering::SeqCst);
        if manners.closes_after.is_some_and(|n| asked == n) {
            return Ok(());
        }
    }
}
