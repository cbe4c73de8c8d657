//! Redis in front of the database: tiles are looked up there first, and put there when the database has made them.
//!
//! A tile that was there and one that was not are counted apart, each as a script and its own item: a hit never passes for
//! the speed of the database.

mod client;
mod keys;
mod options;
mod state;

pub(super) use self::client::{CachedClient, Manner};
pub(super) use self::keys::Keys;
pub(super) use self::options::validate;
pub(super) use self::state::{State, bring_limits, clear, put_back};
