//! A server that falls silent: it accepts every connection, answers up to a chosen point, and then sends
//! nothing more.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::PATIENCE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    FromAccept,
    /// Once TLS was agreed on.
    BeforeTls,
    /// Once a client is logged in, before the answer to its first statement.
    AfterLogin,
    /// In the middle of its answer to the first statement.
    InAnAnswer,
}

pub struct SilentServer {
    port: u16,
    silence: Silence,
    silent: Arc<AtomicUsize>,
}

impl SilentServer {
    pub fn start(silence: Silence) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let port = listener.local_addr().expect("bound").port();
        let silent = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&silent);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let count = Arc::clone(&count);
                std::thread::spawn(move || drop(serve(stream, silence, &count)));
            }
        });
        Self { port, silence, silent }
    }

    pub fn url(&self) -> String {
        let mode = if self.silence == Silence::BeforeTls { "require" } else { "disable" };
        format!("postgres://ann@127.0.0.1:{}/shop?sslmode={mode}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits until a client waits for it.
    #[track_caller]
    pub fn wait_until_waited_for(&self) {
        let start = Instant::now();
        while self.silent.load(Ordering::SeqCst) == 0 {
            assert!(start.elapsed() < PATIENCE, "nobody came");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn serve(mut stream: TcpStream, silence: Silence, silent: &AtomicUsize) -> std::io::Result<()> {
    if silence == Silence::BeforeTls {
        stream.read_exact(&mut [0; 8])?;
        stream.write_all(b"S")?;
    } else if silence != Silence::FromAccept {
        log_in(&mut stream)?;
        let mut statement = [0; 5];
        stream.read_exact(&mut statement)?;
        if statement[0] == b'X' {
            return Ok(());
        }
        if silence == Silence::InAnAnswer {
            stream.write_all(b"T\0\0")?;
        }
    }
    silent.fetch_add(1, Ordering::SeqCst);
    // Open and unread for longer than any test takes.
    std::thread::sleep(2 * PATIENCE);
    Ok(())
}

fn log_in(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut startup = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut startup)?;
    let version = b"server_version\x0018.0\0";
    stream.write_all(b"R\0\0\0\x08\0\0\0\0S\0\0\0")?;
    stream.write_all(&[4 + version.len() as u8])?;
    stream.write_all(version)?;
    stream.write_all(b"K\0\0\0\x0c\0\x3e\x8f\xa0\0\0\0\x07Z\0\0\0\x05I")
}
