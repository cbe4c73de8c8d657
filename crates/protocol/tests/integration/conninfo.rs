//! libpq's connection rules, in tables.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use protocol::postgres::conninfo::{
    ClientCertificate, ConnectionString, RootCertificates, TargetSession, TlsVersion, Verification,
};
use protocol::postgres::{
    AuthMethod, ChannelBinding, Config, ConnInfoError, Env, HostAddress, Parameters, PasswordSource, SslMode,
    SslNegotiation,
};

use crate::misplaced;

fn env() -> Env {
    Env::empty().with_user("os").with_home("/home/os")
}

fn parse(dsn: &str) -> Config {
    parse_in(dsn, &env())
}

fn parse_in(dsn: &str, env: &Env) -> Config {
    Config::parse(Some(dsn), env).unwrap_or_else(|error| panic!("{dsn}: {error}"))
}

fn error(dsn: &str) -> String {
    error_in(dsn, &env())
}

fn error_in(dsn: &str, env: &Env) -> String {
    match Config::parse(Some(dsn), env) {
        Ok(config) => panic!("{dsn} gave {config:?}"),
        Err(error) => error.to_string(),
    }
}

fn password(config: &Config) -> Option<&str> {
    config
        .password_for(&config.hosts[0])
        .map(|password| std::str::from_utf8(password.as_bytes()).expect("UTF-8"))
}

#[test]
fn defaults_are_libpqs() {
    let config = Config::parse(None, &env()).expect("nothing is enough");
    assert_eq!(config.redacted(), "host=/var/run/postgresql port=5432 user=os dbname=os");
    assert_eq!(config.ssl.mode, SslMode::Prefer);
    assert_eq!(config.channel_binding, ChannelBinding::Prefer);
    assert_eq!(config.connect_timeout, None);
    assert!(config.tcp.keepalives && config.warnings.is_empty() && config.password.is_none());
    assert_eq!(
        Config::parse(None, &Env::empty()).expect_err("no user").to_string(),
        "no PostgreSQL user name specified and the operating system user is unknown; give one with user="
    );
}

#[test]
fn the_default_socket_is_the_one_that_is_there() {
    let both = env().with_file("/var/run/postgresql/.s.PGSQL.5432", "", 0o777).with_file(
        "/tmp/.s.PGSQL.5432",
        "",
        0o777,
    );
    let other = env().with_file("/var/run/postgresql/.s.PGSQL.5433", "", 0o777).with_file(
        "/tmp/.s.PGSQL.5432",
        "",
        0o777,
    );
    assert_eq!(
        parse_in("", &both).hosts[0].to_string(),
        "server on socket \"/var/run/postgresql/.s.PGSQL.5432\""
    );
    assert_eq!(parse_in("", &other).hosts[0].to_string(), "server on socket \"/tmp/.s.PGSQL.5432\"");
}

