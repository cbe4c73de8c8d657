use super::*;
use crate::commands::bench::against::base::Folder;
use crate::commands::bench::against::made::MadeExperiment;
use crate::commands::{Cli, Command, parse_from};
use crate::exit::CommandFailure;

/// Arguments with spaces are between bars.
fn words(line: &str) -> Vec<String> {
    let part = |(place, part): (usize, &str)| match place % 2 {
        1 => vec![part.to_owned()],
        _ => part.split_whitespace().map(str::to_owned).collect(),
    };
    ["pgdyno", "tiles"]
        .into_iter()
        .map(str::to_owned)
        .chain(line.split('|').enumerate().flat_map(part))
        .collect()
}

fn args(line: &str) -> Box<Args> {
    let cli: Cli =
        parse_from(words(line).into_iter().map(Into::into)).unwrap_or_else(|error| panic!("{line}: {error}"));
    match cli.command {
        Command::Tiles(args) => args,
        other => panic!("{other:?}"),
    }
}

fn made(line: &str) -> anyhow::Result<MadeExperiment> {
    let args = args(line);
    let written = file::made(&args, &Against::read(&args.arms.against)?, &Folder::of(None))?;
    written.read(NOWHERE, None)?;
    Ok(written)
}

fn part(written: &MadeExperiment, key: &str) -> String {
    let file: toml::Table =
        written.text().parse().unwrap_or_else(|error| panic!("{error}: {}", written.text()));
    file.get(key).map(ToString::to_string).unwrap_or_default()
}

