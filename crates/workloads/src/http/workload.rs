//! The workload as `lab` sees it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use engine::Client;
use spec::{Artifact, Error, MapPart, TextKind};

use super::guard::{ask, probe, spread};
use super::options::HttpOptions;
use super::requests::Requests;
use super::web::Web;
use crate::answers::{NUMBER, SAMPLE, Sampled, ScriptAnswers, TransactionAnswer};
use crate::hash::sha256_hex;
use crate::place::{Places, Site};
use crate::trace::{self, Trace};
use crate::workload::{
    ClientWorkload, Clients, EMPTY_WEB, Guarded, Prepared, RequestText, ScriptInfo, TileItem, Workload,
};

/// A workload of GET requests.
#[derive(Debug)]
pub struct Http {
    options: HttpOptions,
    web: Web,
    trace: Arc<Trace>,
    /// The zooms among its tiles, each counted separately.
    zooms: Vec<u8>,
    /// Each tile once.
    items: Vec<TileItem>,
    requests: Arc<Requests>,
}

impl Http {
    /// A workload with these options; reads a list of tiles, or a log, relative to `folder`.
    ///
    /// # Errors
    /// When options are out of range, or the list cannot be read or is useless.
    pub fn open(options: &HttpOptions, folder: &Path) -> Result<Self, Error> {
        options.validate()?;
        let trace = match &options.tiles {
            Some(path) => trace::read(&folder.join(path), trace::MOST)?,
            None => Arc::default(),
        };
        let web = Web::new(options)?;
        let zooms: BTreeSet<u8> = trace.tiles.iter().map(|(tile, _)| tile.z).collect();
        let zooms: Vec<u8> = zooms.into_iter().collect();
        let mut items = Vec::new();
        let mut requests = Requests::new();
        for (tile, often) in &trace.tiles {
            let script = zooms.binary_search(&tile.z).unwrap_or_default() as u16;
            let path = web.url().path(tile.z, tile.x, tile.y);
            let item = Some(items.len() as u32);
            items.push(TileItem { script, tile: *tile });
            let request = requests.written(script, item, |out| web.write(&path, out));
            requests.push(request, *often);
        }
        if trace.tiles.is_empty() {
            requests.add(0, None, |out| web.write(&web.url().path(0, 0, 0), out));
        }
        Ok(Self { options: options.clone(), web, trace, zooms, items, requests: Arc::new(requests) })
    }
}

impl Workload for Http {
    fn scripts(&self) -> Vec<ScriptInfo> {
        let HttpOptions { accept, gzip, keepalive, .. } = &self.options;
        let url = self.web.url().to_string();
        let script = |name: String, part| {
            let text = format!("{name} {accept:?} {gzip} {keepalive}");
            ScriptInfo { name, text_hash: sha256_hex(text.as_bytes()), weight: 1, part }
        };
        if self.zooms.is_empty() {
            return vec![script(url, None)];
        }
        let of_zoom = |z: &u8| {
            let part = MapPart { layer: url.clone(), zoom: Some(*z), cached: None };
            script(format!("{url}, z{z}"), Some(part))
        };
        self.zooms.iter().map(of_zoom).collect()
    }

    fn texts(&self) -> Vec<RequestText> {
        let path = self.options.tiles.iter();
        let list = |path: &std::path::PathBuf| RequestText {
            name: path.display().to_string(),
            kind: TextKind::File,
            text: self.trace.text.clone().into_bytes(),
        };
        path.map(list).collect()
    }

    fn may_be_empty(&self) -> bool {
        self.options.may_be_empty
    }

    fn advice_on_empty(&self) -> &'static str {
        EMPTY_WEB
    }

    fn asks_web(&self) -> bool {
        true
    }

    fn check(&mut self, site: &mut Site<'_>) -> Result<(), Error> {
        self.web.check(site)
    }

    fn prepare(&mut self, _site: &mut Site<'_>, _seed: u64) -> Result<Prepared, Error> {
        let url = self.web.url().to_string();
        let tiles = (!self.trace.tiles.is_empty()).then(|| sha256_hex(self.trace.text.as_bytes()));
        let json = serde_json::json!({ "url": url, "tiles": tiles }).to_string();
        let summary = match self.trace.tiles.len() {
            0 => url,
            _ => format!("{} of {url}", self.trace.words()),
        };
        Ok(Prepared { hash: sha256_hex(json.as_bytes()), json, summary, rows: None })
    }

    fn reset(&mut self, _site: &mut Site<'_>) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn sample(&mut self, site: &mut Site<'_>, _seed: u64) -> Result<Sampled, Error> {
        let mut control = self.web.control(site)?;
        let mut answers = Vec::new();
        for request in spread(&self.requests, SAMPLE as usize) {
            let got = ask(&self.web, &self.requests, request, &mut *control)?;
            let length = got.body.len() as u64;
            let mut answer = TransactionAnswer::default();
            // The bytes of a tile may have another order or compression.
            let first = answer.open([("tile_bytes", NUMBER)]);
            answer.add(first, [Some(length.to_string().as_str())].into_iter().filter(|_| length > 0));
            (answer.rows, answer.bytes) = (u64::from(length > 0), length);
            answers.push(answer);
        }
        let script = self.web.url().to_string();
        Ok(Sampled::Answers(vec![ScriptAnswers { script, answers }]))
    }

    fn guard(&mut self, site: &mut Site<'_>, _seed: u64) -> Result<Guarded, Error> {
        let mut guarded = probe(&self.web, &self.requests, site)?;
        if self.options.may_be_empty {
            guarded.notes.extend(guarded.empty.take());
        }
        guarded.notes.extend(self.trace.remarks.clone());
        Ok(guarded)
    }

    fn artifacts(&mut self, _site: &mut Site<'_>) -> Result<Vec<Artifact>, Error> {
        Ok(Vec::new())
    }
}

impl ClientWorkload for Http {
    fn items(&self) -> Vec<TileItem> {
        self.items.clone()
    }

    fn clients(&self, _places: &Places, wanted: Clients) -> Result<Vec<Box<dyn Client>>, Error> {
        self.web.clients(&self.requests, 1, wanted)
    }
}
