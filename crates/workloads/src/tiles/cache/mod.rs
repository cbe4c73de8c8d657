//! Redis in front of the database: tiles are looked up there first, and stored there when the database has
//! made them.
//!
//! Cached and made tiles are counted separately, as scripts and as items: a hit is never mistaken for the
//! speed of the database.

mod client;
mod keys;
mod options;
mod state;

pub(super) use self::client::{CachedClient, Shared};
pub(super) use self::keys::Keys;
pub(super) use self::options::validate;
pub(super) use self::state::{FilledCaches, clear, restore_limits, set_limits};
