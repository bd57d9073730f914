//! Time and luck, given from outside.
//!
//! A model never reads a clock and never rolls a die of its own: the same model then runs under simulated time, under
//! a vendor's virtual clock and under the wall clock.

use async_trait::async_trait;

use crate::points::Point;

/// What the runner gives to one part: its clock and its share of the seed.
#[async_trait(?Send)]
pub trait Environment {
    /// Milliseconds since the run began.
    fn now_ms(&self) -> u64;

    /// Returns `duration_ms` later. Zero still yields to the other tasks.
    async fn sleep_ms(&self, duration_ms: u64);

    /// A uniformly distributed number that depends only on (seed, part, `site`, `subject`, `occurrence`), never on
    /// what was drawn before (rule 1). `subject` is the stable id of what the draw is for: a table and round, a
    /// statement's id.
    fn draw(&self, site: &str, subject: &str, occurrence: u64) -> u64;

    /// The part has come to this point. Nothing follows from it for the part.
    fn reached(&self, _point: Point) {}

    /// A version-4 UUID made of two draws.
    fn uuid(&self, site: &str, subject: &str, occurrence: u64) -> String {
        let high = self.draw(site, subject, occurrence.wrapping_mul(2));
        let low = self.draw(site, subject, occurrence.wrapping_mul(2).wrapping_add(1));
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff,
        )
    }
}
