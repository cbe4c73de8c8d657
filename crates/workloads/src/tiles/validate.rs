//! Checks the options of tiles.

use protocol::http::Url;
use spec::Error;

use super::cache;
use super::options::{TilesOptions, Variant};
use super::picker::Picker;
use super::source::LayerSource;
use super::via::Via;
use super::zooms::Zooms;
use crate::error;
use crate::http::empty_status_problem;

impl TilesOptions {
    /// Checks that each option is within its range, and that they go together.
    pub fn validate(&self) -> Result<(), Error> {
        let wrong = |key: &str, problem: String| Err(error::option(format!("tiles.{key}"), problem));
        let given = [
            ("table", self.table.is_some()),
            ("tables", !self.tables.is_empty()),
            ("function", self.function.is_some()),
            ("query", self.query.is_some()),
            ("layers", !self.layers.is_empty()),
        ];
        let given: Vec<&str> = given.into_iter().filter_map(|(key, given)| given.then_some(key)).collect();
        match given[..] {
            [] => return wrong("table", "is missing; try table = \"planet_osm_polygon\"".into()),
            [_] => {}
            [first, second, ..] => {
                return wrong(
                    second,
                    format!("give {first} or {second}, not both; several layers go into layers"),
                );
            }
        }
        if let Some(problem) = self.sources().iter().find_map(LayerSource::problem) {
            return wrong(given[0], problem);
        }
        let shown: Vec<String> = self.sources().iter().map(LayerSource::shown).collect();
        let twice = shown.iter().enumerate().find(|(at, name)| shown[..*at].contains(name));
        if let Some((_, name)) = twice {
            let problem =
                format!("{name} is repeated; figures are kept by layer, so each needs a unique name");
            return wrong(given[0], problem);
        }
        if let Some(problem) = self.zooms.problem() {
            return wrong("zooms", problem);
        }
        if !(1..=100_000).contains(&self.tiles_per_zoom) {
            return wrong("tiles_per_zoom", format!("{} is not within 1..100000", self.tiles_per_zoom));
        }
        if !(0.0..=65_536.0).contains(&self.min_pixels) {
            return wrong("min_pixels", format!("{} is not within 0..65536", self.min_pixels));
        }
        if let Some(problem) = self.bounds.and_then(bounds_problem) {
            return wrong("bounds", problem);
        }
        if let Picker::Sessions(sessions) = &self.picker {
            if let Some((key, problem)) = sessions.problem() {
                return wrong(key, problem);
            }
            if matches!(self.zooms, Zooms::Mix(_)) {
                let problem = "users zoom one by one; give [lowest, highest] with sessions";
                return wrong("zooms", problem.to_owned());
            }
        }
        self.validate_once()?;
        if let Some(problem) = empty_status_problem(&self.empty_status) {
            return wrong("empty_status", problem);
        }
        self.validate_via()?;
        cache::validate(self)?;
        self.validate_historic()
    }

    /// Every tile of an area, as one layer, straight from where they are made.
    fn validate_once(&self) -> Result<(), Error> {
        let Some(once) = &self.once else { return Ok(()) };
        let wrong = |key: &str, problem: &str| Err(error::option(format!("tiles.{key}"), problem));
        if let Some((key, problem)) = once.problem() {
            return wrong(key, &problem);
        }
        if self.sources().len() > 1 && !self.together {
            return wrong("once", "asks for each tile once, with all layers in it; write together = true");
        }
        if self.variant == Variant::Historic {
            return wrong(
                "variant",
                "historic draws random boxes, and once asks for each tile; leave one of them out",
            );
        }
        if matches!(self.picker, Picker::Uniform | Picker::Sessions(_)) {
            return wrong(
                "picker",
                "once asks for every tile of the zooms and bounds, or of a list; leave picker out",
            );
        }
        if !matches!(self.via, Via::Sql | Via::Http(_)) {
            return wrong(
                "via",
                "once goes to the database, or to the URL of a web server with {z}, {x} and {y}",
            );
        }
        Ok(())
    }

    /// Web servers have paths for tables, but not for statements.
    fn validate_via(&self) -> Result<(), Error> {
        let wrong = |problem: &str| Err(error::option("tiles.via".to_owned(), problem));
        if self.via == Via::Sql {
            return Ok(());
        }
        if self.variant == Variant::Historic {
            return wrong("historic is a statement; leave via out");
        }
        if self.via == Via::Redis && matches!(self.picker, Picker::Sessions(_)) {
            return wrong(
                "a client asks the cache for one tile at a time, and sessions for many at once; leave via or picker out",
            );
        }
        let only_tables = self.sources().iter().all(|source| matches!(source, LayerSource::Table(_)));
        if self.via.tile_server().is_some() && (self.together || !only_tables) {
            return wrong("a tile server of the target serves tables, each by itself");
        }
        if let Via::Http(url) = &self.via {
            let several = self.sources().len() > 1 && !self.together;
            if several && !url.contains("{layer}") {
                return wrong(
                    "several layers need {layer} in the URL, or together = true where it gives all of them",
                );
            }
            let path = url.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[..at]));
            if path.is_some_and(|place| place.contains("{layer}")) {
                return wrong("{layer} is allowed in the path only: all layers come from one host");
            }
            match Url::parse(&url.replace("{layer}", "layer")) {
                Err(error) => return wrong(&error.to_string()),
                Ok(url) if !url.has_places() => return wrong("the URL has no {z}, {x} and {y}"),
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Random boxes have no zoom and no list.
    fn validate_historic(&self) -> Result<(), Error> {
        if self.variant != Variant::Historic {
            return Ok(());
        }
        let only_tables = self.sources().iter().all(|source| matches!(source, LayerSource::Table(_)));
        let problem = if !only_tables {
            "historic asks tables only"
        } else if self.together {
            "historic makes tiles of one table; leave together out"
        } else if self.picker != Picker::default() {
            "historic draws its boxes in the query; leave picker out"
        } else {
            return Ok(());
        };
        Err(error::option("tiles.variant".to_owned(), problem))
    }
}

/// West, south, east, north.
fn bounds_problem(bounds: [f64; 4]) -> Option<String> {
    let [west, south, east, north] = bounds;
    let within = (-180.0..=180.0).contains(&west)
        && (-180.0..=180.0).contains(&east)
        && (-90.0..=90.0).contains(&south)
        && (-90.0..=90.0).contains(&north);
    (!within || west >= east || south >= north).then(|| {
        format!("invalid bounds {bounds:?}: write [west, south, east, north] in degrees, such as [14.1, 35.7, 14.6, 36.1]")
    })
}
