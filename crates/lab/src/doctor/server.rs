//! What a role may do on a server, and which commands work with it.

use protocol::postgres::conninfo::ConnectionString;
use protocol::postgres::sql::{Sql, SqlError};
use server::Target;
use server::child::Watchdog;
use server::home::Home;
use server::url::Rights;
use spec::{Class, Error};

/// The result for a server and a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    pub server: String,
    pub rights: Vec<Right>,
    pub uses: Vec<Use>,
}

/// A right of the role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    pub name: &'static str,
    pub has: bool,
    pub allows: &'static str,
    /// How to grant it, or why that is impossible.
    pub grant: String,
}

/// A command, or a part of one, and how far it works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    pub command: &'static str,
    pub usability: Usability,
}

/// How far a command works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Usability {
    None,
    /// It works in part; the text names what is missing.
    Partly(String),
    /// It does not work; the text says what would help.
    Fails(String),
}

impl Usability {
    /// `yes`, `partly` or `no`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::None => "yes",
            Self::Partly(_) => "partly",
            Self::Fails(_) => "no",
        }
    }

    /// What is missing.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Partly(why) | Self::Fails(why) => Some(why),
        }
    }
}

/// Examines a server without changes.
///
/// # Errors
/// [`Error`], when it cannot be reached or refuses.
pub fn examine(url: &ConnectionString) -> Result<Examined, Error> {
    let watchdog = Watchdog::current()
        .map_err(|error| Error::new(Class::Internal, format!("cannot find pgdyno's own program: {error}")))?;
    let home = Home::locate()?;
    let target = Target::url(url.with_secrets(), Rights::ReadOnly, &[], &home, &watchdog)?;
    let mut control = target.control()?;
    let facts = RoleFacts::ask(&mut control)
        .map_err(|error| Error::new(Class::Refused, format!("asking what the role may do: {error}")))?;
    let pooler = target.pooling().words().map(|pooler| format!("; behind {pooler}")).unwrap_or_default();
    Ok(Examined { server: facts.words() + &pooler, rights: facts.rights(), uses: facts.uses() })
}

/// Roles that cloud services provide, and the service of each.
const SERVICES: [(&str, &str); 8] = [
    ("rds_superuser", "Amazon RDS or Aurora"),
    ("cloudsqlsuperuser", "Google Cloud SQL"),
    ("alloydbsuperuser", "Google AlloyDB"),
    ("azure_pg_admin", "Azure Database for PostgreSQL"),
    ("neon_superuser", "Neon"),
    ("supabase_admin", "Supabase"),
    ("crunchy_superuser", "Crunchy Bridge"),
    ("doadmin", "DigitalOcean"),
];

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct RoleFacts {
    version: String,
    number: u32,
    role: String,
    database: String,
    superuser: bool,
    standby: bool,
    read_only: bool,
    monitor: bool,
    /// Whether the role may create schemas and temporary tables.
    create: bool,
    temporary: bool,
    /// Whether the role may create tables in the first schema of the search path.
    create_tables: bool,
    checkpoint: bool,
    reload: bool,
    alter_system: bool,
    read_files: bool,
    postgis: Option<String>,
    postgis_available: bool,
    service: Option<&'static str>,
}

