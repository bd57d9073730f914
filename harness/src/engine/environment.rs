//! The clock and the luck of one host. Its clock shows the true time, and what the host's clock is ahead of it; its
//! sleeps are monotonic and last as long as they say, whatever the clock does meanwhile.

use std::rc::Rc;

use async_trait::async_trait;
use models::contract::Environment;
use models::points::Point;
use scenarios::draw::Draws;

use super::hosts::HostState;
use super::network::{Network, pass};
use crate::coverage::Catalogue;

/// The host of whoever looks from outside: where it comes is no coverage.
pub const OBSERVER: &str = "observer";

/// What a simulated part sees of the world besides its peers.
pub struct SimulatedEnvironment {
    network: Rc<Network>,
    /// Its pauses stop the part's timers.
    host: Rc<HostState>,
}

impl SimulatedEnvironment {
    /// The environment of what runs on a host.
    pub fn new(network: &Rc<Network>, host: &Rc<HostState>) -> Rc<Self> {
        Rc::new(Self { network: network.clone(), host: host.clone() })
    }
}

#[async_trait(?Send)]
impl Environment for SimulatedEnvironment {
    fn now_ms(&self) -> u64 {
        self.host.clock_ms(self.network.now_ms())
    }

    async fn sleep_ms(&self, duration_ms: u64) {
        pass(duration_ms).await;
        self.host.running().await;
    }

    fn draw(&self, site: &str, subject: &str, occurrence: u64) -> u64 {
        Draws { seed: self.network.seed() }.draw(&self.host.name, subject, site, occurrence)
    }

    fn reached(&self, point: Point) {
        if &*self.host.name != OBSERVER {
            self.network.reach(Catalogue::of_system(point));
        }
    }
}
