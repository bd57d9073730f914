//! Every planted bug is found by a property that its documentation names, and by nothing but the bug: the same seed on
//! the correct reference is held. A certificate that cannot fail proves nothing.

use harness::check::check;
use harness::engine::run::RunOptions;
use harness::engine::sim::run;
use models::config::CatalogKind;
use models::defects::{Defect, Defects};

/// Which scenario finds which bug. Seeds are searched, so that a change of the generators does not break the table.
const FOUND_BY: &[(Defect, &str)] = &[
    (Defect::AckLostRetier, "tiering-crash"),
    (Defect::TwoHolders, "network"),
    (Defect::StalePlanCommit, "network"),
    (Defect::AbortAfterSuccess, "store-crash"),
    (Defect::CommitIntoRecreated, "recreate"),
    (Defect::LateRegistration, "recreate"),
    (Defect::DropLoops, "recreate"),
    (Defect::ReaderRestartLosesSplit, "tiering-crash"),
    (Defect::RoundsMixed, "network"),
    (Defect::EmptyBatchStuck, "partitioned"),
    (Defect::ZeroRowOffsetDropped, "key-upsert-delete"),
    (Defect::EmptyBatchHang, "key-upsert-delete"),
    (Defect::TtlBeforeTier, "append"),
    (Defect::PartitionDropBeforeTier, "partitioned"),
    (Defect::RetentionByTiered, "store-crash"),
    (Defect::UnreadableLevel0, "key-upsert-delete"),
    (Defect::OffsetsOfAnotherSnapshot, "key-upsert-delete"),
    (Defect::PartitionNameMismatch, "partitioned"),
    (Defect::FilterMovesStart, "partitioned"),
    (Defect::EofNotRemembered, "append"),
    (Defect::LakeOnlyPartitionMissing, "partitioned"),
    (Defect::LakeOnlyLookupEmpty, "promotion"),
    (Defect::MergeDropsTail, "key-upsert-delete"),
    (Defect::NeverTieredFails, "recreate"),
    (Defect::BadTableStallsAll, "recreate"),
    (Defect::OldSchemaTruncates, "layouts"),
    (Defect::AdoptsOldTable, "recreate"),
    (Defect::EnabledWithoutLakeTable, "promotion"),
    (Defect::StaleEpochAfterFailover, "tiering-crash"),
    (Defect::EpochZero, "lifecycle"),
    (Defect::PinnedSnapshotCollected, "key-upsert-delete"),
    (Defect::LatestGoesBack, "key-upsert-delete"),
    (Defect::RollbackIdReuse, "rollback"),
    (Defect::OffsetGoesBack, "network"),
    (Defect::SharedCommitUser, "lake-storage"),
    (Defect::OffsetsPropertyMissing, "append"),
    (Defect::BucketUnawareSpread, "append"),
    (Defect::StopOffsetOverrun, "append"),
    (Defect::UpdatePairSplit, "key-upsert-delete"),
    (Defect::ForceFinishLosesRest, "tiering-crash"),
    (Defect::FreshnessBeyondBound, "freshness"),
    (Defect::BackoffUnbounded, "tiering-crash"),
    (Defect::DrainLeavesTail, "append"),
    (Defect::AbortLeavesFiles, "maintenance"),
    (Defect::RefusesAfterHeal, "store-crash"),
    (Defect::BaseReadWaitsForStore, "store-crash"),
    (Defect::AckBeforeDurable, "store-crash"),
    (Defect::RtCached, "append"),
    (Defect::RtStaleReplica, "store-crash"),
    (Defect::RetryAppliedTwice, "network"),
    (Defect::BatchHalfApplied, "store-crash"),
    (Defect::RejectedButApplied, "layouts"),
    (Defect::ChangelogNoBefore, "key-upsert-delete"),
    (Defect::InsertOnExisting, "key-upsert-delete"),
    (Defect::LookupBehindScan, "key-upsert-delete"),
    (Defect::DirtyReadLost, "store-crash"),
    (Defect::RenameUnguarded, "append"),
    (Defect::ReplaceFallsBackToDropCreate, "append"),
    (Defect::TruncateLakeOnly, "append"),
    (Defect::ToggleNeedsStore, "contract-table"),
    (Defect::BaseReadOpensStore, "contract-table"),
    (Defect::EagerStore, "contract-table"),
    (Defect::StoreCreatedTwice, "contract-table"),
    (Defect::MisconfigurationNotFound, "contract-table"),
    (Defect::MisconfigurationFallsBack, "contract-table"),
    (Defect::ErrorWithoutStoreName, "contract-table"),
    (Defect::RtWritable, "contract-table"),
    (Defect::RtTimeTravel, "contract-table"),
    (Defect::RtAliasTooGreedy, "contract-table"),
    (Defect::ViewShadowed, "contract-table"),
    (Defect::OverwriteToStore, "contract-table"),
    (Defect::OverwriteSticksToSession, "contract-table"),
    (Defect::WriteToLake, "contract-table"),
    (Defect::UpdateOnLake, "contract-table"),
    (Defect::SystemTableRouted, "contract-table"),
    (Defect::BranchWriteAccepted, "contract-table"),
    (Defect::BranchWriteOpensStore, "contract-table"),
    (Defect::StaleLayoutAccepted, "layouts"),
    (Defect::LayoutMessageLeaksOptions, "layouts"),
    (Defect::PrefixNotStripped, "contract-table"),
    (Defect::ForeignOptionsForwarded, "contract-table"),
    (Defect::CloseStopsAtFirstError, "contract-table"),
    (Defect::UnmarkedAffected, "contract-table"),
    (Defect::GoneForGood, "lake-storage"),
    (Defect::SequenceRestarts, "key-upsert-delete"),
    (Defect::SequenceByClock, "network"),
    (Defect::CleanupOnUnknown, "lake-storage"),
    (Defect::OverwriteDropsConcurrent, "lake-storage"),
    (Defect::RetryOtherKind, "lake-storage"),
    (Defect::RenameRace, "partitioned"),
    (Defect::RenameForced, "lake-storage"),
    (Defect::LoserSucceeds, "lake-storage"),
    (Defect::ReplayNotFiltered, "lake-storage"),
    (Defect::ExpiryDeletesLive, "maintenance"),
    (Defect::ExpiryIgnoresTag, "maintenance"),
    (Defect::TagTakesAll, "maintenance"),
    (Defect::OrphanCleanRaces, "maintenance"),
    (Defect::StaleLatestHint, "lake-storage"),
    (Defect::DeleteDroppedEarly, "maintenance"),
    (Defect::BucketHashDiffers, "key-upsert-delete"),
    (Defect::StatsPruneWrong, "append"),
    (Defect::PartialManifest, "lake-storage"),
    (Defect::DeleteIgnored, "key-upsert-delete"),
    (Defect::ReplaceUnguarded, "append"),
    (Defect::GuardOnlyInBaseCatalog, "catalog"),
    (Defect::RejectionWithoutAdvice, "append"),
    (Defect::AdviceLostInWrapping, "append"),
    (Defect::RejectionAfterEffect, "append"),
    (Defect::OffKeepsRejecting, "catalog"),
    (Defect::TruncateAccepted, "append"),
    (Defect::ColumnChangeRejected, "catalog"),
    (Defect::ColumnChangePushedToStore, "ddl-races"),
    (Defect::IfExistsGuarded, "catalog"),
    (Defect::FalseStored, "lifecycle"),
    (Defect::ResetThenEnableForgotten, "promotion"),
    (Defect::LegacyMarked, "lifecycle"),
    (Defect::SystemColumnAccepted, "lifecycle"),
    (Defect::ColumnInTheMiddle, "lifecycle"),
    (Defect::EnableWithoutIdCheck, "promotion"),
    (Defect::EnableOneSided, "promotion"),
    (Defect::LoadNewestNotFixed, "promotion"),
    (Defect::NativeCommitDuringLoadMissed, "promotion"),
    (Defect::BucketPublishedEarly, "promotion"),
    (Defect::HalfLoadedEnabledAfterCrash, "promotion"),
    (Defect::SecondCallLoadsAgain, "promotion"),
    (Defect::AppendTableWithOffsets, "promotion"),
    (Defect::HistoryShadowedByStore, "promotion"),
    (Defect::UnmappableAccepted, "promotion"),
    (Defect::ManagedOptionAccepted, "promotion"),
    (Defect::PartitionSelectionIgnored, "promotion"),
];

