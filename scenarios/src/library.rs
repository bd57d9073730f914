//! The named scenarios, one TOML file each, built into the binary. This module never knows what is in them.

use std::sync::LazyLock;

use crate::scenario::Scenario;

/// File name and text of each scenario, in the order of `list scenarios`.
const FILES: &[(&str, &str)] = &[
    ("append.toml", include_str!("../library/append.toml")),
    ("key-upsert-delete.toml", include_str!("../library/key-upsert-delete.toml")),
    ("partitioned.toml", include_str!("../library/partitioned.toml")),
    ("tiering-crash.toml", include_str!("../library/tiering-crash.toml")),
    ("network.toml", include_str!("../library/network.toml")),
    ("lake-storage.toml", include_str!("../library/lake-storage.toml")),
    ("maintenance.toml", include_str!("../library/maintenance.toml")),
    ("rollback.toml", include_str!("../library/rollback.toml")),
    ("store-crash.toml", include_str!("../library/store-crash.toml")),
    ("freshness.toml", include_str!("../library/freshness.toml")),
    ("catalog.toml", include_str!("../library/catalog.toml")),
    ("contract-table.toml", include_str!("../library/contract-table.toml")),
    ("ddl-races.toml", include_str!("../library/ddl-races.toml")),
    ("layouts.toml", include_str!("../library/layouts.toml")),
    ("lifecycle.toml", include_str!("../library/lifecycle.toml")),
    ("promotion.toml", include_str!("../library/promotion.toml")),
    ("recreate.toml", include_str!("../library/recreate.toml")),
    ("crash-round.toml", include_str!("../library/crash-round.toml")),
    ("crash-commit.toml", include_str!("../library/crash-commit.toml")),
    ("crash-promotion.toml", include_str!("../library/crash-promotion.toml")),
    ("crash-pairs.toml", include_str!("../library/crash-pairs.toml")),
];

/// All scenarios, in the order of `list scenarios`.
///
/// # Panics
///
/// If a built-in file is malformed, which the tests rule out.
pub fn library() -> &'static [Scenario] {
    static LIBRARY: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
        let parsed = FILES.iter().map(|(file, text)| Scenario::parse(file, text));
        parsed.collect::<Result<_, _>>().unwrap_or_else(|found| panic!("{found}"))
    });
    &LIBRARY
}

/// The scenario of this name. The error lists the names that there are.
pub fn find(name: &str) -> Result<&'static Scenario, String> {
    library().iter().find(|scenario| scenario.name == name).ok_or_else(|| {
        let known: Vec<&str> = library().iter().map(|scenario| scenario.name.as_str()).collect();
        format!("expected a scenario among {}, found {name:?}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_scenario_parses_and_has_the_name_of_its_file() {
        for (file, text) in FILES {
            let scenario = Scenario::parse(file, text).unwrap();
            assert_eq!(format!("{}.toml", scenario.name), *file);
            assert_eq!(find(&scenario.name).unwrap(), &scenario);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let found = find("apend").unwrap_err();
        assert!(found.starts_with("expected a scenario among append, key-upsert-delete, "), "{found}");
        assert!(found.ends_with("found \"apend\""), "{found}");
    }
}
