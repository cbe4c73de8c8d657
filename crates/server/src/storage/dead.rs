//! What killed pgdynos left when their keepers were killed too, or the power was cut.

use super::dismantle::{Patience, dismantle};
use super::journal::Journal;
use super::made::Made;
use crate::home::Home;

/// Removes filesystems of this home that nobody uses and nobody keeps, with the servers whose files stood on them; tells
/// in words what was removed, and what could not be. To be called after [`crate::managed::stop_orphans`].
pub fn remove_dead(home: &Home) -> Vec<String> {
    let dead = Made::all(home).into_iter().filter(|made| !made.is_in_use());
    dead.filter_map(|made| remove(&made)).collect()
}

fn remove(made: &Made) -> Option<String> {
    // Whoever has it by now removes it.
    let _lock = made.lock()?;
    let what = Journal::read(made).map_or_else(
        || "a filesystem".to_owned(),
        |journal| journal.filesystem.words(journal.pool.is_some() && !journal.kernel),
    );
    let left = dismantle(made, Patience::lost());
    let folder = made.folder.display();
    let whose = format!("{what} in {folder}, which a pgdyno that was killed with its keeper left");
    Some(match left.is_empty() {
        true => format!("removed {whose}"),
        false => format!("could not remove all of {whose}: {}", left.join("; ")),
    })
}
