//! The request in a line of a log: in the common and the combined format, in JSON, or in any text with a
//! path.

use serde_json::Value;

use super::path::{Named, named};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoggedRequest {
    pub(super) named: Named,
    pub(super) method: Option<String>,
    pub(super) status: Option<u16>,
}

const NOTHING: LoggedRequest = LoggedRequest { named: Named::Nothing, method: None, status: None };

const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"];

/// Keys of JSON logs (nginx, Apache, Caddy, Traefik, Envoy, Google Cloud), in lower case without `_` and `-`.
const PATHS: [&str; 9] = [
    "requesturi",
    "uri",
    "request",
    "requestpath",
    "requesturl",
    "path",
    "url",
    "originalurl",
    "xenvoyoriginalpath",
];
const METHOD: [&str; 5] = ["method", "requestmethod", "httpmethod", "verb", "reqmethod"];
const STATUS: [&str; 7] =
    ["status", "statuscode", "responsestatus", "responsecode", "downstreamstatus", "httpstatus", "code"];

pub(super) fn request(line: &str) -> LoggedRequest {
    if line.starts_with('{')
        && let Ok(value) = serde_json::from_str::<Value>(line)
    {
        return of_json(&value);
    }
    of_text(line)
}

/// The quoted request and the status after it, otherwise the first word that has a tile.
fn of_text(line: &str) -> LoggedRequest {
    let mut pieces = line.split('"');
    pieces.next();
    while let Some(quoted) = pieces.next() {
        let mut words = quoted.split_whitespace();
        if let (Some(method), Some(path)) = (words.next(), words.next())
            && METHODS.contains(&method)
        {
            let status = pieces.next().and_then(|behind| status(behind.split_whitespace().next()?));
            return LoggedRequest { named: named(path), method: Some(method.to_owned()), status };
        }
    }
    words(line)
}

fn words(line: &str) -> LoggedRequest {
    let edge = |c: char| "\"'`<>()[],;".contains(c);
    let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches(edge)).collect();
    best(words.iter().enumerate().map(|(place, word)| {
        let method = place.checked_sub(1).map(|before| words[before]).filter(|word| METHODS.contains(word));
        let behind = words[place + 1..].iter().find(|word| !word.starts_with("HTTP/"));
        // A number after a path is a status only if a method is before the path.
        let status = method.and_then(|_| status(behind?));
        LoggedRequest { named: named(word), method: method.map(str::to_owned), status }
    }))
}

/// The first request that has a tile, otherwise the first one off the map.
fn best(requests: impl Iterator<Item = LoggedRequest>) -> LoggedRequest {
    let mut best = NOTHING;
    for request in requests {
        match request.named {
            Named::Tile(_) | Named::RowFirst(_) => return request,
            Named::OffMap => best = request,
            Named::Nothing => {}
        }
    }
    best
}

fn status(word: &str) -> Option<u16> {
    word.parse().ok().filter(|status| (100..600).contains(status))
}

fn of_json(value: &Value) -> LoggedRequest {
    let mut gathered = Gathered::default();
    gathered.gather("", 0, value);
    let Gathered { mut texts, method, status } = gathered;
    // Texts under a key for paths come first.
    texts.sort_by_key(|(rank, _)| *rank);
    let request = best(texts.iter().map(|(_, text)| of_text(text)));
    LoggedRequest {
        named: request.named,
        method: request.method.or(method.map(|(_, method)| method)),
        status: request.status.or(status.map(|(_, status)| status)),
    }
}

/// How likely a key is the right one: its index among the known keys, then its depth. The smallest is the
/// likeliest.
type Rank = (usize, usize);

/// Candidates found in a JSON value.
#[derive(Default)]
struct Gathered<'a> {
    /// All texts, with how likely each is the path.
    texts: Vec<(usize, &'a str)>,
    /// By the likeliest key; the first of several.
    method: Option<(Rank, String)>,
    status: Option<(Rank, u16)>,
}

impl<'a> Gathered<'a> {
    fn gather(&mut self, key: &str, depth: usize, value: &'a Value) {
        let place = |keys: &[&str]| keys.iter().position(|known| *known == key);
        let rank = |keys: &[&str]| place(keys).map(|place| (place, depth));
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let key: String = key.chars().filter(|c| !"_-".contains(*c)).collect();
                    self.gather(&key.to_ascii_lowercase(), depth + 1, value);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.gather(key, depth + 1, value)),
            Value::Number(number) => likelier(&mut self.status, rank(&STATUS), status(&number.to_string())),
            Value::String(text) if place(&STATUS).is_some() => {
                likelier(&mut self.status, rank(&STATUS), status(text));
            }
            Value::String(text) if place(&METHOD).is_some() => {
                likelier(&mut self.method, rank(&METHOD), Some(text.clone()));
            }
            // The referring page's address may contain numbers, too.
            Value::String(text) if !key.contains("refer") => {
                self.texts.push((place(&PATHS).unwrap_or(PATHS.len()), text));
            }
            _ => {}
        }
    }
}

