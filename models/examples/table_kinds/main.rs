//! Writes and reads the table kinds of `ci/interop/kinds.json` with the reference table, as the drivers of other Paimon
//! implementations do; `ci/interop.sh` compares them.
//!
//! `write KINDS.json KIND[,KIND…] WAREHOUSE` and `read WAREHOUSE KINDS.json KIND[,KIND…]`. Prints one JSON object: what
//! became of each kind. A kind that fails says so and does not stop the others.

mod alterations;
mod kinds;
mod reading;
mod surroundings;
mod writing;

use std::process::ExitCode;

use models::contract::{Failure, FailureCode, TablePath};
use models::paimon::LakeAccess;
use serde_json::{Map, Value as Json, json};

use kinds::Kind;
use surroundings::lake;

const USAGE: &str = "expected: write KINDS.json KIND[,KIND…] WAREHOUSE, or read WAREHOUSE KINDS.json KIND[,KIND…]";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let answers = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", file, names, warehouse] => answer(true, file, names, warehouse).await,
        ["read", warehouse, file, names] => answer(false, file, names, warehouse).await,
        _ => Err(USAGE.to_owned()),
    };
    match answers {
        Ok(answers) => {
            println!("{answers:#}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

/// One answer for each kind that is asked for.
async fn answer(writing: bool, file: &str, names: &str, warehouse: &str) -> Result<Json, String> {
    let kinds = kinds::load(file)?;
    let lake = lake(warehouse);
    let mut answers = Map::new();
    for name in names.split(',') {
        let answer = match kinds.iter().find(|kind| kind.name == name) {
            None => json!({ "error": format!("expected a kind of {file}, found {name:?}") }),
            Some(kind) if writing => match writing::write(&lake, &path(kind), kind).await {
                Ok(written) => json!({ "written": written }),
                Err(failure) => refusal(&failure),
            },
            Some(kind) => json!({ "reads": reads(&lake, kind).await }),
        };
        answers.insert(name.to_owned(), answer);
    }
    Ok(Json::Object(answers))
}

/// One answer for each read; a read that fails does not stop the others.
async fn reads(lake: &LakeAccess, kind: &Kind) -> Vec<Json> {
    let mut answers = Vec::new();
    for read in &kind.reads {
        answers.push(match reading::rows(lake, &path(kind), read).await {
            Ok(rows) => json!({ "rows": rows }),
            Err(failure) => refusal(&failure),
        });
    }
    answers
}

/// One database for all kinds; names of directories keep to letters and underscores.
fn path(kind: &Kind) -> TablePath {
    TablePath::new("interop", &kind.name.replace('-', "_"))
}

/// What cannot be done is told apart from what went wrong.
fn refusal(failure: &Failure) -> Json {
    let key = if failure.code == FailureCode::Unsupported { "unsupported" } else { "error" };
    json!({ key: failure.message })
}
