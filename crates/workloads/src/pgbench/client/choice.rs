//! Chooses the next script of a client.

use std::sync::{Arc, Mutex, PoisonError};

use script::{Random, ScriptChooser};
use spec::Error;

use crate::error;
use crate::pgbench::drop_in::ClientGroup;
use crate::pgbench::prepare::PreparedScripts;

/// The stream from which the clients of one thread draw scripts. pgbench has one per thread, so the order of
/// draws is the order in which clients become free there. All holders are on one thread: the lock is never
/// contended, and it is only taken when there is more than one script.
pub(super) type SharedStream = Arc<Mutex<Random>>;

#[derive(Debug)]
pub(super) struct Choice {
    chooser: ScriptChooser,
    /// The scripts by the chooser's indexes.
    scripts: Vec<usize>,
}

impl Choice {
    fn new(scripts: impl IntoIterator<Item = (usize, u32)>) -> Arc<Self> {
        let (scripts, weights): (Vec<_>, Vec<_>) = scripts.into_iter().unzip();
        Arc::new(Self { chooser: ScriptChooser::new(weights), scripts })
    }

    fn of_group(group: &ClientGroup) -> Arc<Self> {
        Self::new(group.scripts.iter().copied())
    }

    /// The next script; draws only if there is a choice.
    #[inline]
    fn draw(&self, stream: &SharedStream) -> usize {
        match self.scripts[..] {
            [only] => only,
            _ => {
                let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                self.scripts[self.chooser.choose(&mut stream)]
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Draws {
    choice: Arc<Choice>,
    stream: SharedStream,
    drawn: usize,
    /// The next script is not drawn yet. Drawing waits until it is needed: a client that is done must not
    /// take a choice from its thread's stream, which the others continue to use.
    stale: bool,
    /// Its session chooses: nothing is drawn.
    told: bool,
}

impl Draws {
    /// Draws the first script here: the clients of a thread do so in their order.
    pub(super) fn new(choice: Arc<Choice>, stream: SharedStream) -> Self {
        let drawn = choice.draw(&stream);
        Self { choice, stream, drawn, stale: false, told: false }
    }

    /// The script of the open transaction, otherwise of the next one, drawn if necessary.
    pub(super) fn next(&mut self) -> usize {
        if std::mem::take(&mut self.stale) {
            self.drawn = self.choice.draw(&self.stream);
        }
        self.drawn
    }

    /// The script of the open transaction, otherwise of the last one.
    pub(super) fn drawn(&self) -> usize {
        self.drawn
    }

    pub(super) fn ended(&mut self) {
        self.stale = !self.told;
    }

    /// A session chooses the next script, and all later ones.
    pub(super) fn tell(&mut self, script: usize) {
        (self.drawn, self.stale, self.told) = (script, false, true);
    }
}

/// The choice of each client, by number.
///
/// # Errors
/// When the groups have more clients than the run.
pub(super) fn choices(program: &PreparedScripts, clients: usize) -> Result<Vec<Arc<Choice>>, Error> {
    let groups = &program.drop_in_options.groups;
    let mut choices: Vec<_> = groups
        .iter()
        .flat_map(|group| std::iter::repeat_n(Choice::of_group(group), group.clients.min(clients + 1)))
        .collect();
    if choices.len() > clients {
        let wanted: usize = groups.iter().map(|group| group.clients).fold(0, usize::saturating_add);
        let problem = format!("the groups have {wanted} clients together, but there are only {clients}");
        return Err(error::script(problem));
    }
    let weights = program.scripts.weights().iter().copied().take(program.measured());
    choices.resize(clients, Choice::new(weights.enumerate()));
    Ok(choices)
}
