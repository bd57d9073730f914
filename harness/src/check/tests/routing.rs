//! C15.

use super::story::Story;

#[test]
fn c15_regular_writes_reach_the_lake_by_tiering_only() {
    let added = &[("+I", (1, 10))];
    let argument = Story::append().write(&[(1, 10)]).native(1, 50, &[(1, 10)], added).violates("C15");
    assert!(argument.contains("not a tiering snapshot"), "{argument}");
    Story::append().write(&[(1, 10)]).tiered(1, 1, 50, &[(1, 10)], added).holds("C15");
    Story::append().write(&[(1, 10)]).says_nothing("C15");
    // Out of the mode a write goes straight to the lake.
    Story::plain().write(&[(1, 10)]).native(1, 50, &[(1, 10)], added).says_nothing("C15");
}

#[test]
fn c15_overwrites_reach_the_lake_and_not_the_store() {
    let added = &[("+I", (1, 10))];
    Story::append().overwrite(1, &[(1, 10)]).tiered(1, 1, 50, &[(1, 10)], added).violates("C15");
    Story::append().overwrite(1, &[(1, 10)]).changes("earliest", "p", &[("+I", (1, 10), Some(0))]).violates("C15");
    Story::append().overwrite(1, &[(1, 10)]).native(1, 50, &[(1, 10)], added).holds("C15");
    // The lake's rows come first in `changes`, without an offset.
    Story::append()
        .overwrite(1, &[(1, 10)])
        .changes("earliest", "p", &[("+I", (1, 10), None)])
        .native(1, 50, &[(1, 10)], added)
        .holds("C15");
}
