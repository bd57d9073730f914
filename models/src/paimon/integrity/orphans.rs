//! L18: which files nobody leads to.

use super::check::Check;
use super::rule::Rule;

impl Check<'_> {
    /// Tells of directories that cannot be listed, though what is needed in them can be read.
    pub(super) fn unlisted_directories(&mut self) {
        let unlisted: Vec<&String> = self.listed.iter().filter(|file| self.leads_to_reachable(file)).collect();
        for directory in unlisted {
            let found = "it cannot be listed, so that what nobody needs in it is not known";
            self.findings.add(Rule::NotChecked, directory, None, found);
        }
    }

    /// The files that nothing leads to, ascending.
    pub(super) fn orphans(&self) -> Vec<String> {
        let root = self.directory.root().len() + 1;
        let is_orphan = |file: &&String| {
            // The table's directory itself is listed where it cannot be looked into.
            let within = file.get(root..).is_some_and(|within| !is_by_product(within));
            within && !self.reachable.contains(*file) && !self.leads_to_reachable(file)
        };
        self.listed.iter().filter(is_orphan).cloned().collect()
    }

    /// Whether something that is led to lies beneath what was listed like a file.
    fn leads_to_reachable(&self, file: &str) -> bool {
        let within = format!("{file}/");
        self.reachable.range(within.clone()..).next().is_some_and(|path| path.starts_with(&within))
    }
}

/// Files that no snapshot leads to and that are meant to be there: marks of finished partitions and tags, addresses of
/// query services, checksums of the file system. `file` is beneath the table's directory.
fn is_by_product(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name == "_SUCCESS"
        || (name.starts_with('.') && name.ends_with(".crc"))
        || file.starts_with("tag/tag-success-file/")
        || file.starts_with("service/service-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_products_are_no_orphans() {
        for file in ["dt=1/_SUCCESS", "snapshot/.snapshot-1.crc", "tag/tag-success-file/t", "service/service-lookup"] {
            assert!(is_by_product(file), "{file}");
        }
        for file in ["bucket-0/data-1-0.parquet", "snapshot/.snapshot-1.x.tmp", "dt=1/_SUCCESS/x", "tag/other"] {
            assert!(!is_by_product(file), "{file}");
        }
    }
}
