//! Avro values: reading them by their writer's schema, and writing them field by field.
//!
//! Reading borrows from the bytes and never takes more memory than a small multiple of what is really there, whatever
//! lengths a broken or hostile file claims. That, and equal bytes in every process, is why this is not left to a
//! library.

use super::avro_schema::{AvroField, AvroType};
use super::{FormatError, FormatResult};

/// One value, borrowed from a file's bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum<'a> {
    /// NULL.
    Null,
    /// A boolean.
    Boolean(bool),
    /// A number of any integer type, or a symbol's position.
    Integer(i64),
    /// A 4-byte number.
    Float(f32),
    /// An 8-byte number.
    Double(f64),
    /// Bytes, of fixed length or not.
    Bytes(&'a [u8]),
    /// A string.
    Text(&'a str),
    /// An array's items; a map's keys and values in turn.
    Items(Vec<Datum<'a>>),
    /// A record's fields, in the order of its schema.
    Record(Vec<Datum<'a>>),
}

/// Reads values one after the other.
#[derive(Clone, Debug)]
pub struct DatumReader<'a> {
    rest: &'a [u8],
    /// How many more values may be NULL or empty. Such a value may take no byte, so a few bytes could claim any number.
    nothings_left: usize,
}

impl<'a> DatumReader<'a> {
    /// A reader of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, nothings_left: bytes.len() }
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// A number: zigzag, seven bits a byte, low bits first.
    pub fn integer(&mut self) -> FormatResult<i64> {
        let mut number: u64 = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = *self.take_array()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed());
            }
        }
        Err(FormatError::new("expected an Avro number of at most 10 bytes, found a longer one"))
    }

    /// So many bytes.
    pub fn take(&mut self, length: usize) -> FormatResult<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(FormatError::new(format!("expected {length} more bytes, found {}", self.rest.len())));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn take_array<const LENGTH: usize>(&mut self) -> FormatResult<&'a [u8; LENGTH]> {
        let Some((taken, rest)) = self.rest.split_first_chunk() else {
            return Err(FormatError::new(format!("expected {LENGTH} more bytes, found {}", self.rest.len())));
        };
        self.rest = rest;
        Ok(taken)
    }

    /// A length and so many bytes.
    pub fn bytes(&mut self) -> FormatResult<&'a [u8]> {
        let length = self.integer()?;
        let length = usize::try_from(length)
            .map_err(|_| FormatError::new(format!("expected a length in bytes, found {length}")))?;
        self.take(length)
    }

    /// A length and so many bytes of UTF-8.
    pub fn text(&mut self) -> FormatResult<&'a str> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| FormatError::new(format!("expected UTF-8 text, found {bytes:02x?}")))
    }

    /// The next value of a block of an array or map: how many, 0 at the end.
    pub fn block_count(&mut self) -> FormatResult<usize> {
        let count = self.integer()?;
        if count < 0 {
            // A negative count is followed by the block's size in bytes, for readers that skip.
            self.integer()?;
        }
        let count = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        if count > self.rest.len() {
            return Err(FormatError::new(format!("expected {count} items, found {} bytes", self.rest.len())));
        }
        Ok(count)
    }

    fn count_nothing(&mut self) -> FormatResult<()> {
        let left = self.nothings_left.checked_sub(1);
        self.nothings_left = left.ok_or_else(|| FormatError::new("expected fewer NULLs than bytes, found more"))?;
        Ok(())
    }

    /// One value of this type.
    pub fn datum(&mut self, avro_type: &AvroType) -> FormatResult<Datum<'a>> {
        Ok(match avro_type {
            AvroType::Null => {
                self.count_nothing()?;
                Datum::Null
            }
            AvroType::Boolean => Datum::Boolean(self.take_array::<1>()?[0] != 0),
            AvroType::Integer(_) | AvroType::Enum => Datum::Integer(self.integer()?),
            AvroType::Float => Datum::Float(f32::from_le_bytes(*self.take_array()?)),
            AvroType::Double => Datum::Double(f64::from_le_bytes(*self.take_array()?)),
            AvroType::Bytes => Datum::Bytes(self.bytes()?),
            AvroType::Text => Datum::Text(self.text()?),
            AvroType::Fixed(length) => {
                if *length == 0 {
                    self.count_nothing()?;
                }
                Datum::Bytes(self.take(*length)?)
            }
            AvroType::Array(item_type) => {
                let mut items = Vec::new();
                for_each_block(self, |reader| {
                    items.push(reader.datum(item_type)?);
                    Ok(())
                })?;
                Datum::Items(items)
            }
            AvroType::Map(value_type) => {
                let mut items = Vec::new();
                for_each_block(self, |reader| {
                    items.push(Datum::Text(reader.text()?));
                    items.push(reader.datum(value_type)?);
                    Ok(())
                })?;
                Datum::Items(items)
            }
            AvroType::Union(branches) => {
                let position = self.integer()?;
                let branch = usize::try_from(position).ok().and_then(|position| branches.get(position));
                let branch = branch.ok_or_else(|| {
                    FormatError::new(format!(
                        "expected one of {} branches of a union, found {position}",
                        branches.len()
                    ))
                })?;
                self.datum(branch)?
            }
            AvroType::Record(fields) => {
                if fields.is_empty() {
                    self.count_nothing()?;
                }
                let value = |field: &AvroField| {
                    self.datum(&field.avro_type).map_err(|error| error.within(format!("field {}", field.name)))
                };
                Datum::Record(fields.iter().map(value).collect::<Result<_, _>>()?)
            }
        })
    }
}

