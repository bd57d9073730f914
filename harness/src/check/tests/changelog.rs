//! L14: the changelog from its start.

use serde_json::json;

use super::story::Story;

type Entries<'e> = &'e [(&'e str, (i64, i64), Option<u64>)];

/// Two states of key 1, then what `changes` shows of them.
fn changes(entries: Entries) -> Story {
    let mut story = Story::keyed();
    story.write(&[(1, 10)]).write(&[(1, 11)]).delete(1).changes("earliest", "p", entries);
    story
}

#[test]
fn l14_an_update_is_a_pair() {
    changes(&[("+I", (1, 10), Some(0)), ("+U", (1, 11), Some(1))]).violates("L14");
    changes(&[("+I", (1, 10), Some(0)), ("-U", (1, 10), Some(1)), ("-D", (1, 11), Some(2))]).violates("L14");
    changes(&[("+I", (1, 10), Some(0)), ("-U", (1, 10), Some(1)), ("+U", (1, 11), Some(2))]).holds("L14");
    // The other half may be in the next answer.
    changes(&[("+I", (1, 10), Some(0)), ("-U", (1, 10), Some(1))]).holds("L14");
}

#[test]
fn l14_inserts_are_of_absent_keys_and_deletes_of_present_ones() {
    let argument = changes(&[("+I", (1, 10), Some(0)), ("+I", (1, 11), Some(1))]).violates("L14");
    assert!(argument.contains("present since offset 0"), "{argument}");
    changes(&[("-D", (1, 10), Some(0))]).violates("L14");
    changes(&[("+I", (1, 10), Some(0)), ("-D", (1, 10), Some(1)), ("-D", (1, 10), Some(2))]).violates("L14");
    changes(&[("+I", (1, 10), Some(0)), ("-D", (1, 11), Some(1))]).violates("L14");
    changes(&[("+I", (1, 10), Some(0)), ("-D", (1, 10), Some(1))]).holds("L14");
}

#[test]
fn l14_only_what_is_known_from_the_start_is_judged() {
    changes(&[("+U", (1, 11), Some(2))]).says_nothing("L14");
    let mut promoted = Story::keyed();
    let op = promoted.begin("p", json!({"promote": {"table": "db.t"}}));
    promoted.fail(&op, "timeout", false, "no answer");
    promoted.write(&[(1, 10)]).changes("earliest", "p", &[("-D", (1, 10), Some(0))]);
    promoted.says_nothing("L14");
}

#[test]
fn l14_the_replay_is_the_state() {
    // The last write is acked 2 ms before the read.
    let drained_after = |staleness_ms: u64, shown: &[(i64, i64)]| {
        let mut story = Story::keyed().with_rt_staleness(staleness_ms);
        story.write(&[(1, 10)]).write(&[(1, 11)]).phase("drained").same_moment().log(0, 3).read(shown);
        let entries: Entries = &[("+I", (1, 10), Some(0)), ("-U", (1, 10), Some(1)), ("+U", (1, 11), Some(2))];
        story.changes("earliest", "p", entries);
        story
    };
    let drained = |shown: &[(i64, i64)]| drained_after(0, shown);
    let argument = drained(&[(1, 10)]).violates("L14");
    assert!(argument.contains("the replay equals the state"), "{argument}");
    drained(&[(1, 11)]).holds("L14");
    // A system may declare that `t$rt` lags behind.
    drained_after(2, &[(1, 10)]).violates("L14");
    drained_after(3, &[(1, 10)]).says_no_violation("L14");
}
