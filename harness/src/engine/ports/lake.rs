//! The lake's storage with a port in front: its calls are named by what they touch.

use std::rc::Rc;

use async_trait::async_trait;
use bytes::Bytes;
use models::contract::{Failure, ObjectStore, TablePath};
use scenarios::plan::calls::TIERING;

use super::super::faults::StaleAnswer;
use super::super::network::{Edge, Network};

/// The lake's storage behind a port.
pub struct LakePort {
    /// The way.
    pub network: Rc<Network>,
    /// From whom to the lake.
    pub edge: Edge,
    /// The storage.
    pub objects: Rc<dyn ObjectStore>,
}

/// What an object is, by its place in the table's directory.
enum ObjectKind {
    Snapshot,
    Schema,
    ManifestList,
    Manifest,
    Hint,
    Tag,
    Data,
    /// What is written beside a file's name and then renamed to it.
    Temporary,
    Other,
}

/// Where a database's views are, beside its tables.
const VIEWS: &str = ".views";

/// The table of a path and what the object is to it.
fn classify(path: &str) -> (Option<TablePath>, ObjectKind) {
    let mut parts = path.split('/');
    let database = parts.next().unwrap_or_default();
    let table = parts.next().unwrap_or_default();
    let folder = parts.next().unwrap_or_default();
    let file = path.rsplit('/').next().unwrap_or_default();
    if table == VIEWS {
        // A view is named by what stands before its `$`: `t$rt` is looked for whenever that of `t` is read.
        let view = file.split(['$', '.']).next().unwrap_or_default();
        let owner = database.strip_suffix(".db").filter(|_| !view.is_empty());
        return (owner.map(|database| TablePath::new(database, view)), ObjectKind::Other);
    }
    let kind = match folder {
        _ if file.starts_with('.') && file.ends_with(".tmp") => ObjectKind::Temporary,
        "snapshot" if file == "LATEST" || file == "EARLIEST" => ObjectKind::Hint,
        "snapshot" => ObjectKind::Snapshot,
        "schema" => ObjectKind::Schema,
        "tag" => ObjectKind::Tag,
        "manifest" if file.starts_with("manifest-list") => ObjectKind::ManifestList,
        "manifest" => ObjectKind::Manifest,
        _ => ObjectKind::Data,
    };
    let owner = database.strip_suffix(".db").filter(|_| !table.is_empty());
    (owner.map(|database| TablePath::new(database, table)), kind)
}

/// The call's name: a literal for each pair of verb and kind of object, so that none is built at run time.
macro_rules! lake_call {
    ($verb:literal, $kind:expr) => {
        match $kind {
            ObjectKind::Snapshot => concat!("lake.", $verb, "-snapshot"),
            ObjectKind::Schema => concat!("lake.", $verb, "-schema"),
            ObjectKind::ManifestList => concat!("lake.", $verb, "-manifest-list"),
            ObjectKind::Manifest => concat!("lake.", $verb, "-manifest"),
            ObjectKind::Hint => concat!("lake.", $verb, "-hint"),
            ObjectKind::Tag => concat!("lake.", $verb, "-tag"),
            ObjectKind::Data => concat!("lake.", $verb, "-data"),
            ObjectKind::Temporary => concat!("lake.", $verb, "-temporary"),
            ObjectKind::Other => concat!("lake.", $verb, "-other"),
        }
    };
}

impl LakePort {
    /// Leaves the beginning of an object, and an error that does not say so.
    async fn tear(objects: &dyn ObjectStore, path: &str, beginning: Bytes) -> Result<(), Failure> {
        objects.put(path, beginning).await?;
        Err(Failure::internal(format!("{path}: the connection broke while the object was written")))
    }

    /// Tells the books what a successful write was.
    fn written(network: &Network, worker: &Rc<str>, role_is_tiering: bool, path: &str) {
        match classify(path) {
            (_, ObjectKind::Data) => network.data_file_written(),
            (Some(table), ObjectKind::Snapshot) => {
                network.arrivals().note(path, network.now_ms());
                if role_is_tiering {
                    network.round_committed(&table, worker);
                }
            }
            _ => {}
        }
    }
}

