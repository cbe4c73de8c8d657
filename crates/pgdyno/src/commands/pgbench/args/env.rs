//! What reading a command line needs of the process around it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::time::SystemTime;

use rustix::process::{Resource, getrlimit};

/// Why a script cannot be had.
#[derive(Debug)]
pub(crate) enum ReadFault {
    Open(io::Error),
    Read(io::Error),
}

/// The world around a command line: [`Process`], or a made-up one in tests.
pub(crate) trait Env {
    /// How the program was called, for messages that name it so.
    fn called(&self) -> String;
    fn variable(&self, name: &str) -> Option<OsString>;
    /// A script; `-` is standard input.
    ///
    /// # Errors
    /// It cannot be opened or read.
    fn read(&self, path: &OsStr) -> Result<Vec<u8>, ReadFault>;
    /// The time, µs.
    fn now_us(&self) -> u64;
    /// Strong randomness.
    ///
    /// # Errors
    /// The system has none.
    fn strong(&self) -> io::Result<u64>;
    /// How many files the process may open at most; `None` for any number.
    fn open_files(&self) -> Option<u64>;
}

#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) called: String,
}

impl Env for Process {
    fn called(&self) -> String {
        self.called.clone()
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name)
    }

    fn read(&self, path: &OsStr) -> Result<Vec<u8>, ReadFault> {
        let mut text = Vec::new();
        if path == "-" {
            io::stdin().lock().read_to_end(&mut text).map_err(ReadFault::Read)?;
        } else {
            let mut file = File::open(path).map_err(ReadFault::Open)?;
            file.read_to_end(&mut text).map_err(ReadFault::Read)?;
        }
        Ok(text)
    }

    fn now_us(&self) -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    fn strong(&self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    fn open_files(&self) -> Option<u64> {
        getrlimit(Resource::Nofile).maximum
    }
}
