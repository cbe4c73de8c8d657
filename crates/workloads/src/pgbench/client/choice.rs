//! Which scripts a client chooses among.

use std::sync::{Arc, PoisonError};

use script::ScriptChooser;

use super::SharedStream;
use crate::error::WorkloadError;
use crate::pgbench::manner::Group;
use crate::pgbench::prepare::Program;

/// Scripts and their weights.
#[derive(Debug)]
pub(super) struct Choice {
    chooser: ScriptChooser,
    /// The scripts behind the chooser's numbers.
    scripts: Vec<usize>,
}

impl Choice {
    fn new(scripts: impl IntoIterator<Item = (usize, u32)>) -> Arc<Self> {
        let (scripts, weights): (Vec<_>, Vec<_>) = scripts.into_iter().unzip();
        Arc::new(Self { chooser: ScriptChooser::new(weights), scripts })
    }

    fn of_group(group: &Group) -> Arc<Self> {
        Self::new(group.scripts.iter().copied())
    }

    /// The next script; draws only if there is a choice.
    #[inline]
    pub(super) fn draw(&self, stream: &SharedStream) -> usize {
        match self.scripts[..] {
            [only] => only,
            _ => {
                let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                self.scripts[self.chooser.choose(&mut stream)]
            }
        }
    }
}

/// The choice of each client, in the order of their numbers.
///
/// # Errors
/// When the groups have more clients than there are.
pub(super) fn choices(program: &Program, clients: usize) -> Result<Vec<Arc<Choice>>, WorkloadError> {
    let groups = &program.manner.groups;
    let mut choices: Vec<_> = groups
        .iter()
        .flat_map(|group| std::iter::repeat_n(Choice::of_group(group), group.clients.min(clients + 1)))
        .collect();
    if choices.len() > clients {
        let wanted: usize = groups.iter().map(|group| group.clients).fold(0, usize::saturating_add);
        let problem = format!("the groups have {wanted} clients together, but there are only {clients}");
        return Err(WorkloadError::Script(problem));
    }
    let weights = program.scripts.weights().iter().copied().take(program.measured());
    choices.resize(clients, Choice::new(weights.enumerate()));
    Ok(choices)
}
