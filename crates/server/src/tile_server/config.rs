//! The configuration of each kind: TiPg's environment, and for martin a file that only its account can read.
//! No argument contains a password.

use std::fmt::Write;

use spec::Error;
use spec::plan::tile_server::{TileServerKind, TileServerOptions};

use super::dsn::Dsn;
use super::options::{pool, workers};
use super::{Installed, ServedTables};
use crate::child::{Account, Program};
use crate::member::Folders;

/// More features than any tile has: TiPg leaves features out from 10,000 on, martin and SQL none.
const ALL_FEATURES: u32 = i32::MAX as u32;

/// The program with its configuration and files.
pub(super) fn program(
    folders: &Folders,
    (installed, options): (&Installed, &TileServerOptions),
    before: &ServedTables<'_>,
    (port, account): (u16, Option<&Account>),
) -> Result<Program, Error> {
    let dsn = Dsn::of(folders, before.upstream, options.kind)?;
    // A separate home: files in ours must not affect it.
    let program = Program::server(&installed.program, &folders.work, account).env("HOME", &folders.work);
    match options.kind {
        TileServerKind::Tipg => {
            // This folder is empty, but it shows in a list of processes whose process it is.
            let program = tipg(program, &dsn, options, before, port);
            Ok(program.arg("--app-dir").arg(&folders.work))
        }
        TileServerKind::Martin => {
            let file = folders.write("martin.yaml", martin(&dsn, options, before, port).as_bytes())?;
            // Warnings are enough: a line for each tile would affect the measurement.
            Ok(program.arg("--config").arg(file).env("RUST_LOG", "warn").env("NO_COLOR", "1"))
        }
    }
}

fn tipg(
    program: Program,
    dsn: &Dsn,
    options: &TileServerOptions,
    before: &ServedTables<'_>,
    port: u16,
) -> Program {
    let (workers, pool) = (workers(options).to_string(), pool(options, before.clients).to_string());
    let mut uri = dsn.uri.clone();
    let mut certificate = |name: &str, path: &std::path::Path| {
        let path = protocol::percent_encoded(path.as_os_str().as_encoded_bytes());
        let _ = write!(uri, "&{name}={path}");
    };
    if let Some(root) = &dsn.root {
        certificate("sslrootcert", root);
    }
    if let Some((own, key)) = &dsn.client {
        certificate("sslcert", own);
        certificate("sslkey", key);
    }
    let schemas = serde_json::to_string(before.schemas).expect("names are plain data");
    // Without a line for each request; at this level a worker reports when it is ready.
    let program = program
        .args(["-s", "-m", "uvicorn", "tipg.main:app", "--host", "127.0.0.1", "--port", &port.to_string()])
        .args(["--workers", &workers, "--no-access-log", "--log-level", "info"])
        .with_workers();
    let variables = [
        ("DATABASE_URL", uri),
        ("DB_MIN_CONN_SIZE", pool.clone()),
        ("DB_MAX_CONN_SIZE", pool),
        ("TIPG_DB_SCHEMAS", schemas),
        // Both read whole tables, at the start and, when the catalog expires, in the middle of a run.
        ("TIPG_DB_SPATIAL_EXTENT", "false".to_owned()),
        ("TIPG_DB_DATETIME_EXTENT", "false".to_owned()),
        ("TIPG_CATALOG_TTL", "0".to_owned()),
        ("TIPG_MAX_FEATURES_PER_TILE", ALL_FEATURES.to_string()),
        ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
    ];
    variables.into_iter().fold(program, |program, (name, value)| program.env(name, value))
}

