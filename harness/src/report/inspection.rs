//! What is said about a table's directory: what there is, what is wrong, and what is worth knowing.

use std::fmt::Write;

use models::paimon::integrity::{Contents, Finding, Rule, Severity, TableOnDisk};
use models::paimon::{SchemaFile, Verification};
use serde::Serialize;

use super::paint::Paint;
use super::paragraph::wrapped;
use super::visible::visible;

/// So many orphans are named to people; machines get them all.
const ORPHANS_SHOWN: usize = 10;
/// So many characters of a line of a table's contents are shown to people.
const SHOWN_OF_A_LINE: usize = 4000;
/// What begins a line of a table's contents, up to its value.
const LABEL_WIDTH: usize = 12;

/// An inspection, for machines.
#[derive(Debug, Serialize)]
pub struct InspectionEntry<'a> {
    table: ContentsEntry<'a>,
    findings: Vec<FindingEntry<'a>>,
    notes: Vec<FindingEntry<'a>>,
    /// How many more findings and notes of a rule there were than are listed.
    left_out: Vec<LeftOutEntry>,
    orphans: Vec<String>,
    /// Whether files could not be read that would have led to others.
    orphans_uncertain: bool,
}

#[derive(Debug, Serialize)]
struct ContentsEntry<'a> {
    kind: &'static str,
    schema: Option<&'a SchemaFile>,
    snapshots: &'a [u64],
    newest_snapshot: Option<u64>,
    live_files: u64,
    total_record_count: Option<i64>,
    tags: &'a [String],
    branches: &'a [String],
    consumers: &'a [String],
    changelogs: &'a [u64],
    files: u64,
    data_files_read: u64,
    bytes_read: u64,
}

#[derive(Debug, Serialize)]
struct FindingEntry<'a> {
    rule: &'static str,
    property: &'static str,
    statement: &'static str,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<u64>,
    found: String,
    consequence: &'a str,
}

#[derive(Debug, Serialize)]
struct LeftOutEntry {
    rule: &'static str,
    count: u64,
}

/// An inspection as data.
pub fn entry<'a>(verification: &'a Verification, contents: &'a Contents) -> InspectionEntry<'a> {
    let newest = contents.newest.as_ref();
    InspectionEntry {
        table: ContentsEntry {
            kind: kind(contents.schema.as_ref()),
            schema: contents.schema.as_ref(),
            snapshots: &contents.snapshots,
            newest_snapshot: newest.map(|snapshot| snapshot.id),
            live_files: contents.live_files,
            total_record_count: newest.map(|snapshot| snapshot.total_record_count),
            tags: &contents.tags,
            branches: &contents.branches,
            consumers: &contents.consumers,
            changelogs: &contents.changelogs,
            files: contents.files,
            data_files_read: contents.data_files_read,
            bytes_read: contents.bytes_read,
        },
        findings: verification.findings.iter().map(finding_entry).collect(),
        notes: verification.notes.iter().map(finding_entry).collect(),
        left_out: verification
            .left_out
            .iter()
            .map(|(rule, count)| LeftOutEntry { rule: rule.id(), count: *count })
            .collect(),
        orphans: verification.orphans.iter().map(|file| TableOnDisk::shortened(file)).collect(),
        orphans_uncertain: verification.orphans_uncertain,
    }
}

fn finding_entry(finding: &Finding) -> FindingEntry<'static> {
    FindingEntry {
        rule: finding.rule.id(),
        property: finding.rule.property(),
        statement: finding.rule.statement(),
        file: TableOnDisk::shortened(&finding.file),
        snapshot: finding.snapshot,
        found: TableOnDisk::shortened(&finding.found),
        consequence: finding.rule.consequence(),
    }
}

fn kind(schema: Option<&SchemaFile>) -> &'static str {
    match schema {
        None => "unknown",
        Some(schema) if schema.primary_keys.is_empty() => "append table",
        Some(_) => "primary-key table",
    }
}

