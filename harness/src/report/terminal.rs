//! The verdict table and what follows it, at most 100 columns wide where the width is ours to choose.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use models::defects::Defects;

use super::paint::Paint;
use super::paragraph::{WIDTH, titled, wrapped};
use super::{Summary, grouped, mean, percent, replay_line, seed_count};
use crate::campaign::conclusion::Conclusion;
use crate::campaign::histogram::{Histogram, Quantiles};
use crate::campaign::tally::{LONG_RUN_STATEMENTS, PropertyTally, Tally, Verdict};
use crate::check::Violation;
use crate::coverage::{Need, catalogue};

/// What this program is called in its own reports.
const NAME: &str = concat!("lakestream-certify ", env!("CARGO_PKG_VERSION"));
/// Before lines that belong to what stands above.
const INDENT: &str = "  ";
const ID_WIDTH: usize = 4;
const VERDICT_WIDTH: usize = 13;
const JUDGEMENTS_WIDTH: usize = 11;
const SEEDS_WIDTH: usize = 9;
/// What the other columns and the two blanks between columns leave.
const STATEMENT_WIDTH: usize = WIDTH - ID_WIDTH - VERDICT_WIDTH - JUDGEMENTS_WIDTH - SEEDS_WIDTH - 4 * 2;
/// How many troubled seeds are told in full.
const TROUBLES_SHOWN: usize = 5;

/// The whole report. It ends with the line that replays the first failing seed, if there is one. `seconds` is how long
/// the campaign took, `out` where its files lie.
pub fn report(summary: &Summary<'_>, seconds: f64, out: &Path, paint: Paint) -> String {
    let mut text = banner(summary, seconds, paint);
    text.push('\n');
    if summary.selection.properties.iter().any(|property| summary.tally.verdict(property) != Verdict::NotTested) {
        text.push_str(&verdict_table(summary, paint));
        text.push('\n');
    }
    text.push_str(&freshness(summary.tally, paint));
    text.push_str(&shares(summary.tally, paint));
    text.push_str(&not_judged(summary, paint));
    text.push_str(&coverage(summary, paint));
    let _ = writeln!(text, "written to {}\n", out.display());
    text.push_str(&answer(summary, paint));
    text
}

/// The answer without the figures.
pub fn answer(summary: &Summary<'_>, paint: Paint) -> String {
    format!("{}{}{}", troubles(summary, paint), conclusion(summary, paint), failures(summary, paint))
}

/// What ran, and how fast.
pub fn banner(summary: &Summary<'_>, seconds: f64, paint: Paint) -> String {
    let totals = &summary.tally.totals;
    let rate = if seconds > 0.0 { totals.runs as f64 / seconds } else { 0.0 };
    let jail = if summary.jail { "on" } else { "off" };
    let system = if summary.defects.iter().next().is_none() {
        "reference system".to_owned()
    } else {
        let planted: Vec<_> = summary.defects.iter().map(|defect| defect.id()).collect();
        format!("reference system with {}", planted.join(", "))
    };
    let twice = match summary.double_percent {
        100 => "each run twice".to_owned(),
        percent => format!("{percent} % of them run twice"),
    };
    let seeds = seed_count(totals.seeds);
    let scenarios = match summary.tally.scenarios.len() {
        1 => "1 scenario".to_owned(),
        scenarios => format!("{scenarios} scenarios"),
    };
    format!(
        "{}\n{seeds} of {scenarios}, {twice} · {} runs in {seconds:.1} s · {rate:.1} runs/s\n",
        titled(NAME, &paint.bold(NAME), &format!("· {system} · jail: {jail}"), INDENT),
        grouped(totals.runs),
    )
}

/// One line a property, without those that are not tested.
pub fn verdict_table(summary: &Summary<'_>, paint: Paint) -> String {
    let row = |id: &str, statement: &str, verdict: &str, judgements: &str, seeds: &str| {
        format!(
            "{id:<ID_WIDTH$}  {statement:<STATEMENT_WIDTH$}  {verdict}  {judgements:>JUDGEMENTS_WIDTH$}  {seeds:>SEEDS_WIDTH$}\n"
        )
    };
    let head = row("", "property", &format!("{:<VERDICT_WIDTH$}", "verdict"), "judgements", "in seeds");
    let mut text = paint.bold(head.trim_end());
    text.push('\n');
    let nothing = PropertyTally::default();
    for property in &summary.selection.properties {
        let tally = summary.tally.properties.get(property.id).unwrap_or(&nothing);
        let verdict = summary.tally.verdict(property);
        if verdict == Verdict::NotTested {
            continue;
        }
        let word = painted(verdict, &format!("{:<VERDICT_WIDTH$}", verdict.word()), paint);
        text.push_str(&row(
            property.id,
            &shortened(property.statement, STATEMENT_WIDTH),
            &word,
            &grouped(tally.judged),
            &grouped(tally.seeds_exercised),
        ));
    }
    text
}

