//! Builds of PostgreSQL, and of extensions by PGXS, from a commit of a git repository.
//!
//! A [`SourceTree`] is looked up without changing anything, a [`BuildOrder`] says what would be built and where, and
//! [`BuildOrder::ensure`] builds it unless the cache in pgdyno's home has it. As root, git runs as the owner of the
//! sources, everything else as the account that runs servers, and root keeps a copy that neither can change
//! (docs/decisions/0052).

mod base;
mod cache;
mod commit;
mod export;
mod git;
mod kind;
mod make;
mod missing;
mod names;
mod order;
mod reserved;
mod seal;
mod tree;

pub use base::BasePostgres;
pub use cache::{BuildInUse, CachedBuild, CachedBuilds, RemovedBuilds, cached, remove};
pub use commit::{GitCommit, checked_out, commit_of};
pub use kind::BuildKind;
pub use make::{BuildProgress, BuildStep};
pub use order::{BuildOrder, BuildWay};
pub use tree::{SourceTree, WORKING_TREE};
