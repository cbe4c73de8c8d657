//! The environment that parsing needs.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::time::SystemTime;

use rustix::process::{Resource, getrlimit};

#[derive(Debug)]
pub(crate) enum ReadFault {
    Open(io::Error),
    Read(io::Error),
}

/// The environment of a command line: [`Process`], or a fake in tests.
pub(crate) trait Env {
    /// The name that the program was called by, for messages.
    fn called(&self) -> String;
    fn variable(&self, name: &str) -> Option<OsString>;
    /// Reads a script; `-` is standard input.
    fn read(&self, path: &OsStr) -> Result<Vec<u8>, ReadFault>;
    fn now_us(&self) -> u64;
    /// Strong randomness; an error if the system has none.
    fn strong(&self) -> io::Result<u64>;
    /// Most files that the process may open; `None`: no limit.
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
