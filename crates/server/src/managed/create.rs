//! Makes a data folder.

use std::ffi::OsString;

use spec::plan::storage::Holds;
use spec::{Class, Error};

use super::error::{disk_full, server_file_error, storage_full};
use super::file_storage::FileStorage;
use super::initdb_options;
use super::installation::Installation;
use super::log::disk_full_line;
use super::{DATA, SUPERUSER};
use crate::child::{Account, Program, Watchdog};
use crate::home::Dir;
use crate::stop::Stop;

/// Lines of initdb in an error.
const QUOTED_LINES: usize = 6;

/// Runs initdb: checksums, UTF-8, and trust only over the socket, whose folder is private. Returns the
/// locale.
pub(super) fn init(
    folder: &Dir,
    file_storage: Option<&FileStorage>,
    installation: (&Installation, &[String]),
    account: Option<&Account>,
    watchdog: &Watchdog,
    stop: &Stop,
) -> Result<&'static str, Error> {
    if initdb_options::names_a_locale(installation.1) {
        init_with(None, folder, file_storage, installation, account, watchdog, stop)?;
        return Ok("as asked");
    }
    // C.UTF-8 does not exist everywhere (macOS, old RHEL); C always does. initdb's reason is only free text,
    // so C is tried after any failure, and its error then counts.
    match init_with(Some("C.UTF-8"), folder, file_storage, installation, account, watchdog, stop) {
        Ok(()) => Ok("C.UTF-8"),
        Err(error) if error.class() == Class::Child => {
            init_with(Some("C"), folder, file_storage, installation, account, watchdog, stop).map(|()| "C")
        }
        Err(error) => Err(error),
    }
}

fn init_with(
    locale: Option<&str>,
    folder: &Dir,
    file_storage: Option<&FileStorage>,
    (installation, options): (&Installation, &[String]),
    account: Option<&Account>,
    watchdog: &Watchdog,
    stop: &Stop,
) -> Result<(), Error> {
    empty_data(folder, file_storage, account)?;
    let data = folder.path().join(DATA);
    let wal = file_storage.and_then(|file_storage| file_storage.part(Holds::Wal));
    let program = Program::server(installation.program("initdb"), folder.path(), account)
        .arg("-D")
        .arg(&data)
        .args(["-U", SUPERUSER, "--no-instructions"])
        .args(["--auth-local=trust", "--auth-host=scram-sha-256"])
        .args(wal.map(|wal| [OsString::from("--waldir"), wal.into()]).into_iter().flatten())
        .args(locale.map(|locale| format!("--locale={locale}")))
        .args(initdb_options::with_ours(options, installation.major));
    let mut lines = Vec::new();
    let finished = watchdog.run(&program, &|| stop.at_once(), &mut |line| lines.push(line.text))?;
    if finished.success() {
        return Ok(());
    }
    let _ = folder.remove_all(DATA);
    if finished.stopped {
        return Err(Error::stopped());
    }
    if let Some(line) = disk_full_line(&lines.join("\n")) {
        return Err(match file_storage {
            Some(file_storage) => storage_full(file_storage.path(), &line),
            None => disk_full(folder.path(), &line),
        });
    }
    let output = lines.split_off(lines.len().saturating_sub(QUOTED_LINES)).join("\n");
    let with = if options.is_empty() { String::new() } else { format!(" with {}", options.join(" ")) };
    Err(Error::new(Class::Child, format!("initdb failed in {}{with}:\n{output}", folder.path().display())))
}

/// Makes the data folder again, empty, for the account; also the folders of files stored elsewhere.
pub(super) fn empty_data(
    folder: &Dir,
    file_storage: Option<&FileStorage>,
    account: Option<&Account>,
) -> Result<Dir, Error> {
    let failed = |error| server_file_error(&folder.path().join(DATA), error);
    // Removes a link itself, not its target.
    folder.remove_all(DATA).map_err(failed)?;
    if let Some(file_storage) = file_storage {
        let part = file_storage.empty(folder, account)?;
        if file_storage.storage.holds == Holds::Data {
            return Ok(part);
        }
    }
    folder.make_for(DATA, account).map_err(failed)
}
