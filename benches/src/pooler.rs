//! The same rate over 50 and over 2,000 clients of one thread, through a private PgBouncer.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use target::child::{Account, Child, Program};
use target::managed::SUPERUSER;

use crate::fixed_rate::{self, Crowd};
use crate::server::{DATABASE, Server, Way};
use crate::{Args, Missing, What, cost, daemon, limits, page};

const FEW: u32 = 50;
const MANY: u32 = 2000;
/// Transactions per second.
const RATE: u32 = 5000;
/// Connections of the pooler to the server.
const POOL: u32 = 20;
/// Only a part of the socket's name.
const PORT: u16 = 6432;

/// CPU per transaction of both, connecting subtracted.
///
/// # Errors
/// [`Missing`] without PgBouncer; else as [`fixed_rate::table`].
pub(crate) fn clients(options: &Args) -> anyhow::Result<()> {
    let title = format!("{MANY} clients on one thread, {RATE} transactions/s, through PgBouncer");
    println!("{}", page::title(options, What::Pooler, &title, ""));
    let Some(program) = daemon::found("pgbouncer") else {
        let how = "PgBouncer is not installed; on Debian or Ubuntu: apt-get install pgbouncer";
        return Err(Missing(how.into()).into());
    };
    limits::need_open_files(MANY + POOL)?;
    let server = Server::start(options, Way::Socket, cost::SCALE, POOL)?;
    let pooler = Pooler::start(&program, &server)?;
    let folder = pooler.folder.path().display();
    let dsn = format!("host={folder} port={PORT} user={SUPERUSER} dbname={DATABASE}");
    let arguments = |clients| {
        let mut words = vec![OsString::from("pgbench")];
        words.extend(cost::select_only("simple", clients));
        words
    };
    let env = [("PGDATABASE".to_owned(), dsn)];
    fixed_rate::table(options, &Crowd { many: MANY, few: FEW, rate: RATE, arguments: &arguments, env: &env })
}

/// A private PgBouncer; it goes with this value.
struct Pooler {
    folder: tempfile::TempDir,
    _child: Child,
}

impl Pooler {
    fn start(program: &Path, server: &Server) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
        let settings = folder.path().join("pgbouncer.ini");
        std::fs::write(&settings, configuration(folder.path(), server))?;
        // Whoever reaches the socket is let in as the superuser.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700))?;
        // Like PostgreSQL it refuses to run as root.
        let account = Account::unprivileged()?;
        if let Some(account) = &account {
            for path in [folder.path(), &settings] {
                std::os::unix::fs::chown(path, Some(account.uid), Some(account.gid))?;
            }
        }
        let order = Program::server(program, folder.path(), account.as_ref()).arg("-q").arg(&settings);
        let log = folder.path().join("pgbouncer.log");
        let child = daemon::start(&order, &folder.path().join(format!(".s.PGSQL.{PORT}")), &log)?;
        Ok(Self { folder, _child: child })
    }
}

fn configuration(folder: &Path, server: &Server) -> String {
    let socket = server.socket_folder().display();
    let most = MANY + POOL;
    format!(
        "[databases]\n\
         {DATABASE} = host={socket} port={} dbname={DATABASE} user={SUPERUSER}\n\
         [pgbouncer]\n\
         unix_socket_dir = {}\n\
         listen_port = {PORT}\n\
         auth_type = any\n\
         pool_mode = transaction\n\
         default_pool_size = {POOL}\n\
         max_client_conn = {most}\n\
         log_connections = 0\n\
         log_disconnections = 0\n",
        server.port(),
        folder.display()
    )
}
