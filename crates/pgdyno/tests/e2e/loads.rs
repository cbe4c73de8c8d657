//! OSM loads with a real osm2pgsql: as runs of a grid, and the tables they may replace.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::{
    self, Finished, Place, Server, Watched, extract, finish, in_one_line, programs, signal,
};

/// A style for output flex that makes these tables.
fn style(place: &Place, tables: &[&str]) -> String {
    let table = |name: &&str| {
        format!(
            "tables['{name}'] = osm2pgsql.define_table({{ name = '{name}', ids = {{ type = 'node', id_column = 'id' }},\n\
             columns = {{ {{ column = 'geom', type = 'point' }} }} }})\n"
        )
    };
    let text = format!(
        "local tables = {{}}\n{}function osm2pgsql.process_node(object)\n  if object.tags.amenity then\n    \
         for _, table in pairs(tables) do table:add_row({{ geom = {{ create = 'point' }} }}) end\n  end\nend\n",
        tables.iter().map(table).collect::<String>()
    );
    place.write("style.lua", text).display().to_string()
}

/// Ordinary tables outside pgdyno's schema.
fn tables(server: &Server) -> String {
    server.psql(
        "select coalesce(string_agg(c.relname, ' ' order by c.relname), '') from pg_class c where relkind = 'r' \
         and relnamespace = 'public'::regnamespace and relname <> 'spatial_ref_sys'",
    )
}

/// The middle of Malta: loaded in a second or two. All of it where osmium is missing.
fn small_extract(place: &Place) -> PathBuf {
    let small = place.path().join("valletta.osm.pbf");
    let mut osmium = Command::new("osmium");
    osmium.args(["extract", "--bbox", "14.48,35.87,14.54,35.92", "--no-progress", "--output"]);
    match osmium.arg(&small).arg(extract()).status() {
        Ok(status) if status.success() => small,
        _ => extract(),
    }
}

fn with_postgis() -> (Place, Server) {
    (Place::new(), Server::start_with_postgis())
}

#[test]
fn loads_are_runs_that_are_compared_and_leave_nothing() {
    let (place, server) = with_postgis();
    let file = place.write(
        "processes.toml",
        format!(
            "question = \"What is a second process worth?\"\n[target]\nurl = \"{}\"\n[workload.import]\n\
             osm = {{ extract = \"{}\", cache_mb = 200 }}\n[factors]\n\"import.processes\" = [1, 2]\n[compare]\n\
             factor = \"import.processes\"\nbase = 1\n[measure]\nrounds = 2\n",
            server.url(),
            small_extract(&place).display()
        ),
    );
    let file = file.to_str().unwrap();
    let planned = place.run(["run", file, "--dry-run"]).expect(0);
    planned.says(&["4 runs of jobs"]);
    // Four real loads, repeated if disturbed.
    let done = support::finish_within(place.command(["run", file, "-v"]), Duration::from_secs(240));
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let said = in_one_line(&done.stdout);
    assert!(said.contains("speed against") && said.contains("on average"), "{said}");
    assert_eq!(tables(&server), "", "what was only loaded for its time is gone");
    // All outputs contain the same figures.
    let jobs = place.run(["table", "jobs", "--format", "json"]).expect(0).stdout;
    for figure in
        ["time", "nodes", "ways", "relations", "cluster, index, analyze", "WAL", "tables", "indexes"]
    {
        assert!(jobs.contains(&format!("\"{figure}\"")), "{figure}: {jobs}");
    }
    let phases = place.run(["table", "phases", "--format", "csv"]).expect(0).stdout;
    assert!(phases.contains("planet_osm_polygon"), "{phases}");
    // A disturbed run is invalid, and measured again. There is no other reason to be invalid.
    let other = "select count(*) from run join run_doubt using (run_id) where validity = 'invalid' \
                 and reason not in ('steal', 'throttled', 'unsteady', 'other_programs')";
    assert_eq!(place.sql(other), "0");
    let valid = "from v_run where validity <> 'invalid'";
    assert_eq!(place.sql(&format!("select count(*), min(tps is null) {valid}")), "4,1");
    let took = &format!(
        "select count(distinct arm) || ' ' || count(*) {valid} and measured_s > 0.1 and kind = 'job'"
    );
    assert_eq!(place.sql(took), "2 4");
    place.run(["report", "-o", "load.html"]).expect(0);
    let page = std::fs::read_to_string(place.path().join("load.html")).unwrap();
    for words in ["what its time is made of", "OpenStreetMap contributors", "program's CPU"] {
        assert!(page.contains(words), "{words}");
    }
    // The remaining time is estimated from stored runs.
    let more = place.run(["run", file, "--rounds", "4"]);
    assert!(matches!(more.status.code(), Some(0..=2)), "{}", more.stderr);
    assert!(!more.stderr.contains("stored before; about 0 s left"), "{}", more.stderr);
}

/// Ways of routes are processed once more with what their relations say.
const TWO_STAGES: &str = "
local roads = osm2pgsql.define_way_table('roads', {
  { column = 'routes', type = 'text' }, { column = 'geom', type = 'linestring', not_null = true },
})
local routes = {}
function osm2pgsql.process_way(object)
  if object.tags.highway then roads:insert({ routes = routes[object.id], geom = object:as_linestring() }) end
