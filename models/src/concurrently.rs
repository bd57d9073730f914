//! Many calls at once.
//!
//! `futures::future::join_all` polls every call whenever one of them moves, which is quadratic for the files of a scan.
//! Here only the call that moved is polled. The order of polling follows the order of wake-ups, so it is a function of
//! the run, and results come in the order of the calls.

use std::future::Future;

use futures::stream::{FuturesOrdered, StreamExt, TryStreamExt};

/// The results of all calls, in their order.
pub(crate) async fn all<F: Future>(calls: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    calls.into_iter().collect::<FuturesOrdered<F>>().collect().await
}

/// The results of all calls, in their order, or the first failure; then the rest is no longer waited for.
pub(crate) async fn all_or_first_failure<T, E, F>(calls: impl IntoIterator<Item = F>) -> Result<Vec<T>, E>
where
    F: Future<Output = Result<T, E>>,
{
    calls.into_iter().collect::<FuturesOrdered<F>>().try_collect().await
}
