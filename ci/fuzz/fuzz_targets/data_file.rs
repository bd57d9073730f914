//! Any bytes are the rows or the changes of a data file, in each format, or an error; rows can be written and read
//! again.
#![no_main]

use std::cell::OnceCell;

use bytes::Bytes;
use fuzz::{layout_of, tolerate_panics_of_libraries};
use libfuzzer_sys::fuzz_target;
use models::paimon::data_file::{DataFileLayout, FileFormat, decode_changes, decode_rows, encode_changes, encode_rows};

thread_local! {
    static LAYOUTS: OnceCell<[DataFileLayout; 3]> = const { OnceCell::new() };
}

/// Tables of every simple type, of every nested type, and with a key.
fn layouts() -> [DataFileLayout; 3] {
    [
        layout_of(include_bytes!("../../../models/tests/fixtures/warehouse-java-1.4.2/db.db/types/schema/schema-0")),
        layout_of(include_bytes!(
            "../../../models/tests/fixtures/warehouse-java-1.4.2/db.db/nested_key/schema/schema-0"
        )),
        layout_of(include_bytes!("../../../models/tests/fixtures/warehouse-pypaimon-2.1.0/db.db/pk/schema/schema-0")),
    ]
}

fuzz_target!(init: tolerate_panics_of_libraries(), |bytes: &[u8]| {
    let bytes = Bytes::copy_from_slice(bytes);
    let format = if bytes.starts_with(b"Obj") { FileFormat::Avro } else { FileFormat::Parquet };
    LAYOUTS.with(|known| {
        for layout in known.get_or_init(layouts) {
            if let Ok(rows) = decode_rows(layout, format, &bytes)
                && let Ok(again) = encode_rows(layout, format, &rows)
            {
                assert_eq!(decode_rows(layout, format, &again).as_ref(), Ok(&rows));
            }
            if let Ok(changes) = decode_changes(layout, format, &bytes)
                && let Ok(again) = encode_changes(layout, format, &changes)
            {
                assert_eq!(decode_changes(layout, format, &again).as_ref(), Ok(&changes));
            }
        }
    });
});
