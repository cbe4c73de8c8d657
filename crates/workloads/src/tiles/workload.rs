//! The workload as `lab` sees it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use engine::Client;
use record::{Artifact, TextKind};
use script::Streams;

use super::check::{Layer, layers};
use super::client::{Atlas, AtlasLayer, TileClient};
use super::grid::Tile;
use super::guard::{length, probe};
use super::options::{Options, Picker};
use super::prepare::{Picked, pick, read_trace, spread};
use super::query::{Style, prepared};
use super::samples::samples;
use crate::answers::{Answer, NUMBER, SAMPLE, Sampled, ScriptAnswers};
use crate::error::WorkloadError;
use crate::hash::sha256_hex;
use crate::link::PgLink;
use crate::place::{Places, Site};
use crate::workload::{Asked, Carried, ClientWorkload, Clients, Guarded, Prepared, ScriptInfo, Workload};

/// Map tiles.
#[derive(Debug)]
pub struct Tiles {
    options: Options,
    style: Style,
    trace: Vec<Tile>,
    /// The list of tiles as it was read.
    trace_text: String,
    /// Found by `check`.
    layers: Vec<Layer>,
    /// Chosen by `prepare`, as many as `layers`.
    picked: Vec<(Layer, Picked)>,
}

impl Tiles {
    /// A workload with these options; a list of tiles is read here, a relative one from `folder`.
    ///
    /// # Errors
    /// When options are out of range or the list cannot be read.
    pub fn open(options: &Options, folder: &Path) -> Result<Self, WorkloadError> {
        options.validate()?;
        let (trace, trace_text) = match &options.picker {
            Picker::Trace(path) => read_trace(&folder.join(path))?,
            Picker::Data | Picker::Uniform => Default::default(),
        };
        let style = Style { variant: options.variant, min_pixels: options.min_pixels };
        Ok(Self {
            options: options.clone(),
            style,
            trace,
            trace_text,
            layers: Vec::new(),
            picked: Vec::new(),
        })
    }

    fn atlas(&self) -> Atlas {
        let layers = self.picked.iter().enumerate();
        Atlas {
            layers: layers.map(|(number, (layer, picked))| self.atlas_layer(number, layer, picked)).collect(),
        }
    }

    /// One statement for each zoom: the size filter differs.
    fn atlas_layer(&self, number: usize, layer: &Layer, picked: &Picked) -> AtlasLayer {
        let mut used: Vec<u8> = picked.zooms.iter().flatten().map(|tile| tile.z).collect();
        used.sort_unstable();
        used.dedup();
        let statement = |z: &u8| (format!("layer{number}_z{z}"), prepared(layer, *z, self.style));
        let with_statement = |tile: &Tile| {
            let place = used.binary_search(&tile.z).unwrap_or_default();
            (*tile, place as u16)
        };
        AtlasLayer {
            statements: used.iter().map(statement).collect(),
            zooms: picked.zooms.iter().map(|tiles| tiles.iter().map(with_statement).collect()).collect(),
        }
    }

    fn not_prepared() -> WorkloadError {
        WorkloadError::Missing {
            what: "no tiles are picked yet".to_owned(),
            hint: "prepare the workload first".to_owned(),
        }
    }
}

impl Workload for Tiles {
    fn scripts(&self) -> Vec<ScriptInfo> {
        let Options { zooms, variant, min_pixels, .. } = &self.options;
        let tables = self.options.table_names().into_iter();
        tables
            .map(|table| {
                let text = format!("{table} {zooms:?} {variant:?} {min_pixels}");
                ScriptInfo { name: table.to_owned(), text_hash: sha256_hex(text.as_bytes()), weight: 1 }
            })
            .collect()
    }

    /// The query of each layer and zoom, and the list of tiles, where there is one.
    fn texts(&self) -> Vec<Asked> {
        let mut texts = Vec::new();
        if let Picker::Trace(path) = &self.options.picker {
            let text = self.trace_text.clone().into_bytes();
            texts.push(Asked { name: path.display().to_string(), kind: TextKind::File, text });
        }
        for (layer, picked) in &self.picked {
            let zooms: BTreeSet<u8> = picked.zooms.iter().flatten().map(|tile| tile.z).collect();
            texts.extend(zooms.into_iter().map(|z| Asked {
                name: format!("{}, zoom {z}", layer.shown),
                kind: TextKind::Query,
                text: prepared(layer, z, self.style).into_bytes(),
            }));
        }
        texts
    }

    fn carried(&self) -> Carried {
        Carried { prepared: true, ..Carried::default() }
    }

    fn may_be_empty(&self) -> bool {
        self.options.may_be_empty
    }

    fn check(&mut self, site: &mut Site<'_>) -> Result<(), WorkloadError> {
        self.layers = layers(site.sql()?, &self.options.table_names())?;
        Ok(())
    }

