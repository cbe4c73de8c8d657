//! `pgdyno export tiles`, read by GDAL: the same view as in QGIS.

use std::path::Path;
use std::process::Command;

use crate::support::Place;
use results::{Finished, Spool, Store};
use spec::{
    ArmRecord, ExperimentPart, ExperimentRecord, Host, MapPart, MeasuredTarget, OrderScheme, Run, RunKey,
    RunKind, ScriptRecord, TileFigures, Validity,
};

/// Two arms: both requested 2/1/1, the base also 2/2/1. In a second round, which counts for neither, the base
/// was slow and the other arm's run is invalid.
pub(crate) fn runs() -> Vec<Run> {
    let tile = |x: u32, mean_us: f64| TileFigures {
        script: 0,
        z: 2,
        x,
        y: 1,
        requests: 40,
        mean_us,
        max_us: 2.0 * mean_us,
        bytes: 1234.5,
    };
    let run = |arm: &str, round: u32, tiles: Vec<TileFigures>| {
        let factors = [("clients".to_owned(), "4".to_owned())].into();
        let key = RunKey { workload: "map".into(), factors, arm: Some(arm.into()), round };
        let script = ScriptRecord {
            name: "roads, z2".into(),
            text_hash: String::new(),
            weight: 1,
            part: Some(MapPart { layer: "roads".into(), zoom: Some(2), cached: None }),
            counts: Default::default(),
            response: Default::default(),
            service: Default::default(),
        };
        Run {
            uuid: format!("00000000-0000-4000-800{round}-{arm:>012}"),
            measured_s: 1.0,
            clients: 4,
            scripts: vec![script],
            tiles,
            ..Run::new(RunKind::Client, key)
        }
    };
    let invalid = Run { validity: Validity::Invalid, ..run("gis", 2, vec![tile(1, 3000.0)]) };
    vec![
        run("stock", 1, vec![tile(1, 2000.0), tile(2, 500.0)]),
        run("gis", 1, vec![tile(1, 3000.0)]),
        run("stock", 2, vec![tile(1, 9000.0)]),
        invalid,
    ]
}

/// A results file with one experiment of these runs.
fn stored(path: &Path, name: &str, runs: Vec<Run>) {
    stored_part(path, name, runs, Vec::new());
}

/// The same of a part of it.
pub(crate) fn stored_part(path: &Path, name: &str, runs: Vec<Run>, parts: Vec<ExperimentPart>) {
    let arm = |name: &str| ArmRecord {
        name: name.into(),
        settings: Default::default(),
        unsafe_settings: Vec::new(),
        target: None,
    };
    let experiment = ExperimentRecord {
        hash: name.into(),
        name: name.into(),
        question: String::new(),
        file_text: String::new(),
        plan: spec::plan::Recorded::default(),
        control: None,
        seed: 1,
        order_scheme: OrderScheme::HalfRounds,
        rounds: 1,
        compare_factor: Some("settings".into()),
        base: Some("stock".into()),
        arms: ["stock", "gis"].map(arm).into(),
        margin: 0.03,
        taste: None,
        created_at: "2026-11-21T05:20:00Z".into(),
        parts,
    };
    let host = Host {
        uuid: String::new(),
        name: String::new(),
        cpu: String::new(),
        cores: 2,
        memory_bytes: 0,
        facts: Default::default(),
    };
    let target = MeasuredTarget {
        kind: "url".into(),
        dsn_redacted: String::new(),
        server_version: "18".into(),
        postgis_version: None,
        versions: Default::default(),
        build: None,
    };
    let mut store = Store::create_or_open(path).expect("a results file");
    let (id, _) = store.begin_experiment(&experiment, &host, &target, false).expect("begun");
    for run in runs {
        store.store(id, &[Finished { run, seconds: Spool::default() }]).expect("stored");
    }
}

