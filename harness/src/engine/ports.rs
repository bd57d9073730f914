//! The parts of the contract with a port in front: each method is one call of the [`Network`](super::network::Network).
//!
//! A port adds nothing but the way. What it learns about table ids serves only to name calls by their table.

mod coordinator;
mod lake;
mod metastore;
mod store;
mod tiering;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use models::contract::{StoreTable, TableId, TablePath};

pub use coordinator::CoordinatorPort;
pub use lake::LakePort;
pub use metastore::MetastorePort;
pub use store::StorePort;
pub use tiering::{TieringCommitterPort, TieringPlannerPort, TieringReaderPort};

/// Which table an id belongs to, as far as any port has learnt it. Copies share what they know.
#[derive(Clone, Default)]
pub struct TableNames(Rc<RefCell<BTreeMap<TableId, TablePath>>>);

impl TableNames {
    fn of(&self, table_id: TableId) -> Option<TablePath> {
        self.0.borrow().get(&table_id).cloned()
    }

    fn learn(&self, table: &StoreTable) {
        self.0.borrow_mut().insert(table.table_id, table.path.clone());
    }
}
