//! The service file: sections of connection options, e.g. `[mydb]` followed by `host=db1`.

use std::path::{Path, PathBuf};

use super::env::Env;
use super::error::ConnInfoError;
use super::parameters::{Origin, Parameters};
use super::secret;

/// Debian's folder for the system's service file; `PGSYSCONFDIR` overrides it.
const SYSTEM_FOLDER: &str = "/etc/postgresql-common";

/// Adds the options of the named service. The file in `PGSERVICEFILE` is searched first, otherwise the
/// user's, then the system's.
pub(super) fn fill(parameters: &mut Parameters, service: &str, env: &Env) -> Result<(), ConnInfoError> {
    let named = parameters.get("servicefile").or_else(|| env.variable("PGSERVICEFILE"));
    // Messages show both.
    secret::check("service", service)?;
    secret::check("servicefile", named.unwrap_or_default())?;
    let named = named.map(PathBuf::from);
    if let Some(path) = &named {
        let found = fill_from(parameters, service, path, env)?;
        match found {
            None => {
                let error = "no such file".to_owned();
                return Err(ConnInfoError::File { what: "service", path: path.clone(), error });
            }
            Some(true) => return Ok(()),
            Some(false) => {}
        }
    }
    let of_user = env.in_home(".pg_service.conf").filter(|_| named.is_none());
    let of_system = Path::new(env.variable("PGSYSCONFDIR").unwrap_or(SYSTEM_FOLDER)).join("pg_service.conf");
    for path in of_user.into_iter().chain([of_system]) {
        if fill_from(parameters, service, &path, env)? == Some(true) {
            return Ok(());
        }
    }
    Err(ConnInfoError::ServiceNotFound(service.to_owned()))
}

/// Whether the file defines the service; `None` when the file does not exist.
fn fill_from(
    parameters: &mut Parameters,
    service: &str,
    path: &Path,
    env: &Env,
) -> Result<Option<bool>, ConnInfoError> {
    let file = env.read(path).map_err(|error| ConnInfoError::File {
        what: "service",
        path: path.to_owned(),
        error: error.to_string(),
    })?;
    let Some(file) = file else {
        return Ok(None);
    };
    let mut inside = false;
    for (index, line) in String::from_utf8_lossy(&file.content).lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            if inside {
                break;
            }
            inside = section.strip_suffix(']') == Some(service);
        } else if inside {
            option(parameters, line, path).map_err(|what| ConnInfoError::ServiceLine {
                path: path.to_owned(),
                line: index + 1,
                what,
            })?;
        }
    }
    Ok(Some(inside))
}

fn option(parameters: &mut Parameters, line: &str, path: &Path) -> Result<(), String> {
    if line.starts_with("ldap") {
        return Err("LDAP lookup is not supported".to_owned());
    }
    let (keyword, value) = line.split_once('=').ok_or("syntax error (expected keyword=value)")?;
    if matches!(keyword, "service" | "servicefile") {
        return Err(format!("nested \"{keyword}\" specifications are not supported"));
    }
    parameters.fill(keyword, value, Origin::Service(path.to_owned())).map_err(|error| error.to_string())
}
