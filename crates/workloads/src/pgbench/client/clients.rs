//! The clients of one run with their random streams.

use std::sync::{Arc, Mutex};

use engine::Client;
use script::{Streams, Symbols};
use spec::Error;

use super::choice::{Draws, SharedStream, choices};
use super::conns::{ClientConn, Conns};
use super::hosts::servers;
use super::script_run::ScriptRun;
use super::{ClientRows, PgbenchClient, ThreadProgram};
use crate::pgbench::prepare::PreparedScripts;
use crate::pgbench::prepare::{Automatic, default_seed_given, starting};
use crate::pgbench::row_options::RowPer;
use crate::pgbench::row_turns::RowTurns;
use crate::place::Places;
use crate::workload::Clients;

/// Makes the clients of one run with their streams, by number.
///
/// # Errors
/// When a server is missing, or the groups have more clients than the run.
pub(in crate::pgbench) fn clients(
    program: &Arc<PreparedScripts>,
    places: &Places,
    scale: u64,
    wanted: Clients,
) -> Result<Vec<Box<dyn Client>>, Error> {
    let Clients { seed, statements, .. } = wanted;
    let (clients, threads) = wanted.seats();
    if let Some((rows, options)) = program.rows() {
        rows.suffice(options, clients as u64, None)?;
    }
    let choices = choices(program, clients)?;
    let servers = servers(program, places, clients, seed)?;
    let streams = Streams::new(seed, clients, threads, default_seed_given(program));
    let shared: Vec<(ThreadProgram, SharedStream)> = streams
        .threads
        .iter()
        .map(|thread| (Arc::new(Arc::clone(program)), Arc::new(Mutex::new(thread.choose.clone()))))
        .collect();
    let symbols: Arc<Symbols> = Arc::new(program.scripts.symbols().clone());
    let seats = threads_of(clients, threads).zip(choices).zip(servers).zip(streams.clients).enumerate();
    let mut turns = program
        .rows()
        .map(|(rows, options)| (options.per, RowTurns::of_clients(rows, options, &symbols, (clients, seed))));
    let clients = seats.map(|(number, (((thread, choice), servers), random))| {
        let automatic = Automatic { client: number, scale, seed, default_seed: streams.default_seed };
        let mut variables = starting(program, &symbols, automatic);
        let rows = turns.as_mut().and_then(|(per, turns)| Some((*per, turns.next()?)));
        let rows = rows.and_then(|(per, mut turns)| match per {
            RowPer::Client => {
                turns.take(&mut variables);
                None
            }
            RowPer::Transaction | RowPer::Session => {
                Some(ClientRows { turns, per_session: per == RowPer::Session })
            }
        });
        let (program, stream) = &shared[thread];
        let conns = servers.into_iter().zip(0..).map(|(route, link)| ClientConn::new(program, route, link));
        let client = PgbenchClient::new(
            number,
            Arc::clone(program),
            Draws::new(choice, Arc::clone(stream)),
            rows,
            ScriptRun::new(number, seed, variables, random, statements),
            Conns::new(conns),
        );
        Box::new(client) as Box<dyn Client>
    });
    Ok(clients.collect())
}

/// The thread of each client: in order, equally up to one client, the larger shares first.
fn threads_of(clients: usize, threads: usize) -> impl Iterator<Item = usize> {
    let (share, larger) = (clients / threads, clients % threads);
    (0..threads).flat_map(move |thread| std::iter::repeat_n(thread, share + usize::from(thread < larger)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_shared_out_in_order() {
        let cases: [(usize, usize, &[usize]); 3] =
            [(5, 2, &[0, 0, 0, 1, 1]), (4, 4, &[0, 1, 2, 3]), (7, 3, &[0, 0, 0, 1, 1, 2, 2])];
        for (clients, threads, wanted) in cases {
            assert_eq!(threads_of(clients, threads).collect::<Vec<_>>(), wanted);
        }
    }
}
