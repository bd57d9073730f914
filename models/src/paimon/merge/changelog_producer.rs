//! Who writes a table's changelog files.

/// Who writes changelog files (Paimon's option `changelog-producer`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangelogProducer {
    /// Nobody.
    None,
    /// The writer: the changes as they come in.
    Input,
    /// A full compaction: the difference of its result and the one before.
    FullCompaction,
    /// A compaction that takes level 0 up: the difference that these changes make.
    Lookup,
}

impl ChangelogProducer {
    /// The option's name.
    pub(in super::super) const OPTION: &'static str = "changelog-producer";
    /// The option's values; the first is the default.
    pub(super) const CHOICES: [(&'static str, Self); 4] = [
        ("none", Self::None),
        ("input", Self::Input),
        ("full-compaction", Self::FullCompaction),
        ("lookup", Self::Lookup),
    ];
}