fn painted(verdict: Verdict, text: &str, paint: Paint) -> String {
    match verdict {
        Verdict::Violated => paint.red(text),
        Verdict::Held => paint.green(text),
        Verdict::Inconclusive | Verdict::NotExercised => paint.yellow(text),
        Verdict::Noted | Verdict::NotTested => paint.dim(text),
    }
}

/// The first sentence or clause that fits, else as many whole words as fit and an ellipsis.
fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let needed = word.chars().count() + usize::from(!short.is_empty());
        // One column is kept for the ellipsis.
        if used + needed > width - 1 {
            break;
        }
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
        used += needed;
    }
    format!("{}…", short.trim_end_matches([',', ';', ':', '.']))
}

/// How fresh reads were.
fn freshness(tally: &Tally, paint: Paint) -> String {
    let (real_time, lake) = tally.freshness();
    let mut text = paint.bold("freshness (simulated ms)          p50        p90        p99        max     writes");
    text.push('\n');
    let mut line = |name: &str, histogram: &Histogram| match histogram.quantiles() {
        None => writeln!(text, "{name:<27}  no samples"),
        Some(Quantiles { samples, p50_ms, p90_ms, p99_ms, max_ms }) => writeln!(
            text,
            "{name:<27}{:>10} {:>10} {:>10} {:>10} {:>10}",
            grouped(p50_ms),
            grouped(p90_ms),
            grouped(p99_ms),
            grouped(max_ms),
            grouped(samples)
        ),
    };
    // Writing to a String cannot fail.
    let _ = line("ack to `$rt` read", &real_time);
    let _ = line("ack to lake", &lake);
    text.push('\n');
    text
}

/// What the runs were like.
fn shares(tally: &Tally, paint: Paint) -> String {
    let totals = &tally.totals;
    let share = |part, whole| percent(part, whole).map_or("–".to_owned(), |percent| format!("{percent:.1} %"));
    let mean = |sum| mean(sum, totals.judged_seeds).map_or("–".to_owned(), decimal);
    let canaries = [("canaries, each found".to_owned(), grouped(tally.canaries_found))];
    let canaries = canaries.into_iter().filter(|_| tally.canaries_found > 0);
    let lines = [
        (format!("runs with ≥ {LONG_RUN_STATEMENTS} statements"), share(totals.long_runs, totals.judged_seeds)),
        ("tiering rounds committed, mean a run".to_owned(), mean(totals.rounds_committed)),
        ("calls between parts, mean a run".to_owned(), mean(totals.port_calls)),
        ("data files, mean a run".to_owned(), mean(totals.data_files)),
        ("writes that were acked".to_owned(), share(totals.writes_acked, totals.writes)),
        ("statements that read".to_owned(), share(totals.reads, totals.statements)),
        ("seeds with a fault that struck".to_owned(), share(totals.seeds_with_fault, totals.judged_seeds)),
        (
            "seeds with a crash between lake commit and registration".to_owned(),
            share(totals.seeds_with_crash_after_commit, totals.judged_seeds),
        ),
    ];
    let mut text = paint.bold("the runs");
    text.push('\n');
    for (what, value) in lines.into_iter().chain(canaries) {
        let _ = writeln!(text, "{what:<56} {value:>9}");
    }
    text.push('\n');
    text
}

/// With thousands parted and one digit after the point.
fn decimal(number: f64) -> String {
    let tenths = (number * 10.0).round() as u64;
    format!("{}.{}", grouped(tenths / 10), tenths % 10)
}

