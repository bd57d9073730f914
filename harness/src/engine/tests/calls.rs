//! What a caller learns of a call that went wrong, and whether the call had its effect. "Definite" means: certainly
//! without an effect, now and for ever.

use std::time::Duration;

use scenarios::plan::CallFault;

use super::super::network::pass;
use super::bench::{
    MAX_CALL_MS, NONE, RESTART_AFTER_MS, TIMEOUT_MS, assert_connection_lost, assert_refused, assert_timed_out,
    with_faults,
};

#[tokio::test(start_paused = true)]
async fn a_healthy_call_answers_within_the_longest_call_and_never_at_once() {
    with_faults(&[], |bench| async move {
        for request in 0..200 {
            let began_ms = bench.network.now_ms();
            assert_eq!(bench.call(request).await, Ok(request + 100));
            let took_ms = bench.network.now_ms() - began_ms;
            assert!((2..=MAX_CALL_MS).contains(&took_ms), "took {took_ms} ms");
        }
        assert_eq!(bench.effects(), (0..200).collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_fault_strikes_the_call_that_it_names_and_no_other() {
    with_faults(&[(3, CallFault::Refuse)], |bench| async move {
        for request in [1, 2, 3, 4] {
            let answer = bench.call(request).await;
            assert_eq!(answer.is_ok(), request != 3, "{request}: {answer:?}");
        }
        assert_eq!(bench.effects(), [1, 2, 4]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn refuse_is_definite_and_without_an_effect() {
    with_faults(&[(1, CallFault::Refuse)], |bench| async move {
        assert_refused(&bench.call(1).await);
        pass(10 * TIMEOUT_MS).await;
        assert_eq!(bench.effects(), NONE);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_request_has_no_effect_and_the_caller_cannot_know() {
    with_faults(&[(1, CallFault::RequestLost)], |bench| async move {
        assert_timed_out(&bench.call(1).await);
        assert_eq!(bench.network.now_ms(), TIMEOUT_MS);
        pass(10 * TIMEOUT_MS).await;
        assert_eq!(bench.effects(), NONE);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_leaves_the_effect_and_the_caller_cannot_know() {
    with_faults(&[(1, CallFault::ReplyLost)], |bench| async move {
        assert_timed_out(&bench.call(1).await);
        assert_eq!(bench.network.now_ms(), TIMEOUT_MS);
        assert_eq!(bench.effects(), [1]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_has_two_effects_and_one_answer() {
    with_faults(&[(1, CallFault::Duplicate { after_ms: 50 })], |bench| async move {
        assert_eq!(bench.call(1).await, Ok(101));
        assert_eq!(bench.effects(), [1]);
        pass(100).await;
        assert_eq!(bench.effects(), [1, 1]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_before_the_effect_and_a_reply_delay_after_it() {
    with_faults(&[(1, CallFault::Delay { by_ms: 200 })], |bench| async move {
        assert_eq!(bench.call(1).await, Ok(101));
        assert!(bench.first_effect_ms() >= 200, "the effect came at {} ms", bench.first_effect_ms());
    })
    .await;
    with_faults(&[(1, CallFault::ReplyDelay { by_ms: 200 })], |bench| async move {
        assert_eq!(bench.call(1).await, Ok(101));
        assert!(bench.first_effect_ms() <= MAX_CALL_MS, "the effect came at {} ms", bench.first_effect_ms());
        assert!(bench.network.now_ms() >= 200, "the answer came at {} ms", bench.network.now_ms());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_later_than_the_patience_is_a_timeout_with_an_effect() {
    let late = CallFault::ReplyDelay { by_ms: 2 * TIMEOUT_MS };
    with_faults(&[(1, late)], |bench| async move {
        assert_timed_out(&bench.call(1).await);
        assert_eq!(bench.effects(), [1]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_reordered_request_arrives_after_the_one_that_was_sent_after_it() {
    // Whatever the two requests' latencies are: sent together, or one after the other on its way.
    for apart_ms in 0..6 {
        with_faults(&[(1, CallFault::Reorder { at_most_ms: 500 })], |bench| async move {
            let first = bench.send(1);
            pass(apart_ms).await;
            let second = bench.send(2);
            assert_eq!(first.await.unwrap(), Some(Ok(101)));
            assert_eq!(second.await.unwrap(), Some(Ok(102)));
            assert_eq!(bench.effects(), [2, 1], "sent {apart_ms} ms apart");
            assert!(bench.network.now_ms() < 500, "it was overtaken and went on waiting");
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_reordered_request_that_nothing_overtakes_arrives_after_the_limit() {
    with_faults(&[(1, CallFault::Reorder { at_most_ms: 500 })], |bench| async move {
        assert_eq!(bench.call(1).await, Ok(101));
        assert!((500..=500 + MAX_CALL_MS).contains(&bench.first_effect_ms()), "{} ms", bench.first_effect_ms());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_dies_before_it_sends_leaves_no_effect_and_comes_back() {
    let fault = CallFault::CallerCrashesBefore { restart_after_ms: RESTART_AFTER_MS };
    with_faults(&[(1, fault)], |bench| async move {
        assert_eq!(bench.send(1).await.unwrap(), None);
        assert!(!bench.caller.is_up());
        pass(RESTART_AFTER_MS + 1).await;
        assert!(bench.caller.is_up());
        assert_eq!(bench.effects(), NONE);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_dies_after_the_effect_never_learns_of_it() {
    let fault = CallFault::CallerCrashesAfter { restart_after_ms: RESTART_AFTER_MS };
    with_faults(&[(1, fault)], |bench| async move {
        assert_eq!(bench.send(1).await.unwrap(), None);
        assert_eq!(bench.effects(), [1]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_sent_arrives_though_its_caller_dies_or_gives_up() {
    with_faults(&[], |bench| async move {
        let dying = bench.send(1);
        pass(1).await;
        bench.network.crash(&bench.caller, RESTART_AFTER_MS);
        assert_eq!(dying.await.unwrap(), None);
        assert_eq!(bench.effects(), NONE, "it was still on its way");
        pass(MAX_CALL_MS).await;
        assert_eq!(bench.effects(), [1]);
        pass(RESTART_AFTER_MS).await;
        let impatient = tokio::time::timeout(Duration::from_millis(1), bench.call(2)).await;
        assert!(impatient.is_err());
        pass(MAX_CALL_MS).await;
        assert_eq!(bench.effects(), [1, 2]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_dies_as_the_request_arrives_leaves_no_effect_and_the_caller_cannot_know() {
    let fault = CallFault::CalleeCrashesBefore { restart_after_ms: RESTART_AFTER_MS };
    with_faults(&[(1, fault)], |bench| async move {
        assert_connection_lost(&bench.call(1).await);
        assert_eq!(bench.effects(), NONE);
        assert_refused(&bench.call(2).await);
        pass(RESTART_AFTER_MS).await;
        assert_eq!(bench.call(3).await, Ok(103));
        assert_eq!(bench.effects(), [3]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_dies_after_the_effect_leaves_it_and_the_caller_cannot_know() {
    let fault = CallFault::CalleeCrashesAfter { restart_after_ms: RESTART_AFTER_MS };
    with_faults(&[(1, fault)], |bench| async move {
        assert_connection_lost(&bench.call(1).await);
        assert_eq!(bench.effects(), [1]);
        assert!(!bench.store.is_up());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_dies_at_work_does_not_go_on_with_it() {
    with_faults(&[], |bench| async move {
        bench.work_ms.set(100);
        let waiting = bench.send(1);
        pass(50).await;
        bench.network.crash(&bench.store, RESTART_AFTER_MS);
        assert_connection_lost(&waiting.await.unwrap().unwrap());
        pass(10 * TIMEOUT_MS).await;
        assert_eq!(bench.effects(), NONE);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cut_way_there_loses_the_request_and_a_cut_way_back_the_reply() {
    with_faults(&[], |bench| async move {
        bench.network.faults.cut("client", "store");
        assert_timed_out(&bench.call(1).await);
        bench.network.faults.mend("client", "store");
        pass(10 * TIMEOUT_MS).await;
        assert_eq!(bench.effects(), NONE);

        bench.network.faults.cut("store", "client");
        assert_timed_out(&bench.call(2).await);
        bench.network.faults.mend("store", "client");
        assert_eq!(bench.effects(), [2]);
        assert_eq!(bench.call(3).await, Ok(103));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_outage_refuses_definitely_until_the_last_of_those_that_overlap_ends() {
    with_faults(&[], |bench| async move {
        bench.network.faults.begin_outage("store");
        bench.network.faults.begin_outage("store");
        assert_refused(&bench.call(1).await);
        bench.network.faults.end_outage("store");
        assert_refused(&bench.call(2).await);
        bench.network.faults.end_outage("store");
        assert_eq!(bench.call(3).await, Ok(103));
        assert_eq!(bench.effects(), [3]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_store_is_late_and_not_absent() {
    with_faults(&[], |bench| async move {
        assert!(bench.store.pause());
        let waiting = bench.send(1);
        pass(500).await;
        assert_eq!(bench.effects(), NONE);
        bench.store.resume();
        assert_eq!(waiting.await.unwrap(), Some(Ok(101)));

        assert!(bench.store.pause());
        assert_timed_out(&bench.call(2).await);
        assert_eq!(bench.effects(), [1]);
        bench.store.resume();
        pass(1).await;
        assert_eq!(bench.effects(), [1, 2], "a timeout is indefinite: the effect may still come");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_caller_learns_the_answer_when_it_goes_on() {
    with_faults(&[], |bench| async move {
        let waiting = bench.send(1);
        pass(1).await;
        assert!(bench.caller.pause());
        pass(500).await;
        assert_eq!(bench.effects(), [1]);
        assert!(!waiting.is_finished());
        bench.caller.resume();
        assert_eq!(waiting.await.unwrap(), Some(Ok(101)));
        assert_eq!(bench.network.now_ms(), 501);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn healing_disarms_every_fault_and_brings_everybody_back() {
    with_faults(&[(1, CallFault::ReplyLost), (2, CallFault::Refuse)], |bench| async move {
        assert_timed_out(&bench.call(1).await);
        bench.network.faults.begin_outage("store");
        bench.network.faults.cut("store", "client");
        assert!(bench.caller.pause());
        bench.network.crash(&bench.store, 100 * RESTART_AFTER_MS);
        bench.network.heal().await;
        assert_eq!(bench.call(2).await, Ok(102));
        bench.network.crash(&bench.store, RESTART_AFTER_MS);
        assert!(bench.store.is_up(), "after the healing nothing crashes any more");
    })
    .await;
}