end
function osm2pgsql.select_relation_members(relation)
  return { ways = osm2pgsql.way_member_ids(relation) }
end
function osm2pgsql.process_relation(object)
  for _, member in ipairs(object.members) do
    if member.type == 'w' then routes[member.ref] = object.tags.ref or 'route' end
  end
end
";

/// Regression: the second stage was a part of the last index of ids.
#[test]
fn the_second_stage_of_output_flex_is_a_phase() {
    let (place, server) = with_postgis();
    let style = place.write("stages.lua", TWO_STAGES).display().to_string();
    let extract = extract().display().to_string();
    let (url, cache) = (server.url(), ["--cache", "200"]);
    place
        .run([&["osm", "load", &extract, "-d", &url, "-O", "flex", "-S", &style], &cache[..]].concat())
        .expect(0);
    let phase = |wanted: &str| {
        let sql = format!(
            "select count(*) || ' ' || max(duration_us > 0) || ' ' || coalesce(max(count) > 0, 0) from phase where name {wanted}"
        );
        place.sql(&sql)
    };
    assert_eq!(phase("= 'reprocess ways (stage 2)'"), "1 1 1");
    assert_eq!(phase("= 'index' and item = 'roads id'"), "1 1 0");
    let covered = "with p as (select run_id, start_us, max(start_us + duration_us) over (partition by run_id order by start_us \
                   rows between unbounded preceding and 1 preceding) as before_us from phase) \
                   select count(*) from p where start_us > coalesce(before_us, 0)";
    assert_eq!(place.sql(covered), "0", "no time is in no phase");
}

/// osm2pgsql replaces tables with its names silently.
#[test]
fn tables_of_others_are_never_replaced_unless_that_is_asked_for() {
    let (place, server) = with_postgis();
    let (url, extract) = (server.url(), small_extract(&place));
    let load = |more: &[&str]| {
        let args = ["osm", "load", extract.to_str().unwrap(), "-d", &url, "--cache", "200"];
        place.run(args.into_iter().chain(more.iter().copied()))
    };
    server.psql("create table planet_osm_line (mine int); insert into planet_osm_line values (7)");
    load(&[]).expect(68).says(&["planet_osm_line", "did not make", "--replace"]);
    assert_eq!(server.psql("select mine from planet_osm_line"), "7");
    // Only osm2pgsql knows which tables a style makes.
    server.psql("create table roads (mine int); insert into roads values (8)");
    let own_style = style(&place, &["squares", "roads"]);
    let flex = ["--output", "flex", "--style", &own_style, "--prefix", "flexible"];
    load(&flex).expect(68).says(&["public.roads", "did not make", "--replace"]);
    assert_eq!(server.psql("select mine from roads"), "8");
    assert_eq!(tables(&server), "planet_osm_line roads", "what it had made by then is removed");
    load(&[&flex[..], &["--replace"]].concat()).expect(0);
    assert!(server.psql("select count(*) from roads").parse::<u32>().unwrap() > 100);
    // Its own tables are replaced by default, and stay if a load fails before it changes them.
    load(&flex).expect(0);
    let before = tables(&server);
    place.write("broken.lua", "local tables = (\n");
    load(&["-O", "flex", "-S", "broken.lua", "--prefix", "flexible", "--no-slim"]).expect(71);
    assert_eq!(tables(&server), before);
    // A measured load must not replace tables loaded for others.
    let file = place.write(
        "measured.toml",
        format!(
            "question = \"?\"\n[target]\nurl = \"{url}\"\n[workload.import]\nosm = {{ extract = \"{}\", output = \"flex\", \
             style = \"style.lua\", prefix = \"flexible\" }}\n[measure]\nrounds = 1\n",
            extract.display()
        ),
    );
    let refused = place.run(["run", "--allow-commands", file.to_str().unwrap()]).expect(68);
    refused.says(&["flexible_nodes", "a preparation or `osm load` made", "another prefix"]);
    assert!(server.psql("select count(*) from roads").parse::<u32>().unwrap() > 100);
}

