//! Parts of the time of a statement.

use serde::{Deserialize, Serialize};

/// Of what the time of a statement is made; what nodes of a plan do is booked under one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Before execution.
    Planning,
    /// Index, index only and bitmap index scans. The first two read the heap too: that cannot be told apart.
    Index,
    /// Bitmap heap and TID scans.
    Heap,
    /// Sequential and sample scans.
    SeqScan,
    /// Scans of functions, CTEs, VALUES, subqueries and foreign tables.
    OtherScan,
    /// Nested loop, hash and merge joins; building a join's hash table; keeping rows for a join's next loop.
    Join,
    /// Sorts, also incremental ones.
    Sort,
    /// Aggregates, groups, windows and DISTINCT, but those that make tiles.
    Aggregate,
    /// Functions of PostGIS, but those of [`Part::Transform`].
    Geometry,
    /// Coordinates moved to another reference system.
    Transform,
    /// Aggregates that make tiles (ST_AsMVT, ST_AsGeobuf, ST_AsFlatGeobuf), without the functions that they call for each row.
    Mvt,
    /// All other functions that the server counts.
    Functions,
    /// INSERT, UPDATE, DELETE, MERGE, and locking rows.
    Modify,
    /// Gather: starting workers, waiting for them, taking their rows.
    Parallel,
    #[default]
    Other,
    /// Triggers after the statement.
    Triggers,
    /// Making rows into what is sent.
    Serialization,
    /// Start and end of the executor, and what else is in no node.
    Outside,
}

impl Part {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 18] = [
        Self::Planning,
        Self::Index,
        Self::Heap,
        Self::SeqScan,
        Self::OtherScan,
        Self::Join,
        Self::Sort,
        Self::Aggregate,
        Self::Geometry,
        Self::Transform,
        Self::Mvt,
        Self::Functions,
        Self::Modify,
        Self::Parallel,
        Self::Other,
        Self::Triggers,
        Self::Serialization,
        Self::Outside,
    ];

    /// As it is stored, and as columns are named.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Index => "index",
            Self::Heap => "heap",
            Self::SeqScan => "seq_scan",
            Self::OtherScan => "other_scan",
            Self::Join => "join",
            Self::Sort => "sort",
            Self::Aggregate => "aggregate",
            Self::Geometry => "geometry",
            Self::Transform => "transform",
            Self::Mvt => "mvt",
            Self::Functions => "functions",
            Self::Modify => "modify",
            Self::Parallel => "parallel",
            Self::Other => "other",
            Self::Triggers => "triggers",
            Self::Serialization => "serialization",
            Self::Outside => "outside",
        }
    }

    /// As it is called for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Index => "index scans",
            Self::Heap => "heap of bitmap scans",
            Self::SeqScan => "sequential scans",
            Self::OtherScan => "function and CTE scans",
            Self::Join => "joins",
            Self::Sort => "sorts",
            Self::Aggregate => "aggregates",
            Self::Geometry => "geometry functions",
            Self::Transform => "transforming coordinates",
            Self::Mvt => "making tiles (MVT)",
            Self::Functions => "other functions",
            Self::Modify => "changing rows",
            Self::Parallel => "workers: start and wait",
            Self::Other => "other nodes",
            Self::Triggers => "triggers",
            Self::Serialization => "serialization",
            Self::Outside => "outside of nodes",
        }
    }

    /// Where the time of a function is booked, by its name without a schema.
    #[must_use]
    pub fn of_function(name: &str) -> Self {
        const TRANSFORM: [&str; 2] = ["st_transform", "postgis_transform"];
        const GEOMETRY: [&str; 5] = ["st_", "_st_", "postgis_", "geometry_", "geography_"];
        let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
        match (begins(&TRANSFORM), begins(&GEOMETRY)) {
            (true, _) => Self::Transform,
            (false, true) => Self::Geometry,
            (false, false) => Self::Functions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_listed_in_their_order() {
        assert!(Part::ALL.is_sorted());
        let names: std::collections::BTreeSet<_> = Part::ALL.iter().map(|part| part.name()).collect();
        assert_eq!(names.len(), Part::ALL.len());
    }

    #[test]
    fn functions_are_booked_by_their_names() {
        for (name, part) in [
            ("st_transform", Part::Transform),
            ("st_transformpipeline", Part::Transform),
            ("st_asmvtgeom", Part::Geometry),
            ("_st_intersects", Part::Geometry),
            ("geometry_overlaps", Part::Geometry),
            ("geography_distance_knn", Part::Geometry),
            ("my_st_layer", Part::Functions),
            ("styled", Part::Functions),
        ] {
            assert_eq!(Part::of_function(name), part, "{name}");
        }
    }
}
