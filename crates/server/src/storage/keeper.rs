//! The keeper process: makes a filesystem, mounts it again on request, and removes it at its end.
//!
//! Standard input is the lifeline: it gets lines (`made::Order`), and answers go back; its end means that
//! pgdyno is gone, at any step.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags};
use spec::Error;

use super::dismantle::{Deadline, dismantle};
use super::error::{failed, of_file};
use super::made::{AGAIN, DONE, FAILED, KeeperOrder, MadeFolder, REMOVE};
use super::make::{again, make};
use super::tools::Tools;
use crate::error::file_error;
use crate::home::HomeFolder;
use crate::lock::{Lock, LockResult};

/// Runs until what it made is removed. Returns the exit code.
pub(crate) fn storage_keeper_main(args: &[OsString]) -> i32 {
    let Ok(lifeline) = std::io::stdin().as_fd().try_clone_to_owned() else { return 1 };
    let lifeline = File::from(lifeline);
    let order = args.first().and_then(|text| serde_json::from_str::<KeeperOrder>(text.to_str()?).ok());
    let Some((order, made)) = order.and_then(|order| MadeFolder::at(&order.folder).map(|made| (order, made)))
    else {
        send_result(&lifeline, &Err("a keeper without an order".to_owned()));
        return 1;
    };
    match begin(&made) {
        Ok(_lock) => keep(&lifeline, &order, &made),
        Err(error) => {
            send_result(&lifeline, &Err(error.to_string()));
            1
        }
    }
}

/// Makes its folder, which the account may enter, and locks it.
fn begin(made: &MadeFolder) -> Result<Lock, Error> {
    let storage = made.home().part(HomeFolder::Storage)?;
    let storage = storage.ok_or_else(|| failed("the home is gone"))?;
    let name = made.folder.file_name().unwrap_or_default();
    let folder = storage.make(name, 0o711).map_err(of_file(&made.folder))?;
    let error = match Lock::take(&folder) {
        Ok(LockResult::Ours(lock)) => return Ok(lock),
        Ok(LockResult::Held(_)) => failed(format!("{} is in use", made.folder.display())),
        Err(source) => file_error(&made.folder, source),
    };
    let _ = storage.remove_empty(name);
    Err(error)
}

fn keep(lifeline: &File, order: &KeeperOrder, made: &MadeFolder) -> i32 {
    let hung_up = || hung_up(lifeline);
    let tools = Tools::new(&hung_up);
    if let Err(error) = make(made, order, &tools) {
        // Nobody uses it yet.
        let left = dismantle(made, Deadline::lost());
        send_result(
            lifeline,
            &Err([error.to_string()].into_iter().chain(left).collect::<Vec<_>>().join("; ")),
        );
        return 1;
    }
    let mut delivered = send_result(lifeline, &Ok(()));
    let reading = lifeline.try_clone();
    for line in
        reading.into_iter().flat_map(|lifeline| BufReader::new(lifeline).lines().map_while(Result::ok))
    {
        match line.as_str() {
            AGAIN => {
                delivered = send_result(lifeline, &again(made, &tools).map_err(|error| error.to_string()))
            }
            REMOVE => {
                let left = dismantle(made, Deadline::asked());
                let failed = !left.is_empty();
                send_result(lifeline, &if failed { Err(left.join("; ")) } else { Ok(()) });
                return i32::from(failed);
            }
            _ => {}
        }
        if !delivered {
            break;
        }
    }
    i32::from(!dismantle(made, Deadline::lost()).is_empty())
}

/// Sends pgdyno the result; false if it is gone.
fn send_result(mut lifeline: &File, done: &Result<(), String>) -> bool {
    let line = match done {
        Ok(()) => format!("{DONE}\n"),
        Err(why) => format!("{FAILED}{}\n", why.replace('\n', " ")),
    };
    lifeline.write_all(line.as_bytes()).is_ok()
}

/// Whether pgdyno has closed the lifeline.
fn hung_up(lifeline: &File) -> bool {
    let mut poll = [PollFd::new(lifeline, PollFlags::empty())];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    let seen = rustix::event::poll(&mut poll, Some(&now)).is_ok_and(|count| count > 0);
    seen && poll[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}