#[test]
fn a_load_that_fails_or_is_killed_says_why_and_leaves_nothing() {
    let (place, server) = with_postgis();
    let (url, extract) = (server.url(), extract());
    let load = |more: &[&str]| {
        let args = ["osm", "load", extract.to_str().unwrap(), "-d", &url, "--cache", "200"];
        place.command(args.into_iter().chain(more.iter().copied()))
    };
    place.write("broken.lua", "local tables = (\n");
    let broken = place.path().join("broken.lua");
    let done = support::finish(load(&["-O", "flex", "-S", broken.to_str().unwrap()])).expect(71);
    let done = done.says(&["broken.lua:", "(line 1 of broken.lua: local tables = ()", "its whole log is"]);
    let log = done.stderr.split("its whole log is ").nth(1).and_then(|rest| rest.split(['\n', ')']).next());
    let log = std::fs::read_to_string(log.unwrap().trim()).unwrap();
    assert!(log.contains("osm2pgsql version"), "{log}");
    assert_eq!(tables(&server), "");
    // The account cannot reach this path.
    let closed = place.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::copy(&broken, closed.join("shut.lua")).unwrap();
    let done = support::finish(load(&["-O", "flex", "-S", closed.join("shut.lua").to_str().unwrap()]));
    done.expect(71).says(&["shut.lua:", "(line 1 of shut.lua: local tables = ()"]);
    support::finish(load(&["-O", "nonsense"])).expect(65).says(&["nonsense", "pgsql, flex"]);
    support::finish(load(&["--args", "--append"])).expect(65).says(&["--append"]);
    support::finish(load(&["--program", "/bin/false"])).expect(71).says(&["does not say its version"]);
    support::finish(load(&["--program", "/nope"])).expect(68).says(&[
        "/nope",
        "install osm2pgsql",
        "--program",
    ]);
    let asked = "if [ \"$1\" = --version ]; then echo 'osm2pgsql version 1.8.0'; exit; fi\n";
    let dies = place.write("dies", format!("#!/bin/sh\n{asked}echo 'ERROR: std::bad_alloc' >&2\nexit 1\n"));
    std::fs::set_permissions(&dies, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let no_memory = support::finish(load(&["--program", dies.to_str().unwrap()])).expect(71);
    no_memory.says(&["std::bad_alloc", "not enough memory", "cache_mb", "flat_nodes"]);
    let bad = place.write("bad.style", "# a remark\nnode,way amenity\n");
    let told = support::finish(load(&["--style", bad.to_str().unwrap()])).expect(71);
    told.says(&["(line 2 of bad.style: node,way amenity)"]);

    // Killed from outside, during its work.
    let mut running = Watched::start(load(&["--verbose"]));
    assert!(running.until("step: prepare"));
    // Not the process that only prints its version.
    wait_for(|| (!tables(&server).is_empty()).then_some(()));
    let pid = wait_for(|| osm2pgsql_of(&server));
    signal(pid, "KILL");
    let (status, said) = running.end();
    assert_eq!(status.code(), Some(71), "{said}");
    assert!(said.contains("ended by signal 9"), "{said}");
    assert_eq!(tables(&server), "");

    // pgdyno itself is killed: the next load removes the rest.
    let mut running = Watched::start(load(&["--verbose", "--prefix", "first"]));
    assert!(running.until("step: prepare"));
    wait_for(|| tables(&server).contains("first_").then_some(()));
    signal(running.child.id(), "KILL");
    running.end();
    place.wait_until_quiet(Duration::from_secs(15));
    assert!(tables(&server).contains("first_"), "{}", tables(&server));
    let small = small_extract(&place);
    let next = ["osm", "load", small.to_str().unwrap(), "-d", &url, "--cache", "200", "--prefix", "second"];
    place.run(next).expect(0);
    assert!(!tables(&server).contains("first_"), "{}", tables(&server));
    assert!(tables(&server).contains("second_polygon"));
}

/// A substitute for osm2pgsql with this version and this shell code. `sql` and `made TABLE` are defined; the
/// latter prints the messages for a table and makes it with one row.
fn stand_in(place: &Place, version: &str, body: &str) -> String {
    let text = format!(
        r#"#!/bin/sh
if [ "$1" = --version ]; then echo 'osm2pgsql version {version}'; exit; fi
while [ $# -gt 1 ]; do
  case "$1" in -H) h=$2;; -P) p=$2;; -U) u=$2;; -d) d=$2;; --prefix) prefix=$2;; --flat-nodes) nodes=$2;; esac
  shift
done
say() {{ echo "2026-01-01 10:00:00  [0] $1" >&2; }}
sql() {{ {}/psql -XAtq -v ON_ERROR_STOP=1 -h "$h" -p "$p" -U "$u" -d "$d" -c "$1" || exit 1; }}
made() {{ say "Setting up table '$1'"; sql "drop table if exists $1; create table $1 as select 1 as osm_id"; }}
until_there() {{ until [ -e "{folder}/$1" ]; do sleep 0.02; done; }}
cd "{folder}"
{body}
"#,
        programs().display(),
        folder = place.open_folder().display(),
    );
    let name = format!("stand-in-{}", std::fs::read_dir(place.path()).unwrap().count());
    let path = place.write(&name, text);
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// `osm load` of a small extract.
fn small_load(place: &Place, server: &Server, more: &[&str]) -> Command {
    let url = server.url();
    let args = ["osm", "load", "--scale", "0.008", "-d", &url, "--cache", "50"];
    place.command(args.into_iter().chain(more.iter().copied()))
}

/// An experiment with measured loads, which does not wait for a running load.
fn measured(place: &Place, server: &Server, more: &str) -> Finished {
    let text = format!(
        "question = \"?\"\n[target]\nurl = \"{}\"\n[workload.import]\nosm = {{ scale = 0.008, cache_mb = 50, {more} }}\n\
         [measure]\nrounds = 2\n",
        server.url()
    );
    let file = place.write("measured.toml", text);
    place.run(["run", "--allow-commands", file.to_str().unwrap(), "--again", "--beside"])
}

