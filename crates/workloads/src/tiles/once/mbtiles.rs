//! An MBTiles file: SQLite with the tables of the specification 1.3, as tippecanoe, tegola and martin write it,
//! and a table with the progress until its run is stored and no tile is left.
//!
//! The crate `mbtiles` has an async runtime, and another build of SQLite than ours, which one program cannot
//! both have (docs/decisions/0049).

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, params};
use spec::{Class, Error};
use tile::Tile;
use tile::mvt::{self, AttributeValue};

use super::area::Area;
use super::progress::Progress;

const TABLES: &str = "
CREATE TABLE metadata (name TEXT NOT NULL, value TEXT);
CREATE TABLE tiles (zoom_level INTEGER NOT NULL, tile_column INTEGER NOT NULL, tile_row INTEGER NOT NULL, tile_data BLOB);
CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);
CREATE TABLE pgdyno_progress (state TEXT NOT NULL);
PRAGMA application_id = 0x4d504258;
";

/// Tiles that are looked through for layers and attributes.
const LOOKED_THROUGH: u64 = 200;
/// Bytes of a tile that are looked through.
const LONGEST: u64 = 64 << 20;

/// What the metadata of a finished file say.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct MbtilesFacts {
    pub(super) name: String,
    /// Lowest and highest.
    pub(super) zooms: [u8; 2],
    /// West, south, east and north in degrees.
    pub(super) bounds: Option<[f64; 4]>,
    pub(super) attribution: Option<&'static str>,
}

#[derive(Debug)]
pub(super) struct Mbtiles {
    path: PathBuf,
    file: Connection,
    /// Whether a transaction is open.
    is_open: bool,
}

/// Attributes by layer, with the words that the specification has for their types.
type Fields = BTreeMap<String, BTreeMap<String, &'static str>>;

impl Mbtiles {
    /// Makes the file, or goes on with one that was begun for the same tiles.
    pub(super) fn open(path: &Path, new: &Progress, area: &Area) -> Result<(Self, Option<Progress>), Error> {
        let failed = |error: rusqlite::Error| failure(path, &error);
        is_our_own(path)?;
        let is_there = std::fs::metadata(path).is_ok_and(|found| found.len() > 0);
        let file = Connection::open(path).map_err(failed)?;
        // A trigger or a view of somebody else would run with each tile.
        for config in [DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW] {
            file.set_db_config(config, false).map_err(failed)?;
        }
        let known = match is_there {
            true => Some(known(&file, path, (new, area))?),
            false => {
                file.execute_batch(TABLES).map_err(failed)?;
                None
            }
        };
        Ok((Self { path: path.to_owned(), file, is_open: false }, known))
    }

    /// Keeps a tile, as [`packed`].
    pub(super) fn put(&mut self, tile: Tile, packed: &[u8]) -> Result<(), Error> {
        self.begin()?;
        // Rows of the specification are counted from the south.
        let row = (1_u64 << tile.z) - 1 - u64::from(tile.y);
        let insert = "INSERT OR REPLACE INTO tiles VALUES (?1, ?2, ?3, ?4)";
        let done = self
            .file
            .prepare_cached(insert)
            .and_then(|mut insert| insert.execute(params![tile.z, tile.x, row as i64, packed]));
        done.map(drop).map_err(|error| failure(&self.path, &error))
    }

    pub(super) fn commit(&mut self, progress: &Progress) -> Result<(), Error> {
        self.begin()?;
        let state = serde_json::to_string(progress)
            .map_err(|error| Error::new(Class::Internal, error.to_string()))?;
        let done = self
            .file
            .execute("DELETE FROM pgdyno_progress", [])
            .and_then(|_| self.file.execute("INSERT INTO pgdyno_progress VALUES (?1)", [state]))
            .and_then(|_| self.file.execute_batch("COMMIT"));
        self.is_open = false;
        done.map_err(|error| failure(&self.path, &error))
    }

    /// Writes the metadata; what is said of the file.
    pub(super) fn complete(&mut self, facts: &MbtilesFacts) -> Result<String, Error> {
        let failed = |error: rusqlite::Error| failure(&self.path, &error);
        let (tiles, format, fields) = self.look_through().map_err(failed)?;
        let write = || {
            let transaction = self.file.unchecked_transaction()?;
            transaction.execute("DELETE FROM metadata", [])?;
            for (name, value) in metadata(facts, format, &fields) {
                transaction.execute("INSERT INTO metadata VALUES (?1, ?2)", [name, &value])?;
            }
            transaction.commit()
        };
        write().map_err(failed)?;
        let bytes = std::fs::metadata(&self.path).map_or(0, |found| found.len());
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(format!("{name} has {}, {}", spec::count(tiles, "tile"), spec::bytes(bytes)))
    }

