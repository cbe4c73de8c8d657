//! Apache Parquet: typed columns that DuckDB, pandas and others read. Control characters in texts are escaped, as in CSV.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use results::{CellValue, Column, Marked, Table};

use crate::visible;

/// Why a table cannot be written as Parquet.
pub type ParquetError = parquet::errors::ParquetError;

/// What all values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Real,
    /// UTC, µs.
    Time,
    Bytes,
    Text,
}

/// Ends of the names of columns whose numbers have fractions, even if all of these are whole.
const FRACTIONS: [&str; 7] = ["_s", "_ms", "_us", "_ns", "_pct", "tps", "_mean"];

/// A Parquet file with this table.
///
/// # Errors
/// When the writer refuses it; names of columns are unique in all tables here.
pub fn parquet(table: &Table) -> Result<Vec<u8>> {
    let kinds: Vec<Kind> = (0..table.columns.len()).map(|at| kind(table, at)).collect();
    let fields = table.columns.iter().zip(&kinds).map(|(column, kind)| field(column, *kind));
    let fields = fields.collect::<Result<Vec<TypePtr>>>()?;
    let schema = Arc::new(Type::group_type_builder("table").with_fields(fields).build()?);
    let created_by = concat!("pgdyno ", env!("CARGO_PKG_VERSION")).to_owned();
    let properties = Arc::new(WriterProperties::builder().set_created_by(created_by).build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties)?;
    if !table.rows.is_empty() {
        let mut group = writer.next_row_group()?;
        for (at, kind) in kinds.into_iter().enumerate() {
            let values = || table.rows.iter().map(|row| row[at].raw());
            let Some(mut column) = group.next_column()? else { break };
            match kind {
                Kind::Int => write::<Int64Type>(&mut column, values().map(int)),
                Kind::Real => write::<DoubleType>(&mut column, values().map(real)),
                Kind::Time => write::<Int64Type>(&mut column, values().map(time)),
                Kind::Bytes => write::<ByteArrayType>(&mut column, values().map(bytes)),
                Kind::Text => write::<ByteArrayType>(&mut column, values().map(text)),
            }?;
            column.close()?;
        }
        group.close()?;
    }
    writer.into_inner()
}

/// Columns without any value are texts, or numbers by their unit.
fn kind(table: &Table, at: usize) -> Kind {
    let name = &table.columns[at].name;
    let has_fractions = FRACTIONS.iter().any(|end| name.ends_with(end));
    let all = |is: fn(&CellValue) -> bool| {
        table.rows.iter().map(|row| row[at].raw()).all(|value| matches!(value, CellValue::Null) || is(value))
    };
    if all(|_| false) {
        return if has_fractions { Kind::Real } else { Kind::Text };
    }
    if all(|value| matches!(value, CellValue::Int(_))) {
        return if has_fractions { Kind::Real } else { Kind::Int };
    }
    if all(|value| matches!(value, CellValue::Int(_) | CellValue::Real(_))) {
        return Kind::Real;
    }
    if all(|value| matches!(value, CellValue::Blob(_))) {
        return Kind::Bytes;
    }
    // A name of something could look like a time.
    let is_of_time = name == "started" || name.ends_with("_at") || name.ends_with("_utc");
    if is_of_time && all(|value| time(value).is_some()) { Kind::Time } else { Kind::Text }
}