#[test]
fn strings_and_uris() {
    for (dsn, expected) in [
        // A bare name is a database.
        ("shop", "host=/var/run/postgresql port=5432 user=os dbname=shop"),
        // Keywords and values.
        ("host=db1 dbname=shop", "host=db1 port=5432 user=os dbname=shop sslmode=prefer"),
        ("  host = db1\n\tport\t=\t5433 ", "host=db1 port=5433 user=os dbname=os sslmode=prefer"),
        (
            r"dbname='it\'s a \\ name' user='a b'",
            r"host=/var/run/postgresql port=5432 user='a b' dbname='it\'s a \\ name'",
        ),
        (r"dbname=it\'s\ one", r"host=/var/run/postgresql port=5432 user=os dbname='it\'s one'"),
        ("host='' user='' dbname=''", "host=/var/run/postgresql port=5432 user=os dbname=os"),
        ("host=a host=b", "host=b port=5432 user=os dbname=os sslmode=prefer"),
        ("user=u", "host=/var/run/postgresql port=5432 user=u dbname=u"),
        ("host=/tmp", "host=/tmp port=5432 user=os dbname=os"),
        ("host=a,b,c port=1,2,3", "host=a,b,c port=1,2,3 user=os dbname=os sslmode=prefer"),
        ("host=a,b port=7", "host=a,b port=7 user=os dbname=os sslmode=prefer"),
        ("host=a,/tmp port=,2", "host=a,/tmp port=5432,2 user=os dbname=os sslmode=prefer"),
        ("hostaddr=10.0.0.1 host=a", "host=a hostaddr=10.0.0.1 port=5432 user=os dbname=os sslmode=prefer"),
        ("hostaddr=10.0.0.1,::1", "host=10.0.0.1,::1 port=5432 user=os dbname=os sslmode=prefer"),
        (
            "host=a,b hostaddr=10.0.0.1,",
            "host=a,b hostaddr=10.0.0.1, port=5432 user=os dbname=os sslmode=prefer",
        ),
        // URIs.
        ("postgresql://", "host=/var/run/postgresql port=5432 user=os dbname=os"),
        ("postgres://localhost", "host=localhost port=5432 user=os dbname=os sslmode=prefer"),
        ("postgresql://localhost:5433", "host=localhost port=5433 user=os dbname=os sslmode=prefer"),
        ("postgresql://localhost/", "host=localhost port=5432 user=os dbname=os sslmode=prefer"),
        ("postgresql://localhost/mydb", "host=localhost port=5432 user=os dbname=mydb sslmode=prefer"),
        ("postgresql://user@localhost", "host=localhost port=5432 user=user dbname=user sslmode=prefer"),
        ("postgresql://user:@localhost", "host=localhost port=5432 user=user dbname=user sslmode=prefer"),
        (
            "postgresql:///mydb?host=localhost&port=5433",
            "host=localhost port=5433 user=os dbname=mydb sslmode=prefer",
        ),
        (
            "postgresql://other@localhost/otherdb?connect_timeout=10&application_name=myapp",
            "host=localhost port=5432 user=other dbname=otherdb sslmode=prefer",
        ),
        (
            "postgresql://host1:123,host2:456/somedb?target_session_attrs=any",
            "host=host1,host2 port=123,456 user=os dbname=somedb sslmode=prefer",
        ),
        (
            "postgresql://host1,host2:456/somedb",
            "host=host1,host2 port=5432,456 user=os dbname=somedb sslmode=prefer",
        ),
        (
            "postgresql://[2001:db8::1234]/database",
            "host=2001:db8::1234 port=5432 user=os dbname=database sslmode=prefer",
        ),
        ("postgresql://[::1]:12345?sslmode=disable", "host=::1 port=12345 user=os dbname=os sslmode=disable"),
        ("postgresql://[::1],a:1/x", "host=::1,a port=5432,1 user=os dbname=x sslmode=prefer"),
        (
            "postgresql://%2Fvar%2Flib%2Fpostgresql/dbname",
            "host=/var/lib/postgresql port=5432 user=os dbname=dbname",
        ),
        ("postgresql:///dbname?host=/tmp", "host=/tmp port=5432 user=os dbname=dbname"),
        ("postgresql://us%40er@h/d%20b", "host=h port=5432 user='us@er' dbname='d b' sslmode=prefer"),
        (
            "postgresql://u@h/d?options=-c%20work_mem%3D64MB",
            "host=h port=5432 user=u dbname=d sslmode=prefer options='-c work_mem=64MB'",
        ),
        ("postgresql://h/d?ssl=true", "host=h port=5432 user=os dbname=d sslmode=require"),
        ("postgresql://h?dbname=d&user=u", "host=h port=5432 user=u dbname=d sslmode=prefer"),
        ("postgresql://h/d%40e", "host=h port=5432 user=os dbname='d@e' sslmode=prefer"),
        ("postgresql://h/d?", "host=h port=5432 user=os dbname=d sslmode=prefer"),
        ("postgresql://h/d+e", "host=h port=5432 user=os dbname=d+e sslmode=prefer"),
    ] {
        let redacted = parse(dsn).redacted();
        assert_eq!(redacted, expected, "{dsn}");
        assert_eq!(parse(&redacted).redacted(), expected, "{dsn} again");
    }
}

