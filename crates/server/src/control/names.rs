//! Looks host names up again while a load runs, to follow a server that moves to another address.
//!
//! pgbench looks its host up for each connection, and waits for the answer. Here a separate thread does it,
//! at most once per second and only while clients connect; the result applies to later connections.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use protocol::postgres::HostName;

/// Time between two look-ups of a name.
const PAUSE: Duration = Duration::from_secs(1);

/// Looks names up until it is dropped; dropping it does not wait for a silent name service.
#[derive(Debug)]
pub struct Names {
    _stop: mpsc::Sender<()>,
}

impl Names {
    /// Follows these names, which may contain duplicates; `None` where there are none.
    #[must_use]
    pub fn follow(names: Vec<Arc<HostName>>) -> Option<Self> {
        let look_up = |host: &str, port| (host, port).to_socket_addrs().map(Iterator::collect);
        // Without a thread the addresses stay the same.
        (!names.is_empty()).then(|| Self::start(names, PAUSE, look_up).ok()).flatten()
    }

    fn start(
        names: Vec<Arc<HostName>>,
        pause: Duration,
        look_up: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        thread::Builder::new().name("names".to_owned()).spawn(move || {
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                for name in names.iter().filter(|name| name.take_wanted()) {
                    // A failing name service may recover.
                    let Ok(addresses) = look_up(name.host(), name.port()) else { continue };
                    let same = names.iter().filter(|other| is_same(other, name));
                    same.for_each(|other| other.set(addresses.clone()));
                }
            }
        })?;
        Ok(Self { _stop: stop })
    }
}

fn is_same(a: &HostName, b: &HostName) -> bool {
    (a.host(), a.port()) == (b.host(), b.port())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Instant;

    use protocol::postgres::NamedAddress;

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    fn at(last: u8) -> SocketAddr {
        ([192, 0, 2, last], 5432).into()
    }

    fn name() -> Arc<HostName> {
        Arc::new(HostName::new("db".to_owned(), 5432, vec![at(1)]))
    }

    /// Where a client that reconnects goes next, once that is not `last`.
    fn moved(address: &mut NamedAddress, last: SocketAddr) -> SocketAddr {
        let start = Instant::now();
        loop {
            if let Some(now) = address.moved(last) {
                return now;
            }
            assert!(start.elapsed() < SOON, "still {last}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_host_is_looked_up_more_than_once_in_a_run() {
        let (one, same) = (name(), name());
        let answers: Vec<io::Result<Vec<SocketAddr>>> =
            vec![Ok(vec![at(1)]), Err(io::ErrorKind::TimedOut.into()), Ok(vec![at(2)]), Ok(Vec::new())];
        let answers = Mutex::new(answers.into_iter());
        let look_up = move |host: &str, port: u16| {
            assert_eq!((host, port), ("db", 5432));
            answers.lock().unwrap().next().unwrap_or_else(|| Ok(vec![at(3)]))
        };
        let mut first = NamedAddress::new(Arc::clone(&one), 0);
        let mut second = NamedAddress::new(Arc::clone(&same), 0);
        let names = Names::start(vec![one, same], Duration::from_millis(1), look_up).unwrap();
        assert_eq!(moved(&mut first, at(1)), at(2), "the same address, and no answer, changed nothing");
        assert_eq!(moved(&mut first, at(2)), at(3));
        drop(names);
        assert_eq!(second.moved(at(1)), Some(at(3)), "looked up for another, of the same name");
    }

    #[test]
    fn nobody_looks_up_a_name_that_nobody_connects_to_nor_waits_for_a_silent_name_service() {
        let (asked, hears) = mpsc::channel();
        let look_up = move |_: &str, _| {
            asked.send(()).unwrap();
            thread::sleep(SOON);
            Ok(Vec::new())
        };
        let name = name();
        let names = Names::start(vec![Arc::clone(&name)], Duration::from_millis(1), look_up).unwrap();
        assert!(hears.recv_timeout(Duration::from_millis(50)).is_err());
        let mut address = NamedAddress::new(name, 0);
        assert_eq!(address.moved(at(1)), None);
        hears.recv_timeout(SOON).expect("looked up");
        let start = Instant::now();
        drop(names);
        assert!(start.elapsed() < SOON / 2);
    }
}
