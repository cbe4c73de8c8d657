//! The only module that writes to standard output and standard error. It escapes text from outside (names,
//! file names, server messages), so that such text cannot control the terminal or pass for a line of ours.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use ::report::visible;
use owo_colors::OwoColorize;

/// Writes data to standard output, also escaped in pipes and files, which a terminal may show later. A closed
/// pipe (`| head`) is not an error.
pub(crate) fn data(text: &str) -> std::io::Result<()> {
    pieces(|out| out(text))
}

/// The same for a text that is made piece by piece, each of whole lines or of whole values.
pub(crate) fn pieces(make: impl FnOnce(&mut dyn FnMut(&str))) -> std::io::Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut written = Ok(());
    make(&mut |piece| {
        if written.is_ok() {
            written = out.write_all(visible::document(piece).as_bytes());
        }
    });
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            // Nobody reads what is left.
            drop(out.into_parts());
            Ok(())
        }
        done => done,
    }
}

/// Writes binary data to standard output, unless that is a terminal.
pub(crate) fn bytes(bytes: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if out.is_terminal() {
        return Err(std::io::Error::other("it is not for a terminal: name a file with -o"));
    }
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

pub(crate) fn talk(line: &str) {
    write(&visible::line(line));
}

/// The same with a part of ours that may be coloured.
pub(crate) fn talk_marked(before: &str, mark: &dyn Display, behind: &str) {
    write(&format!("{}{mark}{}", visible::line(before), visible::line(behind)));
}

/// Writes text to standard error unchanged: the caller has escaped it.
pub(crate) fn talk_as_is(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

pub(crate) fn warning(text: &str) {
    write(&format!("{} {}", "warning:".yellow().bold(), visible::block(text)));
}

/// Shows a warning once, even if many connections cause it.
pub(crate) fn warning_once(text: &str) {
    static SHOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SHOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned()) {
        warning(text);
    }
}

/// An error with advice. Lines after the first are marked as part of it.
pub(crate) fn print_error(text: &str, hint: Option<&str>) {
    write(&format!("{} {}", "error:".red().bold(), visible::block(text)));
    if let Some(hint) = hint {
        write(&format!(" {} {}", "try:".cyan().bold(), visible::block(hint)));
    }
}

pub(crate) fn error_lines(lines: &[String]) {
    let shown: Vec<_> = lines.iter().map(|line| visible::line(line)).collect();
    write(&format!("{} {}", "error:".red().bold(), shown.join("\n")));
}

static BAR: Mutex<Option<indicatif::ProgressBar>> = Mutex::new(None);

/// Makes all threads write lines above this bar.
pub(crate) fn above(bar: Option<indicatif::ProgressBar>) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

fn write(line: &str) {
    let written = || drop(writeln!(anstream::stderr().lock(), "{line}"));
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(written),
        None => written(),
    }
}

pub(crate) fn is_interactive() -> bool {
    std::io::stderr().is_terminal()
}
