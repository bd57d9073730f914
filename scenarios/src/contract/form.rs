//! One row of the table, as it is written: a form of statement and its verdicts. This module never knows a statement's
//! parts.

use std::collections::BTreeSet;

use serde::Deserialize;

/// In which state the query side of a lake-stream table finds the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreState {
    /// It is found and has the table.
    Working,
    /// It does not answer, or nobody listens where the catalog's options say that it is.
    Down,
    /// The catalog's options do not say which store.
    Unset,
    /// The catalog's options name a store that there is none of.
    Unknown,
    /// An option is missing without which the store's client cannot be made.
    Uncreatable,
    /// It works and has no such table.
    Lacking,
}

impl StoreState {
    /// All of them, as the table's columns go.
    pub const ALL: [Self; 6] =
        [Self::Working, Self::Down, Self::Unset, Self::Unknown, Self::Uncreatable, Self::Lacking];
}

/// What a statement comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Succeeds on the lake; the store is neither asked nor opened.
    Lake,
    /// As `Lake`; a system that refuses it for certain is not tested.
    LakeIfAble,
    /// Succeeds in the store, and makes no lake snapshot by itself.
    Store,
    /// As `Store`, or fails by naming the store; never done on the lake.
    StoreIfAble,
    /// Answers with lake and log together.
    Union,
    /// Succeeds and changes nothing.
    Unchanged,
    /// Fails for certain, as something that the contract refuses.
    Rejected,
    /// As `Rejected`, and says that the mode must be turned off first (C3).
    RejectedWithAdvice,
    /// Fails for certain as misconfigured or unavailable, by the store's or its option's name (C14).
    NamesStore,
    /// Fails because the store is away; never as a lookup failure, never by reading something else.
    Unavailable,
    /// Fails for certain: there is no such thing.
    Missing,
    /// Fails for certain, for whatever reason.
    Refused,
    /// The texts are silent: told, not judged.
    Noted,
}

impl Verdict {
    /// The verdict's word in the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Lake => "lake",
            Self::LakeIfAble => "lake-if-able",
            Self::Store => "store",
            Self::StoreIfAble => "store-if-able",
            Self::Union => "union",
            Self::Unchanged => "unchanged",
            Self::Rejected => "rejected",
            Self::RejectedWithAdvice => "rejected-with-advice",
            Self::NamesStore => "names-store",
            Self::Unavailable => "unavailable",
            Self::Missing => "missing",
            Self::Refused => "refused",
            Self::Noted => "noted",
        }
    }
}

/// What a statement should have come to, and by which text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// What it should have come to.
    pub verdict: Verdict,
    /// The property that decides.
    pub property: &'static str,
    /// The rules of the contract behind it.
    pub rules: &'static [u32],
}

/// What a table must be like for a form to make sense on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// It has a primary key.
    Key,
    /// It has no primary key.
    NoKey,
    /// It has partitions.
    Partitions,
}

/// What the name in a statement of the form stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Named {
    /// A table.
    #[default]
    Table,
    /// A view.
    View,
    /// Nothing yet.
    Nothing,
}

/// One form of statement.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// Its name, unique in the table.
    pub name: String,
    /// How people write it, about a table t.
    pub sql: String,
    /// All that a table must be like.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// What its name stands for.
    #[serde(default)]
    pub subject: Named,
    /// The statement, with placeholders.
    pub(super) statement: serde_json::Value,
    /// What it comes to on a table in the mode.
    pub(super) in_the_mode: InTheMode,
    /// What it comes to on any other table.
    pub(super) out_of_the_mode: OutOfTheMode,
}

/// The verdicts in the mode.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InTheMode {
    property: String,
    rules: Vec<u32>,
    #[serde(default)]
    working: Option<Verdict>,
    #[serde(default)]
    down: Option<Verdict>,
    #[serde(default)]
    unset: Option<Verdict>,
    #[serde(default)]
    unknown: Option<Verdict>,
    #[serde(default)]
    uncreatable: Option<Verdict>,
    #[serde(default)]
    lacking: Option<Verdict>,
    /// Where the state has none of its own.
    others: Verdict,
}

impl InTheMode {
    /// What is expected with the store in this state.
    pub(super) fn of(&'static self, store: StoreState) -> Expectation {
        Expectation { verdict: self.verdict(store), property: &self.property, rules: &self.rules }
    }

    fn verdict(&self, store: StoreState) -> Verdict {
        let own = match store {
            StoreState::Working => self.working,
            StoreState::Down => self.down,
            StoreState::Unset => self.unset,
            StoreState::Unknown => self.unknown,
            StoreState::Uncreatable => self.uncreatable,
            StoreState::Lacking => self.lacking,
        };
        own.unwrap_or(self.others)
    }

    /// The verdicts that are not the one of all others, by state.
    pub(super) fn own(&self) -> impl Iterator<Item = (StoreState, Verdict)> {
        StoreState::ALL
            .into_iter()
            .map(|store| (store, self.verdict(store)))
            .filter(|(_, verdict)| *verdict != self.others)
    }

    /// The verdict of all other states.
    pub(super) fn others(&self) -> Verdict {
        self.others
    }
}

/// The verdict out of the mode: a word, where nothing but C8 decides.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum OutOfTheMode {
    /// As ever (C8).
    AsEver(Verdict),
    /// Another property decides.
    Else(Outside),
}

/// A verdict out of the mode that another property than C8 decides.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Outside {
    verdict: Verdict,
    property: String,
    rules: Vec<u32>,
}

impl OutOfTheMode {
    /// What is expected.
    pub(super) fn expectation(&'static self) -> Expectation {
        match self {
            Self::AsEver(verdict) => Expectation { verdict: *verdict, property: "C8", rules: &[13, 37] },
            Self::Else(outside) => {
                Expectation { verdict: outside.verdict, property: &outside.property, rules: &outside.rules }
            }
        }
    }
}

/// The whole table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    form: Vec<Form>,
}

/// The table from its text. The error is one sentence that names the file and the line or the form.
pub(super) fn parse(file: &str, text: &str) -> Result<Vec<Form>, String> {
    let written: Written = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text[..offset].matches('\n').count() + 1;
        format!("{file}, line {line}: {}", error.message().replace('\n', ", "))
    })?;
    let mut names = BTreeSet::new();
    for form in &written.form {
        if !names.insert(&form.name) {
            return Err(format!("{file}: expected each form to have a name of its own, found {:?} twice", form.name));
        }
        if form.in_the_mode.rules.is_empty() {
            return Err(format!("{file}: expected the rules that decide about form {:?}, found none", form.name));
        }
    }
    Ok(written.form)
}
