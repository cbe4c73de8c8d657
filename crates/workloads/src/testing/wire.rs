//! The server's side of the protocol, as far as the tests need it.

/// A message of the client.
pub(super) enum TestRequest {
    Startup,
    Query(String),
    Parse(String, String),
    /// Statement name and parameters.
    Bind(String, Vec<Option<String>>),
    Describe,
    Execute,
    Sync,
    CopyDone,
    Terminate,
}

/// Takes a complete message from the front of `input`.
pub(super) fn take(input: &mut Vec<u8>, started: bool) -> Option<TestRequest> {
    let head = usize::from(started);
    let length = u32::from_be_bytes(input.get(head..head + 4)?.try_into().ok()?) as usize;
    let end = head + length;
    if input.len() < end {
        return None;
    }
    let message: Vec<u8> = input.drain(..end).collect();
    if !started {
        return Some(TestRequest::Startup);
    }
    let body = &message[5..];
    Some(match message[0] {
        b'Q' => TestRequest::Query(strings(body, 1).remove(0)),
        b'P' => {
            let mut words = strings(body, 2);
            let text = words.remove(1);
            TestRequest::Parse(words.remove(0), text)
        }
        b'B' => bind(body),
        b'D' => TestRequest::Describe,
        b'E' => TestRequest::Execute,
        b'S' => TestRequest::Sync,
        b'c' => TestRequest::CopyDone,
        b'X' => TestRequest::Terminate,
        other => panic!("the fake server knows no message {}", char::from(other)),
    })
}

fn strings(body: &[u8], count: usize) -> Vec<String> {
    body.split(|byte| *byte == 0).take(count).map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

fn bind(body: &[u8]) -> TestRequest {
    let words = strings(body, 2);
    let mut at = words[0].len() + words[1].len() + 2;
    let mut number = |bytes: usize| {
        let value = body[at..at + bytes].iter().fold(0_i64, |sum, byte| sum << 8 | i64::from(*byte));
        at += bytes;
        (value, at)
    };
    assert_eq!(number(2).0, 0, "parameters travel as text");
    let count = number(2).0;
    let mut parameters = Vec::new();
    for _ in 0..count {
        let (length, start) = number(4);
        let length = length as u32 as i32;
        parameters.push(usize::try_from(length).ok().map(|length| {
            number(length);
            String::from_utf8_lossy(&body[start..start + length]).into_owned()
        }));
    }
    TestRequest::Bind(words[1].clone(), parameters)
}

/// A statement with its parameters substituted for `$n`.
pub(super) fn pasted(sql: &str, parameters: &[Option<String>]) -> String {
    let numbered = parameters.iter().enumerate().rev();
    numbered.fold(sql.to_owned(), |text, (index, value)| {
        text.replace(&format!("${}", index + 1), value.as_deref().unwrap_or("NULL"))
    })
}

fn write_message(out: &mut Vec<u8>, tag: u8, body: &[u8]) {
    out.push(tag);
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}

pub(super) fn ready(out: &mut Vec<u8>, status: u8) {
    write_message(out, b'Z', &[status]);
}

pub(super) fn complete(out: &mut Vec<u8>, tag: &str) {
    write_message(out, b'C', format!("{tag}\0").as_bytes());
}

pub(super) fn write_error(out: &mut Vec<u8>, severity: &str, code: &str, text: &str) {
    let body = format!("S{severity}\0V{severity}\0C{code}\0M{text}\0\0");
    write_message(out, b'E', body.as_bytes());
}

pub(super) fn write_rows(out: &mut Vec<u8>, columns: &[&str], values: &[Vec<Option<&str>>]) {
    let mut body = (columns.len() as u16).to_be_bytes().to_vec();
    for column in columns {
        body.extend_from_slice(column.as_bytes());
        // The end of the name, no table, no attribute, type text, varying, no modifier, text format.
        body.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 255, 255, 255, 255, 255, 255, 0, 0]);
    }
    write_message(out, b'T', &body);
    for row in values {
        let mut body = (row.len() as u16).to_be_bytes().to_vec();
        for value in row {
            match value {
                None => body.extend_from_slice(&(-1_i32).to_be_bytes()),
                Some(text) => {
                    body.extend_from_slice(&(text.len() as u32).to_be_bytes());
                    body.extend_from_slice(text.as_bytes());
                }
            }
        }
        write_message(out, b'D', &body);
    }
}

pub(super) fn notice(out: &mut Vec<u8>, text: &str) {
    write_message(out, b'N', format!("SNOTICE\0VNOTICE\0C00000\0M{text}\0\0").as_bytes());
}

pub(super) fn status(out: &mut Vec<u8>, name: &str, value: &str) {
    write_message(out, b'S', format!("{name}\0{value}\0").as_bytes());
}
