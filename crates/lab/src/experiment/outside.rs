//! What a file uses that belongs to the user and lies outside the file's folder. The text of a file that a
//! run reads is sent to the server and stored in the results, and an address decides who receives a password.

use std::path::{Component, Path, PathBuf};

use protocol::postgres::conninfo::Parameters;
use spec::plan::PlannedUsers;
use spec::plan::storage::StorageLocation;

use super::document::Document;
use super::model::{ExperimentFile, LoadKind};
use super::variables;
use crate::factors::with_options;

/// Keywords of libpq that name files or services of the user, or another server than `host` does.
const OF_THE_USER: [&str; 7] =
    ["hostaddr", "passfile", "service", "servicefile", "sslcert", "sslkey", "sslrootcert"];

/// Variables of libpq with a password, or the name of a service that may have one.
const PASSWORDS: [&str; 2] = ["PGPASSWORD", "PGSERVICE"];

/// Files, and what addresses take: the place in the document, a text without values of addresses, and the file.
pub(super) fn outside(
    document: &Document<'_>,
    file: &ExperimentFile,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Vec<(Vec<String>, String, Option<PathBuf>)> {
    let files = files(document, file).into_iter().filter(|(_, path)| is_outside(file, path));
    let files = files.map(|(place, path)| {
        (place, format!("{}, outside the experiment's folder", path.display()), Some(path))
    });
    let addresses = addresses(document, file, variable).into_iter();
    files.chain(addresses.map(|(place, what)| (place, what, None))).collect()
}

/// Named files and folders, without extracts: a file that is not an extract is refused.
fn files(document: &Document<'_>, file: &ExperimentFile) -> Vec<(Vec<String>, PathBuf)> {
    let mut named = Vec::new();
    for used in file.prepare.clone().files_mut() {
        if !matches!(used.key.last().map(String::as_str), Some("extract" | "program")) {
            named.push(([vec!["prepare".to_owned()], used.key].concat(), used.path.clone()));
        }
    }
    for workload in &file.workloads {
        let place = place(&["workload", &workload.name]);
        named.extend(workload.spec.files_but_extracts().into_iter().map(|path| (place.clone(), path)));
    }
    if let LoadKind::Users(PlannedUsers { sessions: Some(sessions), .. }) = &file.load.kind {
        let files = sessions.session.pause_files().into_iter().map(PathBuf::from);
        named.extend(files.map(|path| (place(&["load", "users", "session"]), path)));
    }
    // Options of workloads and preparations as factors.
    let is_option =
        |name: &str| name.contains('.') && !name.ends_with(".extract") && !name.ends_with(".program");
    for (name, levels) in file.factors.all().iter().filter(|(name, _)| is_option(name)) {
        let place = place(&document.factor(name));
        for level in levels {
            // A level that is a list is kept as JSON.
            let paths = serde_json::from_str(level).unwrap_or_else(|_| vec![level.clone()]);
            let tables = of_level(file, name, level);
            named
                .extend(paths.into_iter().map(PathBuf::from).chain(tables).map(|path| (place.clone(), path)));
        }
    }
    for (name, storage) in &file.named.storages {
        if let StorageLocation::Folder(folder) = &storage.on {
            named.push((place(&["storage", name, "path"]), folder.clone()));
        }
    }
    named
}

/// The files that a level names inside of a table: `{ csv = "users.csv" }`.
fn of_level(file: &ExperimentFile, name: &str, level: &str) -> Vec<PathBuf> {
    let Some((workload, option)) = name.split_once('.').filter(|_| level.starts_with('{')) else {
        return Vec::new();
    };
    let spec = file.workload(workload).map(|workload| &workload.spec);
    let with = |spec| with_options(spec, &[(option.to_owned(), level.to_owned())].into()).ok();
    spec.and_then(with).map(|changed| changed.files_but_extracts()).unwrap_or_default()
}

/// Whether a path leads out of the experiment's folder, directly or through a link.
fn is_outside(file: &ExperimentFile, path: &Path) -> bool {
    let folder = file.folder();
    let inside = path.strip_prefix(folder).unwrap_or(path);
    let leads_out = |part: Component<'_>| match part {
        Component::ParentDir | Component::RootDir => true,
        // A variable of a stored text, which is not replaced.
        Component::Normal(name) => name.as_encoded_bytes().starts_with(b"$"),
        _ => false,
    };
    if inside.components().any(leads_out) {
        return true;
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let path = folder.join(inside);
    match (folder.canonicalize(), path.canonicalize()) {
        (Ok(folder), Ok(path)) => !path.starts_with(folder),
        // The path does not exist. A link on the way could lead anywhere.
        _ => path.ancestors().take(inside.components().count()).any(Path::is_symlink),
    }
}

/// What addresses take from the user. An address that is one variable is the user's.
fn addresses(
    document: &Document<'_>,
    file: &ExperimentFile,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Vec<(Vec<String>, String)> {
    let tables = file.named.servers.keys().map(|name| place(&["server", name, "url"]));
    let mut found = Vec::new();
    for place in [place(&["target", "url"])].into_iter().chain(tables) {
        let steps: Vec<&str> = place.iter().map(String::as_str).collect();
        let Some(url) = document.value(&steps).and_then(|url| url.as_str()) else { continue };
        let names = variables::names(url);
        let is_own =
            matches!(&names[..], [name] if *url == format!("${name}") || *url == format!("${{{name}}}"));
        if !is_own {
            let taken = taken(url, &names, variable).into_iter();
            let words = |what| format!("{what}, for the server of this address");
            found.extend(taken.map(|what| (place.clone(), words(what))));
        }
    }
    found
}

/// What an address takes: values of variables in it, files and services that it names, a password of the
/// environment.
fn taken(url: &str, names: &[String], variable: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut taken: Vec<String> = names.iter().map(|name| format!("the value of {name}")).collect();
    // An unreadable address is refused before anything is sent.
    let Ok(parameters) = Parameters::parse(url) else { return taken };
    let own = |keyword: &&&str| parameters.get(keyword).is_some_and(|value| value != "system");
    taken.extend(OF_THE_USER.iter().filter(own).map(|keyword| format!("the user's {keyword}")));
    if parameters.get("password").is_none() {
        let is_set = |name: &&&str| variable(name).is_some_and(|value| !value.is_empty());
        taken.extend(PASSWORDS.iter().filter(is_set).map(|name| format!("the password of {name}")));
    }
    taken
}

fn place(steps: &[&str]) -> Vec<String> {
    steps.iter().map(|step| (*step).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use spec::FileCommand;

    use super::*;

    /// The list for a file with these tables, as `line: key: what`.
    fn of(tables: &str) -> Vec<String> {
        let text =
            format!("question = \"?\"\n[workload.w]\npgbench = {{ builtin = \"select-only\" }}\n{tables}");
        let file = ExperimentFile::parse(Path::new("lab/x.toml"), &text, false, &|_| None);
        let file = file.unwrap_or_else(|problems| panic!("{problems}"));
        let words = |command: &FileCommand| {
            format!("{}: {}: {}", command.line.unwrap_or(0), command.key, command.runs)
        };
        file.commands().iter().map(words).collect()
    }

    /// Between two checks a path became a link to another file.
    #[cfg(target_os = "linux")]
    #[test]
    fn files_of_an_experiment_that_names_nothing_else_are_held_to_its_folder() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("experiment");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(place.path().join("secret.sql"), "SELECT 'secret';").unwrap();
        std::os::unix::fs::symlink("../secret.sql", folder.join("p.sql")).unwrap();
        let text = "question = \"?\"\n[target]\nmanaged = {}\n[prepare]\nsql = \"p.sql\"\n[workload.w]\n\
                    pgbench = { builtin = \"select-only\" }\n";
        let file = folder.join("e.toml");
        std::fs::write(&file, text).unwrap();
        let read = ExperimentFile::read(&file, &Default::default()).unwrap();
        assert_eq!(read.commands().len(), 1, "{:?}", read.commands());
        let held = ExperimentFile::read_held(&file, &Default::default()).map(drop).unwrap_err();
        assert!(format!("{held:?}").contains("leads out of the experiment's folder"), "{held:?}");
    }

    #[test]
    fn files_of_other_folders_are_listed_and_extracts_are_not() {
        let load = "osm = { extract = \"../a.osm.pbf\", flat_nodes = \"/srv/nodes\" }";
        let text = format!(
            "[target]\nmanaged = {{}}\n[prepare]\nsql = [\"own.sql\", \"sub/../../x.sql\"]\n{load}\n\
             [workload.a]\npgbench = {{ files = [\"../key@2\", \"b.sql\"] }}\n\
             [workload.t]\ntiles = {{ layers = [\"/q.sql\"] }}\n\
             [factors]\nworkload = [\"w\", \"a\", \"t\"]\nt.layers = [[\"roads\"], [\"/etc/passwd.sql\"]]\n"
        );
        let outside = |at: &str, path: &str| format!("{at}: {path}, outside the experiment's folder");
        let wanted = [
            outside("7: prepare.sql[1]", "lab/sub/../../x.sql"),
            outside("8: prepare.osm[0].flat_nodes", "/srv/nodes"),
            outside("9: workload.a", "../key"),
            outside("11: workload.t", "/q.sql"),
        ];
        let found = of(&text);
        assert_eq!(found[..4], wanted, "{found:#?}");
        assert_eq!(found[4..], [outside("15: factors.t.layers", "/etc/passwd.sql")], "{found:#?}");
    }

    /// A file of a level that is a table was not listed.
    #[test]
    fn files_in_tables_are_listed() {
        let of_workload =
            of("[target]\nmanaged = {}\n[workload.v.pgbench]\nvariables = { csv = \"../users.csv\" }\n");
        assert_eq!(of_workload, ["6: workload.v: ../users.csv, outside the experiment's folder"]);
        let found = of(
            "[target]\nmanaged = {}\n[factors]\nw.variables = [{ csv = \"own.csv\" }, { csv = \"/etc/a.csv\" }]\n",
        );
        assert_eq!(found, ["7: factors.w.variables: /etc/a.csv, outside the experiment's folder"]);
        let tiles = "[target]\nmanaged = {}\n[workload.t]\ntiles = { table = \"a\" }\n[factors]\nworkload = [\"w\", \"t\"]\n";
        let found = of(&format!("{tiles}t.picker = [\"data\", {{ trace = \"/etc/log\" }}]\n"));
        assert_eq!(found, ["10: factors.t.picker: /etc/log, outside the experiment's folder"]);
    }

    #[test]
    fn a_link_leads_outside_a_folder_too() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("theirs");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(place.path().join("secret"), "SELECT 1").unwrap();
        std::fs::write(folder.join("own.sql"), "SELECT 1").unwrap();
        std::os::unix::fs::symlink("../secret", folder.join("a.sql")).unwrap();
        let text = "question = \"?\"\n[target]\nmanaged = {}\n[workload.w]\npgbench = { files = [\"a.sql\", \"own.sql\"] }\n";
        let file = ExperimentFile::parse(&folder.join("x.toml"), text, false, &|_| None).unwrap();
        std::os::unix::fs::symlink("../not-yet", folder.join("own.sql.new")).unwrap();
        let path = folder.join("own.sql.new");
        assert!(is_outside(&file, &path) && !is_outside(&file, Path::new("made-later")));
        let [one] = file.commands() else { panic!("{:?}", file.commands()) };
        assert!(one.by.is_none() && one.runs.starts_with("a.sql, "), "{one:?}");
    }

    #[test]
    fn variables_that_an_address_sends_to_its_server_are_listed() {
        let variable = |name: &str| {
            (!PASSWORDS.contains(&name))
                .then_some(if name == "DB" { "postgres://a" } else { "me" }.to_owned())
        };
        let at = |url: &str| {
            let text = format!(
                "question = \"?\"\n[workload.w]\npgbench = {{ builtin = \"select-only\" }}\n[target]\nurl = \"{url}\"\n"
            );
            let file = ExperimentFile::parse(Path::new("x.toml"), &text, false, &variable);
            let file = file.unwrap_or_else(|problems| panic!("{url}: {problems}"));
            file.commands().iter().map(FileCommand::words).collect::<Vec<_>>()
        };
        for own in ["postgres://a/b", "$DB", "${DB}", "postgres://a/b$$c"] {
            assert_eq!(at(own), [""; 0], "{own}");
        }
        for (url, names) in [
            ("postgres://$ME@a/b", &["ME"][..]),
            ("postgres://a/b?application_name=${KEY}", &["KEY"]),
            ("$DB/$KEY", &["DB", "KEY"]),
        ] {
            let wanted = names.iter().map(|name| {
                format!("target.url (line 5): the value of {name}, for the server of this address")
            });
            assert_eq!(at(url), wanted.collect::<Vec<_>>(), "{url}");
        }
    }

    #[test]
    fn passwords_and_files_of_the_user_that_an_address_asks_for_are_listed() {
        let at = |url: &str, password: Option<&str>| {
            let text = format!(
                "question = \"?\"\n[workload.w]\npgbench = {{ builtin = \"select-only\" }}\n[target]\nurl = \"{url}\"\n"
            );
            let variable = |name: &str| match name {
                _ if PASSWORDS.contains(&name) => password.map(str::to_owned),
                _ => Some("postgres://a".to_owned()),
            };
            let file = ExperimentFile::parse(Path::new("x.toml"), &text, false, &variable);
            let file = file.unwrap_or_else(|problems| panic!("{url}: {problems}"));
            file.commands().iter().map(|command| command.runs.clone()).collect::<Vec<_>>()
        };
        for url in ["postgres://u@h/d?sslrootcert=system", "host=h user=u", "$DB"] {
            assert_eq!(at(url, None), [""; 0], "{url}");
        }
        for (url, wanted) in [
            ("postgres://u@h/d?passfile=/home/x/.pgpass", "the user's passfile,"),
            ("postgres://u@h/d?sslmode=require&ssl%6bey=%2fk", "the user's sslkey,"),
            ("host=h\\rservice = prod", "the user's service,"),
            ("host=prod hostaddr=192.0.2.1", "the user's hostaddr,"),
        ] {
            let found = at(url, None);
            assert!(found.len() == 1 && found[0].starts_with(wanted), "{found:?}");
        }
        let wanted = PASSWORDS.map(|name| format!("the password of {name}, for the server of this address"));
        assert_eq!(at("postgres://u@h/d", Some("x")), wanted);
        for own in ["$DB", "postgres://u:p@h/d"] {
            assert_eq!(at(own, Some("x")), [""; 0], "{own}");
        }
    }
}
