//! Our encoders give the same bytes as postgres-protocol's.

use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend as theirs;
use proptest::prelude::*;
use protocol::postgres::{CancelKey, ValueFormat, frontend as ours};

/// Runs both encoders behind some bytes that must stay as they are.
fn assert_same(ours: impl FnOnce(&mut Vec<u8>), theirs: impl FnOnce(&mut BytesMut)) {
    let mut a = b"before".to_vec();
    let mut b = BytesMut::from(&b"before"[..]);
    ours(&mut a);
    theirs(&mut b);
    assert_eq!(a, b);
}

fn their_bind(
    portal: &str,
    statement: &str,
    parameters: &[Option<Vec<u8>>],
    format: i16,
    out: &mut BytesMut,
) {
    let serialize = |value: &Option<Vec<u8>>, out: &mut BytesMut| match value {
        None => Ok(IsNull::Yes),
        Some(value) => {
            out.extend_from_slice(value);
            Ok(IsNull::No)
        }
    };
    let done = theirs::bind(portal, statement, [], parameters, serialize, [format], out);
    assert!(done.is_ok());
}

#[test]
fn messages_without_content() {
    assert_same(ours::sync, theirs::sync);
    assert_same(ours::copy_done, theirs::copy_done);
    assert_same(ours::terminate, theirs::terminate);
    assert_same(ours::ssl_request, theirs::ssl_request);
    let key = CancelKey { process_id: 4711, secret: 0x8000_0001 };
    assert_same(
        |out| ours::cancel_request(out, key),
        |out| theirs::cancel_request(4711, 0x8000_0001_u32 as i32, out),
    );
}

proptest! {
    #[test]
    fn messages_with_names(name in "[^\0]{0,20}", sql in "[^\0]{0,200}", types in prop::collection::vec(any::<u32>(), 0..4)) {
        assert_same(|out| ours::query(out, &sql), |out| theirs::query(&sql, out).unwrap());
        assert_same(
            |out| ours::parse(out, &name, &sql, &types),
            |out| theirs::parse(&name, &sql, types.iter().copied(), out).unwrap(),
        );
        assert_same(|out| ours::describe_portal(out, &name), |out| theirs::describe(b'P', &name, out).unwrap());
        assert_same(|out| ours::execute(out, &name, 7), |out| theirs::execute(&name, 7, out).unwrap());
        assert_same(|out| ours::copy_fail(out, &sql), |out| theirs::copy_fail(&sql, out).unwrap());
        assert_same(
            |out| ours::copy_data(out, sql.as_bytes()),
            |out| theirs::CopyData::new(sql.as_bytes()).unwrap().write(out),
        );
    }

    #[test]
    fn startup(parameters in prop::collection::vec(("[^\0]{1,9}", "[^\0]{0,20}"), 0..5)) {
        let pairs = || parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        assert_same(|out| ours::startup(out, pairs()), |out| theirs::startup_message(pairs(), out).unwrap());
    }

    #[test]
    fn bind(
        portal in "[^\0]{0,9}",
        statement in "[^\0]{0,9}",
        parameters in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..40)), 0..20),
        format in prop::sample::select(vec![ValueFormat::Text, ValueFormat::Binary]),
    ) {
        assert_same(
            |out| {
                let values = parameters.iter().map(|value| value.as_deref());
                ours::bind(out, &portal, &statement, values, format).unwrap();
            },
            |out| their_bind(&portal, &statement, &parameters, format.code(), out),
        );
    }
}

#[test]
fn strings_end_at_their_first_nul() {
    assert_same(|out| ours::query(out, "select 1\0; drop"), |out| theirs::query("select 1", out).unwrap());
}

#[test]
fn too_many_parameters_leave_the_buffer_as_it_was() {
    let values = |count| std::iter::repeat_n(Some(&b"x"[..]), count);
    let mut out = b"before".to_vec();
    assert!(ours::bind(&mut out, "", "", values(65_536), ValueFormat::Text).is_err());
    assert_eq!(out, b"before");
    assert!(ours::bind(&mut out, "", "", values(65_535), ValueFormat::Text).is_ok());
}
