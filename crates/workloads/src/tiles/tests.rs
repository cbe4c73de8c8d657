//! The workload with canned answers, and its clients against a simulated server.

use spec::figures;
use std::cell::RefCell;

use engine::StopFlag;
use engine::sim::{Replies, SimServer, simulate};
use protocol::redis::{ControlError, Info, RedisAnswer, RedisConnection};

use crate::place::{Places, RedisServer, Site};
use crate::testing::sql::FakeSql;
use crate::testing::{AnswerPart, FakePostgres, connect, plan};
use crate::tiles::{Picker, Sessions, Tiles, TilesOptions, Via, Zooms};
use crate::workload::{ClientWorkload, Clients, Prepared, Workload};

/// A tile with one layer "a" of one point, in hex.
const TILE: &str = "1a110a01611207180122030900002880207802";

/// A database with one table of polygons, two of which can be picked.
pub(super) fn database() -> FakeSql {
    let mut sql = FakeSql::new();
    sql.answer("FROM pg_extension", &[&["3.3.2"]]);
    sql.answer("FROM pg_class c", &[&["public", "planet_osm_polygon", "123", "7"]]);
    sql.answer("FROM geometry_columns", &[&["way", "3857", "POLYGON"]]);
    sql.answer("FROM pg_index", &[&["1"]]);
    sql.answer("FROM pg_attribute", &[&["osm_id"], &["name"], &["way"], &["way_area"], &["building"]]);
    sql.answer("count(way_area)", &[&["t"]]);
    let points = [["1615757.9", "4289470.9"], ["1600000", "4290000"]];
    let of_both_zooms: Vec<[&str; 3]> =
        ["0", "1"].into_iter().flat_map(|at| points.map(|[x, y]| [at, x, y])).collect();
    let rows: Vec<&[&str]> = of_both_zooms.iter().map(|row| &row[..]).collect();
    sql.answer("ST_PointOnSurface", &rows);
    sql.answer("encode(", &[&[TILE]]);
    sql
}

pub(super) fn options(table: &str) -> TilesOptions {
    TilesOptions { table: Some(table.to_owned()), zooms: Zooms::Range([13, 14]), ..TilesOptions::default() }
}

pub(super) fn open(options: &TilesOptions) -> Tiles {
    Tiles::open(options, std::path::Path::new(".")).unwrap()
}

#[test]
fn the_choice_is_repeatable_plain_data() {
    let mut first = open(&options("planet_osm_polygon"));
    let mut sql = database();
    let mut site = Site::postgres(&mut sql);
    first.check(&mut site).unwrap();
    let prepared = first.prepare(&mut site, 42).unwrap();
    assert_eq!(prepared.summary, "4 tiles of planet_osm_polygon, z13-z14");
    assert_eq!(
        prepared.json,
        r#"{"layers":[{"table":"planet_osm_polygon","zooms":[[[13,4426,3219],[13,4423,3219]],[[14,8852,6438],[14,8846,6438]]]}],"seed":42}"#
    );
    let guarded = first.guard(&mut site, 1).unwrap();
    assert_eq!((guarded.rows, guarded.bytes, guarded.empty), (4, 4 * 19, None));
    let artifacts = first.artifacts(&mut site).unwrap();
    let names: Vec<_> = artifacts.iter().map(|artifact| artifact.name.as_str()).collect();
    assert_eq!(names, ["tile/13/4423/3219", "tile/14/8846/6438"]);
    assert_eq!(artifacts[0].bytes[..2], [0x1a, 0x11]);

    let mut second = open(&options("planet_osm_polygon"));
    let mut sql = database();
    assert_eq!(second.prepare(&mut Site::postgres(&mut sql), 42).unwrap(), prepared);
}

/// The error of `check` for a database where this query has this answer.
fn problem(question: &str, rows: &[&[&str]]) -> String {
    let mut sql = FakeSql::new();
    sql.answer(question, rows);
    sql.append(database());
    let mut workload = open(&options("planet_osm_polygon"));
    workload.check(&mut Site::postgres(&mut sql)).unwrap_err().to_string()
}

