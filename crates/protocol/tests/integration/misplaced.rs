//! Connection strings with mistakes that put the password where it does not belong. Other tests take them from here.

/// The password, which nothing may show.
pub const PASSWORD: &str = "Gqheim7x";

/// Connection strings with `PW` for the password, each with a mistake, or right and awkward.
pub const MISPLACED: &[&str] = &[
    // Schemes.
    "postgresql//tester:PW@127.0.0.1:1/shop",
    "postgres:/tester:PW@127.0.0.1:1/shop",
    "postgres:tester:PW@127.0.0.1:1/shop",
    "postgres//tester:PW@127.0.0.1",
    "postgress://tester:PW@127.0.0.1:1/shop",
    "POSTGRES://tester:PW@127.0.0.1:1/shop",
    " postgres://tester:PW@127.0.0.1:1/shop",
    "'postgres://tester:PW@127.0.0.1:1/shop'",
    "//tester:PW@127.0.0.1:1/shop",
    "/tester:PW@127.0.0.1:1/shop",
    "tester:PW@127.0.0.1:1/shop",
    "tester:PW@127.0.0.1",
    ":PW@127.0.0.1",
    "tester/PW@127.0.0.1:1/shop",
    "jdbc:postgresql://127.0.0.1:1/shop?user=tester&password=PW",
    "postgresql+psycopg://tester:PW@127.0.0.1:1/shop",
    "redis://tester:PW@127.0.0.1:1",
    "dbname=postgres://tester:PW@127.0.0.1:1/shop",
    "dbname='postgres://tester:PW@127.0.0.1:1/shop'",
    "host=postgres://tester:PW@127.0.0.1:1/shop",
    // Pieces of a URI.
    "postgres://tester@:PW@127.0.0.1:1/shop",
    "postgres://tester:PW",
    "postgres://tester:PW/shop",
    "postgres://tester:PW@127.0.0.1:port/shop",
    "postgres://tester:PW@127.0.0.1:1:2/shop",
    "postgres://tester:PW@[127.0.0.1:1/shop",
    "postgres://tester:PW@[::1]x/shop",
    "postgres://tester:PW@127.0.0.1:1/shop?sslmode",
    "postgres://tester:PW@127.0.0.1:1/shop?sslmod=x",
    "postgres://tester:PW@127.0.0.1:1/shop?sslmode=PW",
    "postgres://127.0.0.1:1/shop?user=tester&passwd=PW",
    "postgres://127.0.0.1:1/shop?user=tester;password=PW",
    "postgres://127.0.0.1:1/shop&user=tester&password=PW",
    "postgres://127.0.0.1:1/shop;password=PW",
    "postgres://tester;password=PW@127.0.0.1:1/shop",
    "postgres://127.0.0.1:1/shop?password=PW&port=x",
    "postgres://tester%3APW@127.0.0.1:1/shop",
    "postgres://tester%3aPW%40127.0.0.1:1/shop",
    "tester%3APW%40127.0.0.1",
    // Characters of the password that end it too early.
    "postgres://tester:PW?x@127.0.0.1:1/shop",
    "postgres://tester:x?PW@127.0.0.1:1/shop",
    "postgres://tester:PW/x@127.0.0.1:1/shop",
    "postgres://tester:x/PW@127.0.0.1:1/shop",
    "postgres://tester:12/PW@127.0.0.1:1/shop",
    "postgres://tester:x@PW@127.0.0.1:1/shop",
    "postgres://tester:x@PW/y@127.0.0.1:1/shop",
    "postgres://tester:x@y/PW@127.0.0.1:1/shop",
    "postgres://tester:x@y?PW=z@127.0.0.1:1/shop",
    "postgres://tester:x@y:PW@127.0.0.1:1/shop",
    "postgres://tester:x@[PW@127.0.0.1:1/shop",
    "postgres://tester:x#PW@127.0.0.1:1/shop",
    "postgres://tester:PW%zz@127.0.0.1:1/shop",
    "postgres://tester:PW\"x@127.0.0.1:1/shop",
    "postgres://tester:x'PW@127.0.0.1:1/shop",
    "postgres://tester:x PW@127.0.0.1:1/shop",
    "postgres://tester:x\u{1b}PW@127.0.0.1:1/shop",
    // Connection strings.
    "host=127.0.0.1 port=1 user=tester passwd=PW",
    "host=127.0.0.1 port=1 user=tester pasword=PW",
    "host=127.0.0.1 port=1 user=tester pw=PW",
    "host=127.0.0.1 port=1 user=tester password PW",
    "host=127.0.0.1 port=1 user=tester password=x PW",
    "host=127.0.0.1 port=1 user=tester password=x PW=y",
    "host=127.0.0.1 port=1 user=tester password='PW",
    "host=127.0.0.1 port=1 user=tester password='x'PW",
    "host=127.0.0.1 port=1 user=tester password=\"x PW\"",
    "host=127.0.0.1 port=1 user=tester password: PW",
    "Host=127.0.0.1;Port=1;Username=tester;Password=PW",
    "host=127.0.0.1;port=1;user=tester;password=PW",
    "host=127.0.0.1,password=PW,port=1",
    "host=127.0.0.1 port=1 user=tester;password=PW",
    "host=127.0.0.1 port=1 user=tester:PW",
    "host=tester:PW@127.0.0.1 port=1",
    "host=127.0.0.1 port=PW",
    "host=127.0.0.1:PW port=1",
    "hostaddr=PW",
    "host=127.0.0.1 port=1 sslmode=PW",
    "host=127.0.0.1 port=1 connect_timeout=PW",
    "host=127.0.0.1 port=1 sslpassword=PW",
    "host=127.0.0.1 port=1 options=PW",
    "host=127.0.0.1 port=1 options='-c app.key=PW'",
    "host=127.0.0.1 port=1 application_name=x password=PW",
    "host=127.0.0.1 port=1 user=tester password=PW",
    "postgres://tester:PW@127.0.0.1:1/shop",
];

/// Texts that show the password, or a good part of it.
pub fn leaks(text: &str) -> bool {
    let half = &PASSWORD[..PASSWORD.len() / 2];
    let rest = &PASSWORD[PASSWORD.len() / 2..];
    let percent: String = PASSWORD.bytes().map(|byte| format!("%{byte:02X}")).collect();
    [half, rest, &percent, &percent.to_lowercase()].iter().any(|part| text.contains(*part))
}

/// The strings themselves, also with the password percent-encoded.
#[allow(dead_code, reason = "not every test that includes this needs all of it")]
pub fn misplaced() -> impl Iterator<Item = String> {
    let percent: String = PASSWORD.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let plain = MISPLACED.iter().map(|string| string.replace("PW", PASSWORD));
    let encoded = MISPLACED
        .iter()
        .filter(|string| string.contains("://"))
        .map(move |string| string.replace("PW", &percent));
    plain.chain(encoded.collect::<Vec<_>>())
}
