//! Every kind of fault by name, for lists; the kinds themselves are in [`crate::plan`].

/// Kind and description, calls first.
pub const FAULT_KINDS: &[(&str, &str)] = &[
    ("delay", "a request arrives later than any healthy one"),
    ("reply-delay", "the effect happens in time, the answer comes late"),
    ("refuse", "a call is refused before it has an effect"),
    ("request-lost", "a request never arrives"),
    ("reply-lost", "the effect happens, the answer never arrives"),
    ("error-after", "the effect happens, and the answer is that something broke"),
    ("torn-write", "only the beginning of an object arrives"),
    ("duplicate", "a request arrives twice"),
    ("reorder", "a request is overtaken by the next one"),
    ("caller-crashes-before", "the caller dies just before it sends"),
    ("caller-crashes-after", "the caller dies after the effect and before it learns of it"),
    ("callee-crashes-before", "the called host dies as the request arrives, without an effect"),
    ("callee-crashes-after", "the called host dies after the effect and before it answers"),
    ("other-crashes-before", "a host that is neither caller nor called dies just before the effect"),
    ("other-crashes-after", "a host that is neither caller nor called dies just after the effect"),
    ("crash", "a host dies and comes back with what was durable; a coordinator fails over to new epochs"),
    ("pause", "a host, of the system or a client, stands still, then goes on where it was"),
    ("partition", "nothing gets from one host to another"),
    ("outage", "every call to a part is refused"),
    ("slow-link", "everything between two hosts takes longer, and still arrives"),
    ("capacity-full", "the storage under the lake takes no object any more"),
    ("compaction", "maintenance rewrites a table's files into fewer and larger ones"),
    ("snapshot-expiry", "maintenance lets old snapshots go, and the files that nothing else needs"),
    ("tag-creation", "maintenance gives the newest snapshot a name, which keeps its files"),
    ("tag-deletion", "maintenance deletes a tag, and what only it kept"),
    ("rollback", "an operator goes back to an older tiering snapshot of a table, behind what the store has registered"),
    ("orphan-clean-up", "maintenance deletes files that nothing has led to for some time"),
    ("clock-jump", "a host's clock jumps, forward or back"),
    ("stale-list", "a reader's lists of the lake show what was there a while ago"),
    ("stale-exists", "a reader is told of the lake's objects whether they existed a while ago"),
    ("retention-pressure", "the store keeps its log for a shorter time than it is configured to"),
    ("heartbeat-loss", "the coordinator hears nothing of a worker that is alive"),
    ("clock-skew", "a host's clock is ahead from the start"),
    ("rename-atomic", "the lake's storage creates files by a rename that refuses a name that is taken"),
    ("rename-false-but-done", "as before, and a rename that succeeds says that it did not"),
    ("rename-overwriting", "the lake's storage creates files by a rename that replaces, under a catalog's lock"),
    ("rename-copy-then-delete", "as before, and a rename is a copy and a delete"),
];

#[cfg(test)]
mod tests {
    use models::contract::TablePath;
    use models::maintenance::Job;

    use super::*;
    use models::paimon::object_stores::RenameSemantics;

    use crate::plan::{Bystander, CLOCK_SKEW, CallFault, Fault, rename_kind};

    #[test]
    fn the_list_has_the_kinds_of_the_plan() {
        let restart_after_ms = 1;
        let calls = [
            CallFault::Delay { by_ms: 1 },
            CallFault::ReplyDelay { by_ms: 1 },
            CallFault::Refuse,
            CallFault::RequestLost,
            CallFault::ReplyLost,
            CallFault::ErrorAfter,
            CallFault::TornWrite { permille: 1 },
            CallFault::Duplicate { after_ms: 1 },
            CallFault::Reorder { at_most_ms: 1 },
            CallFault::CallerCrashesBefore { restart_after_ms },
            CallFault::CallerCrashesAfter { restart_after_ms },
            CallFault::CalleeCrashesBefore { restart_after_ms },
            CallFault::CalleeCrashesAfter { restart_after_ms },
            CallFault::OtherCrashesBefore { host: Bystander::Store, restart_after_ms },
            CallFault::OtherCrashesAfter { host: Bystander::Coordinator, restart_after_ms },
        ];
        let host = || "store".to_owned();
        let maintain = |job| Fault::Maintain { table: TablePath::new("db", "t"), job, at_ms: 1 };
        let others = [
            Fault::Crash { host: host(), at_ms: 1, restart_after_ms },
            Fault::Pause { host: host(), at_ms: 1, for_ms: 1 },
            Fault::Partition { from: host(), to: host(), both_ways: true, at_ms: 1, for_ms: 1 },
            Fault::Outage { part: host(), at_ms: 1, for_ms: 1 },
            Fault::SlowLink { from: host(), to: host(), by_ms: 1, at_ms: 1, for_ms: 1 },
            Fault::Full { at_ms: 1, for_ms: 1 },
            maintain(Job::Compact { fully: true }),
            maintain(Job::ExpireSnapshots { at_least: 1, keep_ms: 1 }),
            maintain(Job::CreateTag { name: host() }),
            maintain(Job::DeleteTag { name: host() }),
            maintain(Job::RollBack { commits: 1 }),
            maintain(Job::RemoveOrphans { older_than_ms: 1 }),
            Fault::ClockJump { host: host(), by_ms: -1, at_ms: 1 },
            Fault::StaleList { host: host(), at_ms: 1, for_ms: 1 },
            Fault::StaleExists { host: host(), at_ms: 1, for_ms: 1 },
            Fault::RetentionPressure { ttl_ms: 1, at_ms: 1, for_ms: 1 },
            Fault::HeartbeatLoss { host: host(), at_ms: 1, for_ms: 1 },
        ];
        let outside_steps = [CLOCK_SKEW].into_iter().chain(RenameSemantics::ALL.map(rename_kind));
        let of_steps = calls.iter().map(CallFault::kind).chain(others.iter().map(Fault::kind));
        let kinds: Vec<&str> = of_steps.chain(outside_steps).collect();
        assert_eq!(kinds, FAULT_KINDS.iter().map(|(kind, _)| *kind).collect::<Vec<_>>());
        // A plan spells each as the list does: the rest of it is named after the tag. All jobs of an operator have one.
        let spelt = |json: serde_json::Value| match json {
            serde_json::Value::String(kind) => kind,
            tagged => tagged.as_object().and_then(|fields| fields.keys().next().cloned()).unwrap_or_default(),
        };
        let calls = calls.iter().map(|what| spelt(serde_json::to_value(what).unwrap()));
        let others = others.iter().map(|fault| spelt(serde_json::to_value(fault).unwrap()));
        let (jobs, named): (Vec<_>, Vec<_>) =
            calls.chain(others).zip(kinds).partition(|(spelt, _)| spelt == "maintain");
        assert_eq!(jobs.len(), 6);
        assert!(named.iter().all(|(spelt, kind)| spelt == kind), "{named:?}");
    }
}
