//! A part that can crash.

use async_trait::async_trait;

/// One process of the system: store, coordinator, tiering worker. It loses what is volatile when it crashes and keeps
/// what is durable. Whoever runs it calls [`Host::crash`] with none of its tasks alive, and [`Host::run`] at start and
/// after each restart.
#[async_trait(?Send)]
pub trait Host {
    /// Loses everything volatile, and rebuilds what a restart would from the durable rest.
    fn crash(&self);

    /// The host's background work. Never returns while the host is alive; it is dropped in mid-flight at a crash.
    async fn run(&self);
}