    fn prepare(&mut self, site: &mut Site<'_>, seed: u64) -> Result<Prepared, WorkloadError> {
        if self.layers.is_empty() {
            self.check(site)?;
        }
        let sql = site.sql()?;
        self.picked.clear();
        for layer in &self.layers {
            let picked = pick(sql, layer, &self.options, &self.trace, seed)?;
            self.picked.push((layer.clone(), picked));
        }
        let picked: Vec<&Picked> = self.picked.iter().map(|(_, picked)| picked).collect();
        let json = serde_json::json!({ "seed": seed, "layers": picked }).to_string();
        let count: usize = picked.iter().flat_map(|picked| &picked.zooms).map(Vec::len).sum();
        let [low, high] = self.options.zooms;
        let tables = self.options.table_names().join(", ");
        let zooms = match self.options.picker {
            Picker::Trace(_) => "from a trace".to_owned(),
            Picker::Data | Picker::Uniform => format!("z{low}-z{high}"),
        };
        let summary = format!("{} of {tables}, {zooms}", record::count(count as u64, "tile"));
        Ok(Prepared { hash: sha256_hex(json.as_bytes()), json, summary })
    }

    fn adopt(&mut self, chosen: &Prepared) -> Result<(), WorkloadError> {
        #[derive(serde::Deserialize)]
        struct Chosen {
            layers: Vec<Picked>,
        }
        let unreadable = |error: serde_json::Error| WorkloadError::Missing {
            what: format!("the tiles that were chosen cannot be read: {error}"),
            hint: "add --again to begin the experiment anew".to_owned(),
        };
        let chosen: Chosen = serde_json::from_str(&chosen.json).map_err(unreadable)?;
        self.picked = self.layers.iter().cloned().zip(chosen.layers).collect();
        Ok(())
    }

    fn reset(&mut self, _site: &mut Site<'_>) -> Result<Vec<String>, WorkloadError> {
        Ok(Vec::new())
    }

    fn sample(&mut self, site: &mut Site<'_>, _seed: u64) -> Result<Sampled, WorkloadError> {
        let sql = site.sql()?;
        let mut sampled = Vec::new();
        for (layer, picked) in &self.picked {
            let mut answers = Vec::new();
            for tile in spread(picked, SAMPLE as usize) {
                let mut answer = Answer::default();
                let length = length(sql, layer, tile, self.style)?;
                // The bytes of a tile may stand in another order.
                let first = answer.open([("tile_bytes", NUMBER)]);
                answer.add(first, [Some(length.to_string().as_str())].into_iter().filter(|_| length > 0));
                (answer.rows, answer.bytes) = (u64::from(length > 0), length);
                answers.push(answer);
            }
            sampled.push(ScriptAnswers { script: layer.name.clone(), answers });
        }
        Ok(Sampled::Answers(sampled))
    }

    fn guard(&mut self, site: &mut Site<'_>, _seed: u64) -> Result<Guarded, WorkloadError> {
        if self.picked.is_empty() {
            return Err(Self::not_prepared());
        }
        let mut guarded = probe(site.sql()?, &self.picked, self.style)?;
        if self.options.may_be_empty {
            guarded.notes.extend(guarded.empty.take());
        }
        Ok(guarded)
    }

    fn artifacts(&mut self, site: &mut Site<'_>) -> Result<Vec<Artifact>, WorkloadError> {
        samples(site.sql()?, &self.picked, self.style)
    }
}

impl ClientWorkload for Tiles {
    fn clients(&self, places: &Places, wanted: Clients) -> Result<Vec<Box<dyn Client>>, WorkloadError> {
        if self.picked.is_empty() {
            return Err(Self::not_prepared());
        }
        let connect = &places.postgres()?.place;
        let atlas = Arc::new(self.atlas());
        let streams = Streams::new(wanted.seed, wanted.count.max(1), 1, true);
        let members = streams.clients.into_iter().enumerate();
        Ok(members
            .map(|(number, random)| {
                let link = PgLink::new(connect, 0);
                Box::new(TileClient::new(Arc::clone(&atlas), number, link, random)) as Box<dyn Client>
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list stays as it was written, comments too; a query is told once for each zoom that is asked for.
    #[test]
    fn texts_are_the_list_and_the_query_of_each_zoom() {
        let folder = tempfile::tempdir().unwrap();
        let list = "# mine\n14/8851/6439\n13/4425/3219\n14/8852/6439\n";
        std::fs::write(folder.path().join("list.txt"), list).unwrap();
        let options = Options {
            table: Some("roads".into()),
            picker: Picker::Trace("list.txt".into()),
            ..Options::default()
        };
        let mut tiles = Tiles::open(&options, folder.path()).unwrap();
        let layer = Layer {
            shown: "roads".into(),
            table: "\"public\".\"roads\"".into(),
            name: "roads".into(),
            geometry: "\"way\"".into(),
            attributes: Vec::new(),
            has_area: false,
            identity: "1".into(),
        };
        let zooms = vec![tiles.trace.clone()];
        tiles.picked.push((layer, Picked { table: "roads".into(), zooms }));
        let told: Vec<_> = tiles.texts().into_iter().map(|asked| (asked.name, asked.kind)).collect();
        let wanted = [
            ("list.txt", TextKind::File),
            ("roads, zoom 13", TextKind::Query),
            ("roads, zoom 14", TextKind::Query),
        ];
        assert_eq!(told, wanted.map(|(name, kind)| (name.to_owned(), kind)));
        assert_eq!(tiles.texts()[0].text, list.as_bytes());
        assert!(tiles.texts()[1].text.starts_with(b"SELECT ST_AsMVT"));
    }
}
