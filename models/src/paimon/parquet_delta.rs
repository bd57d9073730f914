//! Pages of byte arrays whose lengths are stored as differences, checked before the library unpacks them.
//!
//! Such lengths begin with how many they are, and the library sets memory aside for as many, whatever the page says.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;

use super::parquet_limits::Header;

/// The pages of a column chunk, each of them checked.
pub(super) struct CheckedPages {
    pages: Box<dyn PageReader>,
    /// How many kinds of levels stand before the values of an older page.
    level_kinds: usize,
}

impl CheckedPages {
    /// These pages of this column.
    pub fn new(pages: Box<dyn PageReader>, stored: &ColumnDescriptor) -> Self {
        let level_kinds = usize::from(stored.max_def_level() > 0) + usize::from(stored.max_rep_level() > 0);
        Self { pages, level_kinds }
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page
            && lengths_are_too_many(page, self.level_kinds)
        {
            let sentence = "expected as many lengths as a page has values, found more";
            return Err(ParquetError::General(sentence.to_owned()));
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

/// Whether a page claims more lengths than values. Where it cannot be read, the library fails before it takes memory.
fn lengths_are_too_many(page: &Page, level_kinds: usize) -> bool {
    let lists = match page.encoding() {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        // The lengths of what is shared with the value before, then those of the rest.
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => return false,
    };
    let Some(mut rest) = values_of(page, level_kinds) else { return true };
    for _ in 0..lists {
        match leave_integers(rest, page.num_values().into()) {
            Some(Ok(after)) => rest = after,
            Some(Err(_)) => return true,
            None => return false,
        }
    }
    false
}

/// A page's bytes after its levels.
fn values_of(page: &Page, level_kinds: usize) -> Option<&[u8]> {
    match page {
        Page::DataPage { buf, def_level_encoding, rep_level_encoding, .. } => {
            let mut rest = &buf[..];
            if level_kinds > 0 && [def_level_encoding, rep_level_encoding] != [&Encoding::RLE; 2] {
                // No writer that has these lengths packs levels the oldest way.
                return None;
            }
            for _ in 0..level_kinds {
                let (length, after) = rest.split_first_chunk()?;
                rest = after.get(usize::try_from(u32::from_le_bytes(*length)).ok()?..)?;
            }
            Some(rest)
        }
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            buf.get(usize::try_from(def_levels_byte_len.checked_add(*rep_levels_byte_len)?).ok()?..)
        }
        Page::DictionaryPage { .. } => None,
    }
}

/// More integers than there may be.
struct TooMany;

/// What comes after a list of integers stored as differences; `None` if the list is broken.
fn leave_integers(bytes: &[u8], most: u64) -> Option<Result<&[u8], TooMany>> {
    let mut list = Header { rest: bytes };
    let (block, parts, count) = (list.number()?, list.number()?, list.number()?);
    list.number()?;
    if count > most {
        return Some(Err(TooMany));
    }
    let part_length = block.checked_div(parts).filter(|length| *length > 0)?;
    // The first integer stands before the blocks.
    let mut left = count.saturating_sub(1);
    while left > 0 {
        list.number()?;
        let widths = list.rest.get(..usize::try_from(parts).ok()?)?;
        list.leave(widths.len())?;
        for width in widths {
            if left == 0 {
                break;
            }
            list.leave(usize::try_from(part_length.checked_mul(u64::from(*width))? / 8).ok()?)?;
            left = left.saturating_sub(part_length);
        }
    }
    Some(Ok(list.rest))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn page(encoding: Encoding, num_values: u32, values: &[u8]) -> Page {
        Page::DataPageV2 {
            buf: Bytes::copy_from_slice(&[&[9, 9, 9], values].concat()),
            num_values,
            encoding,
            num_nulls: 0,
            num_rows: num_values,
            def_levels_byte_len: 3,
            rep_levels_byte_len: 0,
            is_compressed: false,
            statistics: None,
        }
    }

    /// A list of so many lengths, as far as 33 of them need: blocks of 128 in 4 parts, 5 bits a difference.
    fn lengths(count: u8) -> Vec<u8> {
        let mut list = vec![0x80, 1, 4, count, 0];
        if count > 1 {
            list.extend_from_slice(&[0, 5, 0, 0, 0]);
            list.extend_from_slice(&[0; 20]);
        }
        list
    }

    #[test]
    fn lengths_are_as_many_as_values() {
        let (one, two) = (Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY);
        assert!(!lengths_are_too_many(&page(one, 33, &lengths(33)), 1));
        assert!(lengths_are_too_many(&page(one, 32, &lengths(33)), 1));
        let shared = |second: u8| [lengths(33), lengths(second)].concat();
        assert!(!lengths_are_too_many(&page(two, 33, &shared(33)), 1));
        assert!(lengths_are_too_many(&page(two, 33, &shared(34)), 1));
        assert!(lengths_are_too_many(&page(two, 1, &shared(1)), 1));
        assert!(!lengths_are_too_many(&page(Encoding::PLAIN, 1, &shared(33)), 1));
    }

    #[test]
    fn lengths_stand_after_the_levels_of_older_pages() {
        let mut values = vec![2, 0, 0, 0, 7, 7];
        values.extend_from_slice(&lengths(33));
        let page = |num_values| Page::DataPage {
            buf: Bytes::copy_from_slice(&values),
            num_values,
            encoding: Encoding::DELTA_LENGTH_BYTE_ARRAY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        assert!(!lengths_are_too_many(&page(33), 1));
        assert!(lengths_are_too_many(&page(32), 1));
    }
}