fn gdal(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error} (setup/install gdal)"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{program} {arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn tiles_are_polygons_with_figures_to_others() {
    let place = Place::new();
    let results = place.path().join("tiles.sqlite");
    stored(&results, "map", runs());
    let file = place.path().join("tiles.gpkg");
    let (results, file) = (results.to_str().expect("UTF-8"), file.to_str().expect("UTF-8"));
    let export = || place.run(["export", "tiles", "map", file, "--results", results]);
    export().expect(0).says(&["wrote ", "tiles.gpkg: 3 tiles"]);

    let summary = gdal("ogrinfo", &["-al", "-so", file]);
    for wanted in [
        "using driver `GPKG' successful",
        "Layer name: tiles",
        "Geometry: Polygon",
        "Feature Count: 3",
        "Extent: (-10018754.171395, 0.000000) - (10018754.171395, 10018754.171395)",
        "ID[\"EPSG\",3857]",
        "cached: Integer(Boolean)",
        "change_pct: Real",
    ] {
        assert!(summary.contains(wanted), "no {wanted:?} in:\n{summary}");
    }
    let fields = "workload,factors,arm,layer,zoom,x,y,requests,mean_ms,max_ms,bytes,base_mean_ms,change_pct";
    let rows = gdal(
        "ogr2ogr",
        &[
            "-f",
            "CSV",
            "/vsistdout/",
            file,
            "tiles",
            "-select",
            fields,
            "-lco",
            "GEOMETRY=AS_WKT",
            "-lco",
            "SEPARATOR=SEMICOLON",
        ],
    );
    // Compare as numbers, independent of GDAL's format.
    let rows = rows.replace('"', "").replace("0.0", "0");
    let rows: Vec<&str> = rows.lines().skip(1).collect();
    // ST_TileEnvelope(2, 1, 1) from PostGIS's manual, by its corners.
    let ring = "POLYGON ((-10018754.1713946 0,0 0,0 10018754.1713946,-10018754.1713946 10018754.1713946,-10018754.1713946 0))";
    let row = |figures: &str| rows.iter().find(|row| row.contains(figures)).copied().unwrap_or_default();
    let gis = row("map;clients 4;gis;roads;2;1;1;40;3;6;1234.5;2;50");
    let stock = row("map;clients 4;stock;roads;2;1;1;40;2;4;1234.5;;");
    assert!(gis.contains(ring) && stock.contains(ring), "{rows:#?}");
    assert!(!row("map;clients 4;stock;roads;2;2;1;40;0.5;1;1234.5;;").is_empty(), "{rows:#?}");

    let page = place.path().join("page.html");
    place.run(["report", "-e", "map", "--results", results, "-o", page.to_str().expect("UTF-8")]).expect(0);
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.contains("Where it is slow") && page.contains("z2/1/1</a>"), "the report has their map");

    export().expect(74).says(&["tiles.gpkg cannot be written: it exists already"]);
    let left = std::fs::read_dir(place.path()).expect("the folder").flatten();
    let parts = left.filter(|entry| entry.file_name().to_string_lossy().starts_with(".tmp")).count();
    assert_eq!(parts, 0, "nothing else is left");
}

/// All arms and zooms lay on top of each other, in one colour.
#[test]
fn each_arm_and_zoom_is_a_view_with_a_saved_style() {
    let place = Place::new();
    let results = place.path().join("tiles.sqlite");
    let mut runs = runs();
    for run in &mut runs[..2] {
        let lower = TileFigures { z: 1, x: 1, y: 0, mean_us: 7000.0, ..run.tiles[0].clone() };
        run.tiles.push(lower);
    }
    stored(&results, "map", runs);
    let file = place.path().join("tiles.gpkg");
    let (results, file) = (results.to_str().expect("UTF-8"), file.to_str().expect("UTF-8"));
    let exported = place.run(["export", "tiles", "map", file, "--results", results]).expect(0);
    exported.says(&["5 tiles of experiment map, in 4 views with a style for QGIS"]);

    let summary = gdal("ogrinfo", &["-al", "-so", file]);
    for (view, count) in [("z1 gis", 1), ("z1 stock", 1), ("z2 gis", 1), ("z2 stock", 2)] {
        let (_, own) =
            summary.split_once(&format!("Layer name: {view}\n")).unwrap_or_else(|| panic!("{summary}"));
        let own = own.split("Layer name: ").next().unwrap_or_default();
        for wanted in [
            "Geometry: Polygon",
            &format!("Feature Count: {count}\n"),
            "FID Column = OGC_FID",
            "change_pct: Real",
        ] {
            assert!(own.contains(wanted), "no {wanted:?} in {view}:\n{own}");
        }
    }
    let of_arm = gdal("ogrinfo", &["-q", file, "z2 gis"]);
    assert!(of_arm.contains("arm (String) = gis") && of_arm.contains("mean_ms (Real) = 3"), "{of_arm}");
    assert!(!of_arm.contains("stock"), "{of_arm}");

    // As QGIS asks for a layer's styles: the default one first.
    let asked = "SELECT styleName, useAsDefault, styleQML FROM layer_styles WHERE f_table_schema = '' \
                 AND f_table_name = 'z2 gis' AND f_geometry_column = 'geom' ORDER BY useAsDefault DESC";
    let styles = gdal("ogrinfo", &["-q", file, "-sql", asked]);
    for wanted in [
        "attr=\"mean_ms\"",
        "attr=\"change_pct\"",
        "styleName (String) = mean time",
        "type=\"graduatedSymbol\"",
    ] {
        assert!(styles.contains(wanted), "no {wanted:?} in:\n{styles}");
    }
    assert!(styles.find("mean_ms") < styles.find("change_pct"), "{styles}");
    let of_base = gdal("ogrinfo", &["-q", file, "-sql", &asked.replace("z2 gis", "z2 stock")]);
    assert!(of_base.contains("mean_ms") && !of_base.contains("change_pct"), "{of_base}");
    // The fastest and the slowest tile of a zoom are the ends of one scale.
    let ends = |style: &str| {
        let number = |key: &str, text: &str| {
            text.split_once(key)
                .and_then(|(_, rest)| rest.split('"').next()?.parse::<f64>().ok())
                .expect("a bound")
        };
        (number("lower=\"", style), number("upper=\"", style.rsplit_once("<range").expect("a range").1))
    };
    let (low, high) = ends(&of_base);
    assert!((low - 0.5).abs() < 1e-6 && (high - 3.0).abs() < 1e-6, "{low} {high}");
}

