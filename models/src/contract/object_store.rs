//! The storage under the lake.

use async_trait::async_trait;
use bytes::Bytes;

use super::failure::Failure;

/// Whole objects under `/`-separated paths without a leading slash. Each call is one round trip and can fail before
/// its effect (definite) or after it (indefinite).
#[async_trait(?Send)]
pub trait ObjectStore {
    /// The object's bytes; `not-found` if there is none.
    async fn get(&self, path: &str) -> Result<Bytes, Failure>;

    /// Whether there is an object.
    async fn exists(&self, path: &str) -> Result<bool, Failure>;

    /// Creates or overwrites, whole or not at all.
    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), Failure>;

    /// Creates, whole or not at all; `false` and no effect if there is an object already. This is the compare-and-swap
    /// under every Paimon commit: of two writers exactly one sees `true`.
    async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool, Failure>;

    /// Whether the answers of [`ObjectStore::put_if_absent`] are as it promises. Where they are not, because storage
    /// only knows weaker steps, whoever creates a file must read it back to know whose it is.
    fn creates_atomically(&self) -> bool {
        true
    }

    /// The paths of all objects beneath the directory, however deep, in ascending order.
    async fn list(&self, directory: &str) -> Result<Vec<String>, Failure>;

    /// Deletes; no error if there is nothing.
    async fn delete(&self, path: &str) -> Result<(), Failure>;

    /// Gives an object another name; whether it did. A name that is taken is replaced if `replacing`, or else stays as it
    /// is. `not-found` if there is no object `from`. Storage that knows no rename copies and deletes.
    async fn rename_object(&self, from: &str, to: &str, replacing: bool) -> Result<bool, Failure> {
        let bytes = self.get(from).await?;
        let renamed = match replacing {
            true => self.put(to, bytes).await.map(|()| true),
            false => self.put_if_absent(to, bytes).await,
        };
        if renamed? {
            self.delete(from).await?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Moves everything beneath `from` to beneath `to`, all or nothing; `already-exists` if `to` has objects.
    async fn rename_directory(&self, from: &str, to: &str) -> Result<(), Failure>;
}
