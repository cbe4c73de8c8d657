//! A system whose counters pgdyno does not read.

pub(super) enum Counters {}

impl Counters {
    pub(super) fn read(&mut self) -> Option<[f64; 2]> {
        match *self {}
    }
}

pub(super) fn open(_postmaster: u32) -> Result<Counters, String> {
    Err("pgdyno reads them on Linux only".to_owned())
}
