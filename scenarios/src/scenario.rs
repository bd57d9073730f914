//! Stand-in.
use models::config::*;
/// x
#[derive(Clone, Debug)]
pub struct Scenario {
    /// x
    pub name: String,
    /// x
    pub description: String,
    /// x
    pub weight: u64,
    /// x
    pub exercises: Vec<String>,
}
impl Scenario {
    /// x
    pub fn plan(&self, seed: u64) -> crate::plan::Plan {
        crate::plan::Plan {
            version: 1,
            scenario: self.name.clone(),
            seed,
            system: SystemConfig {
                store: StoreConfig { sync_ms: 1, log_ttl_ms: None, retention_interval_ms: 1 },
                coordinator: CoordinatorConfig { freshness_ms: 1, heartbeat_timeout_ms: 1, check_interval_ms: 1 },
                worker: WorkerConfig {
                    poll_interval_ms: 1,
                    heartbeat_interval_ms: 1,
                    max_round_ms: 1,
                    fetch_max_records: 1,
                },
                client: ClientConfig { retries: 1, retry_wait_ms: 1 },
                tiering_workers: 1,
                call_timeout_ms: 1,
                max_call_ms: 1,
            },
            min_call_ms: 0,
            tables: vec![],
            chaos_ms: 1,
            steps: vec![],
        }
    }
}
/// x
pub fn library() -> &'static [Scenario] {
    static LIBRARY: std::sync::OnceLock<Vec<Scenario>> = std::sync::OnceLock::new();
    LIBRARY.get_or_init(|| {
        vec![
            Scenario {
                name: "steady".to_owned(),
                description: "nothing goes wrong".to_owned(),
                weight: 2,
                exercises: vec!["F1".to_owned()],
            },
            Scenario {
                name: "commit-races".to_owned(),
                description: "two commit".to_owned(),
                weight: 1,
                exercises: vec!["F1".to_owned()],
            },
        ]
    })
}
/// x
pub fn find(name: &str) -> Option<&'static Scenario> {
    library().iter().find(|scenario| scenario.name == name)
}
