//! Waits for servers that fall silent: none of them is for ever, and the user ends each of them.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol::Address;
use protocol::postgres::Login;
use protocol::postgres::Place;
use protocol::postgres::sql::{Sql, Supply, long};
use spec::Error;

use super::{ConnectFailure, Control, Pooling, Timeouts};
use crate::stop::Stop;

/// The bound of these tests; waits end after it, and not long after it.
const BOUND: Duration = Duration::from_millis(300);
/// What a wait may take in all on a busy machine.
const SOON: Duration = Duration::from_secs(5);
/// The process the fake server says it is.
const PID: u32 = 4_100_000;

/// What a fake server does with a statement.
#[derive(Clone)]
enum Act {
    /// Nothing, for ever.
    Silence,
    /// One row with these values, after a while.
    Row(Vec<Option<&'static str>>, Duration),
    /// An answer without rows.
    NoRow,
    /// The beginning of an answer, and nothing more.
    Half,
    /// These bytes, and the end of an answer.
    Bytes(Vec<u8>),
    /// It asks for COPY data and reads none.
    DeafCopy,
}

fn row(values: &[&'static str]) -> Act {
    Act::Row(values.iter().map(|value| Some(*value)).collect(), Duration::ZERO)
}

/// A server that logs everyone in; `None` for a connection that is never spoken to.
struct Fake {
    place: Place,
    _folder: tempfile::TempDir,
}

impl Fake {
    /// `act` is given the number of the connection and the statement.
    fn start(act: impl Fn(usize, &str) -> Option<Act> + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let act = Arc::new(act);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (Ok(stream), act) = (stream, Arc::clone(&act)) else { return };
                std::thread::spawn(move || drop(serve(stream, &|sql| act(number, sql))));
            }
        });
        let address = Address::Unix(path);
        let login = Arc::new(Login::new("ann", "shop"));
        Self { place: Place::new(address, login), _folder: folder }
    }

    /// A server that does the same on all connections.
    fn always(act: Act) -> Self {
        Self::start(move |_, _| Some(act.clone()))
    }

    /// A server that does this with the user's statements, and answers the checks with a row.
    fn looked_at(statement: Act, activity: &'static [&'static str]) -> Self {
        Self::start(move |_, sql| {
            Some(match sql {
                sql if sql.contains("pg_backend_pid") => row(&["4100000"]),
                sql if sql.contains("pg_stat_activity") => row(activity),
                _ => statement.clone(),
            })
        })
    }

    fn open(&self, timeouts: &Timeouts) -> Result<Control, Error> {
        Control::open_with(&self.place, Some(BOUND), timeouts.clone())
    }
}

fn serve(mut stream: UnixStream, act: &dyn Fn(&str) -> Option<Act>) -> std::io::Result<()> {
    let mut startup = [0; 4];
    stream.read_exact(&mut startup)?;
    let mut rest = vec![0; u32::from_be_bytes(startup) as usize - 4];
    stream.read_exact(&mut rest)?;
    if rest.starts_with(&80_877_102_u32.to_be_bytes()) {
        return Ok(());
    }
    if act("login").is_none() {
        return silence(&stream);
    }
    stream.write_all(&message(b'R', &0_u32.to_be_bytes()))?;
    stream.write_all(&message(b'K', &[PID.to_be_bytes(), 7_u32.to_be_bytes()].concat()))?;
    stream.write_all(&message(b'Z', b"I"))?;
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let mut body = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4];
        stream.read_exact(&mut body)?;
        let sql = String::from_utf8_lossy(&body).into_owned();
        match act(&sql).unwrap_or(Act::Silence) {
            Act::Silence => return silence(&stream),
            Act::Half => {
                stream.write_all(&[b'T', 0, 0])?;
                return silence(&stream);
            }
            Act::DeafCopy => {
                stream.write_all(&message(b'G', &[0, 0, 0]))?;
                return silence(&stream);
            }
            Act::Bytes(bytes) => {
                stream.write_all(&[bytes, message(b'C', b"DO\0"), message(b'Z', b"I")].concat())?;
            }
            Act::NoRow => stream.write_all(&[message(b'C', b"SELECT 0\0"), message(b'Z', b"I")].concat())?,
            Act::Row(values, after) => {
                std::thread::sleep(after);
                stream.write_all(&answer(&values))?;
            }
        }
    }
}

