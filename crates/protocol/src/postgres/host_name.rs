//! A host's name and its addresses, which may change between connections.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A name and the addresses of its last look-up, shared by all that connect to it. A connection reads them
/// and sets a flag; another thread then looks the name up again ([`HostName::take_wanted`],
/// [`HostName::set`]).
#[derive(Debug)]
pub struct HostName {
    host: String,
    port: u16,
    addresses: Mutex<Vec<SocketAddr>>,
    /// Incremented with each change of the addresses.
    version: AtomicU64,
    wanted: AtomicBool,
}

impl HostName {
    /// A name and the result of its look-up.
    #[must_use]
    pub fn new(host: String, port: u16, addresses: Vec<SocketAddr>) -> HostName {
        HostName {
            host,
            port,
            addresses: Mutex::new(addresses),
            version: AtomicU64::new(0),
            wanted: AtomicBool::new(false),
        }
    }

    /// The name as given, without the port.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port of its addresses.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether anybody connected to one of its addresses since the last call.
    pub fn take_wanted(&self) -> bool {
        self.wanted.swap(false, Ordering::Relaxed)
    }

    /// Stores another look-up's result; an empty one changes nothing.
    pub fn set(&self, addresses: Vec<SocketAddr>) {
        let mut known = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if !addresses.is_empty() && *known != addresses {
            *known = addresses;
            self.version.fetch_add(1, Ordering::Release);
        }
    }
}

/// One of a name's addresses.
#[derive(Debug, Clone)]
pub struct NamedAddress {
    name: Arc<HostName>,
    /// Its index in the first look-up.
    nth: usize,
    /// The version last seen.
    seen: u64,
}

impl NamedAddress {
    /// The `nth` address of a name that was just looked up.
    #[must_use]
    pub fn new(name: Arc<HostName>, nth: usize) -> NamedAddress {
        NamedAddress { name, nth, seen: 0 }
    }

    /// The name, shared by all that connect to it.
    #[must_use]
    pub fn name(&self) -> &Arc<HostName> {
        &self.name
    }

    /// Where to connect instead of `last`, if that is no longer an address of the name. Call it before each
    /// new connection.
    pub fn moved(&mut self, last: SocketAddr) -> Option<SocketAddr> {
        // Read first: all threads can then keep the flag in their caches.
        if !self.name.wanted.load(Ordering::Relaxed) {
            self.name.wanted.store(true, Ordering::Relaxed);
        }
        let version = self.name.version.load(Ordering::Acquire);
        if std::mem::replace(&mut self.seen, version) == version {
            return None;
        }
        let addresses = self.name.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if addresses.contains(&last) {
            return None;
        }
        addresses.get(self.nth % addresses.len().max(1)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(last: u8) -> SocketAddr {
        ([192, 0, 2, last], 5432).into()
    }

    #[test]
    fn an_address_that_its_name_has_no_more_is_replaced() {
        let name = Arc::new(HostName::new("db".to_owned(), 5432, vec![at(1), at(2)]));
        let [mut first, mut second] = [0, 1].map(|nth| NamedAddress::new(Arc::clone(&name), nth));
        assert!(!name.take_wanted());
        assert_eq!(first.moved(at(1)), None);
        assert!(name.take_wanted() && !name.take_wanted());

        name.set(vec![at(2), at(3)]);
        assert_eq!((first.moved(at(1)), second.moved(at(2))), (Some(at(2)), None));
        name.set(vec![at(4), at(5)]);
        assert_eq!((first.moved(at(2)), second.moved(at(2))), (Some(at(4)), Some(at(5))));
        name.set(vec![at(6)]);
        assert_eq!((first.moved(at(4)), second.moved(at(5))), (Some(at(6)), Some(at(6))));
        assert_eq!(first.moved(at(6)), None);
    }

    #[test]
    fn a_look_up_that_finds_nothing_changes_nothing() {
        let name = Arc::new(HostName::new("db".to_owned(), 5432, vec![at(1)]));
        let mut address = NamedAddress::new(Arc::clone(&name), 0);
        name.set(Vec::new());
        assert_eq!(address.moved(at(1)), None);
    }
}
