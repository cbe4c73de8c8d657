//! osm2pgsql's own time stamps (1.4 and later): local time, whole seconds.

/// Format of a stamp; two blanks follow it.
const FORM: &[u8] = b"0000-00-00 00:00:00  ";
/// Latest start of a stamp: another program's stamp or a progress display may precede it.
const LATEST: usize = 300;

/// A line from its stamp on, if it has one.
pub(super) fn stamped(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let last = bytes.len().checked_sub(FORM.len())?.min(LATEST);
    let fits = |(byte, form): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form };
    let at = (0..=last).find(|at| bytes[*at..].iter().zip(FORM).all(fits))?;
    text.get(at..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_at_their_stamp() {
        let line = "2026-11-21 02:42:26  osm2pgsql version 1.8.0";
        for before in
            ["", "17 ", "osm_1  | ", "Processing: Node(7k 7.0k/s) Way(1k 1.00k/s) Relation(0 0.0/s)"]
        {
            assert_eq!(stamped(&format!("{before}{line}")), Some(line));
        }
        for none in ["2026-11-21 02:42:26 pgbench", "2026-11-21", "", "é2026-11-21 02:42:2"] {
            assert_eq!(stamped(none), None, "{none}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,40}( 2026-11-21 02:42:26  x)?") {
            let _ = stamped(&text);
        }
    }
}
