//! The clients of one run with their streams.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use engine::Client;
use script::{Cursor, Random, Streams, Symbols};
use smallvec::SmallVec;

use super::choice::{Choice, choices};
use super::hosts::{Route, servers};
use super::startup::Startup;
use super::{Captured, Conn, PgbenchClient, Pipeline, SharedStream, Shells, State, ThreadProgram};
use crate::error::WorkloadError;
use crate::link::PgLink;
use crate::pgbench::options::Mode;
use crate::pgbench::prepare::Program;
use crate::pgbench::variables::{Automatic, default_seed_given, starting};
use crate::place::Places;
use crate::workload::Crew;

/// Makes the clients of one run, in the order of their numbers.
///
/// # Errors
/// When a server is missing, or the groups have more clients than there are.
pub(in crate::pgbench) fn crew(
    program: &Arc<Program>,
    places: &Places,
    scale: u64,
    crew: Crew,
) -> Result<Vec<Box<dyn Client>>, WorkloadError> {
    let (clients, threads) = crew.seats();
    let choices = choices(program, clients)?;
    let servers = servers(&program.manner.hosts, places, clients, crew.seed)?;
    let streams = Streams::new(crew.seed, clients, threads, default_seed_given(program));
    let shared: Vec<(ThreadProgram, SharedStream)> = streams
        .threads
        .iter()
        .map(|thread| (Arc::new(Arc::clone(program)), Arc::new(Mutex::new(thread.choose.clone()))))
        .collect();
    let symbols: Arc<Symbols> = Arc::new(program.scripts.symbols().clone());
    let seats = threads_of(clients, threads).zip(choices).zip(servers).zip(streams.clients).enumerate();
    let clients = seats.map(|(number, (((thread, choice), servers), random))| {
        let automatic =
            Automatic { client: number, scale, seed: crew.seed, default_seed: streams.default_seed };
        let mut client = client(&shared[thread], &choice, random);
        client.number = number;
        client.conns = servers.into_iter().zip(0..).map(|(route, link)| conn(program, route, link)).collect();
        client.report_statements = crew.statements;
        client.variables = starting(program, &symbols, automatic);
        client.startup = Startup::new(program, crew.seed, number);
        Box::new(client) as Box<dyn Client>
    });
    Ok(clients.collect())
}

/// A client without a place yet. It draws its first script here: the clients of a thread do so in their order.
fn client(
    (program, choose): &(ThreadProgram, SharedStream),
    choice: &Arc<Choice>,
    random: Random,
) -> PgbenchClient {
    let drawn = choice.draw(choose);
    PgbenchClient {
        program: Arc::clone(program),
        number: 0,
        conns: SmallVec::new(),
        at: 0,
        state: State::Connecting,
        choice: Arc::clone(choice),
        choose: Arc::clone(choose),
        report_statements: false,
        variables: script::Variables::new(Arc::default()),
        random_at_start: random.clone(),
        random,
        startup: Startup::default(),
        drawn,
        stale: false,
        running: drawn,
        cursor: Cursor::start(),
        open: false,
        served: false,
        due: 0,
        slot: 0,
        tries: 0,
        command_began: 0,
        pipeline: Pipeline::Off,
        syncs: 0,
        preparing: VecDeque::new(),
        results: 0,
        trouble: None,
        failure: engine::Failure::Other,
        captured: Captured::default(),
        scratch: super::send::Scratch::default(),
        shells: Shells::default(),
    }
}

fn conn(program: &Program, route: Route, link: engine::Link) -> Conn {
    let commands = if program.mode == Mode::Prepared { program.commands } else { 0 };
    Conn {
        link: PgLink::new(route.connect(), link),
        route,
        prepared: vec![false; commands],
        last_words: None,
        lost: false,
        fresh: false,
    }
}

/// The thread of each client: in order, each thread as many as another or one more, the larger shares first.
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
