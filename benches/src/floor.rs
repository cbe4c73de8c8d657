//! What would a perfect client cost on this machine? pgdyno beside a bare loop that sends the same messages and looks for
//! nothing but the end of the reply, and that beside pgbench.

use std::ffi::OsString;
use std::path::Path;

use crate::child::{self, Ran};
use crate::floor_load::{REFUSED, WORD};
use crate::pairs::{Sample, rounds};
use crate::server::{Server, Way};
use crate::{Args, Missing, What, cost, page};

/// Keys of pgbench's accounts per unit of scale.
const ACCOUNTS: u32 = 100_000;

/// A row per mode and number of clients.
///
/// # Errors
/// [`Missing`] where there is no io_uring; else when a run fails.
pub(crate) fn beside(options: &Args) -> anyhow::Result<()> {
    let clients = options.clients_or(&[8, 64]);
    let title = "The least a client can cost: a bare io_uring loop, Unix socket, one thread";
    println!("{}", page::title(options, What::Floor, title, &page::clients_option(&clients)));
    let most = clients.iter().copied().max().unwrap_or_default();
    let server = Server::start(options, Way::Socket, cost::SCALE, most)?;
    check(&server)?;
    println!("{}", page::FLOOR_HEAD);
    for mode in ["prepared", "simple"] {
        for clients in &clients {
            row(options, &server, mode, *clients)?;
        }
    }
    Ok(())
}

fn row(options: &Args, server: &Server, mode: &str, clients: u32) -> anyhow::Result<()> {
    let (subtract, seconds) = cost::length(clients, options.seconds);
    let theirs = |program: &Path, ours: bool| {
        cost::without_connecting(seconds, subtract, |length| {
            let mut words: Vec<OsString> = ours.then(|| "pgbench".into()).into_iter().collect();
            words.extend(cost::select_only(mode, clients));
            words.extend(length.iter().map(OsString::from));
            child::run(program, &words, &server.env, None)
        })
    };
    let taken = rounds(
        options.pairs(crate::What::Floor),
        options.patience(),
        &mut [
            &mut || theirs(&options.pgdyno, true),
            &mut || -> anyhow::Result<Sample> {
                cost::without_connecting(seconds, subtract, |length| bare(server, mode, clients, length))
            },
            &mut || theirs(&server.pgbench, false),
        ],
    )?;
    println!("{}", page::floor_row(mode, clients, &taken));
    Ok(())
}

/// Whether the loop runs at all.
fn check(server: &Server) -> anyhow::Result<()> {
    match bare(server, "prepared", 1, &["-t".to_owned(), "1".to_owned()]) {
        Err(error) if error.to_string().contains(REFUSED) => Err(Missing(REFUSED.into()).into()),
        tried => tried.map(drop),
    }
}

/// The loop in a process of its own, so that its CPU is counted like that of the others.
fn bare(server: &Server, mode: &str, clients: u32, length: &[String]) -> anyhow::Result<Ran> {
    let seconds = if length[0] == "-T" { length[1].clone() } else { "0".to_owned() };
    let socket = server.socket_folder().join(format!(".s.PGSQL.{}", server.port()));
    let keys = ACCOUNTS * cost::SCALE;
    let mut words = vec![OsString::from(WORD), socket.into(), mode.into()];
    words.extend([clients.to_string(), keys.to_string(), seconds].map(OsString::from));
    child::run(&std::env::current_exe()?, &words, &[], None)
}
