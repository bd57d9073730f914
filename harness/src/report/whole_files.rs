//! Files and directories that are there whole or not at all.
//!
//! A reader, or a campaign that was killed, never leaves half a certificate: all is written beside its place under a
//! temporary name and then renamed.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file, replacing one of that name.
pub fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".writing-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The default is for secrets; reports are for everybody that the umask lets in.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(directory_of(path))?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}

/// Writes a directory by `fill`, replacing one of that name that holds `proof`: a file that shows that it is one of
/// ours.
pub fn write_directory(path: &Path, proof: &str, fill: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".writing-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o777));
    }
    let directory = builder.tempdir_in(directory_of(path))?;
    fill(directory.path())?;
    if path.join(proof).is_file() {
        fs::remove_dir_all(path)?;
    }
    fs::rename(directory.path(), path)?;
    // What the guard would remove has moved away.
    let _ = directory.keep();
    Ok(())
}

/// Where a path's last part lies.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_failed_directory_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let failed = write_directory(&place.path().join("bundle"), "run.json", |directory| {
            fs::write(directory.join("half"), "x")?;
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert!(names(place.path()).is_empty());
    }

    #[test]
    fn only_our_own_directory_is_replaced() {
        let place = tempfile::tempdir().unwrap();
        let bundle = place.path().join("bundle");
        let fill = |directory: &Path| fs::write(directory.join("run.json"), "{}");
        write_directory(&bundle, "run.json", fill).unwrap();
        fs::write(bundle.join("old"), "").unwrap();
        write_directory(&bundle, "run.json", fill).unwrap();
        assert_eq!(names(&bundle), ["run.json"]);

        let foreign = place.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join("thesis.txt"), "").unwrap();
        assert!(write_directory(&foreign, "run.json", fill).is_err());
        assert_eq!(names(&foreign), ["thesis.txt"]);
        assert_eq!(names(place.path()), ["bundle", "foreign"]);
    }
}