/// `martin.yaml`. Its texts are written as JSON, which is valid YAML.
fn martin(dsn: &Dsn, options: &TileServerOptions, before: &ServedTables<'_>, port: u16) -> String {
    let text = |text: &str| serde_json::to_string(text).expect("text");
    let mut yaml = String::new();
    let mut line = |indent: usize, key: &str, value: &str| {
        let _ = writeln!(yaml, "{}{key}: {value}", "  ".repeat(indent));
    };
    line(0, "listen_addresses", &text(&format!("127.0.0.1:{port}")));
    line(0, "worker_processes", &workers(options).to_string());
    line(0, "cache", "");
    let megabytes = options.cache_mb.unwrap_or(0).to_string();
    line(1, "size_mb", &megabytes);
    line(1, "tile_size_mb", &megabytes);
    line(0, "postgres", "");
    line(1, "connection_string", &text(&dsn.uri));
    if let Some(root) = &dsn.root {
        line(1, "ssl_root_cert", &text(&root.display().to_string()));
    }
    if let Some((own, key)) = &dsn.client {
        line(1, "ssl_cert", &text(&own.display().to_string()));
        line(1, "ssl_key", &text(&key.display().to_string()));
    }
    line(1, "pool_size", &pool(options, before.clients).to_string());
    // Both read tables, at the start and in the middle of a run.
    line(1, "auto_bounds", "skip");
    line(1, "reload_interval", &text("0s"));
    line(1, "auto_publish", "");
    line(2, "from_schemas", &serde_json::to_string(before.schemas).expect("names are plain data"));
    line(2, "tables", "");
    line(3, "source_id_format", &text("{schema}.{table}"));
    line(2, "functions", "");
    line(3, "source_id_format", &text("{schema}.{function}"));
    yaml
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use protocol::Address;
    use protocol::postgres::conninfo::{Password, PasswordSource, SslOptions};
    use protocol::postgres::{Login, Place};

    use super::*;
    use crate::home::{Home, HomeFolder};
    use crate::pooler::Upstream;

    #[test]
    fn each_is_told_all_and_its_arguments_hold_no_password() {
        let folder = tempfile::tempdir().unwrap();
        let mut login = Login::new("ann", "shop");
        login.password = Some(Password::new("geheim", PasswordSource::Environment));
        let place = Place::new(Address::Unix("/run/.s.PGSQL.5432".into()), Arc::new(login));
        let upstream = Upstream { place, ssl: SslOptions::default() };
        let schemas = ["public".to_owned(), "osm".to_owned()];
        let before = ServedTables { upstream: &upstream, schemas: &schemas, clients: 8 };
        let uri = "postgresql://ann:geheim@%2Frun:5432/shop?sslmode=disable";
        for kind in TileServerKind::ALL {
            let folders = Folders::make(&Home::at(folder.path()), HomeFolder::TileServers, "", None).unwrap();
            let installed = Installed { program: "/bin/x".into(), version: "1".into() };
            let options = TileServerOptions { workers: Some(2), ..TileServerOptions::usual(kind) };
            let program = program(&folders, (&installed, &options), &before, (3000, None)).unwrap();
            assert!(!format!("{:?}", program.args).contains("geheim"), "{:?}", program.args);
            match kind {
                TileServerKind::Tipg => {
                    let has = |name: &str, value: &str| program.env.contains(&(name.into(), value.into()));
                    assert!(has("DATABASE_URL", uri) && has("TIPG_DB_SCHEMAS", r#"["public","osm"]"#));
                    assert!(has("DB_MAX_CONN_SIZE", "4") && has("TIPG_CATALOG_TTL", "0"));
                }
                TileServerKind::Martin => {
                    let yaml = std::fs::read_to_string(folders.files().join("martin.yaml")).unwrap();
                    for line in [
                        "listen_addresses: \"127.0.0.1:3000\"\nworker_processes: 2\n",
                        "cache: \n  size_mb: 0\n  tile_size_mb: 0\n",
                        &format!("  connection_string: \"{uri}\"\n  pool_size: 8\n"),
                        "    from_schemas: [\"public\",\"osm\"]\n",
                    ] {
                        assert!(yaml.contains(line), "{line}\n{yaml}");
                    }
                }
            }
        }
    }
}
