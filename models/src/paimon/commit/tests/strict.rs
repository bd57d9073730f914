//! Strict mode.

use super::*;

const LAST_SAFE: &str = "commit.strict-mode.last-safe-snapshot";

fn overwrite() -> CommitMode {
    CommitMode::Overwrite { partitions: OverwriteScope::Dynamic }
}

/// A table of two snapshots, the first one safe, and what a commit to it on a day becomes.
fn after(second: CommitMode, second_day: &str, third: CommitMode, third_day: &str) -> Result<Snapshot, Failure> {
    let fixture = Fixture::new(&[], &["day"], &[(LAST_SAFE, "1")]);
    fixture.append("other-1", &[(1, "mon"), (2, "tue")]);
    fixture.commit("other-2", second, fixture.written("other-2", &[(3, second_day)])).unwrap();
    fixture.commit("strict", third, fixture.written("strict", &[(4, third_day)]))
}

#[test]
fn others_overwrites_refuse_commits_to_the_same_partition() {
    let failure = after(overwrite(), "mon", CommitMode::Append, "mon").unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true));
    assert!(failure.message.contains("conflict strict-mode") && failure.message.contains("other-2"), "{failure}");
    after(overwrite(), "mon", CommitMode::Append, "tue").unwrap();
}

#[test]
fn others_appends_refuse_overwrites_only() {
    assert!(after(CommitMode::Append, "mon", overwrite(), "mon").unwrap_err().message.contains("strict-mode"));
    after(CommitMode::Append, "mon", overwrite(), "tue").unwrap();
    after(CommitMode::Append, "mon", CommitMode::Append, "mon").unwrap();
}

#[test]
fn a_compaction_of_others_refuses_too_and_own_snapshots_never_do() {
    assert!(after(CommitMode::Compact, "mon", CommitMode::Append, "mon").is_err());
    let fixture = Fixture::new(&[], &["day"], &[(LAST_SAFE, "0")]);
    for identifier in 1..4 {
        let subject = format!("own-{identifier}");
        let request = Fixture::request(&subject, overwrite(), fixture.written(&subject, &[(1, "mon")]));
        done(fixture.table.commit(CommitRequest { user: "own".to_owned(), ..request })).unwrap();
    }
    assert_eq!(fixture.ids(), [1]);
}

#[test]
fn a_change_of_deletion_vectors_alone_is_seen() {
    let fixture = Fixture::new(&[], &["day"], &[(LAST_SAFE, "1")]);
    fixture.append("other-1", &[(1, "mon"), (2, "tue")]);
    let file = fixture.live().remove(0);
    let index = vec![vectors(FileKind::Add, "index-1", file.partition.clone(), &[&file.file.file_name])];
    fixture.commit("marker", CommitMode::Append, Committable { index, ..Committable::default() }).unwrap();
    let Value::String(day) = &file.partition[0] else { panic!("expected a day") };
    let other_day = if &**day == "mon" { "tue" } else { "mon" };
    fixture.commit("elsewhere", CommitMode::Append, fixture.written("elsewhere", &[(3, other_day)])).unwrap();
    let same = fixture.commit("same", CommitMode::Append, fixture.written("same", &[(4, day)]));
    assert!(same.unwrap_err().message.contains("strict-mode"));
}

#[test]
fn expired_snapshots_cannot_be_checked_and_minus_one_means_not_yet() {
    let fixture = Fixture::new(&[], &["day"], &[(LAST_SAFE, "0")]);
    fixture.append("strict", &[(1, "mon")]);
    fixture.append("strict", &[(2, "mon")]);
    done(fixture.table.lake.objects.delete(&fixture.table.directory.snapshot(1))).unwrap();
    let late = fixture.commit("strict", CommitMode::Append, fixture.written("late", &[(3, "mon")]));
    assert!(late.unwrap_err().message.contains("found 1 to be expired"));

    let fixture = Fixture::new(&[], &["day"], &[(LAST_SAFE, "-1")]);
    fixture.append("other", &[(1, "mon")]);
    fixture.commit("strict", overwrite(), fixture.written("strict", &[(2, "mon")])).unwrap();
}