/// Reads all blocks of an array or map.
fn for_each_block<'a>(
    reader: &mut DatumReader<'a>,
    mut read_item: impl FnMut(&mut DatumReader<'a>) -> FormatResult<()>,
) -> FormatResult<()> {
    loop {
        let count = reader.block_count()?;
        if count == 0 {
            return Ok(());
        }
        for _ in 0..count {
            read_item(reader)?;
        }
    }
}

/// Writes values one after the other. The caller follows its own schema.
#[derive(Clone, Debug, Default)]
pub struct DatumWriter {
    bytes: Vec<u8>,
}

impl DatumWriter {
    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// An `int` or `long`, or the position of a union's branch.
    pub fn integer(&mut self, number: i64) {
        let mut zigzag = ((number << 1) ^ (number >> 63)).cast_unsigned();
        while zigzag > 0x7f {
            self.bytes.push(zigzag as u8 | 0x80);
            zigzag >>= 7;
        }
        self.bytes.push(zigzag as u8);
    }

    /// A boolean.
    pub fn boolean(&mut self, value: bool) {
        self.bytes.push(u8::from(value));
    }

    /// A `float`.
    pub fn float(&mut self, number: f32) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// A `double`.
    pub fn double(&mut self, number: f64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// `bytes`, or the UTF-8 of a `string`.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.integer(bytes.len() as i64);
        self.fixed(bytes);
    }

