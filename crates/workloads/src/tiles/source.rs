//! The source of a layer.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::jobs::file_name;

/// The source of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerSource {
    /// A table or view with a geometry column.
    Table(String),
    /// A function of zoom, column and row.
    Function(String),
    Query(PathBuf),
}

impl LayerSource {
    /// By its form: `roads.sql` is a file, `roads()` a function, anything else a table.
    #[must_use]
    pub fn of(layer: &str) -> Self {
        if Self::is_file(Path::new(layer)) {
            Self::Query(layer.into())
        } else if layer.trim_end().ends_with("()") {
            Self::function(layer)
        } else {
            Self::Table(layer.to_owned())
        }
    }

    /// With or without its parentheses.
    pub(super) fn function(name: &str) -> Self {
        let name = name.trim();
        Self::Function(name.strip_suffix("()").unwrap_or(name).trim_end().to_owned())
    }

    pub(super) fn is_file(path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(OsStr::new("sql")))
    }

    /// Its name in reports: a file without its folder.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Table(table) => table.clone(),
            Self::Function(function) => format!("{function}()"),
            Self::Query(path) => file_name(path),
        }
    }

    /// What is wrong with its name.
    pub(super) fn problem(&self) -> Option<String> {
        match self {
            Self::Table(name) | Self::Function(name) if name.trim().is_empty() => {
                Some("a layer has an empty name; try \"planet_osm_polygon\"".to_owned())
            }
            Self::Function(name) if name.contains(['(', ')']) => Some(format!(
                "invalid function name \"{name}\"; give its name alone, it is called with zoom, column and row"
            )),
            Self::Query(path) if path.as_os_str().is_empty() => Some("names no file".to_owned()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_told_apart_by_their_form() {
        for (layer, wanted, shown) in [
            ("planet_osm_polygon", LayerSource::Table("planet_osm_polygon".into()), "planet_osm_polygon"),
            ("osm.poi_tiles()", LayerSource::Function("osm.poi_tiles".into()), "osm.poi_tiles()"),
            ("queries/roads.SQL", LayerSource::Query("queries/roads.SQL".into()), "roads.SQL"),
        ] {
            let source = LayerSource::of(layer);
            assert_eq!((source.shown().as_str(), &source), (shown, &wanted));
            assert_eq!(source.problem(), None);
        }
        assert!(LayerSource::of("f(z)()").problem().unwrap().contains("invalid function name"));
        assert!(LayerSource::of(" ").problem().unwrap().contains("empty name"));
    }
}
