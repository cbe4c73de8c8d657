//! A web server for tests, with a mirror of Geofabrik's files and with faults to order.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use md5::{Digest, Md5};

/// The index with a few extracts.
pub const INDEX: &[u8] = include_bytes!("../data/geofabrik/index-v1-nogeom.json");
/// Where Malta's extract is.
pub const MALTA: &str = "/europe/malta-latest.osm.pbf";

/// What goes wrong with one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends after so many bytes of the body.
    Cut(usize),
    /// Nothing more comes after so many bytes of the body.
    Silent(usize),
    Status(u16),
}

/// A file of the server.
#[derive(Debug, Clone)]
pub struct File {
    pub bytes: Vec<u8>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    pub content_type: &'static str,
    /// Whether the server supports ranges.
    pub ranges: bool,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, File>,
    redirects: BTreeMap<String, String>,
    faults: BTreeMap<String, VecDeque<Fault>>,
    asked: Vec<String>,
    ended: bool,
}

/// The server; it ends with this value.
pub struct Mirror {
    address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Mirror {
    /// A mirror with an index, and Malta with its sum.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let mirror = Self { address, state: Arc::default() };
        let state = Arc::clone(&mirror.state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if state.0.lock().expect("state").ended {
                    return;
                }
                let state = Arc::clone(&state);
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        mirror.put("/index-v1-nogeom.json", File::of(INDEX));
        mirror.publish(MALTA, File::of(extract(200_000)));
        mirror
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn put(&self, path: &str, file: File) {
        self.lock().files.insert(path.to_owned(), file);
    }

    /// Adds a file and its checksum.
    pub fn publish(&self, path: &str, file: File) {
        let name = path.rsplit('/').next().expect("a name");
        let sum = format!("{}  {name}\n", md5_of(&file.bytes));
        self.put(&format!("{path}.md5"), File::of(sum));
        self.put(path, file);
    }

    pub fn change(&self, path: &str, how: impl FnOnce(&mut File)) {
        how(self.lock().files.get_mut(path).expect("a file"));
    }

    pub fn redirect(&self, from: &str, to: &str) {
        self.lock().redirects.insert(from.to_owned(), to.to_owned());
    }

    /// Faults of the next answers about a path.
    pub fn spoil(&self, path: &str, faults: &[Fault]) {
        self.lock().faults.entry(path.to_owned()).or_default().extend(faults);
    }

    /// Requests since the last call: path, range and status.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().asked)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().expect("state")
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.lock().ended = true;
        self.state.1.notify_all();
        let _ = TcpStream::connect(self.address);
    }
}

impl File {
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref().to_vec();
        Self {
            etag: Some(format!("\"{}\"", &md5_of(&bytes)[..8])),
            bytes,
            last_modified: Some("Fri, 20 Nov 2026 21:21:18 GMT".to_owned()),
            content_type: "application/octet-stream",
            ranges: true,
        }
    }
}

/// MD5 sum, hex.
pub fn md5_of(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An extract of about so many bytes, as far as one can tell from the outside.
pub fn extract(bytes: usize) -> Vec<u8> {
    let mut all = blob("OSMHeader", 100);
    while all.len() < bytes {
        all.extend(blob("OSMData", 10_000));
    }
    all
}

/// A blob of zeros with its header.
fn blob(kind: &str, data: u32) -> Vec<u8> {
    let mut header = vec![0x0a, u8::try_from(kind.len()).expect("short")];
    header.extend_from_slice(kind.as_bytes());
    header.push(0x18);
    let mut rest = data;
    while rest > 0x7f {
        header.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    header.push(rest as u8);
    let mut bytes = u32::try_from(header.len()).expect("short").to_be_bytes().to_vec();
    bytes.extend_from_slice(&header);
    bytes.resize(bytes.len() + data as usize, 0);
    bytes
}

struct Asked {
    path: String,
    headers: BTreeMap<String, String>,
}

fn request(stream: &TcpStream) -> Option<Asked> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers = lines.take_while(|line| !line.is_empty());
    let headers = headers.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    Some(Asked { path, headers: headers.collect() })
}

fn serve(mut stream: TcpStream, shared: &(Mutex<State>, Condvar)) {
    let Some(asked) = request(&stream) else { return };
    let mut state = shared.0.lock().expect("state");
    let fault = state.faults.get_mut(&asked.path).and_then(VecDeque::pop_front);
    let range = asked.headers.get("range").cloned();
    let (status, headers, body) = match (fault, state.redirects.get(&asked.path)) {
        (Some(Fault::Status(status)), _) => (status, String::new(), Vec::new()),
        (_, Some(to)) => (302, format!("Location: {to}\r\n"), Vec::new()),
        _ => match state.files.get(&asked.path) {
            Some(file) => answer(file, &asked),
            None => (404, String::new(), Vec::new()),
        },
    };
    state.asked.push(format!(
        "{}{} {status}",
        asked.path,
        range.map(|r| format!(" {r}")).unwrap_or_default()
    ));
    drop(state);
    let head = format!(
        "HTTP/1.1 {status} -\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let sent = match fault {
        Some(Fault::Cut(bytes) | Fault::Silent(bytes)) => &body[..bytes.min(body.len())],
        _ => &body[..],
    };
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(sent));
    if let Some(Fault::Silent(_)) = fault {
        let state = shared.0.lock().expect("state");
        drop(shared.1.wait_while(state, |state| !state.ended));
    }
}

fn answer(file: &File, asked: &Asked) -> (u16, String, Vec<u8>) {
    let mut headers = format!("Content-Type: {}\r\n", file.content_type);
    for (name, value) in [("ETag", &file.etag), ("Last-Modified", &file.last_modified)] {
        headers += &value.as_ref().map(|value| format!("{name}: {value}\r\n")).unwrap_or_default();
    }
    let same = asked.headers.get("if-range").is_none_or(|validator| {
        file.etag.as_ref() == Some(validator) || file.last_modified.as_ref() == Some(validator)
    });
    let range = asked.headers.get("range").filter(|_| file.ranges && same);
    let start =
        range.and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
    let total = file.bytes.len();
    match start {
        None => (200, headers, file.bytes.clone()),
        Some(start) if start >= total => (416, format!("Content-Range: bytes */{total}\r\n"), Vec::new()),
        Some(start) => {
            headers += &format!("Content-Range: bytes {start}-{}/{total}\r\n", total - 1);
            (206, headers, file.bytes[start..].to_vec())
        }
    }
}
