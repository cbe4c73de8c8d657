//! A block of a settlement, as those see it who draw into it.

use super::net::Vertex;
use super::settlement::Level;
use super::shape::Frame;
use super::site::Site;

/// A block as those see it who draw into it.
pub(super) struct BlockSite<'a> {
    pub site: &'a Site,
    pub patch: Vertex,
    /// The ground within its streets.
    pub frame: Frame,
    pub level: Level,
    /// Whether somebody has mapped more of it than its streets.
    pub is_mapped: bool,
}