/// Bugs that no scenario finds by their own property first: the list that the scripts leave out as well.
fn not_found_yet() -> Vec<Defect> {
    let lines = include_str!("../../ci/not-found-yet.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|id| id.parse().unwrap()).collect()
}

/// Bugs of the JDBC catalog alone; the scenario's plans are run with one.
const OF_THE_JDBC_CATALOG: [Defect; 2] = [Defect::GuardOnlyInBaseCatalog, Defect::AdviceLostInWrapping];

/// How many seeds of the scenario are searched, from 0.
const SEEDS: u64 = 120;

/// The properties that a run violates.
fn violated(scenario: &str, seed: u64, kind: Option<CatalogKind>, defects: Defects) -> Vec<&'static str> {
    let mut plan = scenarios::find(scenario).unwrap().plan(seed);
    plan.catalog.kind = kind.unwrap_or(plan.catalog.kind);
    let result = run(&plan, &RunOptions { defects, damage: None });
    assert_eq!(result.trouble, None, "{scenario}@{seed}");
    check(&result.history).violated().collect()
}

#[test]
fn the_table_names_every_defect_once() {
    let named: Vec<Defect> = FOUND_BY.iter().map(|(defect, _)| *defect).collect();
    let not_found_yet = not_found_yet();
    let expected: Vec<Defect> = Defect::ALL.iter().copied().filter(|defect| !not_found_yet.contains(defect)).collect();
    assert_eq!(named, expected);
}

/// What is wrong with one row of the table, if anything is.
fn problem(defect: Defect, scenario: &str) -> Option<String> {
    let kind = OF_THE_JDBC_CATALOG.contains(&defect).then_some(CatalogKind::Jdbc);
    let found = |seed: &u64| {
        let violated = violated(scenario, *seed, kind, Defects::from_iter([defect]));
        defect.properties().iter().any(|property| violated.contains(property))
    };
    let Some(seed) = (0..SEEDS).find(found) else {
        let properties = defect.properties().join(" or ");
        return Some(format!("{defect}: no seed of {scenario} below {SEEDS} violates {properties}"));
    };
    let without = violated(scenario, seed, kind, Defects::none());
    (!without.is_empty())
        .then(|| format!("{defect}: {scenario}@{seed} violates {without:?} without the defect as well"))
}

#[test]
fn every_defect_is_found_by_its_property_and_the_correct_reference_is_held_on_that_seed() {
    // Each run has a thread of its own in a campaign too; here the rows of the table are dealt to as many as help.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let problems_of = |first: usize| {
        let dealt = FOUND_BY.iter().skip(first).step_by(threads);
        dealt.filter_map(|(defect, scenario)| problem(*defect, scenario)).collect::<Vec<String>>()
    };
    let problems: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || problems_of(first))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
