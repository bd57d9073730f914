//! The layout that a write is planned against: what DESCRIBE shows and INSERT brings back (rules 43–45, C13).
//!
//! A token is one hash for each kind of thing that a layout is made of, so a mismatch can be named by its kind. It must
//! never hold or tell an option's value: values may be secrets (rule 44).

use std::fmt;
use std::str::FromStr;

use xxhash_rust::xxh3::xxh3_64;

use crate::contract::{BUCKET_KEY, Failure, StoreTable, TablePath, TableSchema};
use crate::defects::Defect;
use crate::paimon::PaimonTable;
use crate::paimon::schema_rules::IMMUTABLE_OPTIONS;

use super::client::Client;

const VERSION: &str = "layout-1";
/// Options that the definition says otherwise: as keys and as buckets.
const SAID_ELSEWHERE: [&str; 3] = [BUCKET_KEY, "primary-key", "partition"];

/// The physical layout of one definition of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LayoutToken {
    /// Count, order, names and types; ids of nested fields are none of it.
    columns: u64,
    /// The primary key and the partition keys.
    keys: u64,
    /// The number of buckets and the columns that they are computed from.
    buckets: u64,
    /// The options that never change.
    options: u64,
}

impl LayoutToken {
    /// The layout of a definition.
    pub(super) fn of(schema: &TableSchema) -> Self {
        let columns: Vec<(&str, String)> =
            schema.columns.iter().map(|column| (column.name.as_str(), column.data_type.to_string())).collect();
        let bucket_key: Vec<&str> =
            schema.bucket_key_positions().into_iter().map(|position| schema.columns[position].name.as_str()).collect();
        let options: Vec<(&String, &String)> = schema
            .options
            .iter()
            .filter(|(key, _)| IMMUTABLE_OPTIONS.contains(&key.as_str()) && !SAID_ELSEWHERE.contains(&key.as_str()))
            .collect();
        Self {
            columns: hash(&columns),
            keys: hash(&(&schema.primary_key, &schema.partition_keys)),
            buckets: hash(&(schema.bucket_count(), schema.bucket_count().map(|_| bucket_key))),
            options: hash(&options),
        }
    }

    /// What is different in another layout, by kind.
    fn differences(&self, other: &Self) -> Vec<&'static str> {
        let kinds = [
            ("columns", self.columns == other.columns),
            ("keys", self.keys == other.keys),
            ("buckets", self.buckets == other.buckets),
            ("fixed options", self.options == other.options),
        ];
        kinds.into_iter().filter(|(_, is_same)| !is_same).map(|(kind, _)| kind).collect()
    }
}

/// Debug text tells lengths and quotes what it holds, so no two values have the same.
fn hash(part: &impl fmt::Debug) -> u64 {
    xxh3_64(format!("{part:?}").as_bytes())
}

impl fmt::Display for LayoutToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { columns, keys, buckets, options } = self;
        write!(formatter, "{VERSION}:{columns:016x}:{keys:016x}:{buckets:016x}:{options:016x}")
    }
}

impl FromStr for LayoutToken {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let mut parts = text.split(':');
        let is_ours = parts.next() == Some(VERSION);
        let hash = |part: &str| {
            let is_hash = part.len() == 16 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
            u64::from_str_radix(part, 16).ok().filter(|_| is_hash)
        };
        let hashes: Option<Vec<u64>> = parts.map(hash).collect();
        match (is_ours, hashes.as_deref()) {
            (true, Some([columns, keys, buckets, options])) => {
                Ok(Self { columns: *columns, keys: *keys, buckets: *buckets, options: *options })
            }
            _ => Err(Failure::invalid("expected a layout as DESCRIBE shows it, found another text")),
        }
    }
}

impl Client {
    /// `rejected` if the write was planned against another layout than the lake has, or, in the mode, the store. The
    /// store may spell options in its own way, so it is held against columns, keys and buckets.
    pub(super) fn check_layout(
        &self,
        table: &PaimonTable,
        store_table: Option<&StoreTable>,
        planned: Option<&str>,
    ) -> Result<(), Failure> {
        let Some(planned) = planned else { return Ok(()) };
        let planned: LayoutToken = planned.parse()?;
        // Planted bug stale-layout-accepted: the write goes on with whatever it was planned against.
        if self.lake.defects.has(Defect::StaleLayoutAccepted) {
            return Ok(());
        }
        let refuse = |side: &str, schema: &TableSchema, differences: Vec<&str>| {
            if differences.is_empty() {
                return Ok(());
            }
            let failure = stale(table.path(), side, &differences);
            // Planted bug layout-message-leaks-options: the whole definition is printed.
            if self.lake.defects.has(Defect::LayoutMessageLeaksOptions) {
                return Err(Failure { message: format!("{}: {schema:?}", failure.message), ..failure });
            }
            Err(failure)
        };
        refuse("on the lake", table.schema(), planned.differences(&LayoutToken::of(table.schema())))?;
        let Some(store_table) = store_table else { return Ok(()) };
        let present = LayoutToken { options: planned.options, ..LayoutToken::of(&store_table.schema) };
        refuse("in the store", &store_table.schema, planned.differences(&present))
    }
}

fn stale(table: &TablePath, side: &str, differences: &[&str]) -> Failure {
    Failure::rejected(format!(
        "the write was planned against another layout of `{table}` than it has {side} now, with other {}: describe the \
         table and plan it again",
        differences.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(columns: &str, rest: &str) -> TableSchema {
        serde_json::from_str(&format!(r#"{{"columns":{columns},{rest}}}"#)).unwrap()
    }

    const COLUMNS: &str = r#"[{"name":"id","type":"BIGINT"},{"name":"v","type":"INT"}]"#;
    const REST: &str = r#""primary_key":["id"],"options":{"bucket":"2","merge-engine":"deduplicate","secret":"S"}"#;

    #[test]
    fn a_mismatch_is_named_by_its_kind() {
        let planned = LayoutToken::of(&schema(COLUMNS, REST));
        for (columns, rest, differences) in [
            (COLUMNS, REST.replace("\"S\"", "\"T\""), &[] as &[&str]),
            (r#"[{"name":"v","type":"INT"},{"name":"id","type":"BIGINT"}]"#, REST.to_owned(), &["columns"]),
            (r#"[{"name":"id","type":"BIGINT"},{"name":"v","type":"BIGINT"}]"#, REST.to_owned(), &["columns"]),
            (COLUMNS, REST.replace("\"2\"", "\"3\""), &["buckets"]),
            (COLUMNS, REST.replace("\"id\"", "\"v\""), &["keys", "buckets"]),
            (COLUMNS, REST.replace("deduplicate", "first-row"), &["fixed options"]),
        ] {
            let present = LayoutToken::of(&schema(columns, &rest));
            assert_eq!(planned.differences(&present), differences, "{columns} {rest}");
        }
    }

    #[test]
    fn a_token_is_read_back_and_nothing_else_is() {
        let token = LayoutToken::of(&schema(COLUMNS, REST));
        assert_eq!(token.to_string().parse::<LayoutToken>(), Ok(token));
        let text = token.to_string();
        for other in [
            "",
            "described",
            "layout-1:1:2:3",
            &format!("{text}:0"),
            &format!("{text}:zz"),
            &format!("layout-1{}", ":+000000000000001".repeat(4)),
            &text.replace("layout-1", "layout-2"),
        ] {
            assert!(other.parse::<LayoutToken>().is_err(), "{other}");
        }
    }
}