impl RoleFacts {
    fn ask(sql: &mut dyn Sql) -> Result<Self, SqlError> {
        let number = sql.scalar("SELECT current_setting('server_version_num')")?;
        let number: u32 = number.and_then(|text| text.parse().ok()).unwrap_or(0);
        let member = |role: &str| format!("coalesce(pg_has_role(to_regrole('{role}')::oid, 'USAGE'), false)");
        let may_run = |function: &str| {
            format!("coalesce(has_function_privilege(to_regprocedure('{function}')::oid, 'EXECUTE'), false)")
        };
        // Before 15 only superusers could.
        let alter_system = match number >= 150_000 {
            true => {
                "EXISTS (SELECT FROM pg_settings WHERE context IN ('sighup', 'user', 'superuser') \
                     AND has_parameter_privilege(name, 'ALTER SYSTEM'))"
            }
            false => "false",
        };
        let services: Vec<String> = SERVICES.iter().map(|(role, _)| format!("'{role}'")).collect();
        let asked = [
            "current_setting('server_version')".to_owned(),
            "current_user".to_owned(),
            "current_database()".to_owned(),
            "(SELECT rolsuper FROM pg_roles WHERE rolname = current_user)".to_owned(),
            "pg_is_in_recovery()".to_owned(),
            "current_setting('default_transaction_read_only')::boolean".to_owned(),
            member("pg_monitor"),
            "has_database_privilege(current_database(), 'CREATE')".to_owned(),
            "has_database_privilege(current_database(), 'TEMP')".to_owned(),
            "coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)".to_owned(),
            member("pg_checkpoint"),
            format!(
                "{} AND {} AND has_table_privilege('pg_catalog.pg_file_settings', 'SELECT')",
                may_run("pg_catalog.pg_reload_conf()"),
                may_run("pg_catalog.pg_show_all_file_settings()")
            ),
            alter_system.to_owned(),
            may_run("pg_catalog.pg_read_file(text)"),
            "(SELECT extversion FROM pg_extension WHERE extname = 'postgis')".to_owned(),
            "EXISTS (SELECT FROM pg_available_extensions WHERE name = 'postgis')".to_owned(),
            format!("(SELECT min(rolname::text) FROM pg_roles WHERE rolname IN ({}))", services.join(", ")),
        ];
        let rows = sql.rows(&format!("SELECT {}", asked.join(", ")))?;
        let row = rows.into_iter().next().unwrap_or_default();
        let text = |at: usize| row.get(at).cloned().flatten();
        let is = |at: usize| text(at).as_deref() == Some("t");
        let service = text(16).and_then(|role| SERVICES.iter().find(|(known, _)| *known == role));
        Ok(Self {
            version: text(0).unwrap_or_default(),
            number,
            role: text(1).unwrap_or_default(),
            database: text(2).unwrap_or_default(),
            superuser: is(3),
            standby: is(4),
            read_only: is(5),
            monitor: is(6),
            create: is(7),
            temporary: is(8),
            create_tables: is(9),
            checkpoint: is(10),
            reload: is(11),
            alter_system: is(12),
            read_files: is(13),
            postgis: text(14),
            postgis_available: is(15),
            service: service.map(|(_, name)| *name),
        })
    }

    fn words(&self) -> String {
        let Self { version, database, role, .. } = self;
        let version = version.split_whitespace().next().unwrap_or_default();
        let standby = if self.standby { ", a standby" } else { "" };
        let service = self.service.map(|name| format!(", {name}")).unwrap_or_default();
        format!("PostgreSQL {version}{standby}{service}; database {database}, role {role}")
    }

    fn grant(&self, statement: String) -> String {
        match self.service {
            Some(_) if statement.is_empty() => "the service gives it to nobody".to_owned(),
            None if statement.is_empty() => "a superuser gives it: ALTER ROLE … SUPERUSER".to_owned(),
            _ => statement,
        }
    }

