//! Promotion, end to end: a client, a store, a coordinator and a tiering worker on one lake (P1–P8).

mod crashes;
mod fixture;
mod planted;
mod procedure;
