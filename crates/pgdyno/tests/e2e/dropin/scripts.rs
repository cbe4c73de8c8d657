//! Invalid scripts: missing, binary, or nested without end.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use super::assert_composed;
use crate::support::dropin::{Bench, bare_command, link};
use crate::support::{Place, account, finish, is_root, not_available};

#[test]
fn a_script_that_cannot_be_read_is_named_with_the_reason() {
    let place = Place::new();
    let ours = link(&place);
    std::fs::create_dir(place.path().join("folder.sql")).expect("own folder");
    for (file, reason) in [("absent.sql", "No such file or directory"), ("folder.sql", "Is a directory")] {
        let done = finish(bare_command(&place, &ours, ["-n", "-f", file])).expect(1);
        assert!(
            done.stderr.starts_with("pgbench: error: could not ") && done.stderr.contains(file),
            "{}",
            done.stderr
        );
        assert!(done.stderr.contains(reason), "{}", done.stderr);
        assert_eq!(done.stdout, "");
    }
    let closed = place.write("closed.sql", "SELECT 1;\n");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o0)).expect("own file");
    let mut command = bare_command(&place, &ours, ["-n", "-f", "closed.sql"]);
    if is_root() {
        let (uid, gid) = account("nobody").expect("an unprivileged user");
        command.uid(uid).gid(gid);
    }
    if command.spawn().and_then(|mut child| child.wait()).is_err() {
        return not_available(
            "a script without permission",
            "the program is out of an unprivileged user's reach",
        );
    }
    let done = finish(command).expect(1);
    assert!(
        done.stderr.contains("closed.sql") && done.stderr.contains("Permission denied"),
        "{}",
        done.stderr
    );
}

#[test]
fn garbage_is_no_crash() {
    let bench = Bench::start_with(&[]);
    let every_byte: Vec<u8> = (0..=255).collect();
    let noise: Vec<u8> = (0..200_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", b"".to_vec()),
        ("blank", b" \n\t\r\n".to_vec()),
        ("nul", b"SELECT 1\0;\n\0\\set x 1\0\n".to_vec()),
        ("every byte", every_byte.clone()),
        ("every byte in a meta-command", [b"\\set x ", &every_byte[..], b"\n"].concat()),
        ("every byte in a quote", [b"SELECT '", &every_byte[..], b"';\n"].concat()),
        ("noise", noise),
        ("not UTF-8", b"SELECT '\xff\xfe', :\xff;\n\\set \xc3\x28 1\nSELECT :\xc3\x28;\n".to_vec()),
        ("open quote", b"SELECT 'abc".to_vec()),
        ("open dollar quote", b"SELECT $a$abc$b$".to_vec()),
        ("open comment", b"SELECT /* /* */ 1".to_vec()),
        ("backslash", b"\\".to_vec()),
        ("backslashes", b"\\\n\\\n\\\\\n\\ set\n".to_vec()),
        ("carriage returns", b"\\set x 1\r\nSELECT :x;\r\n\\sleep 1 us\r\n".to_vec()),
        ("byte order mark", b"\xef\xbb\xbfSELECT 1;\n".to_vec()),
        ("statements' ends", vec![b';'; 20_000]),
        ("a long line", [b"SELECT '", &vec![b'x'; 20_000_000][..], b"';\n"].concat()),
        ("a long name", [b"\\set ", &vec![b'x'; 1_000_000][..], b" 1\n"].concat()),
    ];
    for (what, text) in cases {
        bench.place.write("it.sql", text);
        for mode in ["simple", "prepared"] {
            let done = bench.run(["-n", "-t", "1", "-f", "it.sql", "-M", mode]);
            assert_composed(&done, what);
            assert!((0..=2).contains(&done.status.code().expect("ended")), "{what}: {:?}", done.status);
        }
    }
}

/// Recursion over user input must be bounded.
#[test]
fn nesting_without_end_is_no_crash() {
    let bench = Bench::start_with(&[]);
    let deep = |open: &str, core: &str, close: &str, times: usize| {
        format!("{}{core}{}", open.repeat(times), close.repeat(times))
    };
    for times in [1_000, 50_000] {
        for (what, script) in [
            ("parentheses", format!("\\set x {}\n", deep("(", "1", ")", times))),
            ("open parentheses", format!("\\set x {}1\n", "(".repeat(times))),
            ("minus", format!("\\set x {}1\n", "- ".repeat(times))),
            ("not", format!("\\set x {}true\n", "not ".repeat(times))),
            ("plus", format!("\\set x 1{}\n", "+1".repeat(times))),
            ("or", format!("\\set x false{}\n", " or false".repeat(times))),
            ("is", format!("\\set x 1{}\n", " is null".repeat(times))),
            ("abs", format!("\\set x {}\n", deep("abs(", "-1", ")", times))),
            ("case", format!("\\set x {}\n", deep("case when true then ", "1", " end", times))),
            ("when", format!("\\set x case {} end\n", "when false then 1 ".repeat(times))),
            ("arguments", format!("\\set x least(1{})\n", ",1".repeat(times))),
            ("if", deep("\\if true\n", "\\set x 1\n", "\\endif\n", times)),
            ("elif", format!("\\if false\n{}\\endif\n", "\\elif false\n".repeat(times))),
            ("comments", deep("/*", "x", "*/ SELECT 1;", times.min(5_000))),
            ("parenthesised statement", format!("SELECT {};\n", deep("(", "1", ")", times))),
            ("variables", format!("\\set a 1\nSELECT 1{};\n", "+:a".repeat(times))),
            ("words", format!("\\shell true{}\n", " a".repeat(times))),
        ] {
            bench.place.write("it.sql", script);
            let done = bench.run(["-n", "-t", "1", "-f", "it.sql"]);
            assert_composed(&done, &format!("{what}, {times} times"));
        }
    }
}

/// pgbench 15.20 reads past the end of such a script.
#[test]
fn a_variable_may_be_the_last_word_of_a_script() {
    let bench = Bench::start_with(&[]);
    bench.place.write("last.sql", "SELECT 'a', :client_id");
    bench.run(["-n", "-c", "5", "-t", "5", "-f", "last.sql"]).expect(0);
}

#[test]
fn arguments_need_not_be_text() {
    let bench = Bench::start_with(&[]);
    let odd = OsStr::from_bytes(b"caf\xe9.sql");
    std::fs::write(bench.place.path().join(odd), "SELECT :x;\n").expect("own folder");
    let options = ["-n", "-t", "1", "-f"].map(OsStr::new);
    let run = |more: &[&OsStr]| bench.run(options.iter().chain([&odd]).chain(more));
    let done = run(&[OsStr::new("-Dx=1")]);
    assert_composed(&done, "file name");
    done.expect(0);
    let named: [&[u8]; 4] = [b"-Dx=\xff", b"-D\xff=1", b"\xff\xfe", b"--\xff"];
    for more in named {
        assert_composed(&run(&[OsStr::from_bytes(more)]), "argument");
    }
}