#[test]
fn what_is_missing_is_named() {
    let cases: [(&str, &[&[&str]], &str); 5] = [
        ("FROM pg_extension", &[], "PostGIS is not installed in this database; run CREATE EXTENSION postgis"),
        ("FROM pg_extension", &[&["2.5.0"]], "PostGIS 2.5.0 has no ST_TileEnvelope"),
        ("FROM pg_class c", &[], "table planet_osm_polygon does not exist"),
        ("FROM geometry_columns", &[], "has no geometry column"),
        ("FROM geometry_columns", &[&["way", "0", ""]], "has SRID 0, tiles need 3857"),
    ];
    for (question, rows, wanted) in cases {
        let message = problem(question, rows);
        assert!(message.contains(wanted), "{message}");
    }
}

#[test]
fn nothing_but_empty_tiles_is_no_workload() {
    let mut sql = FakeSql::new();
    sql.answer("encode(", &[&[""]]);
    sql.append(database());
    let mut workload = open(&options("planet_osm_polygon"));
    let mut site = Site::postgres(&mut sql);
    workload.prepare(&mut site, 1).unwrap();
    let guarded = workload.guard(&mut site, 1).unwrap();
    assert_eq!(guarded.empty.as_deref(), Some("all 8 probed tiles of planet_osm_polygon are empty"));
    assert_eq!(guarded.figures[figures::EMPTY_TILES_PCT], 100.0);
}

/// Half of the table was in no tile, without any warning.
#[test]
fn a_table_of_several_srids_is_refused() {
    let mut sql = FakeSql::new();
    sql.answer("FROM geometry_columns", &[&["way", "0", "GEOMETRY"]]);
    sql.answer("SELECT ST_SRID", &[&["4326", "5000"], &["3857", "70"]]);
    sql.append(database());
    let mut workload = open(&options("planet_osm_polygon"));
    let refused = workload.check(&mut Site::postgres(&mut sql)).unwrap_err().to_string();
    assert!(refused.contains("of several SRIDs: 5000 in 4326, 70 in 3857; bring them into one"), "{refused}");
}

/// Only the statement showed that small polygons are left out.
#[test]
fn what_is_left_out_is_remarked() {
    for (min_pixels, is_remarked) in [(4.0, true), (0.0, false)] {
        let (mut sql, options) = (database(), TilesOptions { min_pixels, ..options("planet_osm_polygon") });
        let mut workload = open(&options);
        let mut site = Site::postgres(&mut sql);
        workload.prepare(&mut site, 1).unwrap();
        let notes = workload.guard(&mut site, 1).unwrap().notes;
        let left_out = "smaller than 4 square pixels on the map are left out";
        assert_eq!(notes.iter().any(|note| note.contains(left_out)), is_remarked, "{notes:?}");
    }
}

#[test]
fn a_table_without_features_cannot_be_picked_from() {
    let mut sql = FakeSql::new();
    sql.answer("ST_PointOnSurface", &[]);
    sql.append(database());
    let mut workload = open(&options("planet_osm_polygon"));
    let result = workload.prepare(&mut Site::postgres(&mut sql), 1);
    assert_eq!(result.map(drop).unwrap_err().class(), spec::Class::Missing);
}

#[test]
fn traces_are_read_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let with = |text: &str| {
        std::fs::write(folder.path().join("t.txt"), text).unwrap();
        let options = TilesOptions { picker: Picker::Trace("t.txt".into()), ..options("t") };
        Tiles::open(&options, folder.path()).map(|_| ()).map_err(|error| error.to_string())
    };
    assert!(with("# seen on a server\n14/8851/6439\n\n12/2212/1610\n").is_ok());
    assert!(with("14/8851/6439\n14/99999/1\n").unwrap_err().contains("line 2: tile 14/99999/1 is outside"));
    assert!(with("\n").unwrap_err().contains("names no tile"));
}

/// The input of a Redis server that accepts everything.
#[derive(Default)]
struct FakeRedis(RefCell<Vec<u8>>);

impl RedisServer for FakeRedis {
    fn control(&self) -> Result<Box<dyn RedisConnection + '_>, ControlError> {
        Ok(Box::new(self))
    }
}

impl RedisConnection for &FakeRedis {
    fn ask(&mut self, commands: &[u8], count: usize) -> Result<Vec<RedisAnswer>, ControlError> {
        self.0.borrow_mut().extend_from_slice(commands);
        Ok(vec![RedisAnswer::Done("OK".to_owned()); count])
    }