#[track_caller]
fn went_well(done: &Finished) {
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
}

/// Loads of two versions were one experiment.
#[test]
fn an_experiment_goes_on_with_the_osm2pgsql_that_it_began_with() {
    let (place, server) = with_postgis();
    let text = format!(
        "question = \"?\"\n[target]\nurl = \"{}\"\n[prepare]\nosm = {{ scale = 0.008, cache_mb = 50, prefix = \"kept\" }}\n\
         [workload.import]\nosm = {{ scale = 0.008, cache_mb = 50, prefix = \"own\" }}\n[measure]\nrounds = 1\n",
        server.url()
    );
    let file = place.write("versions.toml", text).display().to_string();
    went_well(&place.run(["run", &file]));
    let goes_on = || place.run(["run", &file, "--rounds", "2"]);
    let changed = "'$.program_version.version', '0.9.1'";
    for (like, told) in [
        ("{\"program_version\"%\"data\":null%", "began with osm2pgsql 0.9.1, and that is "),
        (
            "{\"program_version\"%\"data\":\"osm\"%",
            "began with data (osm) made by osm2pgsql 0.9.1, and that is ",
        ),
    ] {
        place.with_fact(like, changed, || {
            goes_on().expect(64).says(&[told, "--again"]);
        });
    }
    went_well(&goes_on());
    assert_eq!(place.sql("select count(distinct experiment_id) || ' ' || max(round) from run"), "1 2");
}

/// A style's tables are only known when osm2pgsql runs: by then the table was recorded for the measured load.
#[test]
fn a_measured_load_that_is_refused_leaves_prepared_tables_alone() {
    let (place, server) = with_postgis();
    let own_style = style(&place, &["roads"]);
    let prepared = ["-O", "flex", "-S", &own_style, "--prefix", "kept"];
    finish(small_load(&place, &server, &prepared)).expect(0);
    let rows = "select count(*) > 0 from roads";
    assert_eq!(server.psql(rows), "t");
    for more in ["prefix = \"other\"", "prefix = \"kept\", slim = false"] {
        let refused = measured(&place, &server, &format!("output = \"flex\", style = \"style.lua\", {more}"));
        refused.expect(68).says(&[
            "public.roads",
            "a preparation or `osm load` made",
            "nothing was changed there",
        ]);
        assert_eq!(server.psql(rows), "t");
        assert_eq!(tables(&server), "kept_nodes kept_rels kept_ways roads");
        assert_eq!(server.psql("select bool_and(complete and not measured) from pgdyno.loaded"), "t");
    }
    // The next load has nothing to remove, and a repeated load keeps the prepared table.
    finish(small_load(&place, &server, &prepared)).expect(0);
    assert_eq!(server.psql(rows), "t");
    assert_eq!(server.psql("select bool_and(complete and not measured) from pgdyno.loaded"), "t");
}

/// From 1.9 on osm2pgsql has a table for all loads, which each load empties; 2.x makes it before its first
/// message.
#[test]
fn what_osm2pgsql_keeps_for_all_loads_is_in_the_way_of_none() {
    let (place, server) = with_postgis();
    let table = r#""public"."osm2pgsql_properties""#;
    let told = |name: &str| format!("say \"Storing properties to table '{}'.\"", name.replace('"', "\\\""));
    let begins =
        "made ${prefix}_point\nsql \"insert into osm2pgsql_properties values ('prefix', '$prefix')\"";
    let make = "create table if not exists osm2pgsql_properties (property text primary key, value text)";
    let old = |name| {
        format!("{}\nsleep 0.2\nsql '{make}'\nsql 'truncate osm2pgsql_properties'\n{begins}", told(name))
    };
    let new =
        format!("sql '{make}'\nsql 'truncate osm2pgsql_properties'\nsleep 0.2\n{}\n{begins}", told(table));
    let bodies = [("1.9.0", old("\"public\".osm2pgsql_properties")), ("1.9.2", old(table)), ("2.1.0", new)];
    for (version, body) in bodies {
        let program = stand_in(&place, version, &body);
        let options = format!("prefix = \"timed\", program = \"{program}\"");
        went_well(&measured(&place, &server, &options));
        assert_eq!(
            tables(&server),
            "",
            "{version}: a second run found nothing in its way, and nothing is left"
        );
        finish(small_load(&place, &server, &["--program", &program, "--prefix", "kept"])).expect(0);
        went_well(&measured(&place, &server, &options));
        assert_eq!(tables(&server), "kept_point osm2pgsql_properties", "{version}");
        finish(small_load(&place, &server, &["--program", &program, "--prefix", "kept"])).expect(0);
        // A user's osm2pgsql data there would be lost; another prefix does not help.
        server.psql("drop schema pgdyno cascade; drop table kept_point; update osm2pgsql_properties set value = 'mine'");
        measured(&place, &server, &options).expect(68).says(&[
            "osm2pgsql_properties",
            "another database",
            "--replace",
        ]);
        assert_eq!(server.psql("select value from osm2pgsql_properties"), "mine");
        assert_eq!(tables(&server), "osm2pgsql_properties");
        server.psql("drop table osm2pgsql_properties; drop schema pgdyno cascade");
    }
}