    /// The number of its tiles, their format, and what some of them hold.
    fn look_through(&self) -> rusqlite::Result<(u64, &'static str, Fields)> {
        let tiles: i64 = self.file.query_row("SELECT count(*) FROM tiles", [], |row| row.get(0))?;
        let tiles = tiles.unsigned_abs();
        let (mut format, mut fields) = (VECTOR, Fields::new());
        let some = "SELECT tile_data FROM tiles WHERE rowid % ?1 = 0 LIMIT ?2";
        let mut some = self.file.prepare(some)?;
        let every = (tiles / LOOKED_THROUGH).max(1) as i64;
        let mut rows = some.query(params![every, LOOKED_THROUGH as i64])?;
        while let Some(row) = rows.next()? {
            let packed: Vec<u8> = row.get(0)?;
            format = format_of(&packed);
            if format == VECTOR {
                add_fields(&mut fields, &unpacked(&packed));
            }
        }
        Ok((tiles, format, fields))
    }

    /// The file is as others make it from now on.
    pub(super) fn forget(self) -> Result<(), Error> {
        let dropped = self.file.execute_batch("DROP TABLE pgdyno_progress");
        dropped.map_err(|error| failure(&self.path, &error))
    }

    fn begin(&mut self) -> Result<(), Error> {
        if !std::mem::replace(&mut self.is_open, true) {
            self.file.execute_batch("BEGIN").map_err(|error| failure(&self.path, &error))?;
        }
        Ok(())
    }
}

fn metadata(facts: &MbtilesFacts, format: &str, fields: &Fields) -> Vec<(&'static str, String)> {
    let [low, high] = facts.zooms;
    let layers = fields.iter().map(
        |(id, fields)| serde_json::json!({ "id": id, "fields": fields, "minzoom": low, "maxzoom": high }),
    );
    let layers = serde_json::json!({ "vector_layers": layers.collect::<Vec<_>>() }).to_string();
    let bounds = facts.bounds.map(|bounds| bounds.map(|degrees| format!("{degrees:.6}")).join(","));
    let written = [
        ("name", Some(facts.name.clone())),
        ("format", Some(format.to_owned())),
        ("minzoom", Some(low.to_string())),
        ("maxzoom", Some(high.to_string())),
        ("bounds", bounds),
        ("type", Some("overlay".to_owned())),
        ("attribution", facts.attribution.map(str::to_owned)),
        ("generator", Some(format!("pgdyno {}", env!("CARGO_PKG_VERSION")))),
        ("json", (format == VECTOR).then_some(layers)),
    ];
    written.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn add_fields(all: &mut Fields, content: &[u8]) {
    let Ok(found) = mvt::decode_with_attributes(content) else { return };
    for layer in found {
        let fields = all.entry(layer.name).or_default();
        for (key, value) in layer.features.iter().flat_map(|feature| &feature.tags) {
            let (Some(key), Some(value)) = (layer.keys.get(*key as usize), layer.values.get(*value as usize))
            else {
                continue;
            };
            fields.entry(key.clone()).or_insert(match value {
                AttributeValue::Whole(_) | AttributeValue::Real(_) => "Number",
                AttributeValue::Truth(_) => "Boolean",
                AttributeValue::Text(_) | AttributeValue::Unknown => "String",
            });
        }
    }
}

pub(super) const VECTOR: &str = "pbf";
/// Formats of pictures, by their first bytes.
const PICTURES: [(&[u8], &str); 3] = [(b"\x89PNG", "png"), (b"\xff\xd8\xff", "jpg"), (b"RIFF", "webp")];

pub(super) fn format_of(content: &[u8]) -> &'static str {
    PICTURES.iter().find(|(start, _)| content.starts_with(start)).map_or(VECTOR, |(_, name)| name)
}

/// As the specification stores it: vector tiles compressed with gzip.
pub(super) fn packed(content: &[u8]) -> Vec<u8> {
    use std::io::Write;
    if format_of(content) != VECTOR {
        return content.to_vec();
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    // Writing to a vector cannot fail.
    let _ = encoder.write_all(content);
    encoder.finish().unwrap_or_default()
}

/// Root follows no link of another user, who could have it fill any file.
fn is_our_own(path: &Path) -> Result<(), Error> {
    let Ok(found) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let is_foreign = found.is_symlink() && found.uid() != rustix::process::geteuid().as_raw();
    if !is_foreign {
        return Ok(());
    }
    let what = format!("{} is a link that another user made", path.display());
    Err(Error::new(Class::BadInput, what).with_hint("name the file itself, or another one"))
}

/// Nothing for a tile without gzip: another program wrote it.
fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    let read = flate2::read::GzDecoder::new(packed).take(LONGEST).read_to_end(&mut content);
    if read.is_ok() { content } else { Vec::new() }
}

