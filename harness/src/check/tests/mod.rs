//! Each property as a pair of tiny histories: one that violates it and one that holds it, side by side.

mod freshness;
mod hand_off;
mod healing;
mod large;
mod no_loss;
mod registry;
mod rejection;
mod routing;
mod story;