/// A role that created the lists first could become superuser, and a row could delete any file of the user.
#[test]
fn rows_that_somebody_else_wrote_into_the_lists_do_nothing() {
    let (place, server) = with_postgis();
    let plain = stand_in(&place, "1.8.0", "made ${prefix}_point");
    let load = || finish(small_load(&place, &server, &["--program", &plain]));
    let list = "create schema pgdyno; create table pgdyno.loaded (relation text primary key, measured boolean not null, \
                load text not null, complete boolean not null, former oid, former_loaded boolean not null)";
    let row = "insert into pgdyno.loaded values ('x;alter/**/role/**/low/**/superuser;commit;--', false, 'pgdyno load 1-1', \
               false, 999999, false)";
    server.psql("create role low; grant create on database postgres to low");
    server.psql(&format!("set role low; {list}; {row}"));
    load().expect(68).says(&["belongs to role low", "DROP SCHEMA pgdyno CASCADE"]);
    let is_super = "select rolsuper from pg_roles where rolname = 'low'";
    assert_eq!(server.psql(is_super), "f");
    // The lists are pgdyno's, but somebody may write to them.
    server.psql("drop schema pgdyno cascade");
    load().expect(0);
    server.psql(row);
    let failed = load();
    assert_ne!(failed.status.code(), Some(0));
    assert!(
        failed.stderr.contains("pgdyno.loaded") && failed.stderr.contains("delete that row"),
        "{}",
        failed.stderr
    );
    assert_eq!(server.psql(is_super), "f");
    server.psql("delete from pgdyno.loaded where load = 'pgdyno load 1-1'");
    let thesis = place.open_folder().join("thesis");
    std::fs::write(&thesis, "years").unwrap();
    let metadata = std::fs::metadata(&thesis).unwrap();
    let made = metadata.created().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let number = std::os::unix::fs::MetadataExt::ino(&metadata);
    server.psql(&format!(
        "insert into pgdyno.loaded_file values ('{}', '{number}-{made}', 'p', 'pgdyno load 1-1', false)",
        thesis.display()
    ));
    load().expect(0);
    assert!(thesis.exists());
}

/// Before osm2pgsql connects, and after it ended, no session shows a running load.
#[test]
fn a_load_that_begins_or_ends_is_not_taken_for_a_dead_one() {
    let (place, server) = with_postgis();
    let plain = stand_in(&place, "1.8.0", "made ${prefix}_point");
    let waits = "touch began\nuntil_there connect\nmade ${prefix}_point\ntouch made\nuntil_there end";
    let waits = stand_in(&place, "1.8.0", waits);
    let is_there = |name: &str| place.open_folder().join(name).exists().then_some(());
    let other = || went_well(&measured(&place, &server, &format!("program = \"{plain}\", prefix = \"b\"")));
    other();
    let running = Watched::start(small_load(&place, &server, &["--program", &waits, "--prefix", "a"]));
    wait_for(|| is_there("began"));
    let noted = "select count(*) from pgdyno.loaded where relation like '\"a\\_%'";
    assert_eq!(server.psql(noted), "7");
    other();
    assert_eq!(server.psql(noted), "7");
    place.write("open/connect", "");
    wait_for(|| is_there("made"));
    other();
    assert_eq!(tables(&server), "a_point");
    place.write("open/end", "");
    let (status, said) = running.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert_eq!(tables(&server), "a_point");
    assert_eq!(server.psql("select count(*) from pgdyno.loaded where complete and not measured"), "1");
}

/// The file did not exist before, so it belongs to the load.
#[test]
fn a_file_of_node_locations_goes_with_a_load_that_fails_and_is_made_anew_with_one_that_is_done_anew() {
    let (place, server) = with_postgis();
    let file = place.open_folder().join("nodes.bin");
    let name = file.to_str().unwrap();
    let load = |more: &[&str]| small_load(&place, &server, &[&["-F", name][..], more].concat());
    let fails = stand_in(&place, "1.8.0", "echo locations > $nodes\nsay 'ERROR: no space'\nexit 1");
    for _ in 0..2 {
        finish(load(&["--program", &fails])).expect(71).says(&["no space"]);
        assert!(!file.exists());
    }
    let waits = stand_in(&place, "1.8.0", "echo locations >> $nodes\ntouch wrote\nuntil_there never");
    let running = Watched::start(load(&["--program", &waits]));
    let wrote = || std::fs::remove_file(place.open_folder().join("wrote")).ok();
    wait_for(wrote);
    signal(running.child.id(), "INT");
    let (status, said) = running.end();
    assert!(!status.success() && !file.exists(), "{said}");
    // A killed load cannot remove the file: the next load with any prefix recognises it.
    let running = Watched::start(load(&["--program", &waits]));
    wait_for(wrote);
    signal(running.child.id(), "KILL");
    running.end();
    place.wait_until_quiet(Duration::from_secs(15));
    assert!(file.exists());
    finish(load(&["--prefix", "one"])).expect(0);
    let made = std::fs::metadata(&file).unwrap().len();
    assert!(made > 1000, "{made} bytes");
    // The same load replaces its file; another load leaves it, and a user's file always stays.
    finish(load(&["--prefix", "one"])).expect(0);
    finish(load(&["--prefix", "two"])).expect(65).says(&["nodes.bin is there already", "replace"]);
    assert_eq!(std::fs::metadata(&file).unwrap().len(), made);
    std::fs::remove_file(&file).unwrap();
    place.write("open/nodes.bin", "mine");
    finish(load(&["--prefix", "one"])).expect(65).says(&["nodes.bin is there already"]);
    let replaced = finish(load(&["--prefix", "one", "--replace", "--program", &fails])).expect(71);
    replaced.says(&["no space"]);
    assert!(file.exists(), "it was there before");
}