fn queries() -> (tempfile::TempDir, [String; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["old.sql", "new.sql"].map(|name| folder.path().join(name));
    for path in &paths {
        std::fs::write(path, "SELECT tile(:z, :x, :y)\n").unwrap();
    }
    (folder, paths.map(|path| path.display().to_string()))
}

#[test]
fn layers_and_tiles_become_a_workload() {
    for (line, wanted) in [
        ("roads", r#"{ roads = { tiles = { table = "roads" } } }"#),
        ("osm.poi() -z 8-14", r#"{ osm-poi = { tiles = { function = "osm.poi()", zooms = [8, 14] } } }"#),
        (
            "roads,water f() --together --zooms 12=1,14=6",
            r#"{ "roads and water and f" = { tiles = { layers = ["roads", "water", "f()"], together = true, zooms = { 12 = 1.0, 14 = 6.0 } } } }"#,
        ),
        (
            "roads --picker uniform --bounds=-5,35.7,14.6,36.1 --tiles 50 --min-pixels 0 --variant unfiltered --may-be-empty",
            r#"{ roads = { tiles = { bounds = [-5.0, 35.7, 14.6, 36.1], may_be_empty = true, min_pixels = 0.0, picker = "uniform", table = "roads", tiles_per_zoom = 50, variant = "unfiltered" } } }"#,
        ),
        (
            "f() --pick-from roads --picker sessions",
            r#"{ f = { tiles = { function = "f()", pick_from = "roads", picker = "sessions" } } }"#,
        ),
        (r#"|"My Roads"|"#, r#"{ "My Roads" = { tiles = { layers = ['"My Roads"'] } } }"#),
        (
            "parcels |--columns=owner,area m2|",
            r#"{ parcels = { tiles = { columns = ["owner", "area m2"], table = "parcels" } } }"#,
        ),
        ("parcels --columns=", r#"{ parcels = { tiles = { columns = [], table = "parcels" } } }"#),
    ] {
        assert_eq!(part(&made(line).unwrap(), "workload"), wanted, "{line}");
    }
}

#[test]
fn each_tile_once_is_a_job_that_can_go_on() {
    let written = made("parcels --once -z 4-9 -c 3 -T 90").unwrap();
    assert_eq!(
        part(&written, "workload"),
        r#"{ parcels = { tiles = { once = { at_most_s = 90.0, connections = 3, resume = true }, table = "parcels", zooms = [4, 9] } } }"#
    );
    assert_eq!(part(&written, "measure"), "{ rounds = 1 }");
    assert_eq!(part(&written, "factors"), "");
    assert_eq!(part(&written, "question"), r#""How long do all tiles of parcels take, each once?""#);
    let written = made("a b --once --mbtiles ab.mbtiles").unwrap();
    assert_eq!(
        part(&written, "workload"),
        r#"{ "a and b" = { tiles = { layers = ["a", "b"], once = { mbtiles = "ab.mbtiles" }, together = true } } }"#
    );
    // Passes of a comparison are runs: nothing is kept besides.
    let written = made("parcels --once --against jit=off").unwrap();
    assert_eq!(part(&written, "workload"), r#"{ parcels = { tiles = { once = {}, table = "parcels" } } }"#);
    assert_eq!(part(&written, "measure"), "{ rounds = 3 }");
}

#[test]
fn tiles_are_compared_by_a_metric_of_work() {
    let written = made("parcels --metric cpu --against jit=off").unwrap();
    assert!(part(&written, "compare").contains("metric = \"cpu\""), "{}", written.text());
    let refused = made("parcels --once --metric cpu --against jit=off").err().unwrap().to_string();
    assert!(refused.contains("a job without transactions"), "{refused}");
}

/// A pipe can be read once, so its tiles become part of the experiment.
#[test]
fn a_list_from_a_pipe_is_part_of_the_experiment() {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut writer = writer;
    std::io::Write::write_all(&mut writer, b"9/3/7.pbf 41\n9/3/8\n9/3/7 1\n").unwrap();
    drop(writer);
    use std::os::fd::AsRawFd;
    let written = made(&format!("parcels --trace /proc/self/fd/{}", reader.as_raw_fd())).unwrap();
    let text = part(&written, "workload");
    assert!(
        text.contains("picker = { tiles = ") && text.contains("9/3/7 42") && text.contains("9/3/8"),
        "{text}"
    );
}

#[test]
fn where_it_runs_and_what_is_put_there() {
    let written = made("roads").unwrap();
    let private = r#"{ managed = { extensions = "postgis", name = "default" } }"#;
    assert_eq!(part(&written, "target"), private);
    assert_eq!(part(&written, "prepare"), "");
    assert_eq!(
        part(&written, "measure"),
        r#"{ duration = "10s", explain = true, rounds = 3, warmup = "1s" }"#
    );
    assert_eq!(written.name, "roads-tiles");
    let question = r#""How fast are tiles of roads, and where does the time go?""#;
    assert_eq!(part(&written, "question"), question);
    let (_folder, [old, new]) = queries();
    let written = made(&format!("roads --managed=maps --osm {old} --sql {new} -c 200")).unwrap_err();
    // The file is not an extract, which was checked.
    assert!(written.to_string().starts_with("--osm: "), "{written}");
    let written = made(&format!("roads --managed=maps --sql {new} -c 200 -R 50 -L 250 -j 2 -T 4")).unwrap();
    assert_eq!(part(&written, "prepare"), format!(r#"{{ sql = ["{new}"] }}"#));
    assert_eq!(part(&written, "settings"), "{ room = { max_connections = 210 } }");
    assert_eq!(part(&written, "load"), r#"{ promise = "250.0ms", rate = 50.0 }"#.replace("250.0", "250"));
    assert_eq!(
        part(&written, "measure"),
        r#"{ duration = "4s", explain = true, rounds = 3, threads = 2, warmup = "1s" }"#
    );
    let written = made("roads --picker sessions -c 20").unwrap();
    assert_eq!(part(&written, "settings"), "{ room = { max_connections = 130 } }", "six connections each");
    let written = made("roads -d postgres://me:geheim@h/gis").unwrap();
    assert!(written.left_out && !written.text().contains("geheim"), "{}", written.text());
    assert_eq!(written.logins[0].with_secrets(), "postgres://me:geheim@h/gis");
}

#[test]
fn other_ways_to_make_a_layer_are_arms() {
    let (_folder, [old, new]) = queries();
    let written = made(&format!("{old} --against {new}")).unwrap();
    let factors = format!(r#"{{ clients = 1, "tiles.query" = ["{old}", "{new}"] }}"#);
    assert_eq!(part(&written, "factors"), factors);
    assert_eq!(part(&written, "compare"), format!(r#"{{ base = "{old}", factor = "tiles.query" }}"#));
    assert_eq!(part(&written, "measure"), r#"{ duration = "5s", rounds = 12, warmup = "1s" }"#);
    assert_eq!(written.name, "old-against-new");
    let question = r#""Are tiles by new.sql faster than those by old.sql, and at which zoom?""#;
    assert_eq!(part(&written, "question"), question);
    for (line, factors) in [
        (
            "roads --against roads_low,roads_high",
            r#"{ clients = 1, "tiles.table" = ["roads", "roads_low", "roads_high"] }"#,
        ),
        ("f() --against g() --against h()", r#"{ clients = 1, "tiles.function" = ["f()", "g()", "h()"] }"#),
        ("roads --against f()", r#"{ clients = 1, "tiles.layers" = [["roads"], ["f()"]] }"#),
        (
            r#"roads --against |"Roads, old"|"#,
            r#"{ clients = 1, "tiles.layers" = [["roads"], ['"Roads, old"']] }"#,
        ),
        (
            "roads water --together --against all()",
            r#"{ clients = 1, "tiles.layers" = [["roads", "water"], ["all()"]] }"#,
        ),
    ] {
        let written = made(line).unwrap();
        assert_eq!(part(&written, "factors"), factors, "{line}");
    }
    let three = made("f() --against g(),h() -T 6 --rounds 4 --slices false").unwrap();
    assert_eq!(part(&three, "measure"), r#"{ duration = "2s", rounds = 4, slices = false, warmup = "1s" }"#);
}

/// "map key was not a string": with zooms by frequency only a change could be compared.
#[test]
fn zooms_by_frequency_can_be_compared() {
    let (_folder, [old, new]) = queries();
    for zooms in ["12,14", "12=1,14=6"] {
        for layers in [
            "roads --against roads_low".to_owned(),
            "f() --against g(),h()".to_owned(),
            format!("{old} --against {new}"),
            "roads --against f()".to_owned(),
            "roads --against |via: tipg, martin|".to_owned(),
            "roads --against jit=off".to_owned(),
        ] {
            let line = format!("{layers} --zooms {zooms}");
            let written = made(&line).unwrap_or_else(|why| panic!("{line}: {why}"));
            assert!(part(&written, "workload").contains("zooms = { 12 = 1.0, 14 = "), "{}", written.text());
        }
    }
}

#[test]
fn changes_are_arms_as_those_of_bench() {
    for (line, key, wanted) in [
        ("roads --against jit=off", "settings", r#"{ base = {  }, "jit off" = { jit = "off" } }"#),
        (
            "roads --against |settings: work_mem='64 MB', jit=off|",
            "settings",
            r#"{ base = {  }, "work_mem 64 MB and jit off" = { jit = "off", work_mem = "64 MB" } }"#,
        ),
        (
            "roads --against |sql: create index on roads (name)| --margin 5",
            "compare",
            r#"{ base = "before", factor = "sql", margin = "5%" }"#,
        ),
        ("roads -d a --against |url: b|", "compare", r#"{ base = "base", factor = "server" }"#),
    ] {
        let written = made(line).unwrap_or_else(|why| panic!("{line}: {why}"));
        assert_eq!(part(&written, key).replace("{}", "{  }"), wanted, "{line}: {}", written.text());
    }
    let written = made("roads --against jit=off").unwrap();
    assert_eq!(part(&written, "question"), r#""Are tiles of roads with jit = off faster than without?""#);
}

#[test]
fn tiles_go_by_other_ways_and_ways_are_arms() {
    let written = made("roads --via tipg").unwrap();
    assert_eq!(part(&written, "workload"), r#"{ roads = { tiles = { table = "roads", via = "tipg" } } }"#);
    let private = r#"managed = { extensions = "postgis", name = "default" }"#;
    assert_eq!(part(&written, "target"), format!(r#"{{ {private}, tile_servers = "tipg" }}"#));
    assert_eq!(part(&written, "question"), r#""How fast are tiles of roads by TiPg?""#);
    // The tile server asks the database, so statements are not explained.
    assert_eq!(part(&written, "measure"), r#"{ duration = "10s", rounds = 3, warmup = "1s" }"#);
    assert_eq!(written.name, "roads-tiles-by-TiPg");

    let url = "http://localhost:3000/{layer}/{z}/{x}/{y}";
    let written = made(&format!("roads water --picker sessions -c 50 --via {url}")).unwrap();
    let wanted = format!(
        r#"{{ "roads and water" = {{ tiles = {{ layers = ["roads", "water"], picker = "sessions", via = "{url}" }} }} }}"#
    );
    assert_eq!(part(&written, "workload"), wanted);
    assert_eq!(part(&written, "settings"), "", "its connections are to the web server");
    let written = made("roads --via redis").unwrap();
    let redis = r#"{ managed = { extensions = "postgis", name = "default", redis = true } }"#;
    assert_eq!(part(&written, "target"), redis);

    let written = made("osm.roads --against |via: tipg, martin| -c 30").unwrap();
    let factors = r#"{ clients = 30, "tiles.via" = ["sql", "tipg", "martin"] }"#;
    assert_eq!(part(&written, "factors"), factors);
    assert_eq!(part(&written, "compare"), r#"{ base = "sql", factor = "tiles.via" }"#);
    assert_eq!(part(&written, "target"), format!(r#"{{ {private}, tile_servers = ["tipg", "martin"] }}"#));
    let question = r#""Are tiles of osm.roads faster by TiPg or martin than by SQL, and at which zoom?""#;
    assert_eq!(part(&written, "question"), question);
    assert_eq!(written.name, "osm-roads-tiles-SQL-against-TiPg-and-martin");
    // Tile servers keep their connections while SQL is measured.
    let written = made("roads --via tipg --against |via: sql| -c 60").unwrap();
    assert_eq!(part(&written, "compare"), r#"{ base = "tipg", factor = "tiles.via" }"#);
    assert_eq!(part(&written, "settings"), "{ room = { max_connections = 120 } }");
    let written = made(&format!("roads --via martin --against |via: {url}?a=1,2|")).unwrap();
    let factors = format!(r#"{{ clients = 1, "tiles.via" = ["martin", "{url}?a=1,2"] }}"#);
    assert_eq!(part(&written, "factors"), factors);

    // A tile server under a change; each server has its own tile server.
    let written = made("roads --via martin --against jit=off").unwrap();
    let question = r#""Are tiles of roads by martin with jit = off faster than without?""#;
    assert_eq!(part(&written, "question"), question);
    let written = made("roads --via tipg -d a --against |url: b|").unwrap();
    assert_eq!(part(&written, "server").matches(r#"tile_servers = "tipg""#).count(), 2);
}

#[test]
fn what_cannot_be_meant_is_told_in_words_of_the_command() {
    let (folder, [old, _]) = queries();
    let bad = folder.path().join("bad.sql");
    std::fs::write(&bad, "SELECT 1\n").unwrap();
    let trace = folder.path().join("trace.txt");
    std::fs::write(&trace, "14/8800/6400\n14/99999/0\n").unwrap();
    let compressed = folder.path().join("list.xz");
    std::fs::write(&compressed, b"\xfd7zXZ\0\0\x04").unwrap();
    let (bad, trace, compressed) = (bad.display(), trace.display(), compressed.display());
    for (line, wanted) in [
        (String::new(), "LAYER"),
        ("roads --zooms 12-30".into(), "--zooms"),
        ("roads --zooms 16-12".into(), "--zooms"),
        ("roads --zooms twelve".into(), "12=1,14=6"),
        ("roads --picker date".into(), "--picker: unknown picker \"date\"; did you mean \"data\"?"),
        ("roads --picker trace".into(), "--trace FILE"),
        ("roads --bounds 1,2,3".into(), "west,south,east,north"),
        ("roads --bounds 15,35,14,36".into(), "--bounds"),
        ("roads --tiles 0".into(), "--tiles"),
        ("roads --variant moden".into(), "--variant"),
        ("roads --trace x --picker data".into(), "cannot be used with"),
        (format!("roads --trace {trace}"), "--trace"),
        ("roads --trace /nowhere/x".into(), "--trace"),
        (format!("{bad}"), "LAYER: "),
        ("/nowhere/x.sql".into(), "/nowhere/x.sql"),
        (format!("{old} --against {bad}"), "--against: "),
        ("f(z,x,y)".into(), "named without arguments"),
        ("roads roads".into(), "roads is given twice"),
        ("a b --against c".into(), "--together"),
        ("a --against jit=off --against b".into(), "a change cannot be combined"),
        ("a --against |setings: jit=off|".into(), "did you mean 'settings: …'?"),
        ("a --against |script: b.sql|".into(), "--against new.sql"),
        ("a --against ,".into(), "names no layer"),
        (",".into(), "name no layer"),
        (r#"|"My|"#.into(), "a quote is not closed"),
        ("a --against b --change-server".into(), "--undo and --change-server are for"),
        ("a -d gis --sql x.sql".into(), "--sql puts data on a private server"),
        ("a -d gis --managed".into(), "leave one of them out"),
        ("a -d postgres://h:1x/gis".into(), "invalid port value"),
        ("a --margin 3".into(), "--against"),
        ("a --sql /nowhere/x.sql".into(), "--sql: "),
        ("a -L -1".into(), "-L"),
        ("a --mbtiles x.mbtiles".into(), "--once"),
        ("a --once -R 5".into(), "--rate and --latency-limit are of a load"),
        ("a --once --picker uniform".into(), "--picker: once asks for every tile"),
        ("a --once --via tipg".into(), "--via: once goes to the database, or to the URL"),
        ("a --once --mbtiles x.mbtiles --against jit=off".into(), "--mbtiles: one pass over the tiles"),
        ("a --once -c 5000".into(), "--once: 5000 is not within 1..1000"),
        (
            format!("a --trace {compressed}"),
            "list.xz: cannot be read: compressed with xz; unpack it into a pipe",
        ),
        ("a --against a".into(), "a is given twice"),
        ("a --via martn".into(), "did you mean \"martin\"?"),
        ("a --via http".into(), "by its URL"),
        ("a --via http://h/tiles".into(), "--via: the URL has no {z}, {x} and {y}"),
        ("a b --via http://h/{z}/{x}/{y}".into(), "--via: several layers need {layer}"),
        ("f() --via tipg".into(), "--via: a tile server of the target serves tables"),
        ("a --via redis --picker sessions".into(), "--via: a client asks the cache for one tile at a time"),
        ("a --via redis -d gis".into(), "a private server has a Redis"),
        ("a --against |via: sql|".into(), "via: SQL is given twice"),
        ("a --against via:".into(), "write 'via: martin'"),
        ("a --against |via: tipg| --against b".into(), "a change cannot be combined"),
        ("a --against |via: martn|".into(), "did you mean \"martin\"?"),
        ("a --against |via: http://me:geheim@h/{z}/{x}/{y}|".into(), "a password stands in a URL"),
    ] {
        let told = match parse_from(words(&line).into_iter().map(Into::into)) {
            Err(error) => error.to_string(),
            Ok(_) => {
                let Err(error) = made(&line) else { panic!("{line}") };
                let hint = error.downcast_ref::<CommandFailure>().and_then(|failure| failure.hint.clone());
                format!("{error} {}", hint.unwrap_or_default())
            }
        };
        assert!(told.contains(wanted), "{line}: {told}");
        assert!(!told.contains("tiles."), "{line} in words of a file: {told}");
    }
}
