//! The sections of a report, a file each: functions from stored results to blocks for the writers.

pub(crate) mod aging;
pub mod answer;
mod beside;
mod costs;
pub(crate) mod crosstabs;
pub(crate) mod limit;
pub(crate) mod load;
pub(crate) mod origin;
pub(crate) mod plans;
mod repeat;
pub(crate) mod runs;
mod setup;
mod shares;
mod slow;
pub(crate) mod tiles;
mod users;
pub(crate) mod verdicts;
pub(crate) mod workloads;
pub(crate) mod worth;
mod zooms;

use crate::block::Block;
use results::ReportData;

pub(crate) struct Section {
    pub(crate) anchor: &'static str,
    pub(crate) heading: &'static str,
    pub(crate) blocks: fn(&ReportData) -> Vec<Block>,
}

pub(crate) const SECTIONS: [Section; 18] = [
    section("limit", "Limit", limit::blocks),
    section("worth", "What each setting is worth", worth::blocks),
    section("verdicts", "Verdicts", verdicts::blocks),
    section("aging", "The age of sessions", aging::blocks),
    section("workloads", "Workloads", workloads::blocks),
    section("users", "Users", users::blocks),
    section("zooms", "Tiles by layer and zoom", zooms::blocks),
    section("plans", "Where the time of statements goes", plans::blocks),
    section("crosstabs", "Crosstabs", crosstabs::blocks),
    section("beside", "Beside the grid", beside::blocks),
    section("replicas", "Lag of replicas", crate::lag::blocks),
    section("load", "Loading and sizes", load::blocks),
    section("costs", "What it costs", costs::blocks),
    section("slow", "Where it is slow", slow::blocks),
    section("tiles", "Sample tiles", tiles::blocks),
    section("setup", "What was run on what", setup::blocks),
    section("runs", "All runs", runs::blocks),
    section("repeat", "How to repeat", repeat::blocks),
];

const fn section(
    anchor: &'static str,
    heading: &'static str,
    blocks: fn(&ReportData) -> Vec<Block>,
) -> Section {
    Section { anchor, heading, blocks }
}