    fn info(&mut self) -> Result<Info, ControlError> {
        Ok(Info::parse(""))
    }
}

#[test]
fn a_warm_cache_begins_with_the_tiles_of_its_own_arm() {
    let mut workload =
        open(&TilesOptions { via: Via::Redis, cache_warm: true, ..options("planet_osm_polygon") });
    let redis = FakeRedis::default();
    let mut sql = database();
    workload.prepare(&mut Site { redis: Some(&redis), ..Site::postgres(&mut sql) }, 42).unwrap();
    redis.0.take();
    // In each state the database makes other tiles; each is fetched when it is first needed.
    for (state, made, wanted, fetched) in
        [("plain", "aa", 0xaa, 4), ("simplified", "bb", 0xbb, 4), ("plain", "cc", 0xaa, 0)]
    {
        let mut sql = FakeSql::new();
        sql.answer("encode(", &[&[made]]);
        let mut site = Site { redis: Some(&redis), state: state.to_owned(), ..Site::postgres(&mut sql) };
        workload.reset(&mut site).unwrap();
        let stored: Vec<u8> = redis.0.take().into_iter().filter(|byte| !byte.is_ascii()).collect();
        assert_eq!((stored, sql.asked.len()), (vec![wanted; 4], fetched), "{state}");
    }
}

#[test]
fn tables_are_asked_for_as_they_were_written() {
    let texts = |table: &str| {
        let mut workload = open(&options(table));
        let mut sql = database();
        workload.prepare(&mut Site::postgres(&mut sql), 42).unwrap();
        workload.texts().into_iter().map(|asked| String::from_utf8(asked.text).unwrap()).collect::<String>()
    };
    // Each connection looks for it by its own search_path: arms may differ in that.
    assert!(texts("planet_osm_polygon").contains("FROM \"planet_osm_polygon\" AS t"));
    assert!(texts("public.planet_osm_polygon").contains("FROM \"public\".\"planet_osm_polygon\" AS t"));
}

