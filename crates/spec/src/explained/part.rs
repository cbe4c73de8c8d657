//! Parts of the time of a statement.

use serde::{Deserialize, Serialize};

/// Parts of the time of a statement; the work of plan nodes is booked under one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatementPart {
    Planning,
    /// Index, index only and bitmap index scans. Index and index only scans include the heap: the server does
    /// not separate it.
    Index,
    /// Bitmap heap and TID scans.
    Heap,
    /// Sequential and sample scans.
    SeqScan,
    /// Scans of functions, CTEs, VALUES, subqueries and foreign tables.
    OtherScan,
    /// Nested loop, hash and merge joins, with the Hash and Materialize nodes below them.
    Join,
    Sort,
    /// Aggregates, groups, windows and DISTINCT, except aggregates that make tiles.
    Aggregate,
    /// Functions of PostGIS, except [`StatementPart::Transform`].
    Geometry,
    Transform,
    /// Aggregates that make tiles (ST_AsMVT, ST_AsGeobuf, ST_AsFlatGeobuf), without functions called for each
    /// row.
    Mvt,
    /// All other functions that the server counts.
    Functions,
    /// INSERT, UPDATE, DELETE, MERGE, and locking rows.
    Modify,
    /// Gather: starting workers, waiting for them, taking their rows.
    Parallel,
    #[default]
    Other,
    Triggers,
    /// Converting rows to the output format.
    Serialization,
    /// Start and end of the executor, and other time outside of nodes.
    Outside,
}

impl StatementPart {
    /// All parts, in display order.
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

    /// The stored name, also used for columns.
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

    /// The name in reports.
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

    /// The part for the time of a function, by its name without a schema.
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
        assert!(StatementPart::ALL.is_sorted());
        let names: std::collections::BTreeSet<_> =
            StatementPart::ALL.iter().map(|part| part.name()).collect();
        assert_eq!(names.len(), StatementPart::ALL.len());
    }

    #[test]
    fn functions_are_booked_by_their_names() {
        for (name, part) in [
            ("st_transform", StatementPart::Transform),
            ("st_transformpipeline", StatementPart::Transform),
            ("st_asmvtgeom", StatementPart::Geometry),
            ("_st_intersects", StatementPart::Geometry),
            ("geometry_overlaps", StatementPart::Geometry),
            ("geography_distance_knn", StatementPart::Geometry),
            ("my_st_layer", StatementPart::Functions),
            ("styled", StatementPart::Functions),
        ] {
            assert_eq!(StatementPart::of_function(name), part, "{name}");
        }
    }
}