#[test]
fn what_is_wrong_is_said() {
    for (dsn, expected) in [
        ("host=a hots=b", "invalid connection option (number 2); did you mean \"host\"?"),
        ("sslmod=require", "invalid connection option (number 1); did you mean \"sslmode\"?"),
        ("database=x", "invalid connection option (number 1); did you mean \"dbname\"?"),
        ("frobnicate=1", "invalid connection option (number 1)"),
        (
            "postgres://h/d?aplication_name=x",
            "invalid connection option (number 1); did you mean \"application_name\"?",
        ),
        ("host = a dbname", "missing \"=\" after \"dbname\" in connection info string"),
        // A value ends at its second quote.
        ("dbname='it''s' user=x", "missing \"=\" after word 2 in connection info string"),
        ("password=my secret", "missing \"=\" after word 2 in connection info string"),
        ("dbname='x", "unterminated quoted string in connection info string"),
        ("port=0", "invalid port value (expected a number from 1 to 65535)"),
        ("port=65536", "invalid port value (expected a number from 1 to 65535)"),
        ("port=abc", "invalid port value (expected a number from 1 to 65535)"),
        ("host=a port=1,2", "could not match 2 port numbers to 1 hosts"),
        ("host=a,b hostaddr=::1", "could not match 2 host names to 1 hostaddr values"),
        (
            "hostaddr=localhost",
            "invalid hostaddr value (expected an IPv4 or IPv6 address; names belong into host)",
        ),
        ("host=@abstract", "connection option \"host\" is not supported: abstract Unix sockets"),
        (
            "sslmode=maybe",
            "invalid sslmode value (expected disable, allow, prefer, require, verify-ca or verify-full)",
        ),
        ("connect_timeout=soon", "invalid connect_timeout value (expected an integer)"),
        (
            "sslcrl=/x",
            "connection option \"sslcrl\" is not supported: certificate revocation lists are not checked",
        ),
        ("gssencmode=require", "connection option \"gssencmode\" is not supported: GSSAPI is not built in"),
        (
            "replication=database",
            "connection option \"replication\" is not supported: replication connections take no queries",
        ),
        (
            "requirepeer=postgres",
            "connection option \"requirepeer\" is not supported: the owner of the server process is not checked",
        ),
        (
            "sslrootcert=system sslmode=require",
            "weak sslmode may not be used with sslrootcert=system (use \"verify-full\")",
        ),
        (
            "sslnegotiation=direct",
            "weak sslmode may not be used with sslnegotiation=direct (use \"require\", \"verify-ca\", or \"verify-full\")",
        ),
        (
            "ssl_max_protocol_version=TLSv1.1",
            "invalid ssl_max_protocol_version value (expected TLSv1.2 or TLSv1.3; older versions are not built in)",
        ),
        (
            "ssl_min_protocol_version=TLSv1.3 ssl_max_protocol_version=TLSv1.2",
            "invalid SSL protocol version range: ssl_min_protocol_version is above ssl_max_protocol_version",
        ),
        (
            "require_auth=md5,!password",
            "invalid require_auth value (expected either methods or methods with \"!\", not both)",
        ),
        (
            "require_auth=kerberos",
            "invalid require_auth value (expected a list of password, md5, scram-sha-256, gss, sspi, oauth and none)",
        ),
        (
            "postgres://[::1/x",
            "invalid connection URI: end of string reached when looking for matching \"]\" in IPv6 host address",
        ),
        ("postgres://[]", "invalid connection URI: IPv6 host address may not be empty"),
        (
            "postgres://[::1]z",
            "invalid connection URI: unexpected character behind IPv6 host address (expected ':', ',', '/' or '?')",
        ),
        (
            "postgres://u:p@ss@h",
            "invalid connection URI: more than one \"@\" before the host; write an \"@\" in a user name or password as %40",
        ),
        ("postgres://u:%zz@h", "invalid connection URI: invalid percent-encoded token in the password"),
        ("postgres://u:%2@h", "invalid connection URI: invalid percent-encoded token in the password"),
        ("postgres://h/a%00", "invalid connection URI: forbidden value %00 in the database name"),
        ("postgres://u:%ff@h", "invalid connection URI: the password is not valid UTF-8"),
        (
            "postgres://h/d?sslmode",
            "invalid connection URI: missing key/value separator \"=\" in query parameter \"sslmode\"",
        ),
        (
            "postgres://h/d?password=a&b",
            "invalid connection URI: missing key/value separator \"=\" in query parameter word 2",
        ),
        (
            "postgres://h/d?user=a=b",
            "invalid connection URI: extra key/value separator \"=\" in query parameter \"user\"; write it as %3D",
        ),
    ] {
        assert_eq!(error(dsn), expected, "{dsn}");
    }
    let long = format!("host=/{}", "x".repeat(100));
    assert!(error(&long).ends_with("is too long (maximum 107 bytes)"));
}