    /// Bytes of a length that the reader knows.
    pub fn fixed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// A value of a union of null and one other type, in this order.
    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.integer(i64::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    /// An array or a map; `None` as soon as an item cannot be written.
    pub fn block<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T) -> Option<()>) -> Option<()> {
        if !items.is_empty() {
            self.integer(items.len() as i64);
            items.iter().try_for_each(|item| write(self, item))?;
        }
        self.integer(0);
        Some(())
    }

    /// An array.
    pub fn array<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        if !items.is_empty() {
            self.integer(items.len() as i64);
            items.iter().for_each(|item| write(self, item));
        }
        self.integer(0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SCHEMA: &str = r#"{"type": "record", "name": "r", "fields": [
        {"name": "number", "type": "long"},
        {"name": "text", "type": ["null", "string"]},
        {"name": "items", "type": {"type": "array", "items": ["null", "long"]}},
        {"name": "map", "type": {"type": "map", "values": "bytes"}},
        {"name": "flag", "type": "boolean"},
        {"name": "narrow", "type": "float"},
        {"name": "wide", "type": "double"},
        {"name": "fixed", "type": {"type": "fixed", "name": "f", "size": 2}}]}"#;

    fn written_by_us(number: i64) -> Vec<u8> {
        let mut writer = DatumWriter::default();
        writer.integer(number);
        writer.optional(Some("ü"), |writer, text| writer.bytes(text.as_bytes()));
        writer.array(&[None, Some(number)], |writer, item| writer.optional(*item, DatumWriter::integer));
        writer.array(&["k"], |writer, key| {
            writer.bytes(key.as_bytes());
            writer.bytes(&[9]);
        });
        writer.boolean(true);
        writer.float(0.5);
        writer.double(-0.25);
        writer.fixed(&[1, 2]);
        writer.into_bytes()
    }

    proptest! {
        /// apache-avro is the independent witness.
        #[test]
        fn another_implementation_reads_what_is_written(number: i64) {
            use apache_avro::types::Value;

            let schema = apache_avro::Schema::parse_str(SCHEMA).unwrap();
            let value = apache_avro::from_avro_datum(&schema, &mut written_by_us(number).as_slice(), None).unwrap();
            let Value::Record(fields) = value else { panic!("expected a record, found {value:?}") };
            let values: Vec<Value> = fields.into_iter().map(|(_, value)| value).collect();
            let optional_long = |value: Option<i64>| match value {
                None => Value::Union(0, Box::new(Value::Null)),
                Some(number) => Value::Union(1, Box::new(Value::Long(number))),
            };
            prop_assert_eq!(&values[0], &Value::Long(number));
            prop_assert_eq!(&values[1], &Value::Union(1, Box::new(Value::String("ü".to_owned()))));
            prop_assert_eq!(&values[2], &Value::Array(vec![optional_long(None), optional_long(Some(number))]));
            prop_assert_eq!(&values[7], &Value::Fixed(2, vec![1, 2]));
        }

        #[test]
        fn what_is_written_is_read(number: i64) {
            let bytes = written_by_us(number);
            let mut reader = DatumReader::new(&bytes);
            let record = reader.datum(&AvroType::parse(SCHEMA).unwrap()).unwrap();
            let expected = Datum::Record(vec![
                Datum::Integer(number),
                Datum::Text("ü"),
                Datum::Items(vec![Datum::Null, Datum::Integer(number)]),
                Datum::Items(vec![Datum::Text("k"), Datum::Bytes(&[9])]),
                Datum::Boolean(true),
                Datum::Float(0.5),
                Datum::Double(-0.25),
                Datum::Bytes(&[1, 2]),
            ]);
            prop_assert_eq!(record, expected);
            prop_assert_eq!(reader.remaining(), 0);
        }

        #[test]
        fn any_bytes_are_a_value_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = DatumReader::new(&bytes).datum(&AvroType::parse(SCHEMA).unwrap());
        }
    }

    #[test]
    fn forged_lengths_are_refused_before_anything_is_taken() {
        let mut writer = DatumWriter::default();
        writer.integer(i64::MAX);
        let forged = writer.into_bytes();
        let array_of_nulls = AvroType::Array(Box::new(AvroType::Null));
        for avro_type in [&AvroType::Bytes, &AvroType::Text, &array_of_nulls, &AvroType::Union(vec![AvroType::Null])] {
            assert!(DatumReader::new(&forged).datum(avro_type).is_err(), "{avro_type:?}");
        }
        assert!(DatumReader::new(&[0xff; 11]).integer().is_err());
        let many_blocks_of_nulls = [100; 1000];
        assert!(DatumReader::new(&many_blocks_of_nulls).datum(&array_of_nulls).is_err());
    }

    #[test]
    fn values_of_no_bytes_are_no_more_than_the_bytes_however_deep() {
        // Each of the 100 inner arrays claims 50 items and ends.
        let mut writer = DatumWriter::default();
        writer.array(&[(); 100], |writer, ()| {
            writer.integer(50);
            writer.integer(0);
        });
        let bytes = writer.into_bytes();
        let nulls = AvroField { name: "n".to_owned(), avro_type: AvroType::Null };
        for nothing in
            [AvroType::Null, AvroType::Fixed(0), AvroType::Record(Vec::new()), AvroType::Record(vec![nulls; 9])]
        {
            let arrays = AvroType::Array(Box::new(AvroType::Array(Box::new(nothing))));
            let error = DatumReader::new(&bytes).datum(&arrays).unwrap_err().to_string();
            assert!(error.contains("fewer NULLs than bytes"), "{error}");
        }
    }
}
