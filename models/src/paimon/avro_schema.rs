//! Avro schemas, as far as Paimon's files use them: records of primitives, arrays, maps and unions.
//!
//! Only the shape is kept; what a record's fields mean is its reader's business. References to named types are
//! refused by name: no Paimon file has them, and without them a schema's values cannot be deeper than its text.

use serde_json::Value as Json;

use super::stored_cell::TimeUnit;
use super::{FormatError, FormatResult};

/// A type of Avro values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AvroType {
    /// No bytes.
    Null,
    /// One byte, 0 or 1.
    Boolean,
    /// `int` and `long`: the same bytes. The unit is that of times and timestamps, by the logical type.
    Integer(TimeUnit),
    /// 4 bytes.
    Float,
    /// 8 bytes.
    Double,
    /// A length and so many bytes.
    Bytes,
    /// A length and so many bytes of UTF-8.
    Text,
    /// So many bytes.
    Fixed(usize),
    /// The position of a symbol.
    Enum,
    /// Blocks of values.
    Array(Box<AvroType>),
    /// Blocks of names and values.
    Map(Box<AvroType>),
    /// The position of one of these types, then its value.
    Union(Vec<AvroType>),
    /// The fields' values, one after the other.
    Record(Vec<AvroField>),
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvroField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub avro_type: AvroType,
}

impl AvroType {
    /// Reads a schema's JSON text.
    pub fn parse(text: &str) -> FormatResult<Self> {
        let json: Json = serde_json::from_str(text)
            .map_err(|error| FormatError::new(format!("expected an Avro schema (JSON), found {error}")))?;
        Self::of_json(&json)
    }

    fn of_json(json: &Json) -> FormatResult<Self> {
        let unknown = || FormatError::new(format!("expected an Avro type that Paimon's files use, found {json}"));
        let member = |name: &str| json.get(name).ok_or_else(unknown);
        match json {
            Json::String(name) => Self::of_name(name, None).ok_or_else(unknown),
            Json::Array(branches) => Ok(Self::Union(branches.iter().map(Self::of_json).collect::<Result<_, _>>()?)),
            Json::Object(_) => match member("type")? {
                Json::String(name) => match name.as_str() {
                    "array" => Ok(Self::Array(Box::new(Self::of_json(member("items")?)?))),
                    "map" => Ok(Self::Map(Box::new(Self::of_json(member("values")?)?))),
                    "fixed" => {
                        let size = member("size")?.as_u64().and_then(|size| usize::try_from(size).ok());
                        size.map(Self::Fixed).ok_or_else(unknown)
                    }
                    "enum" => Ok(Self::Enum),
                    "record" => {
                        let fields = member("fields")?.as_array().ok_or_else(unknown)?;
                        Ok(Self::Record(fields.iter().map(AvroField::of_json).collect::<Result<_, _>>()?))
                    }
                    name => {
                        let logical = json.get("logicalType").and_then(Json::as_str);
                        Self::of_name(name, logical).ok_or_else(unknown)
                    }
                },
                nested => Self::of_json(nested),
            },
            _ => Err(unknown()),
        }
    }

    fn of_name(name: &str, logical: Option<&str>) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "int" | "long" => Self::Integer(match logical {
                Some(logical) if logical.ends_with("-micros") => TimeUnit::Microseconds,
                Some(logical) if logical.ends_with("-nanos") => TimeUnit::Nanoseconds,
                _ => TimeUnit::Milliseconds,
            }),
            "float" => Self::Float,
            "double" => Self::Double,
            "bytes" => Self::Bytes,
            "string" => Self::Text,
            _ => return None,
        })
    }

    /// The fields of a record, also of one that may be NULL, as some writers declare whole files.
    pub fn record_fields(&self) -> FormatResult<&[AvroField]> {
        match self {
            Self::Record(fields) => Ok(fields),
            Self::Union(branches) => {
                let record = branches.iter().find(|branch| matches!(branch, Self::Record(_)));
                record.map_or_else(|| Err(self.no_record()), Self::record_fields)
            }
            _ => Err(self.no_record()),
        }
    }

    /// The type of an array's items, also of an array that may be NULL; `None` if this is no array.
    pub fn item_type(&self) -> Option<&AvroType> {
        match self {
            Self::Array(item_type) => Some(item_type),
            Self::Union(branches) => branches.iter().find_map(Self::item_type),
            _ => None,
        }
    }

    fn no_record(&self) -> FormatError {
        FormatError::new(format!("expected an Avro record, found {self:?}"))
    }
}

impl AvroField {
    fn of_json(json: &Json) -> FormatResult<Self> {
        match (json.get("name").and_then(Json::as_str), json.get("type")) {
            (Some(name), Some(avro_type)) => {
                let avro_type = AvroType::of_json(avro_type).map_err(|error| error.within(format!("field {name}")))?;
                Ok(Self { name: name.to_owned(), avro_type })
            }
            _ => Err(FormatError::new(format!("expected an Avro field with a name and a type, found {json}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nullable_record_has_fields() {
        let schema = r#"["null", {"type": "record", "name": "r", "fields": [
            {"name": "a", "type": "int"},
            {"name": "b", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}], "default": null}]}]"#;
        let schema = AvroType::parse(schema).unwrap();
        let fields = schema.record_fields().unwrap();
        assert_eq!(fields[0].avro_type, AvroType::Integer(TimeUnit::Milliseconds));
        let micros = AvroType::Integer(TimeUnit::Microseconds);
        assert_eq!(
            fields[1],
            AvroField { name: "b".to_owned(), avro_type: AvroType::Union(vec![AvroType::Null, micros]) }
        );
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        for text in ["", "7", r#""my.Record""#, r#"{"type": "record"}"#, r#"{"type": "fixed", "size": -1}"#] {
            assert!(AvroType::parse(text).is_err(), "{text:?}");
        }
        assert!(AvroType::parse(r#""int""#).unwrap().record_fields().is_err());
        let deep = "[".repeat(100_000);
        assert!(AvroType::parse(&deep).is_err(), "depth is bounded");
    }
}