/// Sends and reads nothing until the test is over.
fn silence(_stream: &UnixStream) -> std::io::Result<()> {
    std::thread::sleep(Duration::from_secs(60));
    Err(ErrorKind::TimedOut.into())
}

fn answer(values: &[Option<&str>]) -> Vec<u8> {
    let count = (values.len() as u16).to_be_bytes();
    let mut columns = count.to_vec();
    for _ in values {
        columns.extend(b"c\0");
        columns.extend([0; 18]);
    }
    let mut data = count.to_vec();
    for value in values {
        match value {
            None => data.extend((-1_i32).to_be_bytes()),
            Some(value) => {
                data.extend((value.len() as u32).to_be_bytes());
                data.extend(value.as_bytes());
            }
        }
    }
    [message(b'T', &columns), message(b'D', &data), message(b'C', b"SELECT 1\0"), message(b'Z', b"I")]
        .concat()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    out.extend((body.len() as u32 + 4).to_be_bytes());
    out.extend(body);
    out
}

/// Short timeouts, and the switch that ends its waits.
fn timeouts() -> (Timeouts, Stop) {
    let stop = Stop::new();
    let timeouts =
        Timeouts { stop: stop.clone(), answer: Some(BOUND), look_after: Some(BOUND), look_bound: BOUND };
    (timeouts, stop)
}

/// Timeouts that only the user ends, who presses after a while.
fn pressed() -> Timeouts {
    let stop = Stop::new();
    let presser = stop.clone();
    std::thread::spawn(move || {
        std::thread::sleep(BOUND);
        presser.press();
    });
    let hour = Duration::from_secs(3600);
    Timeouts { stop, answer: Some(hour), look_after: Some(hour), look_bound: hour }
}

