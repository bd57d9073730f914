//! A call as a plan names it: by who calls, about which table, what, and the how-manieth time (rule 2).

use std::fmt;
use std::str::FromStr;

use models::contract::TablePath;
use serde::{Deserialize, Serialize};

/// A call by its meaning: `tiering(db.t).store.register-lake-snapshot#3` is the third registration of db.t by any
/// tiering worker. Counted within (caller, table, call), from 1.
///
/// The caller is a session's name, `tiering` (all tasks of all workers together), `coordinator`, `maintenance` or
/// `compactor`. The call is `part.method`: the part is `store`, `coordinator`, `lake`, `tiering` (another task of the same
/// worker) or, with a JDBC catalog, `metastore`; a method of the lake ends in what it is done to, as in `lake.put-data`,
/// `lake.put-manifest`, `lake.put-manifest-list`, `lake.put-snapshot` (the commit), `lake.put-hint`, `lake.get-data`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CallAddress {
    /// Who calls.
    pub caller: String,
    /// About which table; `None` for calls that are about none.
    pub table: Option<TablePath>,
    /// `part.method`.
    pub call: String,
    /// Which one, from 1.
    pub nth: u64,
}

impl CallAddress {
    /// The part that is called.
    pub fn called(&self) -> Option<&str> {
        self.call.split_once('.').map(|(part, _)| part)
    }
}

impl fmt::Display for CallAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.table {
            Some(table) => write!(formatter, "{}({table}).{}#{}", self.caller, self.call, self.nth),
            None => write!(formatter, "{}.{}#{}", self.caller, self.call, self.nth),
        }
    }
}

impl FromStr for CallAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || {
            format!(
                "expected a call as caller(database.table).part.method#n, like tiering(db.t).lake.put-snapshot#2, found {text:?}"
            )
        };
        let (path, nth) = text.rsplit_once('#').ok_or_else(malformed)?;
        let nth = nth.parse().ok().filter(|nth| *nth > 0).ok_or_else(malformed)?;
        let (caller, table, call) = match path.split_once('(') {
            Some((caller, rest)) => {
                let (table, call) = rest.split_once(").").ok_or_else(malformed)?;
                (caller, Some(table.parse().map_err(|_| malformed())?), call)
            }
            None => {
                let (caller, call) = path.split_once('.').ok_or_else(malformed)?;
                (caller, None, call)
            }
        };
        if caller.is_empty() || !call.contains('.') {
            return Err(malformed());
        }
        Ok(Self { caller: caller.to_owned(), table, call: call.to_owned(), nth })
    }
}

impl TryFrom<String> for CallAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<CallAddress> for String {
    fn from(address: CallAddress) -> Self {
        address.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_addressed_by_meaning() {
        for text in [
            "tiering(db.t).store.register-lake-snapshot#3",
            "w1(db.t).lake.get-data#12",
            "tiering.coordinator.request-table#1",
        ] {
            assert_eq!(text.parse::<CallAddress>().unwrap().to_string(), text);
        }
        for text in [
            "tiering(db.t).register#3",
            "tiering(db).store.append#1",
            "w1(db.t).store.append#0",
            "store.append",
            ".store.x#1",
        ] {
            assert!(text.parse::<CallAddress>().unwrap_err().contains("expected a call as"), "{text}");
        }
    }
}
