//! Sources of layers, as keys of an experiment file.

use std::path::Path;

use toml::Value;
use workloads::tiles::{LayerSource, Tiles, TilesOptions};

use crate::commands::bench::against::base::{Folder, plain};
use crate::commands::bench::against::usage;
use crate::exit::{BAD_INPUT, CommandFailure};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LayerArgument {
    /// As in the file: paths are relative to the experiment file.
    written: String,
    source: LayerSource,
}

impl LayerArgument {
    /// Parses an argument.
    ///
    /// # Errors
    /// A function with arguments, or an empty name.
    pub(super) fn read(text: &str, folder: &Folder) -> anyhow::Result<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Err(usage("a layer has an empty name", "a table, function() or file.sql"));
        }
        if let Some((name, _)) =
            text.split_once('(').filter(|_| !text.ends_with("()") && !text.starts_with('"'))
        {
            let what =
                format!("layer {text}: a function is named without arguments, and called with each tile");
            return Err(usage(
                &what,
                &format!("'{}()'; for other arguments a file with SELECT {name}(:z, :x, :y, …)", name.trim()),
            ));
        }
        let source = LayerSource::of(text);
        let written = match &source {
            LayerSource::Query(_) => folder.path(text),
            LayerSource::Table(_) | LayerSource::Function(_) => text.to_owned(),
        };
        Ok(Self { written, source })
    }

    /// The workload's key for this kind of source.
    fn key(&self) -> &'static str {
        match self.source {
            LayerSource::Table(_) => "table",
            LayerSource::Function(_) => "function",
            LayerSource::Query(_) => "query",
        }
    }

    /// A level that begins with a quote would be parsed as a quoted text.
    fn is_quoted(&self) -> bool {
        self.written.starts_with('"')
    }

    /// Checks what is possible without a server. Files are read again with the plan, but errors in another
    /// arm's file would then not name the option.
    fn check(&self) -> anyhow::Result<()> {
        let LayerSource::Query(_) = self.source else { return Ok(()) };
        let options = TilesOptions { query: Some((&self.written).into()), ..TilesOptions::default() };
        let wrong = |error| CommandFailure::with_code(BAD_INPUT, format!("--against: {error}"), None);
        Tiles::open(&options, Path::new("")).map(drop).map_err(wrong)
    }

    /// For display: the name of a file without its folder.
    pub(super) fn shown(&self) -> String {
        self.source.shown()
    }

    /// Its name without folder, extension and parentheses.
    fn stem(&self) -> String {
        let shown = self.shown();
        let stem = match self.source {
            LayerSource::Query(_) => shown.rsplit_once('.').map(|(stem, _)| stem),
            LayerSource::Function(_) => shown.strip_suffix("()"),
            LayerSource::Table(_) => None,
        };
        stem.unwrap_or(&shown).replace('"', "")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layers {
    base: Vec<LayerArgument>,
    others: Vec<LayerArgument>,
}

pub(super) struct Levels {
    pub(super) key: &'static str,
    pub(super) base: Value,
    pub(super) all: Vec<Value>,
}

impl Layers {
    /// # Errors
    /// Invalid or duplicate layers, or a comparison of one layer with several separate ones.
    pub(super) fn read(
        base: &[String],
        others: &[String],
        together: bool,
        folder: &Folder,
    ) -> anyhow::Result<Self> {
        let read = |layers: &[String]| {
            layers.iter().map(|layer| LayerArgument::read(layer, folder)).collect::<anyhow::Result<Vec<_>>>()
        };
        let (base, others) = (read(base)?, read(others)?);
        if base.is_empty() {
            return Err(usage("the arguments name no layer", "a table, function() or file.sql"));
        }
        let all: Vec<&LayerArgument> = base.iter().chain(&others).collect();
        let twice = all.iter().enumerate().find(|(place, layer)| all[..*place].contains(layer));
        if let Some((_, twice)) = twice {
            return Err(usage(&format!("{} is given twice", twice.shown()), "name each layer once"));
        }
        if !others.is_empty() && base.len() > 1 && !together {
            let what = "--against: one layer is compared with another, and several are given";
            let hint = "one LAYER; or --together, which makes one tile of all of them";
            return Err(usage(what, hint));
        }
        others.iter().try_for_each(LayerArgument::check)?;
        Ok(Self { base, others })
    }

    /// The key and value without a comparison, or of the base.
    pub(super) fn entry(&self) -> (&'static str, Value) {
        let key = self.key();
        (key, self.value(&self.base))
    }

    /// The compared option, if layers are compared.
    pub(super) fn levels(&self) -> Option<Levels> {
        let others = self.others.iter().map(|other| self.value(std::slice::from_ref(other)));
        let base = self.value(&self.base);
        let all = std::iter::once(base.clone()).chain(others).collect();
        (!self.others.is_empty()).then(|| Levels { key: self.key(), base, all })
    }

    /// One key if all sources are of one kind, else the key for lists.
    fn key(&self) -> &'static str {
        let first = &self.base[0];
        let mut all = self.base.iter().chain(&self.others);
        let alike = self.base.len() == 1 && all.all(|layer| layer.key() == first.key() && !layer.is_quoted());
        if alike { first.key() } else { "layers" }
    }

    fn value(&self, layers: &[LayerArgument]) -> Value {
        let mut written = layers.iter().map(|layer| Value::from(layer.written.as_str()));
        match (self.key(), layers) {
            ("layers", _) => Value::Array(written.collect()),
            (_, _) => written.next().unwrap_or_else(|| Value::Array(Vec::new())),
        }
    }

    /// `tiles` if layers are compared, else the names of the layers.
    pub(super) fn name(&self) -> String {
        let stems: Vec<String> = self.base.iter().map(LayerArgument::stem).collect();
        let name = plain(&stems.join(" and "));
        if self.others.is_empty() && !name.is_empty() { name } else { "tiles".to_owned() }
    }

    /// For the file name.
    pub(super) fn short(&self) -> String {
        let stems = |layers: &[LayerArgument]| {
            layers.iter().map(LayerArgument::stem).collect::<Vec<_>>().join(" and ")
        };
        match self.others.is_empty() {
            true => format!("{} tiles", stems(&self.base)),
            false => format!("{} against {}", stems(&self.base), stems(&self.others)),
        }
    }

    /// `tiles of roads and water`.
    pub(super) fn in_words(&self) -> String {
        format!("tiles of {}", shown(&self.base, " and "))
    }

    pub(super) fn question(&self) -> String {
        match &self.others[..] {
            [] => format!("How fast are {}, and where does the time go?", self.in_words()),
            others => {
                let (others, base) = (shown(others, " or "), shown(&self.base, " and "));
                format!("Are tiles by {others} faster than those by {base}, and at which zoom?")
            }
        }
    }
}

fn shown(layers: &[LayerArgument], joint: &str) -> String {
    layers.iter().map(LayerArgument::shown).collect::<Vec<_>>().join(joint)
}