fn field(column: &Column, kind: Kind) -> Result<TypePtr> {
    let (physical, logical) = match kind {
        Kind::Int => (Physical::INT64, None),
        Kind::Real => (Physical::DOUBLE, None),
        Kind::Time => {
            let time = LogicalType::timestamp(true, TimeUnit::MICROS);
            (Physical::INT64, Some(time))
        }
        Kind::Bytes => (Physical::BYTE_ARRAY, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let name = visible::line(&column.name);
    let field = Type::primitive_type_builder(&name, physical).with_logical_type(logical);
    Ok(Arc::new(field.with_repetition(Repetition::OPTIONAL).build()?))
}

/// Writes a column; `None` is a null.
fn write<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    column.typed::<T>().write_batch(&present, Some(&levels), None).map(drop)
}

fn int(value: &CellValue) -> Option<i64> {
    match value {
        CellValue::Int(number) => Some(*number),
        _ => None,
    }
}

/// As in CSV, what is no number is missing.
fn real(value: &CellValue) -> Option<f64> {
    match value {
        CellValue::Int(number) => Some(*number as f64),
        CellValue::Real(number) => Some(*number).filter(|number| number.is_finite()),
        _ => None,
    }
}

/// A time with its zone, or one in UTC.
fn time(value: &CellValue) -> Option<i64> {
    let CellValue::Text(text) = value else { return None };
    let in_utc = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp());
    text.parse::<Timestamp>().ok().or_else(in_utc).map(Timestamp::as_microsecond)
}

fn bytes(value: &CellValue) -> Option<ByteArray> {
    match value {
        CellValue::Blob(bytes) => Some(bytes.clone().into()),
        _ => None,
    }
}

fn text(value: &CellValue) -> Option<ByteArray> {
    let text = match value {
        CellValue::Null => return None,
        CellValue::Int(number) => number.to_string(),
        CellValue::Real(number) => number.to_string(),
        CellValue::Text(text) | CellValue::Marked(Marked { text, .. }) => visible::line(text).into_owned(),
        CellValue::Blob(bytes) => super::hex(bytes),
        CellValue::Data(data) => visible::json(&data.to_string()).into_owned(),
    };
    Some(text.into_bytes().into())
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    #[test]
    fn values_come_back_with_their_types() {
        let mut table =
            Table::new(["workload", "clients", "tps", "p99_us", "started", "made_utc", "file", "mixed"]);
        table.push(vec![
            "reads\u{1b}[2J".into(),
            4_i64.into(),
            17.5.into(),
            3_i64.into(),
            "2026-01-02T03:04:05.000006Z".into(),
            "2026-01-02T03:04".into(),
            CellValue::Blob(vec![0, 255]),
            1_i64.into(),
        ]);
        table.push(vec![
            CellValue::Null,
            CellValue::Null,
            f64::NAN.into(),
            CellValue::Null,
            CellValue::Null,
            CellValue::Null,
            CellValue::Null,
            "x\0y".into(),
        ]);
        let file = SerializedFileReader::new(bytes::Bytes::from(parquet(&table).unwrap())).unwrap();
        let schema = file.metadata().file_metadata().schema();
        let kinds: Vec<String> = schema
            .get_fields()
            .iter()
            .map(|field| match field.get_basic_info().logical_type_ref() {
                Some(logical) => format!("{logical:?}").chars().take(6).collect(),
                None => field.get_physical_type().to_string(),
            })
            .collect();
        assert_eq!(
            kinds,
            ["String", "INT64", "DOUBLE", "DOUBLE", "Timest", "Timest", "BYTE_ARRAY", "String"]
        );
        let rows: Vec<String> =
            file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(
            rows,
            [
                "{workload: \"reads\\x1b[2J\", clients: 4, tps: 17.5, p99_us: 3.0, started: 2026-01-02 03:04:05.000006 +00:00, \
                 made_utc: 2026-01-02 03:04:00.000000 +00:00, file: [0, 255], mixed: \"1\"}",
                "{workload: null, clients: null, tps: null, p99_us: null, started: null, made_utc: null, file: null, \
                 mixed: \"x\\x00y\"}"
            ]
        );
    }

    #[test]
    fn a_table_without_rows_has_its_columns() {
        let file = SerializedFileReader::new(bytes::Bytes::from(parquet(&Table::new(["a", "b_s"])).unwrap()))
            .unwrap();
        let metadata = file.metadata().file_metadata();
        assert_eq!((metadata.num_rows(), metadata.schema().get_fields().len()), (0, 2));
    }
}