#[test]
fn harmless_values_of_what_is_not_there_are_taken() {
    for dsn in [
        "gssencmode=prefer",
        "gssencmode=disable",
        "replication=false",
        "sslcompression=0",
        "krbsrvname=postgres",
        "sslcrl=''",
    ] {
        parse(dsn);
    }
}

#[test]
fn options_are_read() {
    let config = parse(
        "host=db options='-c geqo=off' fallback_application_name=pgdyno client_encoding=LATIN1 connect_timeout=7 \
         sslmode=verify-full sslrootcert=/r.crt sslcert=/c.crt sslkey=/c.key sslsni=0 sslnegotiation=direct \
         ssl_min_protocol_version=TLSv1.3 channel_binding=require target_session_attrs=prefer-standby \
         load_balance_hosts=random keepalives=0 keepalives_idle=5 keepalives_count=3 tcp_user_timeout=1500",
    );
    assert_eq!(config.connect_timeout, Some(Duration::from_secs(7)));
    assert_eq!(config.channel_binding, ChannelBinding::Require);
    assert_eq!(config.target_session_attrs, TargetSession::PreferStandby);
    assert!(config.load_balance && !config.tcp.keepalives && config.ssl.hide_name);
    assert_eq!(
        (config.tcp.idle, config.tcp.interval, config.tcp.count),
        (Some(Duration::from_secs(5)), None, Some(3))
    );
    assert_eq!(config.tcp.user_timeout, Some(Duration::from_millis(1500)));
    assert_eq!(config.ssl.negotiation, SslNegotiation::Direct);
    assert_eq!((config.ssl.min_version, config.ssl.max_version), (Some(TlsVersion::V1_3), None));
    assert_eq!(config.ssl.root, RootCertificates::File("/r.crt".into()));
    let client = ClientCertificate { certificate: "/c.crt".into(), key: "/c.key".into() };
    assert_eq!(config.ssl.client, Some(client));

    let login = config.login(&config.hosts[0], Arc::default());
    assert_eq!(login.ssl_mode, SslMode::VerifyFull);
    let sent: Vec<_> = login.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(sent, ["options=-c geqo=off", "application_name=pgdyno", "client_encoding=LATIN1"]);
}

#[test]
fn application_name_beats_its_fallback() {
    let env = env().with_variable("PGAPPNAME", "from env");
    assert_eq!(parse_in("fallback_application_name=f", &env).application_name.as_deref(), Some("from env"));
    assert_eq!(
        parse("fallback_application_name=f application_name=a").application_name.as_deref(),
        Some("a")
    );
}

#[test]
fn times_that_mean_never() {
    for value in ["0", "-1", "''"] {
        assert_eq!(parse(&format!("connect_timeout={value}")).connect_timeout, None, "{value}");
    }
}

#[test]
fn auth_methods_are_allowed_or_ruled_out() {
    use AuthMethod::{Md5, None, Password, ScramSha256};
    for (value, allowed) in [
        ("''", vec![None, Password, Md5, ScramSha256]),
        ("scram-sha-256", vec![ScramSha256]),
        ("md5,scram-sha-256", vec![Md5, ScramSha256]),
        ("none", vec![None]),
        ("!password", vec![None, Md5, ScramSha256]),
        ("!password,!md5,!none", vec![ScramSha256]),
        ("gss", vec![]),
        ("!gss", vec![None, Password, Md5, ScramSha256]),
    ] {
        let policy = parse(&format!("require_auth={value}")).require_auth;
        for method in [None, Password, Md5, ScramSha256] {
            assert_eq!(policy.allows(method), allowed.contains(&method), "{value}: {method:?}");
        }
    }
}