/// Keeps the value under the likelier key.
fn likelier<T>(kept: &mut Option<(Rank, T)>, rank: Option<Rank>, found: Option<T>) {
    if let Some((rank, found)) = rank.zip(found)
        && kept.as_ref().is_none_or(|(known, _)| rank < *known)
    {
        *kept = Some((rank, found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tile;

    const TILE: Named = Named::Tile(Tile { z: 14, x: 8851, y: 6439 });

    #[test]
    fn requests_are_read_from_many_logs() {
        let get = Some("GET");
        let cases = [
            (
                r#"::1 - - [23/Nov/2026:10:00:00 +0000] "GET /t/14/8851/6439.pbf?k=1 HTTP/1.1" 200 512 "http://a/1/1/1" "x""#,
                TILE,
                get,
                Some(200),
            ),
            (
                r#"a.example 10.0.0.1 - bob [x] "POST /t/14/8851/6439 HTTP/2.0" 404 0"#,
                TILE,
                Some("POST"),
                Some(404),
            ),
            (r#"10.0.0.1 - - [x] "-" 400 0 "-" "-""#, Named::Nothing, None, None),
            (r#"INFO: 127.0.0.1:5 - "GET /14/8851/6439 HTTP/1.1" 204 No Content"#, TILE, get, Some(204)),
            ("GET /14/8851/6439.pbf 304 1.2 ms - -", TILE, get, Some(304)),
            ("2026/11/23 [info] fetched https://a.example/14/8851/6439.mvt, 200 bytes", TILE, None, None),
            (
                r#"{"method":"GET","uri":"/v3/14/8851/6439.pbf","status":200,"referer":"https://a/1/0/1"}"#,
                TILE,
                get,
                Some(200),
            ),
            (
                r#"{"request":"GET /14/8851/6439 HTTP/1.1","status":"304","http_referer":"/1/0/1"}"#,
                TILE,
                get,
                Some(304),
            ),
            (
                r#"{"level":"info","request":{"method":"HEAD","uri":"/14/8851/6439"},"status":502}"#,
                TILE,
                Some("HEAD"),
                Some(502),
            ),
            (
                r#"{"RequestMethod":"GET","RequestPath":"/14/8851/6439.png","DownstreamStatus":206}"#,
                TILE,
                get,
                Some(206),
            ),
            (r#"{"log":"::1 - - [x] \"GET /14/8851/6439 HTTP/1.1\" 200 1"}"#, TILE, get, Some(200)),
            (
                r#"::1 - - [x] "GET /wmts?TILEROW=6439&TILECOL=8851&TILEMATRIX=14 HTTP/1.1" 200 7"#,
                TILE,
                get,
                Some(200),
            ),
            (
                r#"{"method":"GET","uri":"/wmts","args":"TILEMATRIX=14&TILEROW=6439&TILECOL=8851","status":200}"#,
                TILE,
                get,
                Some(200),
            ),
            ("{broken /14/8851/6439", TILE, None, None),
            ("/2/4/0 then /14/8851/6439", TILE, None, None),
            ("/2/4/0", Named::OffMap, None, None),
        ];
        for (line, named, method, status) in cases {
            let wanted = LoggedRequest { named, method: method.map(str::to_owned), status };
            assert_eq!(request(line), wanted, "{line}");
        }
    }

    /// A line of Caddy from its documentation, except for the path, the status and one more header; then
    /// lines in which the same key is repeated further inside, or with a less likely key.
    #[test]
    fn a_later_key_like_status_does_not_replace_the_first() {
        let caddy = r#"{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/t/14/8851/6439.pbf","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"]},"tls":{"resumed":false,"version":772,"cipher_suite":4865,"proto":"h2","server_name":"example.com"}},"bytes_read":0,"user_id":"","duration":0.000929675,"size":10900,"status":404,"resp_headers":{"Server":["Caddy"],"Status":["200"],"Content-Type":["text/html; charset=utf-8"]}}"#;
        let cases = [
            caddy,
            r#"{"method":"GET","path":"/14/8851/6439","status":404,"upstream":{"method":"HEAD","status":200}}"#,
            r#"{"code":200,"method":"GET","path":"/14/8851/6439","status":404,"verb":"HEAD"}"#,
            r#"{"method":"GET","path":"/14/8851/6439","status":404,"httpStatus":"200 OK"}"#,
        ];
        for line in cases {
            let wanted = LoggedRequest { named: TILE, method: Some("GET".to_owned()), status: Some(404) };
            assert_eq!(request(line), wanted, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_read(line: String) {
            let _ = request(&line);
            let _ = request(&format!("{{{line}"));
        }
    }
}
