//! The timings of one run.

use models::config::{ClientConfig, CompactorConfig, CoordinatorConfig, StoreConfig, SystemConfig, WorkerConfig};

use super::within;
use crate::draw::Draws;
use crate::scenario::{Range, Timings};

/// The reference system's timings, and the least that one call takes. It has a compactor if some table needs one.
pub(super) fn system(timings: &Timings, needs_compactor: bool, draws: Draws) -> (SystemConfig, u64) {
    let place = draws.at("plan", "system");
    let drawn = |site: &str, range: Range| within(place, site, 0, range);
    let heartbeat_timeout_ms = drawn("heartbeat-timeout", timings.heartbeat_timeout_ms);
    // Less than a third of the timeout, so that one lost heartbeat costs nobody the table.
    let heartbeat_interval_ms =
        drawn("heartbeat-interval", Range::new(heartbeat_timeout_ms / 10, heartbeat_timeout_ms / 4));
    let system = SystemConfig {
        store: StoreConfig {
            sync_ms: drawn("sync", timings.sync_ms),
            log_ttl_ms: place
                .chance("log-ttl-on", 0, timings.log_ttl_permille.0)
                .then(|| drawn("log-ttl", timings.log_ttl_ms)),
            retention_interval_ms: drawn("retention-interval", timings.retention_interval_ms),
        },
        coordinator: CoordinatorConfig {
            freshness_ms: drawn("freshness", timings.freshness_ms),
            heartbeat_timeout_ms,
            check_interval_ms: drawn("check-interval", timings.check_interval_ms),
        },
        worker: WorkerConfig {
            poll_interval_ms: drawn("poll-interval", timings.poll_interval_ms),
            heartbeat_interval_ms,
            max_round_ms: drawn("max-round", timings.max_round_ms),
            fetch_max_records: drawn("fetch-max-records", timings.fetch_max_records),
        },
        compactor: needs_compactor
            .then(|| CompactorConfig { interval_ms: drawn("compaction-interval", timings.compaction_interval_ms) }),
        client: ClientConfig {
            retries: drawn("retries", timings.retries) as u32,
            retry_wait_ms: drawn("retry-wait", timings.retry_wait_ms),
        },
        tiering_workers: drawn("tiering-workers", timings.tiering_workers) as u32,
        tiering_readers: drawn("tiering-readers", timings.tiering_readers) as u32,
        call_timeout_ms: drawn("call-timeout", timings.call_timeout_ms),
        max_call_ms: drawn("max-call", timings.max_call_ms),
        max_skew_ms: match place.chance("skew-on", 0, timings.skew_permille.0) {
            true => drawn("max-skew", timings.max_skew_ms),
            false => 0,
        },
    };
    (system, drawn("min-call", timings.min_call_ms))
}