    fn rights(&self) -> Vec<Right> {
        let role = &protocol::postgres::sql::quote_identifier(&self.role);
        let database = &protocol::postgres::sql::quote_identifier(&self.database);
        let right = |name, has, allows, grant: String| Right { name, has, allows, grant: self.grant(grant) };
        let since = |version: u32, statement: String| match self.number >= version {
            true => statement,
            false => String::new(),
        };
        vec![
            right("superuser", self.superuser, "all of the below", String::new()),
            right(
                "pg_monitor",
                self.monitor,
                "waits and statements of other sessions",
                format!("GRANT pg_monitor TO {role}"),
            ),
            right(
                "checkpoint",
                self.superuser || self.checkpoint,
                "a checkpoint before each run",
                since(150_000, format!("GRANT pg_checkpoint TO {role}")),
            ),
            right(
                "ALTER SYSTEM, reload",
                self.superuser || self.alter_system && self.reload,
                "settings of the whole server (--change-server)",
                since(
                    150_000,
                    format!(
                        "GRANT ALTER SYSTEM ON PARAMETER … TO {role}; \
                         GRANT EXECUTE ON FUNCTION pg_reload_conf(), pg_show_all_file_settings() TO {role}; \
                         GRANT SELECT ON pg_file_settings TO {role}"
                    ),
                ),
            ),
            right(
                "pg_read_file",
                self.superuser || self.read_files,
                "CPU, memory and steal of the server's host",
                match self.service {
                    Some(_) => String::new(),
                    None => format!(
                        "GRANT pg_read_server_files TO {role}; GRANT EXECUTE ON FUNCTION pg_read_file(text) TO {role}"
                    ),
                },
            ),
            right(
                "CREATE on the database",
                self.create,
                "pgdyno's list of what it made (schema pgdyno)",
                format!("GRANT CREATE ON DATABASE {database} TO {role}"),
            ),
            right(
                "CREATE in the schema",
                self.create_tables,
                "tables of pgbench and osm2pgsql",
                format!("GRANT CREATE ON SCHEMA public TO {role}"),
            ),
            right(
                "TEMP",
                self.temporary,
                "a probe without a schema",
                format!("GRANT TEMP ON DATABASE {database} TO {role}"),
            ),
        ]
    }

    fn uses(&self) -> Vec<Use> {
        let of = |command, usability| Use { command, usability };
        vec![
            of("bench, limit, ladder", self.own_scripts()),
            of("bench -i", self.makes_tables()),
            of("bench --against 'settings: …'", self.settings()),
            of("bench --against 'sql: …'", self.users_changes()),
            of("tiles", self.tiles()),
            of("osm load", self.loads()),
            of("probe", self.probe()),
            of(
                "cold caches, versions, poolers, storage",
                Usability::Fails("only on private servers (--managed)".into()),
            ),
        ]
    }

