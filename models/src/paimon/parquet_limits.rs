//! What a Parquet file may cost, held against what its pages claim before any of them is read.
//!
//! The library believes a page's header: it sets memory aside for as many bytes and dictionary entries as are claimed,
//! and gives as many NULLs. So every header of a column chunk is read here first, in the few fields that matter, and
//! what it claims is taken from an allowance in proportion to the file. What values mean is not known here.

use bytes::Bytes;
use parquet::file::metadata::ColumnChunkMetaData;

use crate::contract::Value;

use super::{FormatError, FormatResult};

/// What a small file may cost: well-packed columns are far longer than their bytes.
const BASE_BYTES: u64 = 64 << 20;
/// What each byte of a file may cost besides.
const BYTES_PER_FILE_BYTE: u64 = 256;
/// What a value costs, NULL or not.
const BYTES_PER_VALUE: u64 = size_of::<Value>() as u64;
/// Page headers hold structures in structures in structures, and no deeper.
const MAX_DEPTH: usize = 8;

/// A file and what is left of its allowance.
pub(super) struct ParquetLimits<'a> {
    file: &'a Bytes,
    left: u64,
    rows: usize,
}

/// What a page's header says.
#[derive(Debug, Default, PartialEq, Eq)]
struct PageClaims {
    unpacked_bytes: u64,
    stored_bytes: usize,
    values: u64,
    is_dictionary: bool,
}

impl<'a> ParquetLimits<'a> {
    /// The limits of a file of which nothing was read yet.
    pub fn of(file: &'a Bytes) -> Self {
        Self { file, left: BASE_BYTES + BYTES_PER_FILE_BYTE * file.len() as u64, rows: 0 }
    }

    /// A row group of so many rows begins; returns how many they are.
    pub fn begin_row_group(&mut self, rows: i64) -> FormatResult<usize> {
        self.rows =
            usize::try_from(rows).map_err(|_| FormatError::new(format!("expected a row count, found {rows}")))?;
        self.spend((self.rows as u64).saturating_mul(BYTES_PER_VALUE))?;
        Ok(self.rows)
    }

    /// How many rows each column of the row group has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Takes so many bytes from what the file may still cost.
    pub fn spend(&mut self, bytes: u64) -> FormatResult<()> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(FormatError::new(format!(
                "expected a Parquet file of {} bytes to unpack to {} bytes at most, found that it claims more",
                self.file.len(),
                BASE_BYTES + BYTES_PER_FILE_BYTE * self.file.len() as u64
            ))),
        }
    }

    /// Holds the pages of a column chunk against the allowance.
    pub fn check_pages(&mut self, chunk: &ColumnChunkMetaData) -> FormatResult<()> {
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        let length = chunk.compressed_size();
        // Also: the library asserts that the place is possible.
        let place = usize::try_from(start).ok().zip(usize::try_from(length).ok());
        let bytes = place.and_then(|(start, length)| self.file.get(start..start.checked_add(length)?));
        let mut rest = bytes.ok_or_else(|| {
            FormatError::new(format!(
                "expected a column chunk's place in the file, found {length} bytes from {start} on"
            ))
        })?;
        while !rest.is_empty() {
            let mut header = Header { rest };
            let claims = header.page().ok_or_else(|| {
                let position = self.file.len() - rest.len();
                FormatError::new(format!(
                    "expected the header of a Parquet page, found bytes that are none ({position})"
                ))
            });
            let claims = claims?;
            // Each entry of a dictionary takes a byte or more.
            if claims.is_dictionary && claims.values > claims.unpacked_bytes {
                return Err(FormatError::new(format!(
                    "expected at most {} entries in a dictionary of so many bytes, found {}",
                    claims.unpacked_bytes, claims.values
                )));
            }
            self.spend(claims.unpacked_bytes.saturating_add(claims.values.saturating_mul(BYTES_PER_VALUE)))?;
            rest = header.rest.get(claims.stored_bytes..).ok_or_else(|| {
                let (expected, found) = (claims.stored_bytes, header.rest.len());
                FormatError::new(format!("expected a Parquet page of {expected} bytes, found {found}"))
            })?;
        }
        Ok(())
    }
}