#[test]
fn what_a_killed_load_left_is_in_no_measured_loads_way() {
    let (place, server) = with_postgis();
    let plain = stand_in(&place, "1.8.0", "made ${prefix}_point");
    let waits = stand_in(&place, "1.8.0", "made ${prefix}_point\nuntil_there never");
    let running = Watched::start(small_load(&place, &server, &["--program", &waits]));
    wait_for(|| (tables(&server) == "planet_osm_point").then_some(()));
    signal(running.child.id(), "KILL");
    running.end();
    place.wait_until_quiet(Duration::from_secs(15));
    assert_eq!(tables(&server), "planet_osm_point");
    went_well(&measured(&place, &server, &format!("program = \"{plain}\"")));
    assert_eq!(tables(&server), "");
}

/// osm2pgsql drops them at its start.
#[test]
fn tables_of_an_earlier_load_that_are_gone_are_named() {
    let (place, server) = with_postgis();
    let made = stand_in(&place, "1.8.0", "made ${prefix}_point\nmade ${prefix}_line");
    let fails = stand_in(&place, "1.8.0", "made ${prefix}_point\nsay 'ERROR: no space'\nexit 1");
    let waits = stand_in(&place, "1.8.0", "made ${prefix}_line\ntouch begun\nuntil_there never");
    let load = |program: &str| small_load(&place, &server, &["--program", program]);
    finish(load(&made)).expect(0);
    let said = "the tables of an earlier load were replaced by this load, which did not end well; they are gone: load them again";
    let failed = finish(load(&fails)).expect(71);
    failed.says(&["no space", &format!("{said} (planet_osm_point)")]);
    assert_eq!(tables(&server), "planet_osm_line");
    let running = Watched::start(load(&waits));
    wait_for(|| std::fs::remove_file(place.open_folder().join("begun")).ok());
    signal(running.child.id(), "INT");
    let (_, told) = running.end();
    assert!(told.contains(&format!("{said} (planet_osm_line)")), "{told}");
    assert_eq!(tables(&server), "");
    // No earlier tables.
    let failed = finish(load(&fails)).expect(71);
    assert!(!failed.stderr.contains("earlier load"), "{}", failed.stderr);
}

/// The pid of an osm2pgsql that works on this server.
fn osm2pgsql_of(server: &Server) -> Option<u32> {
    let socket = server.socket.to_string_lossy();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let ours = arguments.split(|byte| *byte == 0).any(|argument| argument == socket.as_bytes());
        if name.trim() == "osm2pgsql" && ours {
            return Some(pid);
        }
    }
    None
}

