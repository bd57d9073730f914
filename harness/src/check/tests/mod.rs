//! Each property as a pair of tiny histories: one that violates it and one that holds it, side by side.

mod changelog;
mod columns_kept;
mod commits;
mod contract;
mod freshness;
mod hand_off;
mod healing;
mod key_state;
mod large;
mod layouts;
mod lifecycle;
mod neighbours;
mod no_loss;
mod overwrites;
mod promotion;
mod readable;
mod recreated;
mod registry;
mod rejection;
mod routing;
mod store_access;
mod store_down;
mod story;
mod views;
