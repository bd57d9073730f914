//! Writes and reads the table kinds of `kinds.json` with the paimon crate.
//!
//! `write KINDS.json KIND[,KIND…] WAREHOUSE` and `read WAREHOUSE KINDS.json KIND[,KIND…]`. Prints one JSON object: what
//! became of each kind. A kind that fails says so and does not stop the others.

mod cells;
mod reading;
mod types;
mod writing;

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use paimon::catalog::Identifier;
use paimon::{CatalogFactory, Options};
use serde_json::{Map, Value as Json, json};

const USAGE: &str = "expected: write KINDS.json KIND[,KIND…] WAREHOUSE, or read WAREHOUSE KINDS.json KIND[,KIND…]";

/// Whatever went wrong.
pub type Failure = Box<dyn Error>;

/// A step that the crate does not offer.
#[derive(Debug)]
pub struct Unsupported(pub String);

impl fmt::Display for Unsupported {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for Unsupported {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let answers = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", file, names, warehouse] => answer(true, file, names, warehouse).await,
        ["read", warehouse, file, names] => answer(false, file, names, warehouse).await,
        _ => Err(USAGE.into()),
    };
    match answers {
        Ok(answers) => {
            println!("{answers:#}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(2)
        }
    }
}

/// One answer for each kind that is asked for.
async fn answer(writing: bool, file: &str, names: &str, warehouse: &str) -> Result<Json, Failure> {
    let text = std::fs::read_to_string(file)?;
    let file_content: Json = serde_json::from_str(&text)?;
    let kinds = file_content["kinds"].as_array().ok_or("expected an array `kinds`")?;
    let mut options = Options::new();
    options.set("warehouse", warehouse);
    let catalog = CatalogFactory::create(options).await?;
    let mut answers = Map::new();
    for name in names.split(',') {
        let identifier = Identifier::new("interop", name.replace('-', "_"));
        let answer = match kinds.iter().find(|kind| kind["name"] == name) {
            None => json!({ "error": format!("expected a kind of {file}, found {name}") }),
            Some(kind) if writing => match writing::write(&*catalog, &identifier, kind).await {
                Ok(written) => json!({ "written": written }),
                Err(failure) => refusal(&*failure),
            },
            Some(kind) => json!({ "reads": reading::read(&*catalog, &identifier, kind).await }),
        };
        answers.insert(name.to_owned(), answer);
    }
    Ok(Json::Object(answers))
}

/// What cannot be done is told apart from what went wrong.
pub fn refusal(failure: &(dyn Error + 'static)) -> Json {
    let unsupported =
        failure.is::<Unsupported>() || matches!(failure.downcast_ref(), Some(paimon::Error::Unsupported { .. }));
    let text = failure.to_string();
    let line = text.lines().next().unwrap_or_default();
    json!({ if unsupported { "unsupported" } else { "error" }: line })
}

/// The name of the first field of an object, and its value: what a step or a change does.
pub fn first_field(object: &Json) -> Result<(&str, &Json), Failure> {
    let first = object.as_object().and_then(|fields| fields.iter().next());
    first.map(|(name, value)| (name.as_str(), value)).ok_or_else(|| "expected an object with a field".into())
}

/// The text of a field; empty if it is none.
pub fn text<'a>(object: &'a Json, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}
