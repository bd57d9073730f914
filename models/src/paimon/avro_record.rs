//! One record of an Avro file, read by field names as its writer declared them.

use std::cell::Cell;

use super::avro_datum::Datum;
use super::avro_schema::{AvroField, AvroType};
use super::{FormatError, FormatResult};

/// A record's values beside their declarations. A field that the writer did not know reads as NULL.
pub struct AvroRecord<'r> {
    fields: &'r [AvroField],
    values: &'r [Datum<'r>],
    /// Where the next field probably is: readers ask in about the order in which writers write.
    expected_next: Cell<usize>,
}

impl<'r> AvroRecord<'r> {
    /// These values of these fields.
    pub fn new(fields: &'r [AvroField], values: &'r [Datum<'r>]) -> Self {
        Self { fields, values, expected_next: Cell::new(0) }
    }

    /// The field and its value; `None` if the writer did not know it.
    pub fn field(&self, name: &str) -> Option<(&'r AvroType, &'r Datum<'r>)> {
        let expected = self.expected_next.get();
        let position = match self.fields.get(expected) {
            Some(field) if field.name == name => expected,
            _ => self.fields.iter().position(|field| field.name == name)?,
        };
        self.expected_next.set(position + 1);
        Some((&self.fields[position].avro_type, self.values.get(position)?))
    }

    fn value(&self, name: &str) -> &'r Datum<'r> {
        self.field(name).map_or(&Datum::Null, |(_, value)| value)
    }

    fn mismatch(&self, name: &str, expected: &str) -> FormatError {
        FormatError::new(format!("expected {expected} in field {name}, found {:?}", self.value(name)))
    }

    /// A number; `None` if NULL. The error is for numbers that do not fit.
    pub fn optional_integer<Number: TryFrom<i64>>(&self, name: &str) -> FormatResult<Option<Number>> {
        match self.value(name) {
            Datum::Null => Ok(None),
            Datum::Integer(number) => match Number::try_from(*number) {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(self.mismatch(name, "a number in its range")),
            },
            _ => Err(self.mismatch(name, "a number")),
        }
    }

    /// A number that must be there.
    pub fn integer<Number: TryFrom<i64>>(&self, name: &str) -> FormatResult<Number> {
        self.optional_integer(name)?.ok_or_else(|| self.mismatch(name, "a number"))
    }

    /// Bytes; `None` if NULL.
    pub fn optional_bytes(&self, name: &str) -> FormatResult<Option<&'r [u8]>> {
        match self.value(name) {
            Datum::Null => Ok(None),
            Datum::Bytes(bytes) => Ok(Some(bytes)),
            _ => Err(self.mismatch(name, "bytes")),
        }
    }

    /// Bytes that must be there.
    pub fn bytes(&self, name: &str) -> FormatResult<&'r [u8]> {
        self.optional_bytes(name)?.ok_or_else(|| self.mismatch(name, "bytes"))
    }

    /// A text; `None` if NULL.
    pub fn optional_text(&self, name: &str) -> FormatResult<Option<String>> {
        match self.value(name) {
            Datum::Null => Ok(None),
            Datum::Text(text) => Ok(Some((*text).to_owned())),
            _ => Err(self.mismatch(name, "a text")),
        }
    }

    /// A text that must be there.
    pub fn text(&self, name: &str) -> FormatResult<String> {
        self.optional_text(name)?.ok_or_else(|| self.mismatch(name, "a text"))
    }

    /// Texts; `None` if NULL.
    pub fn optional_texts(&self, name: &str) -> FormatResult<Option<Vec<String>>> {
        let text = |item: &Datum<'_>| match item {
            Datum::Text(text) => Ok((*text).to_owned()),
            _ => Err(self.mismatch(name, "texts")),
        };
        match self.value(name) {
            Datum::Null => Ok(None),
            Datum::Items(items) => items.iter().map(text).collect::<Result<_, _>>().map(Some),
            _ => Err(self.mismatch(name, "texts")),
        }
    }

    /// Numbers or NULLs; none if the field is NULL.
    pub fn optional_integers(&self, name: &str) -> FormatResult<Vec<Option<i64>>> {
        let number = |item: &Datum<'_>| match item {
            Datum::Null => Ok(None),
            Datum::Integer(number) => Ok(Some(*number)),
            _ => Err(self.mismatch(name, "numbers")),
        };
        match self.value(name) {
            Datum::Null => Ok(Vec::new()),
            Datum::Items(items) => items.iter().map(number).collect(),
            _ => Err(self.mismatch(name, "numbers")),
        }
    }

    /// Records within this one, in an array; `None` if NULL. A NULL among them is refused.
    pub fn optional_records(&self, name: &str) -> FormatResult<Option<Vec<AvroRecord<'r>>>> {
        let (item_type, items) = match self.field(name) {
            None | Some((_, Datum::Null)) => return Ok(None),
            Some((avro_type, Datum::Items(items))) => (avro_type.item_type(), items),
            Some(_) => return Err(self.mismatch(name, "records")),
        };
        let fields = item_type.ok_or_else(|| self.mismatch(name, "records"))?.record_fields()?;
        let record = |item: &'r Datum<'r>| match item {
            Datum::Record(values) => Ok(AvroRecord::new(fields, values)),
            _ => Err(self.mismatch(name, "records")),
        };
        items.iter().map(record).collect::<FormatResult<_>>().map(Some)
    }

    /// A record within this one; `None` if NULL.
    pub fn optional_record(&self, name: &str) -> FormatResult<Option<AvroRecord<'r>>> {
        match self.field(name) {
            None | Some((_, Datum::Null)) => Ok(None),
            Some((avro_type, Datum::Record(values))) => Ok(Some(AvroRecord::new(avro_type.record_fields()?, values))),
            Some(_) => Err(self.mismatch(name, "a record")),
        }
    }
}