#[test]
fn the_environment_fills_what_is_not_given() {
    let env = env()
        .with_variable("PGHOST", "envhost")
        .with_variable("PGPORT", "6000")
        .with_variable("PGDATABASE", "envdb")
        .with_variable("PGUSER", "envuser")
        .with_variable("PGPASSWORD", "envpw")
        .with_variable("PGSSLMODE", "disable")
        .with_variable("PGOPTIONS", "-c jit=off")
        .with_variable("PGCONNECT_TIMEOUT", "3")
        .with_variable("PGTARGETSESSIONATTRS", "primary")
        .with_variable("PGTZ", "UTC")
        .with_variable("PGDATESTYLE", "default")
        .with_variable("PGGEQO", "off");
    let config = Config::parse(None, &env).expect("good");
    assert_eq!(
        config.redacted(),
        "host=envhost port=6000 user=envuser dbname=envdb sslmode=disable options='-c jit=off'"
    );
    assert_eq!(config.connect_timeout, Some(Duration::from_secs(3)));
    assert_eq!(config.target_session_attrs, TargetSession::Primary);
    assert_eq!(
        config.settings,
        [("timezone", "UTC"), ("geqo", "off")].map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
    assert_eq!(
        config.password.as_ref().map(|password| password.source()),
        Some(&PasswordSource::Environment)
    );
    let config = parse_in("postgres://u:p@h:1/d?sslmode=require", &env);
    assert_eq!(config.redacted(), "host=h port=1 user=u dbname=d sslmode=require options='-c jit=off'");
    assert_eq!(config.password.as_ref().map(|password| password.source()), Some(&PasswordSource::Argument));
    // Given but empty hides the variable.
    assert_eq!(
        parse_in("host='' port=''", &env).hosts[0].to_string(),
        "server on socket \"/var/run/postgresql/.s.PGSQL.5432\""
    );
    assert_eq!(
        error_in("", &env.with_variable("PGSSLCRL", "/x")),
        "connection option \"sslcrl\" is not supported: certificate revocation lists are not checked"
    );
}

#[test]
fn older_and_derived_ways_to_say_sslmode() {
    assert_eq!(parse_in("host=h", &env().with_variable("PGREQUIRESSL", "1")).ssl.mode, SslMode::Require);
    assert_eq!(
        parse_in("host=h sslmode=allow", &env().with_variable("PGREQUIRESSL", "1")).ssl.mode,
        SslMode::Allow
    );
    assert_eq!(parse("sslrootcert=system").ssl.mode, SslMode::VerifyFull);
}

#[test]
fn certificates_in_the_home_folder_count_when_they_are_there() {
    let root = env().with_file("/home/os/.postgresql/root.crt", "", 0o644);
    for (dsn, env, root, verification) in [
        ("host=h", &env(), RootCertificates::None, Verification::None),
        ("host=h sslmode=require", &env(), RootCertificates::None, Verification::None),
        (
            "host=h sslmode=require",
            &root,
            RootCertificates::File("/home/os/.postgresql/root.crt".into()),
            Verification::Authority,
        ),
        (
            "host=h sslmode=verify-ca",
            &env(),
            RootCertificates::File("/home/os/.postgresql/root.crt".into()),
            Verification::Authority,
        ),
        ("host=h sslrootcert=system", &root, RootCertificates::System, Verification::AuthorityAndHost),
    ] {
        let config = parse_in(dsn, env);
        assert_eq!((config.ssl.root.clone(), config.ssl.verification()), (root, verification), "{dsn}");
    }
    let own = env().with_file("/home/os/.postgresql/postgresql.crt", "", 0o644);
    assert_eq!(
        parse_in("", &own).ssl.client.map(|client| client.key),
        Some("/home/os/.postgresql/postgresql.key".into())
    );
    assert_eq!(parse_in("sslcertmode=disable", &own).ssl.client, None);
    assert_eq!(parse("").ssl.client, None);
}

#[test]
fn unix_sockets_never_use_tls() {
    let config = parse("host=/tmp,db sslmode=require");
    let modes: Vec<_> = config.hosts.iter().map(|host| config.login(host, Arc::default()).ssl_mode).collect();
    assert_eq!(modes, [SslMode::Disable, SslMode::Require]);
}

#[test]
fn program_options_yield_to_the_connection_string() {
    let mut parameters = Parameters::parse("postgres://stringhost/d").expect("good");
    for (keyword, value) in [("host", "opthost"), ("port", "5555"), ("user", "optuser"), ("dbname", "")] {
        parameters.set_default(keyword, value).expect("known");
    }
    let config = parameters.resolve(&env().with_variable("PGPORT", "1")).expect("good");
    assert_eq!(config.redacted(), "host=stringhost port=5555 user=optuser dbname=d sslmode=prefer");
    parameters.set("host", "other").expect("known");
    assert_eq!(
        parameters.resolve(&env()).expect("good").hosts[0].to_string(),
        "server at \"other\", port 5555"
    );
}

#[test]
fn the_passfile_is_looked_up_for_each_host() {
    let file = "# comment\n\
                db1:5432:d:u:one\n\
                *:7000:*:*:port\n\
                localhost:*:*:*:socket\n\
                /srv:*:*:*:folder\n\
                10.0.0.9:*:*:*:address\n";
    let env = env().with_file("/home/os/.pgpass", file, 0o600);
    for (dsn, expected) in [
        ("host=db1 dbname=d user=u", Some("one")),
        ("host=db1 dbname=other user=u", None),
        ("host=db1 port=7000", Some("port")),
        ("", Some("socket")),
        ("host=localhost", Some("socket")),
        ("host=/var/run/postgresql", Some("socket")),
        ("host=/srv", Some("folder")),
        ("hostaddr=10.0.0.9", Some("address")),
        ("host=x hostaddr=10.0.0.9", None),
        ("host=db1 dbname=d user=u password=given", Some("given")),
    ] {
        let config = parse_in(dsn, &env);
        assert_eq!(password(&config), expected, "{dsn}");
        assert_eq!(config.warnings, Vec::<String>::new(), "{dsn}");
    }
    let config = parse_in("host=db1,db2,localhost dbname=d user=u", &env);
    let found: Vec<_> =
        config.hosts.iter().map(|host| config.password_for(host).map(|p| p.as_bytes().to_vec())).collect();
    assert_eq!(found, [Some(b"one".to_vec()), None, Some(b"socket".to_vec())]);
    assert_eq!(
        config.hosts[0].password.as_ref().map(|password| password.source()),
        Some(&PasswordSource::Passfile("/home/os/.pgpass".into()))
    );
}

#[test]
fn a_passfile_that_others_can_read_is_not_used() {
    for (mode, used) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o660, false)] {
        let config = parse_in("passfile=/secret host=h", &env().with_file("/secret", "*:*:*:*:pw", mode));
        assert_eq!(password(&config).is_some(), used, "{mode:o}");
        assert_eq!(config.warnings.is_empty(), used, "{mode:o}");
    }
    let config = parse_in("", &env().with_variable("PGPASSFILE", "/none"));
    assert_eq!((password(&config), config.warnings.len()), (None, 0));
}