/// The progress in a file that is there.
fn known(file: &Connection, path: &Path, (new, area): (&Progress, &Area)) -> Result<Progress, Error> {
    let state: Result<Option<String>, _> =
        file.query_row("SELECT state FROM pgdyno_progress", [], |row| row.get(0)).optional();
    let known: Option<Progress> = match state {
        Ok(Some(state)) => serde_json::from_str(&state).ok(),
        // It was made, and interrupted before its first tile.
        Ok(None) => return Ok(new.clone()),
        Err(_) => None,
    };
    let Some(known) = known else {
        let what = format!("{}: is there already, and not an unfinished file of pgdyno", path.display());
        return Err(Error::new(Class::BadInput, what).with_hint("name another file, or remove it"));
    };
    known.must_be_of(new, path)?;
    if !known.fits(area) {
        let what = format!("{}: its progress is damaged", path.display());
        return Err(Error::new(Class::BadInput, what).with_hint("remove the file to begin again"));
    }
    Ok(known)
}

fn failure(path: &Path, error: &rusqlite::Error) -> Error {
    Error::new(Class::Io, format!("{}: {error}", path.display()))
        .with_hint("name another file, or see to the disk and its permissions")
}

#[cfg(test)]
mod tests {
    use super::super::area::Area;
    use super::super::progress::tests::asked;
    use super::*;

    /// A layer "a" with a point.
    const POINT: &[u8] =
        &[0x1a, 0x11, 0x0a, 0x01, 0x61, 0x12, 0x07, 0x18, 1, 0x22, 3, 9, 0, 0, 0x28, 0x80, 0x20, 0x78, 2];

    #[test]
    fn others_can_read_a_finished_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mbtiles");
        let area = Area::of_list([Tile { z: 3, x: 2, y: 1 }]);
        let new = Progress::new("a".to_owned(), &area);
        let (mut file, known) = Mbtiles::open(&path, &new, &area).unwrap();
        assert!(known.is_none());
        file.put(Tile { z: 3, x: 2, y: 1 }, &packed(POINT)).unwrap();
        let mut progress = new.clone();
        progress.add(0, &asked(0, 3, Ok(9)));
        file.commit(&progress).unwrap();
        drop(file);
        // Of somebody else.
        Connection::open(&path)
            .unwrap()
            .execute_batch("CREATE TRIGGER t AFTER INSERT ON tiles BEGIN DELETE FROM tiles; END")
            .unwrap();
        let (mut file, known) = Mbtiles::open(&path, &new, &area).unwrap();
        assert_eq!(known.unwrap().done(), 1);
        let facts = MbtilesFacts { name: "roads".to_owned(), zooms: [3, 3], ..MbtilesFacts::default() };
        assert!(file.complete(&facts).unwrap().starts_with("a.mbtiles has 1 tile, "));
        drop(file);
        // The run could not be stored.
        let (mut file, known) = Mbtiles::open(&path, &new, &area).unwrap();
        assert_eq!(known.unwrap().done(), 1);
        assert!(file.complete(&facts).unwrap().starts_with("a.mbtiles has 1 tile, "));
        file.forget().unwrap();
        let reader = Connection::open(&path).unwrap();
        let (row, data): (i64, Vec<u8>) = reader
            .query_row(
                "SELECT tile_row, tile_data FROM tiles WHERE zoom_level = 3 AND tile_column = 2",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        let mut content = Vec::new();
        flate2::read::GzDecoder::new(&data[..]).read_to_end(&mut content).unwrap();
        assert_eq!((row, content.as_slice()), (6, POINT));
        let of = |name: &str| -> String {
            reader.query_row("SELECT value FROM metadata WHERE name = ?1", [name], |row| row.get(0)).unwrap()
        };
        assert_eq!((of("format").as_str(), of("minzoom").as_str()), ("pbf", "3"));
        assert!(of("json").contains("\"id\":\"a\""), "{}", of("json"));
        let refused = Mbtiles::open(&path, &new, &area).map(drop).unwrap_err().to_string();
        assert!(refused.contains("not an unfinished file of pgdyno"), "{refused}");
    }

    #[test]
    fn a_file_of_something_else_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "dear diary").unwrap();
        let new = Progress::new("a".to_owned(), &Area::default());
        assert!(Mbtiles::open(&path, &new, &Area::default()).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"dear diary");
    }
}
