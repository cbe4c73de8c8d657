//! How a PostgreSQL was built: the content of its files, and the compiler that the server reports.

mod asked;
mod places;
mod tree;

pub(crate) use asked::asked;
pub use tree::{BuildTree, different_parts, tree_of};