const SERVICES: &str = "# services\n\
                        [one]\n\
                        host=serv1\n\
                        port=6001\n\
                        host=second counts not\n\
                        password=servicepw\n\
                        \n\
                        [two]\n\
                        host=serv2\n";

#[test]
fn services_fill_in_before_the_environment() {
    let env = env()
        .with_file("/home/os/.pg_service.conf", SERVICES, 0o644)
        .with_file(
            "/etc/postgresql-common/pg_service.conf",
            "[three]\nhost=serv3\n[one]\nhost=hidden\n[empty]\n",
            0o644,
        )
        .with_variable("PGPORT", "1");
    for (dsn, expected) in [
        ("service=one", "host=serv1 port=6001 user=os dbname=os sslmode=prefer"),
        ("service=one host=mine", "host=mine port=6001 user=os dbname=os sslmode=prefer"),
        ("postgres://?service=two", "host=serv2 port=1 user=os dbname=os sslmode=prefer"),
        ("service=three", "host=serv3 port=1 user=os dbname=os sslmode=prefer"),
        ("service=empty", "host=/var/run/postgresql port=1 user=os dbname=os"),
    ] {
        assert_eq!(parse_in(dsn, &env).redacted(), expected, "{dsn}");
    }
    let config = parse_in("", &env.clone().with_variable("PGSERVICE", "one"));
    assert_eq!(password(&config), Some("servicepw"));
    assert_eq!(
        config.password.as_ref().map(|password| password.source()),
        Some(&PasswordSource::Service("/home/os/.pg_service.conf".into()))
    );
    assert_eq!(error_in("service=four", &env), "definition of service \"four\" not found");
}