#[track_caller]
fn assert_soon(start: Instant) {
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[test]
fn a_server_that_is_silent_after_the_login_is_found_by_the_bound() {
    let fake = Fake::always(Act::Silence);
    let start = Instant::now();
    let mut control = fake.open(&timeouts().0).unwrap();
    let error = control.scalar("SHOW server_version").unwrap_err();
    assert_eq!(error.sqlstate, None);
    assert!(error.text.contains("has not answered \"SHOW server_version\" for"), "{error}");
    assert!(error.text.contains("nor a second connection") && error.text.contains("see to it"), "{error}");
    // The connection is unusable, and reports it at once.
    let again = Instant::now();
    assert_eq!(control.execute("ROLLBACK").unwrap_err(), error);
    drop(control);
    assert!(again.elapsed() < BOUND);
    assert_soon(start);
}

#[test]
fn what_a_second_connection_sees_is_told() {
    let waiting: &[&str] = &["active", "Lock: relation", "2026-01-01"];
    let fake = Fake::looked_at(Act::Silence, waiting);
    let error = fake.open(&timeouts().0).unwrap().scalar("SELECT 1").unwrap_err().text;
    let wanted = "its process 4100000 is active, waiting for Lock: relation: see what holds that up";
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn half_a_message_is_no_answer() {
    let fake = Fake::always(Act::Half);
    let start = Instant::now();
    let error = fake.open(&timeouts().0).unwrap().scalar("SELECT 1").unwrap_err();
    assert!(error.text.contains("has not answered"), "{error}");
    assert_soon(start);
}

#[test]
fn a_server_that_is_silent_from_the_start_is_found_by_the_bound() {
    let fake = Fake::start(|_, _| None);
    let start = Instant::now();
    let error = fake.open(&timeouts().0).unwrap_err();
    assert!(error.attached() == Some(&ConnectFailure::TimedOut), "{error}");
    assert_soon(start);
}

#[test]
fn the_user_ends_every_wait() {
    let start = Instant::now();
    let error = Fake::start(|_, _| None).open(&pressed());
    // Logging in has the bound of the caller here, so it may be that as well.
    let error = error.unwrap_err();
    assert!(error.is_stopped() || error.attached() == Some(&ConnectFailure::TimedOut), "{error}");
    for act in [Act::Silence, Act::Half] {
        let fake = Fake::looked_at(act.clone(), &["active", "x", "y"]);
        let error = fake.open(&pressed()).unwrap().scalar("SELECT 1").unwrap_err();
        assert_eq!(error.text, "stopped");
        let error = long(&mut fake.open(&pressed()).unwrap()).execute("VACUUM").unwrap_err();
        assert_eq!(error.text, "stopped");
    }
    let fake = Fake::looked_at(Act::DeafCopy, &["active", "x", "y"]);
    let mut control = fake.open(&pressed()).unwrap();
    let fill = &mut |data: &mut Vec<u8>| {
        data.resize(1 << 16, b'x');
        Supply::More
    };
    assert_eq!(control.copy_in("COPY t FROM STDIN", fill).unwrap_err().text, "stopped");
    assert!(start.elapsed() < 2 * SOON, "{:?}", start.elapsed());
    // Nothing new is asked after it.
    let (timeouts, stop) = timeouts();
    let mut control = Fake::always(row(&["1"])).open(&timeouts).unwrap();
    stop.press();
    assert_eq!(control.scalar("SELECT 1").unwrap_err().text, "stopped");
    // But what puts things in order is.
    let _concluding = stop.concluding();
    assert_eq!(control.scalar("SELECT 1").unwrap().as_deref(), Some("1"));
}

#[test]
fn what_puts_things_in_order_after_a_stop_does_not_wait_long() {
    let fake = Fake::always(Act::Silence);
    let hour = Some(Duration::from_secs(3600));
    let (short, stop) = timeouts();
    let timeouts = Timeouts { answer: hour, look_after: hour, ..short };
    let mut control = fake.open(&timeouts).unwrap();
    stop.press();
    let _concluding = stop.concluding();
    let start = Instant::now();
    assert!(control.scalar("SELECT 1").unwrap_err().text.contains("has not answered"));
    assert!(start.elapsed() >= super::HURRY - BOUND && start.elapsed() < SOON);
}

#[test]
fn long_work_may_take_longer_than_the_bound_while_its_server_lives() {
    let slow = Act::Row(vec![Some("done")], 5 * BOUND);
    let fake = Fake::looked_at(slow, &["active", "IO: DataFileRead", "2026-01-01"]);
    let mut control = fake.open(&timeouts().0).unwrap();
    assert_eq!(long(&mut control).scalar("SELECT slow()").unwrap().as_deref(), Some("done"));
    // The same without `long` would have been given up.
    assert!(control.scalar("SELECT slow()").unwrap_err().text.contains("has not answered"));
}

#[test]
fn long_work_ends_when_a_second_connection_gets_no_answer() {
    let fake = Fake::start(|number, sql| match (number, sql) {
        (0, sql) if sql.contains("pg_backend_pid") => Some(row(&["4100000"])),
        (0, _) => Some(Act::Silence),
        // Silent from the start on.
        _ => None,
    });
    let start = Instant::now();
    let error = long(&mut fake.open(&timeouts().0).unwrap()).execute("VACUUM").unwrap_err().text;
    assert!(
        error.contains("has not answered \"VACUUM\"") && error.contains("nor a second connection"),
        "{error}"
    );
    assert_soon(start);
}

#[test]
fn long_work_ends_when_its_process_is_gone() {
    let fake = Fake::start(|_, sql| {
        Some(match sql {
            sql if sql.contains("pg_backend_pid") => row(&["4100000"]),
            sql if sql.contains("pg_stat_activity") => Act::NoRow,
            _ => Act::Silence,
        })
    });
    let start = Instant::now();
    let error = long(&mut fake.open(&timeouts().0).unwrap()).execute("VACUUM").unwrap_err().text;
    assert!(error.contains("its process 4100000 is gone"), "{error}");
    assert_soon(start);
}

#[test]
fn long_work_ends_when_its_answer_was_lost_on_the_way() {
    let fake = Fake::looked_at(Act::Silence, &["idle", "Client: ClientRead", "2026-01-01"]);
    let start = Instant::now();
    let error = long(&mut fake.open(&timeouts().0).unwrap()).execute("VACUUM").unwrap_err().text;
    assert!(error.contains("its process 4100000 says that it is done"), "{error}");
    assert_soon(start);
}

#[test]
fn behind_a_pooler_only_the_login_is_asked_of_a_second_connection() {
    // The process behind it is another one than it said, and another one each time.
    let slow = Act::Row(vec![Some("done")], 5 * BOUND);
    let fake = Fake::start(move |_, sql| {
        Some(match sql {
            sql if sql.contains("pg_backend_pid") => row(&["77"]),
            sql if sql.contains("pg_stat_activity") => Act::Silence,
            _ => slow.clone(),
        })
    });
    let mut control = fake.open(&timeouts().0).unwrap();
    assert_eq!(long(&mut control).scalar("SELECT slow()").unwrap().as_deref(), Some("done"));
}

/// The process that was announced is 4100000.
#[test]
fn a_pooler_shows_by_the_processes_that_serve_its_clients() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    type Serves = fn(usize, usize) -> Option<&'static str>;
    let cases: [(Serves, Pooling); 6] = [
        (|_, _| Some("4100000"), Pooling::None),
        // Two connections, one process.
        (|_, _| Some("77"), Pooling::Transaction),
        (|connection, _| Some(["77", "78"][connection]), Pooling::Session),
        // One connection, two processes; the first question is that for the connection's own.
        (
            |connection, asked| Some(["77", "78", "79"][if asked > 4 { 2 } else { connection }]),
            Pooling::Transaction,
        ),
        // The only server connection is the first client's.
        (|connection, _| (connection == 0).then_some("77"), Pooling::Session),
        (|_, _| Some("no number"), Pooling::None),
    ];
    for (number, (serves, wanted)) in cases.into_iter().enumerate() {
        let asked = AtomicUsize::new(0);
        let fake = Fake::start(move |connection, sql| {
            let serving = match sql {
                "login" => None,
                _ => Some(serves(connection, asked.fetch_add(1, Ordering::Relaxed))),
            };
            Some(serving.flatten().map_or(Act::Silence, |pid| row(&[pid])))
        });
        let timeouts = Timeouts { answer: Some(SOON), ..timeouts().0 };
        let mut control = fake.open(&timeouts).unwrap();
        assert_eq!(control.pooling().unwrap(), wanted, "case {number}");
    }
}

#[test]
fn pgbench_s_timeouts_are_unlimited() {
    let fake = Fake::always(Act::Row(vec![Some("1")], 2 * BOUND));
    let mut control = fake.open(&Timeouts { stop: Stop::new(), ..Timeouts::endless() }).unwrap();
    assert_eq!(control.scalar("SELECT 1").unwrap().as_deref(), Some("1"));
}

/// Nobody asks a connection that watches a run for them, and they were all kept.
#[test]
fn notices_that_nobody_asks_for_do_not_pile_up() {
    let notice = message(b'N', format!("SNOTICE\0C00000\0M{}\0\0", "n".repeat(300_000)).as_bytes());
    let fake = Fake::always(Act::Bytes(notice.repeat(2)));
    let mut control = fake.open(&timeouts().0).unwrap();
    for _ in 0..20 {
        control.query("DO").unwrap();
    }
    let kept = control.take_notices();
    assert_eq!(kept.len(), 4);
    assert!(kept[3].contains("left out") && kept.iter().map(String::len).sum::<usize>() < 1 << 20);
}

#[test]
fn an_answer_that_is_too_long_ends_the_connection() {
    let row = message(b'D', &[&300_u16.to_be_bytes()[..], &[255; 1200]].concat());
    let fake = Fake::always(Act::Bytes(row.repeat(60_000)));
    let timeouts = Timeouts { answer: Some(Duration::from_secs(60)), ..timeouts().0 };
    let mut control = fake.open(&timeouts).unwrap();
    let error = control.query("SELECT 1").unwrap_err();
    assert!(error.text.contains("limit of 64 MB") && error.text.contains("PGDYNO_MAX_ANSWER"), "{error}");
    assert_eq!(
        control.query("SELECT 1").unwrap_err(),
        error,
        "what follows would be the rest of that answer"
    );
}
