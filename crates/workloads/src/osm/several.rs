//! The loads of one preparation: a table for one, a list of tables for several. Plans store one as a table,
//! as in earlier builds.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::options::OsmOptions;

/// Nothing, a table, or a list.
pub(crate) fn serialize<S: Serializer>(loads: &[OsmOptions], to: S) -> Result<S::Ok, S::Error> {
    match loads {
        [] => to.serialize_none(),
        [one] => one.serialize(to),
        several => several.serialize(to),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<OsmOptions>, D::Error> {
    source.deserialize_any(Either)
}

struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = Vec<OsmOptions>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a table such as { extract = \"…\" }, or a list of such tables")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        OsmOptions::deserialize(MapAccessDeserializer::new(map)).map(|one| vec![one])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut loads = Vec::new();
        while let Some(OptionsTable(one)) = list.next_element()? {
            loads.push(one);
        }
        Ok(loads)
    }
}

/// An element: a table, and nothing else that serde would accept.
struct OptionsTable(OsmOptions);

impl<'de> Deserialize<'de> for OptionsTable {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct OfKeys;

        impl<'de> Visitor<'de> for OfKeys {
            type Value = OptionsTable;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a table such as { extract = \"…\" }")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OptionsTable, A::Error> {
                OsmOptions::deserialize(MapAccessDeserializer::new(map)).map(OptionsTable)
            }
        }

        source.deserialize_any(OfKeys)
    }
}

#[cfg(test)]
mod tests {
    use crate::Preparation;

    #[test]
    fn one_load_is_a_table_and_several_are_a_list() {
        let read = |text: &str| serde_json::from_str::<Preparation>(text).map_err(|error| error.to_string());
        let written = |text: &str| {
            let again = serde_json::to_value(read(text).unwrap()).unwrap();
            assert_eq!(serde_json::from_value::<Preparation>(again.clone()).unwrap(), read(text).unwrap());
            again["osm"].clone()
        };
        assert!(written("{}").is_null() && written(r#"{"osm": null}"#).is_null());
        assert!(written(r#"{"osm": []}"#).is_null());
        let one = written(r#"{"osm": {"extract": "a"}}"#);
        assert_eq!(one["prefix"], "planet_osm");
        assert_eq!(written(r#"{"osm": [{"extract": "a"}]}"#), one, "a list of one is the same preparation");
        let two = written(r#"{"osm": [{"extract": "a"}, {"extract": "b", "prefix": "c"}]}"#);
        assert_eq!((&two[0], &two[1]["prefix"]), (&one, &"c".into()));
        for text in [r#"{"osm": 7}"#, r#"{"osm": ["a"]}"#, r#"{"osm": [["a"]]}"#] {
            assert!(read(text).unwrap_err().contains("expected a table"), "{text}");
        }
    }
}
