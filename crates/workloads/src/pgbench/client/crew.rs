//! The clients of one run with their streams.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use engine::Client;
use script::{Cursor, Streams, Symbols};

use super::{PgbenchClient, SharedStream, State};
use crate::link::PgLink;
use crate::pgbench::prepare::Program;
use crate::pgbench::variables::{Automatic, default_seed_given, starting};
use crate::place::Connect;
use crate::workload::Crew;

/// Makes the clients of one run, in the order of their numbers.
pub(in crate::pgbench) fn crew(
    program: &Arc<Program>,
    connect: &Connect,
    scale: u64,
    crew: Crew,
) -> Vec<Box<dyn Client>> {
    let clients = crew.clients.max(1);
    let threads = crew.threads.clamp(1, clients);
    let streams = Streams::new(crew.seed, clients, threads, default_seed_given(program));
    let shared: Vec<SharedStream> =
        streams.threads.iter().map(|thread| Arc::new(Mutex::new(thread.choose.clone()))).collect();
    let symbols: Arc<Symbols> = Arc::new(program.scripts.symbols().clone());
    let members = (0..clients).zip(threads_of(clients, threads)).zip(&streams.clients);
    members
        .map(|((number, thread), random)| {
            let automatic =
                Automatic { client: number, scale, seed: crew.seed, default_seed: streams.default_seed };
            let client = PgbenchClient {
                program: Arc::clone(program),
                number,
                link: PgLink::new(connect, super::LINK),
                state: State::Connecting,
                chooser: program.scripts.chooser(),
                choose: Arc::clone(&shared[thread]),
                report_statements: crew.statements,
                variables: starting(program, &symbols, automatic),
                random: random.clone(),
                random_at_start: random.clone(),
                script: 0,
                cursor: Cursor::start(),
                due: 0,
                tries: 0,
                command_began: 0,
                in_pipeline: false,
                syncs: 0,
                parsed: vec![false; program.texts.len()],
                parsing: VecDeque::new(),
                results: 0,
                error: None,
                failure: engine::Failure::Other,
                fatal: None,
                captured: super::Captured::default(),
                scratch: super::send::Scratch::default(),
                used: false,
            };
            Box::new(client) as Box<dyn Client>
        })
        .collect()
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
