//! The keys of the locks, and what they say of who is there.

use std::collections::{BTreeMap, BTreeSet};

use protocol::postgres::sql::{Sql, SqlError};

use super::{Agenda, hash};

/// The object of the gate; those of parts are their numbers, from 1.
pub(super) const GATE: u32 = 0;

/// Class of the locks that announce what a part agrees to, whatever that is: "pgda", and the number of the item.
const ANNOUNCED: u32 = 0x7067_6461;
/// Bits of an item's hash in the object of such a lock; the part's number is above them.
const ITEM_BITS: u32 = 16;
/// Most parts of a load: their numbers have 15 bits there.
const MOST: u32 = (1 << (31 - ITEM_BITS)) - 1;

/// The keys of one meeting.
#[derive(Debug)]
pub(super) struct Locks {
    number: u32,
    of: u32,
    /// Class of its locks, from all that must be the same.
    class: u32,
    /// Class of the locks whose objects are the positions of the parts.
    positions: u32,
    /// Class of the lock whose object is when the gate opened.
    opened: u32,
    /// What it announces, by item.
    announced: Vec<u32>,
}

impl Locks {
    pub(super) fn of(agenda: &Agenda) -> Self {
        let items = items(agenda);
        let all = hash(items.iter().map(|(_, value)| value.as_str()));
        let announced =
            items.iter().map(|(_, value)| number(&hash([value.as_str()])) & ((1 << ITEM_BITS) - 1));
        let class = number(&all);
        let derived = |what: &str| number(&hash([what, class.to_string().as_str()]));
        Self {
            number: agenda.number,
            of: agenda.of,
            class,
            positions: derived("position"),
            opened: derived("opened"),
            announced: announced.collect(),
        }
    }

    pub(super) fn part(&self, number: u32) -> (u32, u32) {
        (self.class, number)
    }

    /// Parts at the same position share it.
    pub(super) fn position(&self, position: u32) -> (u32, u32) {
        (self.positions, position & (u32::MAX >> 1))
    }

    /// `at_us` is when the gate opened, by the server's clock.
    pub(super) fn opened(&self, at_us: i64) -> (u32, u32) {
        (self.opened, tick(at_us))
    }

    /// The locks that tell parts with another agenda what differs.
    pub(super) fn announced(&self) -> Vec<(u32, u32)> {
        let number = self.number.min(MOST) << ITEM_BITS;
        self.announced.iter().zip(0..).map(|(item, index)| (ANNOUNCED + index, number | item)).collect()
    }

    pub(super) fn look(&self, control: &mut dyn Sql) -> Result<Seen, SqlError> {
        let last = ANNOUNCED + self.announced.len() as u32 - 1;
        let sql = format!(
            "SELECT l.classid, l.objid, l.granted, l.mode, \
             pg_catalog.concat_ws(' ', l.pid, l.virtualtransaction, pg_catalog.pg_postmaster_start_time()) \
             FROM pg_catalog.pg_locks AS l JOIN pg_catalog.pg_database AS d ON d.oid = l.database \
             WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND d.datname = pg_catalog.current_database() \
             AND (l.classid IN ({}, {}, {}) OR l.classid BETWEEN {ANNOUNCED} AND {last})",
            self.class, self.positions, self.opened
        );
        Ok(self.seen(&control.rows(&sql)?))
    }

    fn seen(&self, rows: &[Vec<Option<String>>]) -> Seen {
        let mut seen = Seen { of: self.of, own: self.announced.clone(), ..Seen::default() };
        for row in rows {
            let [Some(class), Some(object), Some(granted), Some(mode), Some(holder)] = &row[..] else {
                continue;
            };
            let (Ok(class), Ok(object)) = (class.parse::<u32>(), object.parse::<u32>()) else { continue };
            if class == self.positions {
                seen.position = Some(seen.position.map_or(object, |least| least.min(object)));
            } else if class == self.opened {
                seen.opened = Some(object);
            } else if class != self.class {
                let (part, item) = (object >> ITEM_BITS, object & ((1 << ITEM_BITS) - 1));
                seen.announced.entry(part).or_default().insert(class - ANNOUNCED, item);
            } else if object == GATE {
                match (granted == "t", mode == "ExclusiveLock") {
                    (true, true) => seen.gate = Some(holder.clone()),
                    (false, false) => seen.waiting += 1,
                    _ => {}
                }
            } else if granted == "t" {
                seen.parts.insert(object);
            }
        }
        seen
    }
}

/// What must be the same, with its name.
fn items(agenda: &Agenda) -> Vec<(&'static str, String)> {
    let of = [("number of parts", agenda.of.to_string())];
    agenda.same.iter().cloned().chain(of).collect()
}

/// Steps of a time in the object of a lock, µs.
const TICK_US: i64 = 100;

/// A time as the object of a lock. It begins again after two and a half days.
fn tick(at_us: i64) -> u32 {
    (at_us / TICK_US) as u32 & (u32::MAX >> 1)
}

/// 31 bits: keys of advisory locks are signed.
fn number(hash: &[u8; 32]) -> u32 {
    u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]) >> 1
}

/// Who is there.
#[derive(Debug, Default)]
pub(super) struct Seen {
    of: u32,
    parts: BTreeSet<u32>,
    /// Who holds the gate.
    gate: Option<String>,
    /// Parts that wait for it.
    waiting: usize,
    own: Vec<u32>,
    /// The least position of a part.
    position: Option<u32>,
    /// When the gate opened, as the object of a lock.
    opened: Option<u32>,
    /// What each part announces, by item.
    announced: BTreeMap<u32, BTreeMap<u32, u32>>,
}

