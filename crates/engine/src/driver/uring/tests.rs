use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Instant;

use super::*;
use crate::client::Address;
use crate::driver::portable::connect::tests::{endpoint_with_options, options_of};

const SECOND: Time = 1_000_000_000;

/// Two open connections and their peers; `None` where the system has no io_uring.
fn two_connections() -> Option<(Uring, [UnixStream; 2])> {
    let mut driver = Uring::new(2, 0, Epoch::start()).ok()?;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let peers = [0, 1].map(|conn| {
        driver.connect(conn, &Endpoint::plain(Address::Unix(path.clone())));
        let opened = take(&mut driver, SECOND).expect("connected");
        assert_eq!(opened, (conn, Vec::new()));
        listener.accept().unwrap().0
    });
    Some((driver, peers))
}

/// The next thing that happens by then: bytes of a connection, or none when it was opened.
fn take(driver: &mut Uring, within: Time) -> Option<(Conn, Vec<u8>)> {
    let now = driver.epoch.now();
    driver.wait(now, now + within).unwrap();
    match driver.next()? {
        (conn, Happened::Bytes(bytes)) => Some((conn, bytes.to_vec())),
        (conn, Happened::Opened) => Some((conn, Vec::new())),
        (conn, Happened::Closed(error)) => panic!("{conn} closed: {error:?}"),
    }
}

#[test]
fn a_completed_send_ends_no_wait() {
    let Some((mut driver, _peers)) = two_connections() else { return };
    driver.send(0, &mut b"hello".to_vec());
    let start = Instant::now();
    assert_eq!(take(&mut driver, 5_000_000), None);
    assert!(start.elapsed() >= Duration::from_millis(4), "{:?}", start.elapsed());
}

/// Sends one more small piece on the first connection; whether the system took it at once.
fn send_small(driver: &mut Uring) -> bool {
    driver.send(0, &mut vec![0; SMALL]);
    driver.wait(driver.epoch.now(), 0).unwrap();
    while driver.next().is_some() {}
    !driver.sockets[0].busy
}

#[test]
fn a_send_that_has_to_wait_holds_back_the_others_only_for_moments() {
    let Some((mut driver, mut peers)) = two_connections() else { return };
    // How much the system takes for a peer that does not read.
    let mut fit = 0;
    while send_small(&mut driver) {
        fit += 1;
        assert!(fit < 100_000, "a socket without a bound");
    }
    // The piece that waits goes out in a wait of the driver, once there is room.
    peers[0].read_exact(&mut vec![0; fit * SMALL]).unwrap();
    assert_eq!(take(&mut driver, 50_000_000), None);
    peers[0].read_exact(&mut vec![0; SMALL]).unwrap();
    for _ in 0..fit {
        assert!(send_small(&mut driver));
    }
    // This one does not fit, and that is known only when it is too late.
    driver.send(0, &mut vec![0; SMALL]);
    peers[1].write_all(b"answer").unwrap();
    let start = Instant::now();
    assert_eq!(take(&mut driver, 5 * SECOND), Some((1, b"answer".to_vec())));
    assert!(driver.sockets[0].busy);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn tcp_keepalive_settings_reach_the_socket() {
    let Ok(mut driver) = Uring::new(1, 0, Epoch::start()) else { return };
    let (_listener, endpoint) = endpoint_with_options();
    driver.connect(0, &endpoint);
    assert_eq!(take(&mut driver, SECOND), Some((0, Vec::new())));
    let fd = driver.sockets[0].fd.as_ref().expect("open");
    assert_eq!(options_of(fd), endpoint.tcp);
}