/// What there is in the table, for people.
pub fn contents(contents: &Contents, paint: Paint) -> String {
    let mut text = format!("{}\n", paint.bold(&visible(&heading(contents.schema.as_ref()))));
    let mut line = |label: &str, mut value: String| {
        if let Some((end, _)) = value.char_indices().nth(SHOWN_OF_A_LINE) {
            value.truncate(end);
            value.push_str("… (--json tells all)");
        }
        let first = format!("  {label:<width$}", width = LABEL_WIDTH - 2);
        let _ = writeln!(text, "{}", wrapped(&visible(&value), &first, &" ".repeat(LABEL_WIDTH)));
    };
    if let Some(schema) = &contents.schema {
        let fields = schema.fields.iter().map(|field| format!("{} {}", field.name, field.field_type));
        line("schema", format!("{}: {}", schema.id, fields.collect::<Vec<_>>().join(", ")));
    }
    line("snapshots", snapshots(contents));
    if let Some(newest) = &contents.newest {
        let live = contents.live_files;
        line("data", format!("{live} live {}, {} rows in them", files(live), newest.total_record_count));
    }
    for (label, names) in
        [("tags", &contents.tags), ("branches", &contents.branches), ("consumers", &contents.consumers)]
    {
        if !names.is_empty() {
            line(label, names.join(", "));
        }
    }
    if let (Some(first), Some(last)) = (contents.changelogs.first(), contents.changelogs.last()) {
        line("changelogs", format!("{first} to {last}"));
    }
    let (all, read) = (contents.files, contents.data_files_read);
    line("read", format!("{read} data {} of {all} files, {} bytes in all", files(read), contents.bytes_read));
    text
}

fn heading(schema: Option<&SchemaFile>) -> String {
    let Some(schema) = schema else { return "A table whose schema cannot be read".to_owned() };
    let keys = |label: &str, keys: &[String]| {
        if keys.is_empty() { String::new() } else { format!(", {label} {}", keys.join(", ")) }
    };
    let buckets = schema.options.get("bucket").map_or(String::new(), |buckets| format!(", bucket {buckets}"));
    let kind = if schema.primary_keys.is_empty() { "Append table" } else { "Primary-key table" };
    format!("{kind}{}{}{buckets}", keys("key", &schema.primary_keys), keys("partitioned by", &schema.partition_keys))
}

fn snapshots(contents: &Contents) -> String {
    let (Some(first), Some(last)) = (contents.snapshots.first(), contents.snapshots.last()) else {
        return "none".to_owned();
    };
    let newest = contents.newest.as_ref().map_or(String::new(), |newest| {
        let kind = format!("{:?}", newest.commit_kind).to_uppercase();
        format!("; {} is {kind}, committed by {}", newest.id, newest.commit_user)
    });
    format!("{} from {first} to {last}{newest}", contents.snapshots.len())
}

fn files(count: u64) -> &'static str {
    if count == 1 { "file" } else { "files" }
}

/// What is wrong and what is worth knowing, for people; empty if there is nothing.
pub fn findings(verification: &Verification, paint: Paint) -> String {
    let mut text = String::new();
    for finding in &verification.findings {
        push_finding(&mut text, finding, &paint.red(finding.rule.id()));
    }
    for note in &verification.notes {
        push_finding(&mut text, note, &paint.yellow(&format!("note, {}", note.rule.id())));
    }
    for (rule, count) in &verification.left_out {
        let _ = writeln!(text, "{} more of rule {}", count, rule.id());
    }
    push_orphans(&mut text, verification, paint);
    text
}

fn push_finding(text: &mut String, finding: &Finding, title: &str) {
    let file = visible(&TableOnDisk::shortened(&finding.file));
    let snapshot = finding.snapshot.map_or(String::new(), |id| format!(" (snapshot {id})"));
    let sentences = visible(&format!("{}; {}.", TableOnDisk::shortened(&finding.found), finding.rule.consequence()));
    let _ = writeln!(text, "{title} {file}{snapshot}\n{}", wrapped(&sentences, "    ", "    "));
}