#[test]
fn a_named_service_file_is_read_instead() {
    let env = env().with_file("/home/os/.pg_service.conf", SERVICES, 0o644).with_file(
        "/named",
        "[x]\nhost=named\n",
        0o644,
    );
    assert_eq!(
        parse_in("service=x servicefile=/named", &env).hosts[0].to_string(),
        "server at \"named\", port 5432"
    );
    let by_variable = env.clone().with_variable("PGSERVICEFILE", "/named");
    assert_eq!(parse_in("service=x", &by_variable).hosts[0].to_string(), "server at \"named\", port 5432");
    assert_eq!(error_in("service=one", &by_variable), "definition of service \"one\" not found");
    assert_eq!(
        error_in("service=x servicefile=/gone", &env),
        "could not read service file \"/gone\": no such file"
    );
}

#[test]
fn wrong_lines_of_a_service_file_are_named() {
    for (line, what) in [
        ("host", "syntax error (expected keyword=value)"),
        ("hots=x", "invalid connection option; did you mean \"host\"?"),
        ("service=y", "nested \"service\" specifications are not supported"),
        ("ldap://x", "LDAP lookup is not supported"),
        (
            "sslcrl=x",
            "connection option \"sslcrl\" is not supported: certificate revocation lists are not checked",
        ),
    ] {
        let before = ["[s]", ""];
        let file = format!("{}\n{line}\n", before.join("\n"));
        let number = before.len() + 1;
        let env = env().with_file("/home/os/.pg_service.conf", file, 0o644);
        assert_eq!(
            error_in("service=s", &env),
            format!("{what} in service file \"/home/os/.pg_service.conf\", line {number}"),
            "{line}"
        );
    }
}

