//! Stand-in.
/// x
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property {
    /// x
    pub id: &'static str,
    /// x
    pub family: &'static str,
    /// x
    pub statement: &'static str,
    /// x
    pub judged: bool,
}
/// x
pub const ALL: &[Property] = &[
    Property {
        id: "F1",
        family: "freshness",
        statement: "A completed `t$rt` read invoked at least `rt_staleness` after an ack shows that write or one that supersedes it.",
        judged: true,
    },
    Property {
        id: "L3",
        family: "no loss",
        statement: "No row appears twice: in the lake, in the union read, across the hand-off.",
        judged: true,
    },
    Property { id: "C19", family: "rejection", statement: "On the store side.", judged: false },
];