/// The properties that got no judgement and why, and what was noted.
fn not_judged(summary: &Summary<'_>, paint: Paint) -> String {
    let mut text = String::new();
    let mut list = |verdict: Verdict, reason: &str, ids: &[&str]| {
        let heading = paint.bold(&format!("{} ({reason}):", verdict.word()));
        let _ = writeln!(text, "{heading}\n{}", wrapped(&ids.join(", "), INDENT, INDENT));
    };
    for (verdict, reason) in [
        (Verdict::NotExercised, "nothing happened that could be judged"),
        (Verdict::Inconclusive, "the evidence decided nothing"),
    ] {
        let ids = summary.ids_with(verdict);
        if !ids.is_empty() {
            list(verdict, reason, &ids);
        }
    }
    let mut not_tested: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for property in &summary.selection.properties {
        if let Some(reason) = summary.tally.why_not_tested(property) {
            not_tested.entry(reason).or_default().push(property.id);
        }
    }
    for (reason, ids) in not_tested {
        list(Verdict::NotTested, &reason, &ids);
    }
    let notes = summary.notes();
    if !notes.is_empty() {
        let _ = writeln!(text, "{}", paint.bold("noted (the texts are silent):"));
        for note in notes {
            let line = format!("{} ({})", note.title(), seed_count(note.seeds));
            let _ = writeln!(text, "{}", wrapped(&line, INDENT, "    "));
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// What was reached of what must sometimes happen, and what was not.
fn coverage(summary: &Summary<'_>, paint: Paint) -> String {
    let coverage = &summary.tally.coverage;
    let reached = format!("{}/{} points reached", coverage.reached(), catalogue().count());
    let mut text = titled("coverage", &paint.bold("coverage"), &reached, INDENT);
    text.push('\n');
    let required = if summary.selection.covering { "required, not reached:" } else { "not reached:" };
    for (heading, need) in [(required, Need::Required), ("not reached, rare:", Need::Rare)] {
        let ids: Vec<&str> = coverage.missed(need).iter().map(|point| point.id.as_str()).collect();
        if !ids.is_empty() {
            let _ = writeln!(text, "{}", wrapped(&format!("{heading} {}", ids.join(", ")), INDENT, "    "));
        }
    }
    text.push('\n');
    text
}

/// Seeds that say nothing about the system.
fn troubles(summary: &Summary<'_>, paint: Paint) -> String {
    let troubles = &summary.tally.troubles;
    if troubles.is_empty() {
        return String::new();
    }
    let heading = format!("trouble: nothing is said about the system by {}", seed_count(troubles.len() as u64));
    let mut text = format!("{}\n", paint.red(&heading));
    for trouble in troubles.iter().take(TROUBLES_SHOWN) {
        let message = format!("{}: {}", trouble.seed, trouble.message);
        let _ = writeln!(text, "{}", wrapped(&message, INDENT, "    "));
        let planted = trouble.canary.map(|canary| Defects::from_iter([canary]));
        let _ = writeln!(text, "  {}", replay_line(&trouble.seed, planted.as_ref().unwrap_or(summary.defects)));
    }
    if troubles.len() > TROUBLES_SHOWN {
        let _ = writeln!(text, "  and {} more", troubles.len() - TROUBLES_SHOWN);
    }
    text.push('\n');
    text
}

/// The one answer.
fn conclusion(summary: &Summary<'_>, paint: Paint) -> String {
    let tally = summary.tally;
    match summary.selection.conclude(tally) {
        Conclusion::Held => {
            let held = summary.ids_with(Verdict::Held).len();
            let all = if held == 1 {
                "the one required property".to_owned()
            } else {
                format!("all {held} required properties")
            };
            format!("{} {all}\n", paint.green("held:"))
        }
        Conclusion::Inconclusive => {
            let missing: Vec<_> = summary.selection.missing(tally).iter().map(|property| property.id).collect();
            let unreached: Vec<_> = summary.selection.unreached(tally).iter().map(|point| point.id.as_str()).collect();
            let reasons = [
                ("no decided judgement of required properties, which more seeds may bring", missing),
                ("required points of the coverage were never reached", unreached),
            ];
            let told = reasons.iter().filter(|(_, ids)| !ids.is_empty()).map(|(reason, ids)| {
                let heading = paint.yellow(&format!("inconclusive: {reason}:"));
                format!("{heading}\n{}\n", wrapped(&ids.join(", "), INDENT, INDENT))
            });
            let interrupted = tally.interrupted.then(|| {
                let title = paint.yellow("inconclusive:");
                format!("{title} the campaign was interrupted, and nothing is said of what it did not run\n")
            });
            interrupted.into_iter().chain(told).collect()
        }
        Conclusion::Trouble => format!("{} see the seeds above\n", paint.red("trouble:")),
        Conclusion::Violated => {
            let violated = summary.ids_with(Verdict::Violated);
            let title = "violated:";
            format!("{}\n\n", titled(title, &paint.red(title), &violated.join(", "), INDENT))
        }
    }
}

/// For each violated property its first failing seed.
fn failures(summary: &Summary<'_>, paint: Paint) -> String {
    let mut blocks = Vec::new();
    for property in &summary.selection.properties {
        let Some(tally) = summary.tally.properties.get(property.id) else { continue };
        let Some(first) = tally.failures.first() else { continue };
        let mut block = format!("{}\n", titled(property.id, &paint.red(property.id), property.statement, INDENT));
        let _ = writeln!(
            block,
            "  violated in {} of {}, first in {}",
            grouped(tally.failing_seeds),
            seed_count(tally.seeds_exercised),
            first.seed
        );
        let _ = writeln!(block, "{}", violation(&first.violation));
        if let Some(bundle) = summary.bundles.get(&first.seed) {
            let _ = writeln!(block, "  bundle: {}", bundle.display());
        }
        let _ = writeln!(block, "{}", replay_line(&first.seed, summary.defects));
        blocks.push(block);
    }
    blocks.join("\n")
}

/// A violation's argument and the ordinals of the events that prove it, indented and wrapped.
pub fn violation(violation: &Violation) -> String {
    let events: Vec<String> = violation.events.iter().map(u64::to_string).collect();
    let argument = wrapped(&violation.argument, INDENT, INDENT);
    format!("{argument}\n{}", wrapped(&format!("events {}", events.join(", ")), INDENT, "    "))
}

#[cfg(test)]
mod tests {
    use models::defects::{Defect, Defects};

    use super::*;
    use crate::campaign::conclusion::Selection;
    use crate::campaign::tally::Failing;
    use crate::check::properties;

    #[test]
    fn a_long_statement_is_cut_between_words() {
        assert_eq!(shortened("No row appears twice.", 40), "No row appears twice.");
        assert_eq!(shortened("A lost row, by any means, is a violation", 13), "A lost row…");
    }

    #[test]
    fn means_are_readable() {
        assert_eq!([0.0, 9.96, 3_019.6].map(decimal), ["0.0", "10.0", "3,019.6"]);
    }

    #[test]
    fn the_report_fits_and_ends_with_the_line_to_paste() {
        let mut tally = Tally::new(3);
        let property = tally.properties.entry("L3").or_default();
        property.judged = 12_345_678;
        property.seeds_exercised = 1_200;
        property.violations = 1;
        property.failing_seeds = 1;
        let argument = format!("Row w1 appears twice in db.t.{}", " It was seen.".repeat(20));
        let violation = Violation { argument, events: (3..90).collect() };
        property.failures.push(Failing { seed: "steady@7".to_owned(), violation });
        for id in ["L1", "L2", "F1"] {
            let note = format!("alter_columns succeeded: {}", "the texts do not say what follows ".repeat(4));
            tally.properties.entry(id).or_default().notes.insert(note, if id == "F1" { 1 } else { 7 });
        }
        let selection = Selection { properties: properties::ALL.iter().collect(), named: false, covering: true };
        let defects = Defects::from_iter([Defect::TwoHolders]);
        let bundles = BTreeMap::from([("steady@7".to_owned(), "certificate/steady@7".into())]);
        let summary = Summary {
            tally: &tally,
            selection: &selection,
            defects: &defects,
            jail: true,
            double_percent: 100,
            bundles: &bundles,
        };
        let text = report(&summary, 2.0, Path::new("certificate"), Paint::OFF);
        assert_eq!(text.lines().last(), Some("lakestream-certify replay steady@7 --defect two-holders"), "{text}");
        for part in ["Row w1 appears twice in db.t.", "events 3, 4, ", "bundle: certificate/steady@7", "12,345,678"] {
            assert!(text.contains(part), "expected {part:?} in {text}");
        }
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        let table = verdict_table(&summary, Paint::OFF);
        assert!(!table.contains("not tested"), "{table}");
        assert!(text.contains(&format!("coverage 0/{} points reached", catalogue().count())), "{text}");
        assert!(text.contains("not reached, rare: "), "{text}");
        assert_eq!(text.matches("  L1 L2 — alter_columns succeeded").count(), 1, "{text}");
        assert!(text.contains("  F1 — alter_columns succeeded") && text.contains("(1 seed)"), "{text}");
        let painted = report(&summary, 2.0, Path::new("certificate"), Paint { on: true });
        assert!(painted.contains("\x1b[31;1mL3\x1b[0m"), "{painted}");
    }
}
