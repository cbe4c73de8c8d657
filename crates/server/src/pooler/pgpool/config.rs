//! Pgpool-II's `pgpool.conf`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use protocol::Address;
use protocol::postgres::Place;
use spec::plan::pooler::{Balance, PgpoolOptions};
use spec::{Class, Error};

use super::super::options::OptionError;
use super::{PCP_PORT, PORT, PgpoolVersion};
use crate::member::Folders;

/// Children in addition to one for each client: ours.
const SPARE_CHILDREN: u32 = 8;

/// Settings that nobody can choose, or their beginnings (`…*`), and why.
const RESERVED: [(&str, &str); 30] = [
    ("backend_clustering_mode", NODES),
    ("backend_hostname*", NODES),
    ("backend_port*", NODES),
    ("backend_data_directory*", NODES),
    ("backend_flag*", NODES),
    ("num_init_children", "it follows from the number of clients"),
    ("load_balance_mode", "leave Pgpool-II out instead"),
    ("statement_level_load_balance", "it is the option balance"),
    ("listen_addresses", REACHED),
    ("port", REACHED),
    ("socket_dir", REACHED),
    ("unix_socket_*", REACHED),
    ("pcp_*", REACHED),
    ("ssl*", REACHED),
    ("enable_pool_hba", LOGIN),
    ("pool_passwd", LOGIN),
    ("allow_clear_text_frontend_auth", LOGIN),
    ("sr_check_user", LOGIN),
    ("sr_check_password", LOGIN),
    ("health_check_user*", LOGIN),
    ("health_check_password*", LOGIN),
    ("recovery_*", COMMANDS),
    ("failover_*", COMMANDS),
    ("failback_command", COMMANDS),
    ("follow_*", COMMANDS),
    ("wd_*", "one Pgpool-II is measured, without its watchdog"),
    ("use_watchdog", "one Pgpool-II is measured, without its watchdog"),
    ("log*", "pgdyno reads its log"),
    ("pid_file_name", RUN),
    ("work_dir", RUN),
];
const NODES: &str = "its nodes are the server and its replicas";
const REACHED: &str = "pgdyno reaches it by that";
const LOGIN: &str = "the load logs in by it";
const COMMANDS: &str = "it detaches no node and runs no command";
const RUN: &str = "pgdyno runs it";

/// Looks for what cannot be, before anything is started.
///
/// # Errors
/// The first one.
pub fn check(options: &PgpoolOptions) -> Result<(), OptionError> {
    let wrong = |name: &str, why| Err(OptionError { name: name.to_owned(), why });
    for (name, value) in &options.settings {
        if let Some(why) = reserved(name) {
            return wrong(name, why);
        }
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if name.is_empty() || !name.bytes().all(fits) {
            return wrong(name, "settings of Pgpool-II have names of small letters, digits and _");
        }
        if value.chars().any(char::is_control) {
            return wrong(name, "a value is one line");
        }
    }
    Ok(())
}

fn reserved(name: &str) -> Option<&'static str> {
    let is = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    };
    RESERVED.iter().find(|(pattern, _)| is(pattern)).map(|(_, why)| *why)
}

/// Writes it; returns its path. Nodes are reached by their sockets, without a password.
pub(super) fn write(
    folders: &Folders,
    nodes: &[Place],
    options: &PgpoolOptions,
    clients: u32,
    version: &PgpoolVersion,
) -> Result<PathBuf, Error> {
    let mut text = String::new();
    let mut set = |name: &str, value: &str| {
        let _ = writeln!(text, "{name} = '{}'", value.replace('\\', "\\\\").replace('\'', "''"));
    };
    let work = folders.work.to_string_lossy().into_owned();
    let sockets = folders.sockets.to_string_lossy().into_owned();
    set("backend_clustering_mode", "streaming_replication");
    for (number, node) in nodes.iter().enumerate() {
        let (folder, port) = socket_of(node)?;
        set(&format!("backend_hostname{number}"), &folder);
        set(&format!("backend_port{number}"), &port);
        set(&format!("backend_weight{number}"), "1");
        set(&format!("backend_flag{number}"), "DISALLOW_TO_FAILOVER");
    }
    set("load_balance_mode", "on");
    set("statement_level_load_balance", if options.balance == Balance::Statement { "on" } else { "off" });
    set("listen_addresses", "");
    set("port", &PORT.to_string());
    let of_socket =
        if version.has_several_socket_folders() { "unix_socket_directories" } else { "socket_dir" };
    set(of_socket, &sockets);
    set("pcp_listen_addresses", "");
    set("pcp_port", &PCP_PORT.to_string());
    set("pcp_socket_dir", &sockets);
    set("wd_ipc_socket_dir", &sockets);
    set("enable_pool_hba", "off");
    set("pool_passwd", "");
    set("num_init_children", &clients.saturating_add(SPARE_CHILDREN).to_string());
    set("max_pool", "1");
    let user = nodes.first().map_or("", |node| node.login.user.as_str());
    for check in ["sr_check", "health_check"] {
        set(&format!("{check}_user"), user);
        set(&format!("{check}_database"), "postgres");
        set(&format!("{check}_period"), "10");
    }
    set("log_destination", "stderr");
    set("pid_file_name", &format!("{work}/pgpool.pid"));
    set("logdir", &work);
    set("work_dir", &work);
    set("memqcache_oiddir", &format!("{work}/oiddir"));
    // The last of repeated names counts.
    options.settings.iter().for_each(|(name, value)| set(name, value));
    folders.write("pgpool.conf", text.as_bytes())
}

/// Folder and port of a server's socket.
fn socket_of(node: &Place) -> Result<(String, String), Error> {
    let unreachable = || Error::new(Class::Missing, "Pgpool-II stands only in front of managed servers");
    let Address::Unix(path) = &node.address else { return Err(unreachable()) };
    let name = path.file_name().and_then(|name| name.to_str());
    let port = name.and_then(|name| name.strip_prefix(".s.PGSQL.")).ok_or_else(unreachable)?;
    let folder = path.parent().and_then(Path::to_str).ok_or_else(unreachable)?;
    Ok((folder.to_owned(), port.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn settings_of_ours_and_those_that_run_commands_are_refused_by_name() {
        for (name, value, wanted) in [
            ("backend_weight1", "3", None),
            ("disable_load_balance_on_write", "off", None),
            ("memory_cache_enabled", "on", None),
            ("backend_hostname0", "h", Some(NODES)),
            ("failover_command", "rm", Some(COMMANDS)),
            ("recovery_1st_stage_command", "x", Some(COMMANDS)),
            ("health_check_user0", "x", Some(LOGIN)),
            ("delay_threshold", "1\nfailback_command = x", Some("a value is one line")),
            ("Port", "1", Some("settings of Pgpool-II have names of small letters, digits and _")),
        ] {
            let settings = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            let why =
                check(&PgpoolOptions { balance: Balance::Session, settings }).err().map(|error| error.why);
            assert_eq!(why, wanted, "{name} = {value}");
        }
    }
}
