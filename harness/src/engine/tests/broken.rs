//! What a caller learns where something breaks beside the call: an error after the effect, a third host that dies, a
//! link that is slow, a storage that is full, a write of which only the beginning arrives.

use std::rc::Rc;

use bytes::Bytes;
use models::contract::{FailureCode, ObjectStore};
use models::paimon::object_stores::MemoryObjectStore;
use scenarios::plan::{Bystander, CallFault};
use tokio::task::LocalSet;

use super::super::hosts::HostState;
use super::super::network::{Edge, Scope, pass};
use super::super::ports::LakePort;
use super::bench::{Bench, MAX_CALL_MS, NONE, RESTART_AFTER_MS, TIMEOUT_MS, assert_refused, with_faults};

#[tokio::test(start_paused = true)]
async fn an_error_after_the_effect_comes_at_once_and_the_caller_cannot_know() {
    with_faults(&[(1, CallFault::ErrorAfter)], |bench| async move {
        let failure = bench.call(1).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Internal, false), "{failure}");
        assert!(bench.network.now_ms() <= MAX_CALL_MS, "it came at {} ms", bench.network.now_ms());
        assert_eq!(bench.effects(), [1]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_third_host_dies_before_the_effect_or_after_it_and_the_call_goes_on() {
    let (host, restart_after_ms) = (Bystander::Coordinator, RESTART_AFTER_MS);
    let before = CallFault::OtherCrashesBefore { host, restart_after_ms };
    let after = CallFault::OtherCrashesAfter { host, restart_after_ms };
    for (fault, up_at_work) in [(before, false), (after, true)] {
        with_faults(&[(1, fault)], |bench| async move {
            let coordinator = HostState::new("coordinator");
            bench.network.add_host(coordinator.clone());
            bench.work_ms.set(50);
            let waiting = bench.send(1);
            pass(MAX_CALL_MS + 20).await;
            assert_eq!(coordinator.is_up(), up_at_work, "{fault:?}");
            assert_eq!(waiting.await.unwrap(), Some(Ok(101)));
            assert!(!coordinator.is_up());
            pass(RESTART_AFTER_MS + 1).await;
            assert!(coordinator.is_up());
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_link_takes_longer_both_ways_until_it_is_mended() {
    with_faults(&[], |bench| async move {
        bench.network.faults.slow_down("client", "store", 200);
        assert_eq!(bench.call(1).await, Ok(101));
        let took_ms = bench.network.now_ms();
        assert!((400..=400 + MAX_CALL_MS).contains(&took_ms) && took_ms < TIMEOUT_MS, "{took_ms} ms");
        assert!((200..=200 + MAX_CALL_MS).contains(&bench.first_effect_ms()), "{} ms", bench.first_effect_ms());
        bench.network.faults.speed_up("client", "store", 200);
        assert_eq!(bench.call(2).await, Ok(102));
        assert!(bench.network.now_ms() - took_ms <= MAX_CALL_MS);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn of_slow_windows_that_overlap_the_slowest_counts() {
    with_faults(&[], |bench| async move {
        for by_ms in [100, 300, 200] {
            bench.network.faults.slow_down("client", "store", by_ms);
        }
        assert_eq!(bench.call(1).await, Ok(101));
        assert!((600..=600 + MAX_CALL_MS).contains(&bench.network.now_ms()), "{} ms", bench.network.now_ms());
        bench.network.faults.speed_up("client", "store", 300);
        assert_eq!(bench.call(2).await, Ok(102));
        assert!(bench.network.now_ms() <= 1_000 + 2 * MAX_CALL_MS, "{} ms", bench.network.now_ms());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_request_on_a_slow_link_has_arrived_when_all_is_said_to_be_healed() {
    with_faults(&[], |bench| async move {
        bench.network.faults.slow_down("client", "store", 400);
        let waiting = bench.send(1);
        pass(MAX_CALL_MS).await;
        assert_eq!(bench.effects(), NONE);
        bench.network.heal().await;
        assert_eq!(bench.effects(), [1]);
        assert_eq!(waiting.await.unwrap(), Some(Ok(101)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_full_storage_refuses_what_is_put_and_nothing_else() {
    with_faults(&[], |bench| async move {
        bench.network.faults.begin_full();
        assert_refused(&bench.call_of("lake.put-data", 1).await);
        assert_eq!(bench.call_of("lake.get-data", 2).await, Ok(102));
        assert_eq!(bench.call_of("lake.delete-data", 3).await, Ok(103));
        bench.network.faults.end_full();
        assert_eq!(bench.call_of("lake.put-data", 4).await, Ok(104));
        assert_eq!(bench.effects(), [2, 3, 4]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn of_a_torn_write_only_the_beginning_arrives_and_the_caller_cannot_know() {
    LocalSet::new()
        .run_until(async {
            let torn = CallFault::TornWrite { permille: 500 };
            let bench = Bench::struck(&[1, 3].map(|nth| (format!("client(db.t).lake.put-data#{nth}"), torn)));
            let objects = Rc::new(MemoryObjectStore::new());
            let edge = Edge {
                caller: bench.caller.clone(),
                role: Rc::from("client"),
                callee: None,
                part: Rc::from("lake"),
                scope: Scope::new(0, "client"),
            };
            let port = LakePort { network: bench.network.clone(), edge, objects: objects.clone() };
            let whole = Bytes::from_static(b"12345678");
            let (first, second) = ("db.db/t/bucket-0/data-1", "db.db/t/bucket-0/data-2");
            let failure = port.put(first, whole.clone()).await.unwrap_err();
            assert_eq!((failure.code, failure.definite), (FailureCode::Internal, false), "{failure}");
            assert_eq!(objects.get(first).await, Ok(Bytes::from_static(b"1234")));
            assert_eq!(port.put(second, whole.clone()).await, Ok(()));
            assert_eq!(objects.get(second).await, Ok(whole.clone()));
            // What is there already is not torn by who may only create it.
            assert_eq!(port.put_if_absent(second, Bytes::from_static(b"others")).await, Ok(false));
            assert_eq!(objects.get(second).await, Ok(whole));
        })
        .await;
}
