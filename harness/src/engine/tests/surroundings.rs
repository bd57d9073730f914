//! What hosts are told that is not so: clocks that are wrong, a lake as it was a while ago; heartbeats that nobody hears;
//! and a lake that creates files by renaming them.

use std::rc::Rc;

use bytes::Bytes;
use models::contract::{Environment, ObjectStore};
use models::paimon::object_stores::{MemoryObjectStore, RenameSemantics, RenamingObjectStore};
use scenarios::plan::CallFault;
use tokio::task::LocalSet;

use super::super::environment::SimulatedEnvironment;
use super::super::faults::StaleAnswer;
use super::super::hosts::HostState;
use super::super::network::{Edge, Scope};
use super::super::ports::LakePort;
use super::bench::{Bench, NONE, assert_timed_out, with_faults};

const SNAPSHOT: &str = "db.db/t/snapshot/snapshot-1";

fn port(bench: &Bench, caller: &Rc<HostState>, objects: &Rc<MemoryObjectStore>) -> LakePort {
    let edge = Edge {
        caller: caller.clone(),
        role: caller.name.clone(),
        callee: None,
        part: Rc::from("lake"),
        scope: Scope::new(0, &caller.name),
    };
    LakePort { network: bench.network.clone(), edge, objects: objects.clone() }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_wrong_changes_no_sleep_and_no_other_clock() {
    with_faults(&[], |bench| async move {
        let of = |host| SimulatedEnvironment::new(&bench.network, host);
        let (wrong, right) = (of(&bench.caller), of(&bench.store));
        bench.caller.jump_clock(300);
        wrong.sleep_ms(50).await;
        assert_eq!((wrong.now_ms(), right.now_ms()), (350, 50));
        bench.caller.jump_clock(-200);
        wrong.sleep_ms(50).await;
        assert_eq!((wrong.now_ms(), right.now_ms()), (200, 100));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn of_a_silent_worker_the_heartbeats_are_lost_and_nothing_else() {
    with_faults(&[], |bench| async move {
        bench.network.faults.silence("client");
        assert_timed_out(&bench.call_of("coordinator.heartbeat", 1).await);
        assert_eq!(bench.effects(), NONE);
        assert_eq!(bench.call_of("coordinator.end-round", 2).await, Ok(102));
        bench.network.faults.end_silence("client");
        assert_eq!(bench.call_of("coordinator.heartbeat", 3).await, Ok(103));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_reader_is_told_of_the_lake_as_it_was_until_that_ends() {
    with_faults(&[], |bench| async move {
        let objects = Rc::new(MemoryObjectStore::new());
        let (stale, fresh) = (port(&bench, &bench.caller, &objects), port(&bench, &bench.store, &objects));
        objects.put("a/1", Bytes::new()).await.unwrap();
        bench.network.faults.begin_stale(StaleAnswer::List, "client", objects.paths());
        objects.put("a/2", Bytes::new()).await.unwrap();
        objects.delete("a/1").await.unwrap();
        assert_eq!(stale.list("a").await.unwrap(), ["a/1"]);
        assert_eq!(fresh.list("a").await.unwrap(), ["a/2"]);
        assert!(stale.exists("a/2").await.unwrap(), "only lists are old");
        bench.network.faults.end_stale(StaleAnswer::List, "client");
        assert_eq!(stale.list("a").await.unwrap(), ["a/2"]);

        bench.network.faults.begin_stale(StaleAnswer::Exists, "client", objects.paths());
        objects.put("a/3", Bytes::new()).await.unwrap();
        assert!(!stale.exists("a/3").await.unwrap());
        assert!(fresh.exists("a/3").await.unwrap());
        assert!(stale.get("a/3").await.is_ok(), "what is there can be read");
        assert_eq!(stale.list("a").await.unwrap(), ["a/2", "a/3"]);
        bench.network.heal().await;
        assert!(stale.exists("a/3").await.unwrap());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn something_may_go_wrong_between_what_is_written_beside_and_its_rename() {
    LocalSet::new()
        .run_until(async {
            let struck = ["client(db.t).lake.rename-snapshot#1", "client(db.t).lake.put-temporary#2"];
            let bench = Bench::struck(&struck.map(|at| (at.to_owned(), CallFault::Refuse)));
            let objects = Rc::new(MemoryObjectStore::new());
            let environment = SimulatedEnvironment::new(&bench.network, &bench.caller);
            let port = Rc::new(port(&bench, &bench.caller, &objects));
            let renaming = RenamingObjectStore::new(port, environment, RenameSemantics::Atomic);
            let create = || renaming.put_if_absent(SNAPSHOT, Bytes::from_static(b"one"));

            assert!(!create().await.unwrap_err().definite, "a rename that failed may have been one");
            assert_eq!(objects.paths().len(), 1, "what was written beside is left over");
            assert!(create().await.unwrap_err().definite, "nothing was written beside");
            assert_eq!(bench.network.arrivals().of(SNAPSHOT), None);
            let before_ms = bench.network.now_ms();
            assert_eq!(create().await, Ok(true));
            let arrived_ms = bench.network.arrivals().of(SNAPSHOT).unwrap();
            assert!(before_ms < arrived_ms && arrived_ms <= bench.network.now_ms(), "{arrived_ms} ms");
            assert_eq!(objects.get(SNAPSHOT).await, Ok(Bytes::from_static(b"one")));
        })
        .await;
}
