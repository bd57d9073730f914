//! From a row to its bucket: whether rows have a bucket of their own at all, and which one it is.
//!
//! Everything that places or looks for rows (writers, filters, the integrity check) asks here, so that they cannot
//! disagree. Nothing here knows what a bucket holds.

use crate::contract::{BUCKET, DataType, Failure, FailureCode, Row, TableSchema, Value};

use super::{FormatError, FormatResult, binary_row};

/// The option that names the function.
pub(super) const BUCKET_FUNCTION_TYPE: &str = "bucket-function.type";

/// How a table's rows are spread over buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BucketMode {
    /// So many buckets, and the row's key says which.
    Fixed(u32),
    /// An append table without buckets: everything is in bucket 0.
    Unaware,
    /// A key table whose writers keep an index of which key is in which bucket. It can be read, not written.
    Dynamic,
    /// A key table whose new rows wait in a bucket of their own until a compaction spreads them. It can be read as far
    /// as they are spread, not written.
    Postponed,
}

impl BucketMode {
    /// The mode of a table. A definition that validation refuses counts as bucket-unaware.
    pub(super) fn of(schema: &TableSchema) -> Self {
        let declared = schema.options.get(BUCKET).map_or("-1", String::as_str);
        match schema.bucket_count() {
            Some(count) => Self::Fixed(count),
            None if schema.has_primary_key() && declared == "-2" => Self::Postponed,
            None if schema.has_primary_key() => Self::Dynamic,
            None => Self::Unaware,
        }
    }

    /// `unsupported` for a table whose buckets only another implementation can fill: which key is in which bucket is
    /// kept in an index that does not exist here, so a key would end up in two.
    pub(super) fn check_writable(self) -> Result<(), Failure> {
        let (found, kind) = match self {
            Self::Fixed(_) | Self::Unaware => return Ok(()),
            Self::Dynamic => (-1, "dynamic"),
            Self::Postponed => (-2, "postponed"),
        };
        Err(Failure::definite(
            FailureCode::Unsupported,
            format!(
                "expected a primary-key table with a fixed number of buckets to write to, found {kind} buckets \
                 (option `{BUCKET}` is {found})"
            ),
        ))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Paimon's hash of the bucket key as a binary row.
    Hash,
    /// The bucket key itself, an integer, modulo the number of buckets.
    Modulo,
}

/// The function from the rows of one schema to buckets.
#[derive(Clone, Debug)]
pub(super) struct BucketFunction {
    mode: BucketMode,
    kind: Kind,
    key_positions: Box<[usize]>,
    key_types: Box<[DataType]>,
}

impl BucketFunction {
    /// The function of a table.
    pub(super) fn of(schema: &TableSchema) -> Self {
        let key_positions = schema.bucket_key_positions();
        let named = schema.options.get(BUCKET_FUNCTION_TYPE);
        let kind = if named.is_some_and(|name| name.eq_ignore_ascii_case("mod")) { Kind::Modulo } else { Kind::Hash };
        Self {
            mode: BucketMode::of(schema),
            kind,
            key_types: key_positions.iter().map(|position| schema.columns[*position].data_type.clone()).collect(),
            key_positions: key_positions.into(),
        }
    }

    /// How the table's rows are spread.
    pub(super) fn mode(&self) -> BucketMode {
        self.mode
    }

    /// The positions of the bucket key within a row.
    pub(super) fn key_positions(&self) -> &[usize] {
        &self.key_positions
    }

    /// The bucket of a row, 0 .. `bucket_count` (exclusive).
    pub(super) fn bucket_of_row(&self, row: &Row, bucket_count: u32) -> FormatResult<u32> {
        self.bucket_of_key(&row.project(&self.key_positions), bucket_count)
    }

    /// The bucket of the rows with this bucket key, 0 .. `bucket_count` (exclusive).
    pub(super) fn bucket_of_key(&self, key: &Row, bucket_count: u32) -> FormatResult<u32> {
        match self.kind {
            Kind::Hash => binary_row::bucket_of(&self.key_types, key, bucket_count),
            Kind::Modulo => match key.cells() {
                _ if bucket_count == 0 => Err(FormatError::new("expected 1 or more buckets, found 0")),
                // A NULL is read as the zero that its place in a binary row holds.
                [Value::Null] => Ok(0),
                [Value::Int(number)] => Ok(number.rem_euclid(i64::from(bucket_count)) as u32),
                found => Err(FormatError::new(format!("expected one integer as the bucket key, found {found:?}"))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{BUCKET_KEY, Column};

    fn table(primary_key: bool, options: &[(&str, &str)]) -> TableSchema {
        TableSchema {
            columns: vec![Column { name: "id".to_owned(), data_type: DataType::BigInt, nullable: true }],
            primary_key: if primary_key { vec!["id".to_owned()] } else { Vec::new() },
            partition_keys: Vec::new(),
            options: options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        }
    }

    #[test]
    fn a_modulo_bucket_is_the_keys_own_remainder() {
        let modulo = table(false, &[(BUCKET, "5"), (BUCKET_KEY, "id"), (BUCKET_FUNCTION_TYPE, "mod")]);
        let function = BucketFunction::of(&modulo);
        let bucket = |cell| function.bucket_of_row(&Row::new(vec![cell]), 5);
        for (key, expected) in [(17, 2), (-3, 2), (5, 0), (i64::MIN, 2)] {
            assert_eq!(bucket(Value::Int(key)), Ok(expected), "{key}");
        }
        assert_eq!(bucket(Value::Null), Ok(0));
        assert!(bucket(Value::string("x")).is_err());
        assert!(function.bucket_of_row(&Row::new(vec![Value::Int(1)]), 0).is_err());
    }

    #[test]
    fn a_hashed_bucket_is_the_hash_of_the_binary_row() {
        let function = BucketFunction::of(&table(true, &[(BUCKET, "3")]));
        let key = Row::new(vec![Value::Int(7)]);
        assert_eq!(function.bucket_of_row(&key, 3), binary_row::bucket_of(&[DataType::BigInt], &key, 3));
    }

    #[test]
    fn only_buckets_that_rows_choose_themselves_can_be_written() {
        for (primary_key, bucket, expected, writable) in [
            (true, "2", BucketMode::Fixed(2), true),
            (false, "-1", BucketMode::Unaware, true),
            (true, "-1", BucketMode::Dynamic, false),
            (true, "-2", BucketMode::Postponed, false),
        ] {
            let mode = BucketMode::of(&table(primary_key, &[(BUCKET, bucket)]));
            assert_eq!((mode, mode.check_writable().is_ok()), (expected, writable));
        }
    }
}