    fn writes_nothing(&self) -> Option<&'static str> {
        match (self.standby, self.read_only) {
            (true, _) => Some("a standby is read-only"),
            (_, true) => Some("default_transaction_read_only is on"),
            _ => None,
        }
    }

    fn own_scripts(&self) -> Usability {
        let lacks: Vec<&str> = [
            (self.writes_nothing().is_none(), "scripts that write"),
            (self.superuser || self.monitor, "waits of other sessions (pg_monitor)"),
            (self.superuser || self.checkpoint, "a checkpoint before each run (pg_checkpoint)"),
        ]
        .into_iter()
        .filter_map(|(has, what)| (!has).then_some(what))
        .collect();
        if lacks.is_empty() {
            Usability::None
        } else {
            Usability::Partly(format!("without {}", lacks.join(", ")))
        }
    }

    fn makes_tables(&self) -> Usability {
        match self.writes_nothing() {
            Some(why) => Usability::Fails(why.to_owned()),
            None => match (self.create, self.create_tables) {
                (true, true) => Usability::None,
                (false, true) => Usability::Fails("needs CREATE on the database".to_owned()),
                (true, false) => Usability::Fails("needs CREATE in the schema".to_owned()),
                (false, false) => {
                    Usability::Fails("needs CREATE on the database and in the schema".to_owned())
                }
            },
        }
    }

    fn settings(&self) -> Usability {
        let whole = self.superuser || self.alter_system && self.reload;
        match whole && !self.standby {
            true => Usability::Partly("settings that need a restart only on private servers".to_owned()),
            false => Usability::Partly("settings of a session only (SET)".to_owned()),
        }
    }

    fn users_changes(&self) -> Usability {
        match self.writes_nothing() {
            Some(why) => Usability::Fails(why.to_owned()),
            None => Usability::Partly(
                "needs --change-server and --undo, and the rights that the SQL needs".to_owned(),
            ),
        }
    }

    fn has_postgis(&self) -> Result<(), String> {
        match (&self.postgis, self.postgis_available) {
            (Some(_), _) => Ok(()),
            (None, true) => Err("PostGIS is not in this database: CREATE EXTENSION postgis".to_owned()),
            (None, false) => Err("PostGIS is not installed on this server".to_owned()),
        }
    }

    fn tiles(&self) -> Usability {
        self.has_postgis().map_or_else(Usability::Fails, |()| self.own_scripts())
    }

    fn loads(&self) -> Usability {
        match self.has_postgis() {
            Err(why) => Usability::Fails(why),
            Ok(()) => self.makes_tables(),
        }
    }

    fn probe(&self) -> Usability {
        let host =
            (!self.superuser && !self.read_files).then_some("the host's CPU and memory (pg_read_file)");
        let writes = match (self.writes_nothing(), self.create) {
            (None, true) => None,
            _ => Some("figures of writes"),
        };
        let lacks: Vec<&str> = [writes, host].into_iter().flatten().collect();
        match self.number >= 140_000 {
            false => Usability::Fails("needs PostgreSQL 14 or newer".to_owned()),
            true if lacks.is_empty() => Usability::None,
            true => Usability::Partly(format!("without {}", lacks.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_role() -> RoleFacts {
        RoleFacts {
            version: "17.2 (Debian)".into(),
            number: 170_002,
            role: "app".into(),
            database: "shop".into(),
            temporary: true,
            ..RoleFacts::default()
        }
    }

    fn of<'a>(uses: &'a [Use], command: &str) -> &'a Usability {
        &uses.iter().find(|it| it.command.starts_with(command)).unwrap().usability
    }

    #[test]
    fn a_role_with_few_rights_is_told_what_works_and_what_would_help() {
        let facts = plain_role();
        let uses = facts.uses();
        assert_eq!(of(&uses, "bench, limit").word(), "partly");
        assert_eq!(of(&uses, "bench -i").why(), Some("needs CREATE on the database and in the schema"));
        assert_eq!(of(&uses, "tiles").why(), Some("PostGIS is not installed on this server"));
        assert_eq!(of(&uses, "probe").word(), "partly");
        let rights = facts.rights();
        let monitor = rights.iter().find(|right| right.name == "pg_monitor").unwrap();
        assert_eq!((monitor.has, monitor.grant.as_str()), (false, "GRANT pg_monitor TO \"app\""));
    }

    #[test]
    fn a_superuser_lacks_nothing_but_a_shell() {
        let facts = RoleFacts {
            superuser: true,
            monitor: true,
            create: true,
            create_tables: true,
            postgis: Some("3.5".into()),
            ..plain_role()
        };
        let fails: Vec<_> = facts
            .uses()
            .into_iter()
            .filter(|it| matches!(it.usability, Usability::Fails(_)))
            .map(|it| it.command)
            .collect();
        assert_eq!(fails, ["cold caches, versions, poolers, storage"]);
        assert!(facts.rights().iter().all(|right| right.has));
    }

    #[test]
    fn a_service_withholds_what_no_statement_gives() {
        let facts = RoleFacts { service: Some("Amazon RDS or Aurora"), ..plain_role() };
        assert_eq!(facts.words(), "PostgreSQL 17.2, Amazon RDS or Aurora; database shop, role app");
        let rights = facts.rights();
        let grant = |name: &str| rights.iter().find(|right| right.name == name).unwrap().grant.as_str();
        assert_eq!(grant("superuser"), "the service gives it to nobody");
        assert_eq!(grant("pg_read_file"), "the service gives it to nobody");
        assert_eq!(grant("checkpoint"), "GRANT pg_checkpoint TO \"app\"");
    }

    #[test]
    fn a_standby_is_only_read() {
        let facts = RoleFacts { standby: true, create: true, create_tables: true, ..plain_role() };
        let uses = facts.uses();
        for command in ["bench -i", "bench --against 'sql"] {
            assert_eq!(of(&uses, command).why(), Some("a standby is read-only"), "{command}");
        }
    }
}