#[test]
fn what_cannot_be_exported_is_said() {
    let place = Place::new();
    let results = place.path().join("tiles.sqlite");
    stored(&results, "bare", Vec::new());
    let results = results.to_str().expect("UTF-8");
    let export = |file: &str| {
        let file = place.path().join(file);
        place.run(["export", "tiles", "bare", file.to_str().expect("UTF-8"), "--results", results])
    };
    export("tiles.gpkg").expect(65).says(&["experiment bare has no single tiles"]);
    export("tiles.json").expect(64).says(&["ends in .gpkg", "tiles.gpkg"]);
}

/// It required a number, unlike other commands, which take the newest.
#[test]
fn without_a_name_it_is_the_newest_experiment() {
    let place = Place::new();
    let results = place.path().join("tiles.sqlite");
    stored(&results, "map", runs());
    let mut others = runs();
    others.iter_mut().for_each(|run| run.uuid = run.uuid.replace("-4000-", "-4001-"));
    stored(&results, "other", others);
    let results = results.to_str().expect("UTF-8");
    let in_folder = |file: &str| place.path().join(file).to_str().expect("UTF-8").to_owned();
    let [one, two, three, four, five] = ["1.gpkg", "2.gpkg", "3.gpkg", "4.gpkg", "5.gpkg"].map(in_folder);
    let of = ["--results", results];
    let export = |before: &[&str], behind: &[&str]| {
        place.run(["export", "tiles"].iter().chain(before).chain(&of).chain(behind))
    };
    export(&[&one], &[]).expect(0).says(&["1.gpkg: 3 tiles of experiment other"]);
    export(&[], &[&two]).expect(0).says(&["2.gpkg: 3 tiles of experiment other"]);
    export(&["-e", "map", &three], &[]).expect(0).says(&["3.gpkg: 3 tiles of experiment map"]);
    // As before: a number or a name, options between it and the file.
    export(&["1"], &[&four]).expect(0).says(&["4.gpkg: 3 tiles of experiment map"]);
    export(&["1", &five], &["-e", "other"]).expect(64).says(&["the experiment is named twice"]);
    export(&[], &[]).expect(64).says(&["no file to write is named"]);
    export(&["map"], &[]).expect(64).says(&["ends in .gpkg", "pgdyno export tiles map FILE.gpkg"]);
}

#[test]
fn a_folder_that_is_not_there_is_said_in_one_message() {
    let place = Place::new();
    let results = place.path().join("tiles.sqlite");
    stored(&results, "map", runs());
    let file = place.path().join("nowhere/tiles.gpkg");
    let arguments = ["export", "tiles", "map", file.to_str().expect("UTF-8"), "--results"];
    let told = place.run(arguments.into_iter().chain(results.to_str())).expect(74);
    assert_eq!(told.stderr.lines().filter(|line| line.contains("error")).count(), 1, "{}", told.stderr);
    told.says(&["there is no such folder"]);
}
