//! What the reference client promises, with the reference store and the reference lake behind it. Tiering is played by
//! the fixture: a round is one lake commit that carries offsets, so that a test says exactly when it happens.

mod changes;
mod discovery;
mod fixture;
mod history;
mod layouts;
mod names;
mod planted;
mod routing;
mod sessions;
mod union;
mod updates;
mod writes;