#[test]
fn no_text_shows_a_password() {
    let env =
        env().with_variable("PGPASSWORD", "hunter2").with_file("/home/os/.pgpass", "*:*:*:*:hunter2", 0o600);
    let dsn = "postgres://u:hunter2@h/d";
    let parameters = Parameters::parse(dsn).expect("good");
    let config = parse_in(dsn, &env);
    let from_file = parse_in(
        "host=h",
        &Env::empty().with_user("u").with_home("/h").with_file("/h/.pgpass", "*:*:*:*:hunter2", 0o600),
    );
    assert_eq!(password(&from_file), Some("hunter2"));
    let login = config.login(&config.hosts[0], Arc::default());
    for text in [
        format!("{env:?}"),
        format!("{parameters:?}"),
        format!("{config:?}"),
        format!("{from_file:?}"),
        format!("{login:?}"),
        config.redacted(),
    ] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

/// Every place that a connection string, or a piece of it, can be given by mistake.
#[test]
fn a_password_in_the_wrong_place_is_never_quoted() {
    let service =
        |line: String| env().with_file("/home/os/.pg_service.conf", format!("[s]\n{line}\n"), 0o644);
    for dsn in misplaced::misplaced() {
        let mut texts = Vec::new();
        let read = ConnectionString::parse(&dsn).ok();
        texts.extend(read.map(|string| format!("{string} {string:?} {}", string.in_words())));
        let mut tell = |described: Result<Config, ConnInfoError>| match described {
            Ok(config) => {
                let warnings = config.warnings.join(" ");
                texts.push(format!(
                    "{} {} {warnings} {}",
                    config.redacted(),
                    config.place(),
                    config.hosts[0]
                ));
            }
            Err(error) => texts.push(format!("{error} {error:?}")),
        };
        tell(Config::parse(Some(&dsn), &env()));
        for keyword in ["host", "port", "user", "dbname", "hostaddr", "sslmode", "service", "sslkey"] {
            let mut parameters = Parameters::default();
            tell(parameters.set_default(keyword, &dsn).and_then(|()| parameters.resolve(&env())));
            tell(Config::parse(Some("service=s"), &service(format!("{keyword}={dsn}"))));
        }
        for variable in [
            "PGHOST",
            "PGPORT",
            "PGUSER",
            "PGDATABASE",
            "PGSERVICE",
            "PGSSLMODE",
            "PGPASSFILE",
            "PGSERVICEFILE",
        ] {
            tell(Config::parse(None, &env().with_variable(variable, &dsn)));
        }
        tell(Config::parse(Some("service=s"), &service(dsn.clone())));
        tell(Config::parse(Some(&format!("service='{}'", dsn.replace('\'', "\\'"))), &env()));
        for text in texts {
            assert!(!misplaced::leaks(&text), "{dsn}: {text}");
        }
    }
}

/// Who wants such a name can still have it.
#[test]
fn names_that_look_like_pieces_of_a_string_can_be_given_on_purpose() {
    for (dsn, dbname) in [("dbname='a@b'", "a@b"), ("postgres://h/a%40b", "a@b"), ("dbname='a=b;c'", "a=b;c")]
    {
        let config = parse(dsn);
        assert_eq!(config.dbname, dbname, "{dsn}");
        assert_eq!(parse(&config.redacted()).dbname, dbname, "{dsn}");
    }
    assert_eq!(parse("host=h user=me@cloud").user, "me@cloud");
    assert_eq!(error("shop@there"), error("postgres://h/shop@there"));
    assert!(error("shop@there").starts_with("invalid dbname value: it looks like a piece of"));
}

/// However a place is written, and for any user.
#[test]
fn one_place_has_one_name() {
    let place = |dsn: &str| parse_in(dsn, &env().with_variable("PGPASSWORD", "x")).place();
    let wanted = place("postgres://me:secret@Db.example.org/shop");
    for dsn in [
        "postgres://me@db.example.org/shop",
        "postgresql://you:other@db.example.org:5432/shop?application_name=x",
        "host=db.example.org user=me password=z dbname=shop",
        "dbname=shop port=5432 host=db.example.org sslmode=prefer",
    ] {
        assert_eq!(place(dsn), wanted, "{dsn}");
    }
    for dsn in ["postgres://me@db.example.org/other", "postgres://me@db.example.org:5433/shop", "dbname=shop"]
    {
        assert_ne!(place(dsn), wanted, "{dsn}");
    }
}

#[test]
fn client_encoding_auto_follows_the_locale() {
    for (variable, value, expected) in
        [("LANG", "de_DE.UTF-8", "UTF8"), ("LC_CTYPE", "C.utf8", "UTF8"), ("LC_ALL", "C", "SQL_ASCII")]
    {
        let config = parse_in("client_encoding=auto", &env().with_variable(variable, value));
        assert_eq!(config.client_encoding.as_deref(), Some(expected), "{value}");
    }
}

#[test]
fn an_address_needs_no_look_up() {
    for (dsn, known) in
        [("host=127.0.0.1", true), ("host=::1", true), ("host=db", false), ("host=db hostaddr=::1", true)]
    {
        let HostAddress::Tcp { address, .. } = &parse(dsn).hosts[0].host else {
            panic!("{dsn}");
        };
        assert_eq!(address.is_some(), known, "{dsn}");
    }
}

proptest! {
    #[test]
    fn no_string_panics(dsn in "(postgres://)?[a-z0-9:@/?&=%\\[\\],' \\\\.-]{0,40}|\\PC{0,40}") {
        if let Ok(config) = Config::parse(Some(&dsn), &env()) {
            prop_assert!(!config.hosts.is_empty());
        }
    }

    #[test]
    fn any_value_can_be_quoted(value in "[^\0]{1,30}") {
        let mut parameters = Parameters::default();
        // What looks like a misplaced password is refused.
        prop_assume!(parameters.set("dbname", &value).is_ok());
        let config = parameters.resolve(&env()).expect("good");
        prop_assert_eq!(&parse(&config.redacted()).dbname, &value);
    }

    #[test]
    fn any_passfile_and_service_file_is_survived(text in "([a-z*:\\\\=\\[\\]#]{0,12}\n){0,6}") {
        let env = env()
            .with_file("/home/os/.pgpass", text.clone(), 0o600)
            .with_file("/home/os/.pg_service.conf", text, 0o600);
        let _ = Config::parse(Some("service=s"), &env);
        let _ = Config::parse(None, &env);
    }
}
