//! What a lake table needs from outside: storage, time and luck.
//!
//! It must never know what lies behind the object store, nor what may go wrong on the way to it.

use std::rc::Rc;

use bytes::Bytes;

use crate::contract::{Environment, Failure, FailureCode, ObjectStore};
use crate::defects::Defects;

/// The surroundings of a lake table. Cheap to clone.
#[derive(Clone)]
pub struct LakeAccess {
    /// The storage; the warehouse's root is the empty path.
    pub objects: Rc<dyn ObjectStore>,
    /// Time and luck.
    pub environment: Rc<dyn Environment>,
    /// The planted bugs; none in the reference.
    pub defects: Defects,
}

/// The bytes of a file that must exist because a schema or a snapshot leads to it. A missing one is damage, not a
/// missing table, so it is `internal` and names the file.
pub(super) async fn read_referenced(objects: &dyn ObjectStore, path: &str) -> Result<Bytes, Failure> {
    objects.get(path).await.map_err(|failure| match failure.code {
        FailureCode::NotFound => Failure::internal(format!("expected the lake file {path}, found none")),
        _ => failure,
    })
}

/// The same failure, of a step before which nothing became visible and after which nothing was tried: whatever became
/// of the step itself, the statement has no effect.
pub(super) fn before_any_effect(failure: Failure) -> Failure {
    failure.made_definite()
}