#[track_caller]
fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let start = std::time::Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "it never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Two loads into one database; the second one's style selects a schema.
#[test]
fn several_loads_are_prepared_once_and_each_again_only_if_it_changed() {
    let (place, server) = with_postgis();
    place.run(["osm", "synth", "--scale", "0.008", "-o", "land.osm.pbf"]).expect(0);
    let style = |name: &str, tag: &str| {
        place.write(
            name,
            format!(
                "local t = osm2pgsql.define_table({{ name = 'places', schema = 'apart', ids = {{ type = 'node', id_column = 'id' }},\n\
                 columns = {{ {{ column = 'geom', type = 'point' }} }} }})\nfunction osm2pgsql.process_node(object)\n  \
                 if object.tags.{tag} then t:add_row({{ geom = {{ create = 'point' }} }}) end\nend\n"
            ),
        )
    };
    let file = |more: &str| {
        let text = format!(
            "question = \"?\"\n[target]\nurl = \"{}\"\n[prepare]\nosm = [\n{{ extract = \"land.osm.pbf\", cache_mb = 50 }},\n\
             {{ extract = \"land.osm.pbf\", prefix = \"structured\", output = \"flex\", style = \"own.lua\", schemas = [\"apart\"], \
             cache_mb = 50 }},\n{more}]\n[workload.w]\npgbench = {{ files = \"w.sql\" }}\n[measure]\nduration = \"100ms\"\nwarmup = \"0s\"\n\
             rounds = 1\n",
            server.url()
        );
        place.write("loads.toml", text).display().to_string()
    };
    place.write("w.sql", "SELECT count(*) FROM apart.places, planet_osm_point LIMIT 1;\n");
    style("own.lua", "amenity");
    let loads = |more: &str| {
        let done = place.run(["run", "--allow-commands", &file(more), "--again"]);
        assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
        done.stderr.lines().filter(|line| line.trim_start().starts_with("prepare  load")).count()
    };
    assert_eq!(loads(""), 2);
    let made = "select string_agg(relation, ' ' order by relation collate \"C\") || count(distinct load) || bool_and(complete and not measured) \
                from pgdyno.loaded where relation not like '%\\_ways\"' and relation not like '%\\_rels\"'";
    let wanted = r#""apart"."places" "planet_osm_line" "planet_osm_nodes" "planet_osm_point" "planet_osm_polygon" "planet_osm_roads" "structured_nodes"2true"#;
    assert_eq!(server.psql(made), wanted);
    assert_eq!(
        server.psql("select string_agg(job, ',' order by job) from pgdyno.prepared"),
        "osm,osm structured"
    );
    let jobs = "select group_concat(name, ' / ') from (select distinct workload as name from v_run where kind = 'job' order by 1)";
    assert_eq!(place.sql(jobs), "osm / osm structured");
    assert_eq!(loads(""), 0, "all is there");
    let before = server.psql("select 'planet_osm_point'::regclass::oid");
    style("own.lua", "shop");
    assert_eq!(loads(""), 1, "another style makes other tables");
    server.psql("drop table apart.places");
    assert_eq!(loads(""), 1, "a table of it is gone");
    assert_eq!(
        server.psql("select 'planet_osm_point'::regclass::oid"),
        before,
        "the first load was left alone"
    );
    // A load must not replace another load's tables.
    style("same.lua", "shop");
    let third =
        "{ extract = \"land.osm.pbf\", prefix = \"third\", output = \"flex\", style = \"same.lua\" },\n";
    let refused = place.run(["run", "--allow-commands", &file(third)]).expect(68);
    refused.says(&["apart.places", "another load of this preparation made"]);
    assert_eq!(loads(""), 0, "nothing was lost");
}