/// Reads a page's header, written in Thrift's compact protocol. `None` is for bytes that are none.
pub(super) struct Header<'a> {
    /// What was not read yet.
    pub rest: &'a [u8],
}

impl Header<'_> {
    fn page(&mut self) -> Option<PageClaims> {
        let mut claims = PageClaims::default();
        let mut last = 0;
        while let Some((field, kind)) = self.field(last)? {
            match (field, kind) {
                (2, 5) => claims.unpacked_bytes = u64::try_from(self.integer()?).ok()?,
                (3, 5) => claims.stored_bytes = usize::try_from(self.integer()?).ok()?,
                // The headers of a data page, a dictionary page and a newer data page.
                (5 | 7 | 8, 12) => {
                    claims.is_dictionary |= field == 7;
                    claims.values = claims.values.max(self.value_count()?);
                }
                _ => self.skip(kind, MAX_DEPTH)?,
            }
            last = field;
        }
        Some(claims)
    }

    /// The number of values, which each kind of page has as its first field.
    fn value_count(&mut self) -> Option<u64> {
        let (mut count, mut last) = (0, 0);
        while let Some((field, kind)) = self.field(last)? {
            match (field, kind) {
                (1, 5) => count = u64::try_from(self.integer()?).ok()?,
                _ => self.skip(kind, MAX_DEPTH)?,
            }
            last = field;
        }
        Some(count)
    }

    /// The number and kind of the next field; `Some(None)` at the end of a structure.
    fn field(&mut self, last: i64) -> Option<Option<(i64, u8)>> {
        let head = self.byte()?;
        match (head >> 4, head & 0x0f) {
            (_, 0) => Some(None),
            (0, kind) => Some(Some((self.integer()?, kind))),
            (step, kind) => Some(Some((last.checked_add(step.into())?, kind))),
        }
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            // Booleans, whose value is their kind.
            1 | 2 => Some(()),
            3 => self.byte().map(|_| ()),
            4..=6 => self.integer().map(|_| ()),
            7 => self.leave(8),
            8 => {
                let length = usize::try_from(self.number()?).ok()?;
                self.leave(length)
            }
            12 => {
                let depth = depth.checked_sub(1)?;
                let mut last = 0;
                while let Some((field, kind)) = self.field(last)? {
                    self.skip(kind, depth)?;
                    last = field;
                }
                Some(())
            }
            // Page headers have no lists, sets or maps.
            _ => None,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    /// Passes over so many bytes.
    pub fn leave(&mut self, length: usize) -> Option<()> {
        self.rest = self.rest.get(length..)?;
        Some(())
    }

    /// Seven bits a byte, low bits first.
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// The same, the sign in the lowest bit.
    fn integer(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::FileReader;
    use parquet::file::serialized_reader::SerializedFileReader;

    use super::super::avro_datum::DatumWriter;
    use super::super::data_file::FileColumn;
    use super::super::parquet_file::{decode, encode};
    use super::*;
    use crate::contract::DataType;

    const ROWS: usize = 500;

    fn column() -> FileColumn {
        FileColumn { name: "c".to_owned(), field_id: 0, data_type: DataType::BigInt, nullable: true }
    }

    /// A page's header: its kind (0 data, 2 dictionary), its sizes, and how many values it claims, all plain.
    fn header(kind: i64, unpacked: i64, stored: i64, values: i64) -> Vec<u8> {
        let mut header = DatumWriter::default();
        // Thrift's integers are Avro's. Each is preceded by its kind and the step from the field before.
        for (field, number) in [(0x15, kind), (0x15, unpacked), (0x15, stored)] {
            header.fixed(&[field]);
            header.integer(number);
        }
        header.fixed(&[if kind == 0 { 0x2c } else { 0x4c }]);
        // Values, encoding, and for a data page the encodings of its levels, which are runs.
        for (field, number) in [(0x15, values), (0x15, 0), (0x15, 3), (0x15, 3)].into_iter().take(4 - kind as usize) {
            header.fixed(&[field]);
            header.integer(number);
        }
        header.fixed(&[0, 0]);
        header.into_bytes()
    }

    /// A file of one row group of [`ROWS`] rows, whose pages are replaced by these bytes and zeros after them.
    fn forged(page: impl Fn(usize) -> Vec<u8>) -> FormatResult<usize> {
        let cells: Vec<Value> = (0..ROWS).map(|number| Value::Int(number as i64)).collect();
        let mut file = encode(&[column()], &[cells.iter().collect()]).unwrap().to_vec();
        let read = SerializedFileReader::new(Bytes::from(file.clone())).unwrap();
        let chunk = read.metadata().row_group(0).column(0);
        let (start, length) = (chunk.data_page_offset() as usize, chunk.compressed_size() as usize);
        let mut pages = page(length);
        assert!(pages.len() <= length);
        pages.resize(length, 0);
        file[start..start + length].copy_from_slice(&pages);
        decode(&[column()], &Bytes::from(file)).map(|(_, count)| count)
    }

    /// A data page that fills the column chunk, of so many NULLs as one run.
    fn nulls(claimed: i64) -> impl Fn(usize) -> Vec<u8> {
        move |length| {
            let stored = (length - header(0, 4000, 4000, claimed).len()) as i64;
            let mut run = DatumWriter::default();
            // The run's length above its lowest bit, as an unsigned number; then its level.
            run.integer(claimed);
            run.fixed(&[0]);
            let run = run.into_bytes();
            [header(0, stored, stored, claimed), (run.len() as u32).to_le_bytes().to_vec(), run].concat()
        }
    }

    fn refusal(page: impl Fn(usize) -> Vec<u8>) -> String {
        forged(page).unwrap_err().to_string()
    }

    #[test]
    fn a_page_has_as_many_nulls_as_its_row_group_has_rows() {
        assert_eq!(forged(nulls(ROWS as i64)).unwrap(), ROWS);
        assert_eq!(refusal(nulls(100_000)), "expected 500 cells in column `c` of a row group, found more");
        assert!(refusal(nulls(100)).contains("expected 500 cells"));
    }

    #[test]
    fn what_pages_claim_is_refused_before_it_is_taken() {
        let most = i64::from(i32::MAX);
        assert!(refusal(nulls(most)).contains("found that it claims more"));
        assert!(refusal(|_| header(0, most, 100, 1)).contains("found that it claims more"));
        assert!(refusal(|_| header(2, 100, 100, 101)).contains("at most 100 entries in a dictionary"));
        assert!(refusal(|_| header(0, 100, most, 1)).contains("expected a Parquet page of 2147483647 bytes"));
        assert!(refusal(|_| header(0, -1, 100, 1)).contains("expected the header of a Parquet page"));
        assert!(refusal(|_| vec![0x1c; 100]).contains("expected the header of a Parquet page"), "depth is bounded");
    }

    #[test]
    fn rows_of_no_columns_are_refused_too() {
        let file = Bytes::new();
        assert!(ParquetLimits::of(&file).begin_row_group(i64::MAX).is_err());
        assert!(ParquetLimits::of(&file).begin_row_group(-1).is_err());
    }

    #[test]
    fn a_header_is_read_past_what_does_not_matter() {
        // A checksum between the sizes and the page's own header, whose statistics are skipped.
        let bytes = [
            0x15, 0, 0x15, 20, 0x15, 10, 0x15, 7, 0x1c, 0x15, 6, 0x3c, 0x18, 2, b'a', b'b', 0x11, 0x13, 9, 0x17, 1, 2,
            3, 4, 5, 6, 7, 8, 0, 0, 0, 99,
        ];
        let mut header = Header { rest: &bytes };
        let claims = PageClaims { unpacked_bytes: 10, stored_bytes: 5, values: 3, is_dictionary: false };
        assert_eq!(header.page(), Some(claims));
        assert_eq!(header.rest, [99]);
    }
}
