//! The client's messages. Each function appends one message to `out` and never reads its contents.
//!
//! Strings end at their first NUL byte, as in libpq: the protocol cannot carry one.

use std::ffi::CStr;

use super::announced::CancelKey;
use super::rows::ValueFormat;

/// Protocol 3.0.
const VERSION_3: u32 = 3 << 16;
/// Sent instead of a version to request TLS.
const SSL_REQUEST: u32 = 80_877_103;
/// Sent instead of a version to cancel a query.
const CANCEL_REQUEST: u32 = 80_877_102;

/// More parameters than a message can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("number of parameters must be between 0 and 65535")]
pub struct TooManyParameters;

/// Runs a query string of one or more statements (simple protocol), in the connection's encoding.
#[inline]
pub fn query(out: &mut Vec<u8>, sql: impl AsRef<[u8]>) {
    append_message(out, b'Q', |out| cstr_bytes(out, sql.as_ref()));
}

/// Prepares a statement; the empty name is the unnamed statement. The server infers types missing in `types`.
pub fn parse(out: &mut Vec<u8>, name: &str, sql: impl AsRef<[u8]>, types: &[u32]) {
    append_message(out, b'P', |out| {
        cstr(out, name);
        cstr_bytes(out, sql.as_ref());
        let types = &types[..types.len().min(usize::from(u16::MAX))];
        out.extend_from_slice(&(types.len() as u16).to_be_bytes());
        for oid in types {
            out.extend_from_slice(&oid.to_be_bytes());
        }
    });
}

/// A parameter of a statement, in text form.
pub trait Parameter {
    /// Appends the value to `out`; false, with nothing appended, for NULL.
    fn append(&self, out: &mut Vec<u8>) -> bool;
}

impl Parameter for Option<&[u8]> {
    #[inline]
    fn append(&self, out: &mut Vec<u8>) -> bool {
        self.is_some_and(|value| {
            out.extend_from_slice(value);
            true
        })
    }
}

/// Binds parameters to a prepared statement and makes a portal; `results` is the format of all its columns.
///
/// # Errors
/// With more than 65,535 parameters; `out` is then unchanged.
#[inline]
pub fn bind(
    out: &mut Vec<u8>,
    portal: &str,
    statement: &str,
    parameters: impl IntoIterator<Item: Parameter>,
    results: ValueFormat,
) -> Result<(), TooManyParameters> {
    let start = begin(out, b'B');
    cstr(out, portal);
    cstr(out, statement);
    // No parameter formats: all text.
    out.extend_from_slice(&0_u16.to_be_bytes());
    let count_at = out.len();
    out.extend_from_slice(&[0, 0]);
    let mut count = 0_usize;
    for parameter in parameters {
        count += 1;
        // A length of -1 is NULL.
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        let value_at = out.len();
        if parameter.append(out) {
            let length = (out.len() - value_at) as u32;
            out[value_at - 4..value_at].copy_from_slice(&length.to_be_bytes());
        }
    }
    let Ok(count) = u16::try_from(count) else {
        out.truncate(start);
        return Err(TooManyParameters);
    };
    out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
    out.extend_from_slice(&1_u16.to_be_bytes());
    out.extend_from_slice(&results.code().to_be_bytes());
    end(out, start);
    Ok(())
}

/// Asks for a portal's columns.
pub fn describe_portal(out: &mut Vec<u8>, portal: &str) {
    append_message(out, b'D', |out| {
        out.push(b'P');
        cstr(out, portal);
    });
}

/// Closes a prepared statement; an unknown name is not an error.
pub fn close_statement(out: &mut Vec<u8>, name: &str) {
    append_message(out, b'C', |out| {
        out.push(b'S');
        cstr(out, name);
    });
}

/// Runs a portal; `max_rows` 0 means all rows.
#[inline]
pub fn execute(out: &mut Vec<u8>, portal: &str, max_rows: u32) {
    append_message(out, b'E', |out| {
        cstr(out, portal);
        out.extend_from_slice(&max_rows.to_be_bytes());
    });
}

/// Ends an extended query; the server answers with ReadyForQuery.
#[inline]
pub fn sync(out: &mut Vec<u8>) {
    append_message(out, b'S', |_| ());
}

/// A piece of COPY data.
#[inline]
pub fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    append_message(out, b'd', |out| out.extend_from_slice(data));
}

/// Ends the COPY data.
pub fn copy_done(out: &mut Vec<u8>) {
    append_message(out, b'c', |_| ());
}

/// Aborts a COPY; the server then fails it with this reason.
pub fn copy_fail(out: &mut Vec<u8>, reason: &str) {
    append_message(out, b'f', |out| cstr(out, reason));
}

/// Ends the connection.
pub fn terminate(out: &mut Vec<u8>) {
    append_message(out, b'X', |_| ());
}

/// Cancels another connection's query. It is sent alone over a separate connection.
pub fn cancel_request(out: &mut Vec<u8>, key: CancelKey) {
    out.extend_from_slice(&16_u32.to_be_bytes());
    out.extend_from_slice(&CANCEL_REQUEST.to_be_bytes());
    out.extend_from_slice(&key.process_id.to_be_bytes());
    out.extend_from_slice(&key.secret.to_be_bytes());
}

/// Requests TLS; the server answers with a single byte.
pub fn ssl_request(out: &mut Vec<u8>) {
    out.extend_from_slice(&8_u32.to_be_bytes());
    out.extend_from_slice(&SSL_REQUEST.to_be_bytes());
}

/// Starts a connection with these parameters, which must include `user`.
pub fn startup<'p>(out: &mut Vec<u8>, parameters: impl IntoIterator<Item = (&'p str, &'p str)>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&VERSION_3.to_be_bytes());
    for (name, value) in parameters {
        cstr(out, name);
        cstr(out, value);
    }
    out.push(0);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// The password, or its md5 form.
pub(crate) fn password(out: &mut Vec<u8>, password: &[u8]) {
    append_message(out, b'p', |out| cstr_bytes(out, password));
}

pub(crate) fn sasl_initial(out: &mut Vec<u8>, mechanism: &str, data: &[u8]) {
    append_message(out, b'p', |out| {
        cstr(out, mechanism);
        out.extend_from_slice(&(data.len() as u32).to_be_bytes());
        out.extend_from_slice(data);
    });
}

pub(crate) fn sasl_response(out: &mut Vec<u8>, data: &[u8]) {
    append_message(out, b'p', |out| out.extend_from_slice(data));
}

#[inline]
fn append_message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = begin(out, tag);
    body(out);
    end(out, start);
}

#[inline]
fn begin(out: &mut Vec<u8>, tag: u8) -> usize {
    let start = out.len();
    out.extend_from_slice(&[tag, 0, 0, 0, 0]);
    start
}

/// Writes the length, which includes itself but not the tag.
#[inline]
fn end(out: &mut [u8], start: usize) {
    let length = (out.len() - start - 1) as u32;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
}

#[inline]
fn cstr(out: &mut Vec<u8>, text: &str) {
    cstr_bytes(out, text.as_bytes());
}

#[inline]
fn cstr_bytes(out: &mut Vec<u8>, text: &[u8]) {
    match CStr::from_bytes_until_nul(text) {
        Ok(cut) => out.extend_from_slice(cut.to_bytes_with_nul()),
        Err(_) => {
            out.extend_from_slice(text);
            out.push(0);
        }
    }
}
