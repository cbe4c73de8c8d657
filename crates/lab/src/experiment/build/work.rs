//! Preparations and workloads.

use spec::{Class, Error};
use workloads::{Preparation, Spec, WrongOption};

use super::Builder;
use crate::experiment::model::NamedWorkload;

impl Builder<'_, '_> {
    pub(super) fn prepare(&mut self) -> Preparation {
        let mut written: Preparation = self.document.read_at(&["prepare"]).unwrap_or_default();
        for (table, error) in written.problems() {
            let place: Vec<&str> = ["prepare"].into_iter().chain(table.iter().map(String::as_str)).collect();
            // A load that lacks a key because of a removed mistake is not a second mistake. A single load has
            // no index in a list.
            let alone =
                place.ends_with(&["[0]"]) && self.document.value(&["prepare", "osm", "[1]"]).is_none();
            let whole = if alone { &place[..place.len() - 1] } else { &place[..] };
            if !self.document.is_wrong(whole) {
                self.workload_error(&place, &error);
            }
        }
        for file in written.files_mut() {
            let place: Vec<&str> =
                ["prepare"].into_iter().chain(file.key.iter().map(String::as_str)).collect();
            let Some(path) = self.expanded(&place, &file.path.to_string_lossy()) else { continue };
            *file.path = self.folder().join(path);
            if let (true, Err(why)) = (self.look, (file.check)(file.path)) {
                self.document.wrong(&place, why, None);
            }
        }
        written
    }

    pub(super) fn workloads(&mut self, names: Vec<String>) -> Vec<NamedWorkload> {
        let read = |name: String| {
            let spec: Spec = self.document.read_at(&["workload", &name])?;
            Some((name, spec))
        };
        let mut written: Vec<(String, Spec)> = names.into_iter().filter_map(read).collect();
        for (name, spec) in &mut written {
            for ([kind, key], path) in spec.paths_mut() {
                let place = ["workload", name, kind, key];
                if let Some(expanded) = self.expanded(&place, &path.to_string_lossy()) {
                    *path = expanded.into();
                }
            }
        }
        self.names_are_names("workload", "a workload");
        for (name, spec) in &written {
            let place = ["workload", name];
            let checked = if self.look { spec.open(self.folder()).map(drop) } else { spec.validate() };
            if let (false, Err(error)) = (self.document.is_wrong(&place), checked) {
                self.workload_error(&place, &error);
            }
        }
        written.into_iter().map(|(name, spec)| NamedWorkload { name, spec }).collect()
    }

    /// Notes an error of a workload's own check, at the key it names.
    pub(super) fn workload_error(&mut self, table: &[&str], error: &Error) {
        let (paths, key, message) = match error.attached() {
            Some(WrongOption { key, problem }) => {
                (vec![key.split('.').collect()], Some(format!("{key}:")), problem.clone())
            }
            // Scripts, lists of tiles and extracts come from files.
            None if error.class() == Class::BadInput => (
                vec![
                    vec!["pgbench", "files"],
                    vec!["pgbench", "scripts"],
                    vec!["tiles", "picker"],
                    vec!["osm", "extract"],
                ],
                None,
                error.to_string(),
            ),
            None => (Vec::new(), None, error.to_string()),
        };
        // The first part of a key may be the table's own name.
        let whole = paths.iter().map(|path| &path[..]);
        let (inner, outer) = (paths.iter().map(|path| &path[1..]), paths.iter().map(|path| &path[..1]));
        let mut places = whole
            .chain(inner)
            .chain(outer)
            .map(|path| [table, path].concat())
            .filter(|place| place.len() > table.len());
        let place = places.find(|place| self.document.value(place).is_some());
        // The error of a script shows its source on further lines.
        let mut lines = message.lines();
        let first = lines.next().unwrap_or_default().to_owned();
        self.document.wrong_value(place.as_deref().unwrap_or(table), key, first, lines.next());
    }
}
