//! Preparation of the server for a run.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Preparation {
    /// `-n`: no vacuum, even with `-v`.
    pub(crate) no_vacuum: bool,
    /// `-v`: vacuum the accounts too.
    pub(crate) vacuum_accounts: bool,
    /// `--allow-changed-settings`: measure even if a killed pgdyno left settings of the server changed.
    pub(crate) allow_changed_settings: bool,
}
