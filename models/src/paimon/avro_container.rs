//! Avro object container files, written the same way every time.