impl Seen {
    /// The parts that are not there, ascending.
    pub(super) fn absent(&self) -> Vec<u32> {
        // Part 1 is there once it holds the gate.
        let is_there = |number: &u32| self.parts.contains(number) && (*number > 1 || self.gate.is_some());
        (1..=self.of).filter(|number| !is_there(number)).collect()
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.parts.contains(&number)
    }

    /// Whether parts besides part 1 are there.
    pub(super) fn has_others(&self) -> bool {
        self.parts.iter().any(|number| *number > 1)
    }

    pub(super) fn at_the_gate(&self) -> usize {
        self.waiting
    }

    pub(super) fn least_position(&self) -> Option<u32> {
        self.position
    }

    /// When the gate opened, at most [`TICK_US`] too early; `None` if part 1 did not say so yet. `near_us` is less than a
    /// day away, and may be earlier: part 1 reads the clock after the gate is open.
    pub(super) fn opened_us(&self, near_us: i64) -> Option<i64> {
        const AROUND: i64 = 1 << 31;
        let ago = (i64::from(tick(near_us)) - i64::from(self.opened?)).rem_euclid(AROUND);
        let ago = if ago > AROUND / 2 { ago - AROUND } else { ago };
        Some((near_us / TICK_US - ago) * TICK_US)
    }

    /// A name of this meeting that no other one has: who holds the gate, in which transaction, since which start of
    /// the server.
    pub(super) fn meeting(&self) -> String {
        let holder = self.gate.as_deref().unwrap_or_default();
        spec::hex(&hash(["meeting", holder])[..16])
    }

    /// Parts that are there with another agenda, each with what differs.
    pub(super) fn differing(&self, agenda: &Agenda) -> Vec<(u32, Vec<&'static str>)> {
        let names: Vec<&'static str> = items(agenda).iter().map(|(name, _)| *name).collect();
        let others = self.announced.iter().filter_map(|(part, items)| {
            let differs = |index: &u32| items.get(index) != self.own.get(*index as usize);
            let what: Vec<&'static str> = items
                .keys()
                .filter(|index| differs(index))
                .filter_map(|index| names.get(*index as usize).copied())
                .collect();
            (!what.is_empty()).then_some((*part, what))
        });
        others.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn agenda(number: u32, of: u32, plan: &str) -> Agenda {
        let same = vec![("plan", plan.to_owned()), ("version of pgdyno", "1".to_owned())];
        Agenda { number, of, same, position: None, patience: Duration::from_secs(1) }
    }

    fn row(key: (u32, u32), granted: &str, mode: &str) -> Vec<Option<String>> {
        let row = [key.0.to_string(), key.1.to_string(), granted.into(), mode.into(), "7 3/9 2026".into()];
        row.into_iter().map(Some).collect()
    }

    const EXCLUSIVE: &str = "ExclusiveLock";

    #[test]
    fn who_is_there_and_at_the_gate_is_seen() {
        let locks = Locks::of(&agenda(1, 3, "p"));
        let mut rows = vec![row(locks.part(1), "t", EXCLUSIVE), row(locks.part(3), "t", EXCLUSIVE)];
        assert_eq!(locks.seen(&rows).absent(), [1, 2], "part 1 does not hold the gate yet");
        rows.push(row(locks.part(GATE), "t", EXCLUSIVE));
        rows.push(row(locks.part(2), "t", EXCLUSIVE));
        rows.push(row(locks.part(GATE), "f", "ShareLock"));
        let seen = locks.seen(&rows);
        assert_eq!((seen.absent(), seen.at_the_gate(), seen.has(1)), (vec![], 1, true));
        assert_eq!(seen.meeting().len(), 32);
    }

    #[test]
    fn parts_of_one_load_have_one_key_and_others_another() {
        let class = |agenda: &Agenda| Locks::of(agenda).class;
        assert_eq!(class(&agenda(1, 3, "p")), class(&agenda(2, 3, "p")));
        assert_ne!(class(&agenda(1, 3, "p")), class(&agenda(1, 3, "q")));
        assert_ne!(class(&agenda(1, 3, "p")), class(&agenda(1, 4, "p")));
        assert!(class(&agenda(1, 3, "p")) < 1 << 31);
    }

    #[test]
    fn the_least_position_and_the_opening_of_the_gate_are_seen() {
        let locks = Locks::of(&agenda(1, 3, "p"));
        let at = 1_795_000_000_123_456;
        let rows =
            [locks.position(7), locks.position(4), locks.opened(at)].map(|key| row(key, "t", "ShareLock"));
        let seen = locks.seen(&rows);
        assert_eq!(seen.least_position(), Some(4));
        for later in [-70, 0, 99, 3_000_000] {
            let early = at - seen.opened_us(at + later).unwrap();
            assert!((0..TICK_US).contains(&early), "{early}");
        }
        assert_eq!(locks.seen(&rows[..2]).opened_us(at), None);
    }

    #[test]
    fn what_differs_is_named() {
        let (ours, other) = (agenda(1, 3, "p"), agenda(2, 4, "q"));
        let rows: Vec<_> = [&ours, &agenda(3, 3, "p"), &other]
            .into_iter()
            .flat_map(|agenda| Locks::of(agenda).announced())
            .map(|key| row(key, "t", EXCLUSIVE))
            .collect();
        let found = Locks::of(&ours).seen(&rows).differing(&ours);
        assert_eq!(found, [(2, vec!["plan", "number of parts"])]);
    }
}