#[async_trait(?Send)]
impl ObjectStore for LakePort {
    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        let (table, kind) = classify(path);
        let objects = self.objects.clone();
        self.network
            .call(&self.edge, lake_call!("get", kind), table, Rc::<str>::from(path), move |path| {
                let objects = objects.clone();
                Box::pin(async move { objects.get(&path).await })
            })
            .await
    }

    async fn exists(&self, path: &str) -> Result<bool, Failure> {
        let (table, kind) = classify(path);
        let objects = self.objects.clone();
        let (network, caller) = (self.network.clone(), self.edge.caller.name.clone());
        self.network
            .call(&self.edge, lake_call!("exists", kind), table, Rc::<str>::from(path), move |path| {
                let (objects, stale) = (objects.clone(), network.faults.stale_paths(StaleAnswer::Exists, &caller));
                Box::pin(async move {
                    match stale {
                        Some(paths) => Ok(paths.contains(&*path)),
                        None => objects.exists(&path).await,
                    }
                })
            })
            .await
    }

    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), Failure> {
        let (table, kind) = classify(path);
        let (objects, network, worker) = (self.objects.clone(), self.network.clone(), self.edge.caller.name.clone());
        let is_tiering = &*self.edge.role == TIERING;
        let request = (Rc::<str>::from(path), bytes);
        self.network
            .call(&self.edge, lake_call!("put", kind), table, request, move |(path, bytes)| {
                let (objects, network, worker) = (objects.clone(), network.clone(), worker.clone());
                let torn = network.faults.torn(&bytes);
                Box::pin(async move {
                    if let Some(beginning) = torn {
                        return Self::tear(&*objects, &path, beginning).await;
                    }
                    objects.put(&path, bytes).await?;
                    Self::written(&network, &worker, is_tiering, &path);
                    Ok(())
                })
            })
            .await
    }

    async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool, Failure> {
        let (table, kind) = classify(path);
        let (objects, network, worker) = (self.objects.clone(), self.network.clone(), self.edge.caller.name.clone());
        let is_tiering = &*self.edge.role == TIERING;
        let request = (Rc::<str>::from(path), bytes);
        self.network
            .call(&self.edge, lake_call!("put", kind), table, request, move |(path, bytes)| {
                let (objects, network, worker) = (objects.clone(), network.clone(), worker.clone());
                let torn = network.faults.torn(&bytes);
                Box::pin(async move {
                    if let Some(beginning) = torn {
                        // What is there already stays as it is.
                        return match objects.exists(&path).await? {
                            true => Ok(false),
                            false => Self::tear(&*objects, &path, beginning).await.map(|()| true),
                        };
                    }
                    let created = objects.put_if_absent(&path, bytes).await?;
                    if created {
                        Self::written(&network, &worker, is_tiering, &path);
                    }
                    Ok(created)
                })
            })
            .await
    }

    async fn list(&self, directory: &str) -> Result<Vec<String>, Failure> {
        // A directory is named like a file in it, so that listing `snapshot/` is `lake.list-snapshot`.
        let (table, kind) = classify(&format!("{}/", directory.trim_end_matches('/')));
        let objects = self.objects.clone();
        let (network, caller) = (self.network.clone(), self.edge.caller.name.clone());
        self.network
            .call(&self.edge, lake_call!("list", kind), table, Rc::<str>::from(directory), move |directory| {
                let (objects, stale) = (objects.clone(), network.faults.stale_paths(StaleAnswer::List, &caller));
                Box::pin(async move {
                    let Some(paths) = stale else { return objects.list(&directory).await };
                    let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
                    Ok(paths.iter().filter(|path| path.starts_with(&prefix)).cloned().collect())
                })
            })
            .await
    }

    async fn delete(&self, path: &str) -> Result<(), Failure> {
        let (table, kind) = classify(path);
        let objects = self.objects.clone();
        self.network
            .call(&self.edge, lake_call!("delete", kind), table, Rc::<str>::from(path), move |path| {
                let objects = objects.clone();
                Box::pin(async move { objects.delete(&path).await })
            })
            .await
    }

    async fn rename_object(&self, from: &str, to: &str, replacing: bool) -> Result<bool, Failure> {
        let (table, kind) = classify(to);
        let (objects, network, worker) = (self.objects.clone(), self.network.clone(), self.edge.caller.name.clone());
        let is_tiering = &*self.edge.role == TIERING;
        let request = (Rc::<str>::from(from), Rc::<str>::from(to), replacing);
        self.network
            .call(&self.edge, lake_call!("rename", kind), table, request, move |(from, to, replacing)| {
                let (objects, network, worker) = (objects.clone(), network.clone(), worker.clone());
                Box::pin(async move {
                    let renamed = objects.rename_object(&from, &to, replacing).await?;
                    if renamed {
                        Self::written(&network, &worker, is_tiering, &to);
                    }
                    Ok(renamed)
                })
            })
            .await
    }

    async fn rename_directory(&self, from: &str, to: &str) -> Result<(), Failure> {
        let (table, _) = classify(&format!("{}/", from.trim_end_matches('/')));
        let (objects, network) = (self.objects.clone(), self.network.clone());
        let request = (Rc::<str>::from(from), Rc::<str>::from(to));
        self.network
            .call(&self.edge, "lake.rename-directory", table, request, move |(from, to)| {
                let (objects, network) = (objects.clone(), network.clone());
                Box::pin(async move {
                    objects.rename_directory(&from, &to).await?;
                    network.arrivals().follow(&from, &to);
                    Ok(())
                })
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lake_calls_are_named_by_what_they_touch() {
        let name = |path| {
            let (table, kind) = classify(path);
            format!("{}: {}", table.map(|table| table.to_string()).unwrap_or_default(), lake_call!("put", kind))
        };
        assert_eq!(name("db.db/t/snapshot/snapshot-7"), "db.t: lake.put-snapshot");
        assert_eq!(name("db.db/t/snapshot/LATEST"), "db.t: lake.put-hint");
        assert_eq!(name("db.db/t/manifest/manifest-list-1-0"), "db.t: lake.put-manifest-list");
        assert_eq!(name("db.db/t/manifest/manifest-1-0"), "db.t: lake.put-manifest");
        assert_eq!(name("db.db/t/dt=a/bucket-0/data-1-0.parquet"), "db.t: lake.put-data");
        assert_eq!(name("db.db/t/schema/schema-0"), "db.t: lake.put-schema");
        assert_eq!(name("db.db/t/tag/tag-a"), "db.t: lake.put-tag");
        assert_eq!(name("db.db/t/snapshot/.snapshot-7.u-1.tmp"), "db.t: lake.put-temporary");
        assert_eq!(name("db.db/.views/t$rt.json"), "db.t: lake.put-other");
    }
}
