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
fn a_send_that_has_to_wait_holds_back_no_other() {
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

/// The timer ends waits when set to their end or earlier, and is moved when it was set too late.
#[test]
fn waits_end_in_time_whatever_the_timer_was_set_to() {
    let Some((mut driver, _peers)) = two_connections() else { return };
    let in_time = |driver: &mut Uring, within: u64| {
        let start = Instant::now();
        driver.send(0, &mut b"hello".to_vec());
        assert_eq!(take(driver, within * 1_000_000), None);
        let (took, early) = (start.elapsed(), Duration::from_micros(within * 1000 - 100));
        assert!((early..Duration::from_millis(within + 300)).contains(&took), "{took:?} for {within} ms");
    };
    // It is set to the second that the last connection was given.
    for within in [20, 50, 20, 10] {
        in_time(&mut driver, within);
    }
}

#[test]
fn a_timer_set_far_ahead_is_moved_once_and_not_asked_for_in_each_wait() {
    let mut timer = Timer::default();
    let epoch = Epoch::start();
    assert!(timer.ring_by(60 * SECOND, epoch).is_some());
    assert!(timer.ring_by(SECOND, epoch).is_some(), "it would ring too late");
    assert!(timer.ring_by(SECOND, epoch).is_none());
    assert!(timer.ring_by(2 * SECOND, epoch).is_none(), "it rings before");
    timer.rang();
    assert!(timer.ring_by(2 * SECOND, epoch).is_some());
}

/// What does not fit is sent as soon as there is room, though the first try gave up at once.
#[test]
fn a_small_send_without_room_goes_out_later_as_a_whole() {
    let Some((mut driver, mut peers)) = two_connections() else { return };
    let mut sent = 0;
    while send_small(&mut driver) {
        sent += 1;
    }
    let reader = std::thread::spawn({
        let mut peer = peers[0].try_clone().unwrap();
        move || peer.read_exact(&mut vec![0; (sent + 1) * SMALL])
    });
    let end = driver.epoch.now() + 5 * SECOND;
    while driver.sockets[0].busy && driver.epoch.now() < end {
        let _ = take(&mut driver, 10_000_000);
    }
    assert!(!driver.sockets[0].busy);
    reader.join().unwrap().unwrap();
    peers[0].write_all(b"x").unwrap();
    assert_eq!(take(&mut driver, SECOND), Some((0, b"x".to_vec())));
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
