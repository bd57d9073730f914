//! Consumers: how far the readers of a table's changes have come, so that nothing expires before they have read it.
//!
//! `consumer/consumer-<id>` holds the number of the snapshot that is to be read next. Who reads is not known here.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::contract::{Failure, FailureCode};

use super::super::directory::names_after;
use super::super::lake_access::before_any_effect;
use super::super::{FormatError, PaimonTable};
use super::names::check_name;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConsumerFile {
    next_snapshot: u64,
}

/// All consumers of a branch at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumersSeen {
    /// When, in milliseconds of the environment's clock.
    pub seen_at_ms: u64,
    /// The snapshot that each consumer is to read next.
    pub next_snapshots: BTreeMap<String, u64>,
}

impl PaimonTable {
    /// The snapshot that a consumer is to read next; `None` if there is no such consumer.
    pub async fn consumer(&self, consumer_id: &str) -> Result<Option<u64>, Failure> {
        check_name("consumer", consumer_id)?;
        let path = self.directory.consumer(consumer_id);
        match self.lake.objects.get(&path).await {
            Ok(bytes) => match serde_json::from_slice::<ConsumerFile>(&bytes) {
                Ok(file) => Ok(Some(file.next_snapshot)),
                Err(error) => {
                    let expected =
                        format!("{path}: expected a consumer file (JSON with `nextSnapshot`), found {error}");
                    Err(FormatError::new(expected).into())
                }
            },
            Err(failure) if failure.code == FailureCode::NotFound => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Notes which snapshot a consumer is to read next; the consumer comes to be with the first note. A consumer may
    /// also go back.
    pub async fn record_consumer(&self, consumer_id: &str, next_snapshot: u64) -> Result<(), Failure> {
        check_name("consumer", consumer_id)?;
        let json = serde_json::to_vec_pretty(&ConsumerFile { next_snapshot });
        let bytes = json.map_err(|error| Failure::invalid(error.to_string()))?;
        self.lake.objects.put(&self.directory.consumer(consumer_id), Bytes::from(bytes)).await
    }

    /// Forgets a consumer; no error if there is none.
    pub async fn delete_consumer(&self, consumer_id: &str) -> Result<(), Failure> {
        check_name("consumer", consumer_id)?;
        self.lake.objects.delete(&self.directory.consumer(consumer_id)).await
    }

    /// All consumers of this branch.
    pub async fn consumers(&self) -> Result<ConsumersSeen, Failure> {
        let directory = self.directory.consumer_directory();
        let listed = self.lake.objects.list(&directory).await?;
        let mut next_snapshots = BTreeMap::new();
        for consumer_id in names_after(&listed, &directory, "consumer-") {
            if let Some(next_snapshot) = self.consumer(&consumer_id).await? {
                next_snapshots.insert(consumer_id, next_snapshot);
            }
        }
        Ok(ConsumersSeen { seen_at_ms: self.lake.environment.now_ms(), next_snapshots })
    }

    /// The lowest snapshot that a consumer of this branch is to read next; `None` without consumers.
    pub async fn min_next_snapshot(&self) -> Result<Option<u64>, Failure> {
        Ok(self.consumers().await?.next_snapshots.values().min().copied())
    }

    /// Forgets the consumers that had something to read when `earlier` was seen and have not moved since, if that is at
    /// least `idle_ms` ago; returns their ids. Storage need not know when a file was written for this. A consumer that
    /// has read everything holds nothing back and stays. A definite failure means that none was forgotten.
    pub async fn expire_consumers(&self, earlier: &ConsumersSeen, idle_ms: u64) -> Result<Vec<String>, Failure> {
        let now = self.consumers().await.map_err(before_any_effect)?;
        if now.seen_at_ms.saturating_sub(earlier.seen_at_ms) < idle_ms {
            return Ok(Vec::new());
        }
        let newest = self.snapshot_ids().await.map_err(before_any_effect)?.last().copied();
        let idle = now.next_snapshots.into_iter().filter(|(consumer_id, next_snapshot)| {
            earlier.next_snapshots.get(consumer_id) == Some(next_snapshot) && Some(*next_snapshot) <= newest
        });
        let idle: Vec<String> = idle.map(|(consumer_id, _)| consumer_id).collect();
        for consumer_id in &idle {
            self.delete_consumer(consumer_id).await.map_err(Failure::made_indefinite)?;
        }
        Ok(idle)
    }
}
