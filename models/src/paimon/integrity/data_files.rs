//! Data files and changelog files: they exist, are as long as said, parse, and go through the rules of their rows.

use bytes::Bytes;

use super::super::data_file::{FileFormat, decode_changes, decode_rows};
use super::super::seal::check_data_file_name;
use super::super::table::SchemaVersion;
use super::super::{FormatResult, ManifestEntry};
use super::check::{Check, Line, Referrer};
use super::file_content::{Breach, check_changelog, check_changes, check_rows};
use super::rule::Rule;

/// What a file is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Data,
    Changelog,
}

impl Check<'_> {
    /// Notes the files that an entry leads to.
    pub(super) fn refer(&mut self, line: &Line, entry: &ManifestEntry) {
        let Some(path) = self.path_of(line, entry) else { return };
        for extra_file in &entry.file.extra_files {
            let beside = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            self.reachable.insert(format!("{beside}/{extra_file}"));
        }
        self.reachable.insert(path);
    }

    /// Reads and checks a data file, once however many snapshots refer to it.
    pub(super) async fn data_file(&mut self, line: &Line, entry: &ManifestEntry, referrer: Referrer<'_>) {
        self.file(line, entry, referrer, Purpose::Data).await;
    }

    /// Reads and checks a changelog file, once.
    pub(super) async fn changelog_file(&mut self, line: &Line, entry: &ManifestEntry, referrer: Referrer<'_>) {
        self.file(line, entry, referrer, Purpose::Changelog).await;
    }

    async fn file(&mut self, line: &Line, entry: &ManifestEntry, referrer: Referrer<'_>, purpose: Purpose) {
        let Some(schema) = line.schemas.get(&entry.file.schema_id) else {
            self.missing_schema(line, entry.file.schema_id, referrer);
            return;
        };
        let Some(path) = self.path_of(line, entry) else { return };
        if !self.done.insert(path.clone()) {
            return;
        }
        self.refer(line, entry);
        if !self.check_place(&path, entry, referrer) {
            return;
        }
        for extra_file in &entry.file.extra_files {
            self.extra_file(&path, extra_file, referrer).await;
        }
        let Some(bytes) = self.read(&path, referrer).await else { return };
        self.data_files_read += 1;
        if !self.check_size(&path, referrer, entry.file.file_size, &bytes) {
            return;
        }
        if let Err(error) = check_data_file_name(&entry.file.file_name, &bytes) {
            self.findings.add(Rule::FileSeal, &path, referrer.snapshot(), error.to_string());
            return;
        }
        let Ok(format) = FileFormat::of_file_name(&entry.file.file_name) else {
            let found = "its format is none that this check reads";
            self.findings.add(Rule::NotChecked, &path, referrer.snapshot(), found);
            return;
        };
        let has_all = |columns: &Vec<String>| schema.file.fields.iter().all(|field| columns.contains(&field.name));
        if entry.file.write_columns.as_ref().is_some_and(|columns| !has_all(columns)) {
            let found = "it has some of its schema's columns only, which this check does not put together";
            self.findings.add(Rule::NotChecked, &path, referrer.snapshot(), found);
            return;
        }
        match breaches(schema, entry, format, &bytes, purpose) {
            Ok((rows, breaches)) => {
                if rows != entry.file.row_count {
                    self.found_rows.insert(entry.file.file_name.clone(), rows);
                }
                for (rule, found) in breaches {
                    self.findings.add(rule, &path, referrer.snapshot(), found);
                }
            }
            Err(error) => self.unreadable(&path, referrer, &error),
        }
    }

    /// A file that belongs to a data file need only be there.
    async fn extra_file(&mut self, data_file: &str, extra_file: &str, referrer: Referrer<'_>) {
        if !self.check_name(extra_file, data_file, referrer) {
            return;
        }
        let beside = data_file.rsplit_once('/').map_or("", |(parent, _)| parent);
        let path = format!("{beside}/{extra_file}");
        if !self.is_listed(&path) {
            let found = format!("expected the file, to which {referrer} leads, found none");
            self.findings.add(Rule::FileExists, &path, referrer.snapshot(), found);
        }
    }

    /// Whether an entry names a file of the table; told if not.
    fn check_place(&mut self, path: &str, entry: &ManifestEntry, referrer: Referrer<'_>) -> bool {
        if let Some(external) = &entry.file.external_path {
            let shown: String = external.chars().take(80).collect();
            let found = format!("its manifest says that it lies outside of the table, at {shown:?}; it is not read");
            self.findings.add(Rule::FilePlace, path, referrer.snapshot(), found);
            return false;
        }
        self.check_name(&entry.file.file_name, path, referrer)
    }

    /// Where a data file lies if it lies in the table; `None` if its schema is not there.
    fn path_of(&self, line: &Line, entry: &ManifestEntry) -> Option<String> {
        let partition_paths = &line.schemas.get(&entry.file.schema_id)?.partition_paths;
        Some(self.directory.data_file(partition_paths, &entry.partition, entry.bucket, &entry.file.file_name))
    }
}

/// The rows of the file and the rules that it breaks.
fn breaches(
    schema: &SchemaVersion,
    entry: &ManifestEntry,
    format: FileFormat,
    bytes: &Bytes,
    purpose: Purpose,
) -> FormatResult<(u64, Vec<Breach>)> {
    if schema.file.primary_keys.is_empty() {
        let rows = decode_rows(&schema.layout, format, bytes)?;
        return Ok((rows.len() as u64, check_rows(schema, entry, &rows)));
    }
    let changes = decode_changes(&schema.layout, format, bytes)?;
    let breaches = match purpose {
        Purpose::Data => check_changes(schema, entry, &changes),
        Purpose::Changelog => check_changelog(schema, entry, &changes),
    };
    Ok((changes.len() as u64, breaches))
}