fn push_orphans(text: &mut String, verification: &Verification, paint: Paint) {
    let orphans = &verification.orphans;
    if orphans.is_empty() {
        return;
    }
    let title = paint.yellow("note, orphan");
    if verification.orphans_uncertain {
        let sentence = format!(
            "{} files are not led to by any file that can be read. They are not listed, for files that cannot be read \
             may lead to them.",
            orphans.len()
        );
        let _ = writeln!(text, "{title}\n{}", wrapped(&sentence, "    ", "    "));
        return;
    }
    let _ = writeln!(text, "{title} {} {} that nothing leads to", orphans.len(), files(orphans.len() as u64));
    for file in orphans.iter().take(ORPHANS_SHOWN) {
        let _ = writeln!(text, "    {}", visible(&TableOnDisk::shortened(file)));
    }
    if orphans.len() > ORPHANS_SHOWN {
        let _ = writeln!(text, "    and {} more; --json lists them all", orphans.len() - ORPHANS_SHOWN);
    }
}

/// The result in a line.
pub fn conclusion(verification: &Verification, paint: Paint) -> String {
    let left_out = |damage: bool| -> u64 {
        let of_kind = |rule: &Rule| (rule.severity() == Severity::Damage) == damage;
        verification.left_out.iter().filter(|(rule, _)| of_kind(rule)).map(|(_, count)| count).sum()
    };
    let findings = verification.findings.len() as u64 + left_out(true);
    let unchecked = verification.notes.iter().filter(|note| note.rule == Rule::NotChecked).count();
    match (findings, unchecked) {
        (0, 0) => format!("{}: every rule of L10 and L18 was checked\n", paint.green("no findings")),
        (0, unchecked) => {
            format!("{}: no findings in what was checked, {unchecked} files were not\n", paint.yellow("inconclusive"))
        }
        (1, _) => format!("{}\n", paint.red("1 finding")),
        (findings, _) => format!("{}\n", paint.red(&format!("{findings} findings"))),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::paragraph::WIDTH;
    use super::*;

    fn finding(rule: Rule, file: &str) -> Finding {
        Finding {
            rule,
            file: format!("inspected.db/table/{file}"),
            snapshot: Some(3),
            found: "expected the file, to which snapshot 3 leads, found none".to_owned(),
        }
    }

    #[test]
    fn a_finding_names_rule_file_and_consequence_in_short_lines() {
        let verification = Verification {
            findings: vec![finding(Rule::FileExists, "bucket-0/data-1-0.parquet")],
            left_out: BTreeMap::from([(Rule::FileExists, 2)]),
            orphans: vec!["inspected.db/table/bucket-0/left".to_owned()],
            ..Verification::default()
        };
        let text = findings(&verification, Paint::OFF);
        assert!(
            text.starts_with("file-exists bucket-0/data-1-0.parquet (snapshot 3)\n    expected the file"),
            "{text}"
        );
        for part in ["readers of what refers to it fail", "2 more of rule file-exists", "1 file that", "bucket-0/left"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(conclusion(&verification, Paint::OFF), "3 findings\n");
    }

    #[test]
    fn names_cannot_command_the_terminal() {
        let verification = Verification {
            findings: vec![finding(Rule::FileExists, "bucket-0/\u{1b}[2J\u{7}")],
            ..Verification::default()
        };
        let text = findings(&verification, Paint::OFF);
        assert!(text.contains("\\u{1b}[2J\\u{7}") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn what_was_not_checked_is_not_said_to_be_clean() {
        let notes = vec![finding(Rule::NotChecked, "bucket-0/data-1-0.orc")];
        let verification = Verification { notes, ..Verification::default() };
        assert!(conclusion(&verification, Paint::OFF).starts_with("inconclusive"));
        assert!(conclusion(&Verification::default(), Paint::OFF).starts_with("no findings"));
    }
}
