//! Results read by other programs: DuckDB, pandas and Datasette (`setup/install readers`).

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::geopackage::{runs, stored_part};
use crate::support::{Place, not_available};

/// The Python that has them, where `setup/install` puts it.
fn python() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let places = [PathBuf::from("/opt/pgdyno/tools"), own];
    places.into_iter().map(|tools| tools.join("readers/bin/python")).find(|python| python.exists())
}

const READ: &str = r#"
import asyncio, sqlite3
import duckdb, pandas
from datasette.app import Datasette

types = {name: kind for name, kind, *_ in duckdb.sql("DESCRIBE SELECT * FROM 'runs.parquet'").fetchall()}
assert (types["run"], types["tps"], types["p99_us"], types["workload"]) == ("BIGINT", "DOUBLE", "DOUBLE", "VARCHAR"), types
assert types["started"] == "TIMESTAMP WITH TIME ZONE", types
rows = duckdb.sql("SELECT arm, round, validity, p99_us, epoch_us(started) FROM 'runs.parquet' ORDER BY arm, round").fetchall()
time = 1767323045000006
assert rows == [("gis", 1, "valid", None, time), ("gis", 2, "invalid", None, time),
                ("stock", 1, "valid", None, time), ("stock", 2, "valid", None, time)], rows

frame = pandas.read_parquet("runs.parquet", engine="pyarrow")
assert frame["round"].tolist() == pandas.read_csv("runs.csv")["round"].tolist() == pandas.read_json("runs.json")["round"].tolist()
assert str(frame["started"].dtype).startswith("datetime64"), frame.dtypes
stored = pandas.read_sql("SELECT arm, avg(round) AS round FROM v_run GROUP BY arm", sqlite3.connect("file:r.sqlite?mode=ro", uri=True))
assert stored["arm"].tolist() == ["gis", "stock"], stored

async def browse():
    datasette = Datasette(["r.sqlite"])
    page = await datasette.client.get("/r/v_run.json?_shape=array&arm=stock&_sort=round")
    assert [row["round"] for row in page.json()] == [1, 2], page.text
    assert (await datasette.client.get("/r/v_run")).status_code == 200
asyncio.run(browse())
"#;

#[test]
fn results_open_in_other_programs() {
    let Some(python) = python() else {
        return not_available("DuckDB, pandas and Datasette", "setup/install readers installs them");
    };
    let place = Place::new();
    let mut runs = runs();
    runs.iter_mut().for_each(|run| run.started_at = "2026-01-02T03:04:05.000006Z".to_owned());
    stored_part(&place.path().join("r.sqlite"), "map", runs, Vec::new());
    let table = |format: &str| {
        ["table", "runs", "--results", "r.sqlite", "--format", format].map(str::to_owned).to_vec()
    };
    place.run([table("parquet"), vec!["-o".into(), "runs.parquet".into()]].concat()).expect(0);
    for format in ["csv", "json"] {
        place.write(&format!("runs.{format}"), place.run(table(format)).expect(0).stdout);
    }
    let read = Command::new(python).args(["-c", READ]).current_dir(place.path()).output().expect("Python");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
}

const SHOW: &str = r#"
import os
from qgis.core import QgsApplication, QgsVectorLayer
app = QgsApplication([], False)
app.initQgis()
layer = QgsVectorLayer("tiles.gpkg|layername=z2 gis", "tiles", "ogr")
layer.loadDefaultStyle()
assert (layer.isValid(), layer.featureCount(), layer.crs().authid()) == (True, 1, "EPSG:3857")
assert layer.renderer().type() == "graduatedSymbol", layer.renderer().type()
runs = QgsVectorLayer("r.sqlite|layername=v_run", "runs", "ogr")
assert (runs.isValid(), runs.featureCount()) == (True, 4)
print("shown", flush=True)
# Layers that are alive when QGIS ends may crash it.
os._exit(0)
"#;

/// QGIS takes 500 MB, so that `make test` does not install it.
#[test]
fn tiles_and_runs_open_in_qgis() {
    let python = |script: &str, folder: &Path| {
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", script]).env("QT_QPA_PLATFORM", "offscreen").current_dir(folder).output()
    };
    let place = Place::new();
    if !python("import qgis.core", place.path()).is_ok_and(|tried| tried.status.success()) {
        return not_available("QGIS", "apt-get install python3-qgis installs it");
    }
    stored_part(&place.path().join("r.sqlite"), "map", runs(), Vec::new());
    place.run(["export", "tiles", "map", "tiles.gpkg", "--results", "r.sqlite"]).expect(0);
    let shown = python(SHOW, place.path()).expect("Python");
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
}
