//! The judge does not know the crime, and no more does who plans it: a seed gives the same plan with and without a planted
//! bug, and the crate that makes plans cannot even name one.

use std::fs;
use std::path::Path;

use harness::engine::run::RunOptions;
use harness::engine::sim::run;
use models::defects::{Defect, Defects};

/// The plans of a few seeds of every scenario, as bytes.
fn plans() -> Vec<String> {
    let library = scenarios::library().iter();
    library.flat_map(|scenario| (0..3).map(|seed| scenario.plan(seed).to_json())).collect()
}

#[test]
fn seeds_give_equal_plans_with_and_without_a_planted_bug() {
    let before = plans();
    let small = scenarios::find("crash-commit").unwrap().plan(0);
    for defect in Defect::ALL {
        let planted = Defects::from_iter([*defect]);
        let result = run(&small, &RunOptions { defects: planted, damage: None });
        assert_eq!(result.trouble, None, "{defect}");
        assert_eq!(scenarios::find("crash-commit").unwrap().plan(0), small, "{defect}");
    }
    assert_eq!(plans(), before);
}

/// Every file of a directory and those beneath it, with its text.
fn texts(directory: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts(&path, found);
        } else {
            found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn who_makes_plans_and_who_judges_cannot_name_a_planted_bug() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for directory in ["scenarios/src", "scenarios/library", "harness/src/check"] {
        texts(&repository.join(directory), &mut found);
    }
    assert!(found.len() > 100, "{}", found.len());
    for (file, text) in &found {
        assert!(!text.contains("models::defects") && !text.contains("Defect::"), "{file}");
        let ids = Defect::ALL.iter().map(|defect| format!("\"{defect}\""));
        let named: Vec<String> = ids.filter(|id| text.contains(id)).collect();
        assert!(named.is_empty(), "{file} names {named:?}");
    }
}