/// Made before the runs, kept, and identified by scale and seed.
#[test]
fn synthetic_extracts_are_made_first_and_kept() {
    let (place, server) = with_postgis();
    let url = server.url();
    let prepared = place.run(["osm", "load", "--scale", "0.008", "--seed", "3", "-d", &url]).expect(0);
    prepared.says(&[
        "make a synthetic extract of scale 0.008, seed 3: ",
        "load synthetic extract of scale 0.008, seed 3",
    ]);
    let again = place.run(["osm", "load", "--scale", "0.008", "--seed", "3", "-d", &url]).expect(0);
    assert!(!again.stderr.contains("make a synthetic"), "{}", again.stderr);
    let made = "select (record::json->'figures'->>'extract_made_s') is not null from pgdyno.prepared where job = 'osm'";
    assert_eq!(server.psql(made), "f", "the second load made nothing");
    place
        .run(["osm", "load", "--scale", "1", "x.osm.pbf", "-d", &url])
        .expect(65)
        .says(&["cannot stand with extract"]);
    place.run(["osm", "load", "--scale", "0.0001", "-d", &url]).expect(64).says(&["0.001 to 10000"]);
    let file = place.write(
        "grows.toml",
        format!(
            "question = \"How does an import grow?\"\n[target]\nurl = \"{url}\"\n[workload.import]\n\
             osm = {{ scale = 0.008, prefix = \"grows\", cache_mb = 50 }}\n[factors]\n\"import.scale\" = [0.008, 0.016]\n\
             [compare]\nfactor = \"import.scale\"\nbase = 0.008\n[measure]\nrounds = 2\n"
        ),
    );
    let done = place.run(["run", file.to_str().unwrap()]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let (before, _) = done.stderr.split_once("4 runs;").expect("the runs begin");
    for scale in ["0.008", "0.016"] {
        assert!(before.contains(&format!("make a synthetic extract of scale {scale}, seed 1: ")), "{before}");
    }
    let mut kept: Vec<_> = std::fs::read_dir(place.home().join("extracts"))
        .unwrap()
        .flatten()
        .map(|file| file.file_name())
        .collect();
    kept.sort();
    let wanted =
        ["0.008-seed-1", "0.008-seed-3", "0.016-seed-1"].map(|of| format!("synthetic-{of}-v2.osm.pbf"));
    assert_eq!(kept, wanted.map(std::ffi::OsString::from));
    let bytes = "select count(distinct value) from run_figure join v_run using (run_id) where run_figure.name = 'extract_bytes' and v_run.workload = 'import'";
    assert_eq!(place.sql(bytes), "2");
    place.run(["report", "-o", "grows.html"]).expect(0);
    let page = std::fs::read_to_string(place.path().join("grows.html")).unwrap();
    assert!(!page.contains("OpenStreetMap contributors"), "what was made up is nobody's");
}

/// A clipped extract may refer to missing nodes.
#[test]
fn what_is_missing_in_an_extract_is_told_and_no_error() {
    use osm::extract::{Bbox, BlobBuilder, Node, Object, Way, header_blob};
    let (place, server) = with_postgis();
    let mut bytes = header_blob(Bbox { west: 0, south: 0, east: 10_000_000, north: 10_000_000 });
    let (mut nodes, mut ways) = (BlobBuilder::default(), BlobBuilder::default());
    for id in 1..=4 {
        let (lat, lon) = (id as i32 * 1_000_000, 1_000_000);
        nodes.push(&Object::Node(Node { id, lat, lon, tags: Vec::new() }));
    }
    for (id, nodes) in [(1, vec![1, 2, 3]), (2, vec![3, 4, 9]), (3, vec![1, 8, 9])] {
        let tags = vec![("highway".to_owned(), "track".to_owned())];
        ways.push(&Object::Way(Way { id, tags, nodes }));
    }
    bytes.extend([nodes.take_blob(), ways.take_blob()].concat());
    place.write("cut.osm.pbf", bytes);
    let url = server.url();
    let told = "cut.osm.pbf: 2 of 3 ways refer to nodes that are not in the extract (3 references; 1 way has too few left to be a line)";
    place.run(["osm", "load", "cut.osm.pbf", "-d", &url]).expect(0).says(&[told]);
    assert_eq!(server.psql("select count(*) from planet_osm_line"), "2");
    let file = place.write(
        "cut.toml",
        format!(
            "question = \"?\"\n[target]\nurl = \"{url}\"\n[workload.import]\nosm = {{ extract = \"cut.osm.pbf\", prefix = \"cut\" }}\n\
             [measure]\nrounds = 1\n"
        ),
    );
    let done = place.run(["run", file.to_str().unwrap()]).expect(0).says(&[told]);
    assert_eq!(done.stderr.matches("refer to nodes").count(), 1, "{}", done.stderr);
}

/// A file in the extract's folder must not be taken for the experiment's.
#[test]
fn files_of_a_load_are_named_from_the_files_folder() {
    let place = Place::new();
    let file = place.write(
        "load.toml",
        "question = \"?\"\n[target]\nmanaged = { extensions = [\"postgis\"] }\n[workload.import]\n\
         osm = { extract = \"nowhere.osm.pbf\" }\n",
    );
    let refused = place.run(["run", file.to_str().unwrap(), "--dry-run"]).expect(65);
    let shown = Path::new(place.path()).join("nowhere.osm.pbf");
    refused.says(&["load.toml", shown.to_str().unwrap()]);
}

#[test]
fn synthetic_extracts_are_the_same_from_a_seed_and_can_be_loaded() {
    let (place, server) = with_postgis();
    let synth = |name: &str, more: &[&str]| {
        let args = ["osm", "synth", "--scale", "0.01", "--seed", "7", "-o", name];
        place.run(args.into_iter().chain(more.iter().copied())).expect(0)
    };
    assert_eq!(synth("a.osm.pbf", &["-j", "1"]).stdout, "a.osm.pbf\n");
    synth("b.osm.pbf", &["-j", "3", "--format", "json"]);
    let read = |name: &str| std::fs::read(place.path().join(name)).unwrap();
    assert!(read("a.osm.pbf") == read("b.osm.pbf"), "threads do not matter");
    let url = server.url();
    place.run(["osm", "load", "a.osm.pbf", "-d", &url]).expect(0);
    let invalid = "select count(*) filter (where not st_isvalid(way)) || ' ' || (count(*) > 100) from planet_osm_polygon";
    assert_eq!(server.psql(invalid), "0 true");
    place.run(["osm", "synth", "--scale", "0", "-o", "c.osm.pbf"]).expect(64).says(&["0.001", "10000"]);
    place.run(["osm", "synth", "-o", "nowhere/c.osm.pbf"]).expect(74).says(&["nowhere/c.osm.pbf"]);
    assert!(!place.path().join("c.osm.pbf").exists());
}

/// The style of an OSM workload was not stored, and no message said that the extract is not stored.
#[test]
fn a_measured_load_is_exported_with_its_style() {
    let (place, server) = with_postgis();
    let extract = small_extract(&place);
    style(&place, &["roads"]);
    let file = place.write(
        "own.toml",
        format!(
            "question = \"?\"\n[target]\nurl = \"{}\"\n[workload.import]\nosm = {{ extract = \"{}\", output = \"flex\", \
             style = \"style.lua\", slim = false }}\n[measure]\nrounds = 1\n",
            server.url(),
            extract.display()
        ),
    );
    place.run(["run", "--allow-commands", file.to_str().unwrap()]).expect(0);
    let exported = place.run(["export", "experiment", "own", "kit"]).expect(0);
    let told = format!("{}{}", exported.stdout, exported.stderr);
    let name = extract.file_name().unwrap().to_str().unwrap();
    assert!(told.contains(name) && told.contains("SHA-256"), "{told}");
    let style = std::fs::read_to_string(place.path().join("kit/style.lua")).unwrap();
    assert_eq!(style, std::fs::read_to_string(place.path().join("style.lua")).unwrap());
}
