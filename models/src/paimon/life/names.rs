//! Names of tags, branches and consumers: they are parts of paths.

use crate::contract::Failure;

/// `invalid` unless the name can be the end of a file's name and of no other file's. `what` is for the message.
pub(super) fn check_name(what: &str, name: &str) -> Result<(), Failure> {
    let misplaced = |character: char| character == '/' || character == '\\' || character.is_control();
    if name.trim().is_empty() || name.contains(misplaced) {
        return Err(Failure::invalid(format!(
            "expected a {what} name that is not blank and without slashes and control characters, found {name:?}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_their_directory() {
        for name in ["", " ", "a/b", "../a", "a\\b", "a\nb"] {
            assert!(check_name("tag", name).unwrap_err().message.contains("a tag name"), "{name:?}");
        }
        for name in ["v1", "2024-01-01", "grün", ".hidden", "a b"] {
            assert_eq!(check_name("tag", name), Ok(()));
        }
    }
}