#[test]
fn layers_in_another_order_take_the_tiles_of_their_namesakes() {
    let with = |layers: [&str; 2]| {
        let layers = layers.map(str::to_owned).to_vec();
        let mut workload = open(&TilesOptions {
            table: None,
            layers,
            zooms: Zooms::Range([13, 13]),
            ..TilesOptions::default()
        });
        let mut sql = database();
        workload.check(&mut Site::postgres(&mut sql)).unwrap();
        workload
    };
    let chosen = |layers: &str| Prepared {
        json: format!(r#"{{"seed":1,"layers":[{layers}]}}"#),
        ..Prepared::default()
    };
    let both = chosen(r#"{"table":"a","zooms":[[[13,1,1]]]},{"table":"b","zooms":[[[13,2,2]]]}"#);
    let mut turned = with(["b", "a"]);
    turned.adopt(&both).unwrap();
    let places: Vec<u32> = turned.items().iter().map(|item| item.tile.x).collect();
    assert_eq!(places, [2, 1]);
    let one = chosen(r#"{"table":"a","zooms":[[[13,1,1]]]}"#);
    let message = turned.adopt(&one).unwrap_err().to_string();
    assert!(message.contains("none are for b") && !message.contains("--again"), "{message}");
}

#[test]
fn clients_fetch_prepared_tiles() {
    let mut workload = open(&options("planet_osm_polygon"));
    let mut sql = database();
    workload.prepare(&mut Site::postgres(&mut sql), 42).unwrap();
    let places = Places::from(connect());
    let wanted = Clients { count: 2, threads: 1, seed: 3, statements: false };
    for piece in [1, 5, 4096] {
        let mut server = FakePostgres::new(|_, sql: &str| {
            // Tiles of zoom 13 hold nothing, and one tile fails.
            if sql.contains("ST_TileEnvelope(13, ") {
                vec![AnswerPart::Rows(vec!["st_asmvt"], vec![vec![Some("")]])]
            } else if sql.contains("8846") {
                vec![AnswerPart::Error("XX000", "could not make it")]
            } else {
                vec![AnswerPart::Rows(vec!["st_asmvt"], vec![vec![Some("0123456789")]])]
            }
        });
        server.piece = piece;
        let measured = server.run(workload.clients(&places, wanted).unwrap(), 100, 2).unwrap();
        let totals = measured.totals();
        assert_eq!(totals.ok + totals.failed, 200);
        assert!(totals.failed > 20 && totals.rows > 20 && totals.rows < totals.ok, "{totals:?}");
        assert_eq!(totals.bytes, 10 * totals.rows);
        assert_eq!(server.log.iter().filter(|line| line.starts_with("P pgdyno_")).count(), 4);
    }
}

#[test]
fn a_query_the_server_refuses_stops_the_run_before_it_starts() {
    let mut workload = open(&options("planet_osm_polygon"));
    let mut sql = database();
    workload.prepare(&mut Site::postgres(&mut sql), 42).unwrap();
    let places = Places::from(connect());
    let wanted = Clients { count: 1, threads: 1, seed: 3, statements: false };
    let mut server = FakePostgres::new(|_, _: &str| vec![AnswerPart::Fatal("57P01", "shutting down")]);
    let measured = server.run(workload.clients(&places, wanted).unwrap(), 1, 2).unwrap();
    assert!(measured.aborts[0].message.contains("FATAL:  shutting down"), "{:?}", measured.aborts);
}

/// A tile server that gives the same to all, and keeps what it was asked for.
#[derive(Default)]
struct TileServer(Vec<String>);

impl SimServer for TileServer {
    fn received(&mut self, _connection: usize, bytes: &[u8], replies: &mut Replies) {
        let text = std::str::from_utf8(bytes).unwrap();
        self.0.push(text.split(' ').nth(1).unwrap().to_owned());
        replies.send(1000, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde");
    }
}

/// They were refused: only SQL had users.
#[test]
fn users_see_the_same_views_by_sql_and_from_a_tile_server() {
    let sessions = Sessions { viewport: [600, 400], views: 3, links: 1, count: 2 };
    let by = |via| {
        let picker = Picker::Sessions(sessions);
        let mut workload = open(&TilesOptions { via, picker, ..options("planet_osm_polygon") });
        workload.prepare(&mut Site::postgres(&mut database()), 42).unwrap();
        workload
    };
    let wanted = Clients { count: 1, threads: 1, seed: 3, statements: false };
    let workload = by(Via::Sql);
    let tile = || vec![AnswerPart::Rows(vec!["st_asmvt"], vec![vec![Some("01234")]])];
    let mut postgres = FakePostgres::new(|_, _: &str| tile());
    let clients = workload.clients(&Places::from(connect()), wanted).unwrap();
    let by_sql = postgres.run(clients, 8, 2).unwrap().totals();
    let asked = postgres.asked().into_iter().map(|sql| {
        let (_, behind) = sql.split_once("ST_TileEnvelope(").unwrap();
        let numbers = behind.split([',', ')']).take(3).map(str::trim);
        numbers.map(|number| format!("/{number}")).collect::<String>()
    });
    let asked: Vec<String> = asked.collect();

    let workload = by(Via::Http("http://127.0.0.1:3000/{z}/{x}/{y}".to_owned()));
    let mut server = TileServer::default();
    let clients = workload.clients(&Places::default(), wanted).unwrap();
    let plan = engine::RunPlan { items: workload.items().len(), ..plan(8, 2) };
    let measured = simulate(&plan, clients, &mut server, &mut (), &StopFlag::new()).unwrap();
    let by_http = measured.totals();
    assert_eq!(server.0, asked);
    assert_eq!((by_http.ok, by_http.queries, by_http.bytes), (8, by_sql.queries, by_sql.bytes));
    assert!(by_http.queries > 2 * by_http.ok, "several tiles in a view: {by_http:?}");
    let single: u64 = measured.items.iter().map(|item| item.requests).sum();
    assert_eq!(single, by_http.queries, "each tile has its own figures");

    let options = TilesOptions { via: Via::Redis, picker: Picker::Sessions(sessions), ..options("t") };
    let message = Tiles::open(&options, std::path::Path::new(".")).map(drop).unwrap_err().to_string();
    assert!(message.contains("tiles.via: a client asks the cache for one tile at a time"), "{message}");
}
