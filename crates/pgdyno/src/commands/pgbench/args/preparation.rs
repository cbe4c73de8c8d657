//! What is done with the server before a run.

/// What is done with the server before a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Preparation {
    /// `-n`: nothing is vacuumed, `-v` or not.
    pub(crate) no_vacuum: bool,
    /// `-v`: the accounts are vacuumed as well.
    pub(crate) vacuum_accounts: bool,
    /// `--allow-changed-settings`: measure although a killed pgdyno left settings of the server changed.
    pub(crate) allow_changed_settings: bool,
}
