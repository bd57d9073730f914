//! The command line as a script sees it: exit statuses, stdout, stderr and files.

use std::fs;
#[cfg(unix)]
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const EMPTY_HISTORY: &str = concat!(
    r#"{"history":1,"tables":{},"bounds":{"rt_staleness_ms":0,"lake_freshness_ms":1,"recovery_ms":1},"#,
    r#""capabilities":[],"clock":"virtual"}"#,
    "\n"
);

/// The binary in a directory of its own, without options from the environment.
fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lakestream-certify"));
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LAKESTREAM_CERTIFY_") {
            command.env_remove(name);
        }
    }
    command
}

fn call(directory: &Path, arguments: &[&str]) -> Output {
    command(directory, arguments).output().unwrap()
}

fn status(output: &Output) -> i32 {
    output.status.code().expect("no signal ends the program")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn place() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn bad_input_ends_with_64_and_a_sentence() {
    let place = place();
    fs::write(place.path().join("plan.json"), "{\n  \"version\": 1,\n  \"scenario\": 7\n}\n").unwrap();
    fs::write(place.path().join("history.jsonl"), "{\"history\":1}\n").unwrap();
    fs::create_dir(place.path().join("no-bundle")).unwrap();
    fs::write(place.path().join("noise"), [0xff, 0xfe, 0x00]).unwrap();
    let table: &[(&[&str], &[&str])] = &[
        (&["run", "no-such-scenario-at-all"], &["unknown scenario \"no-such-scenario-at-all\"", "expected one of"]),
        (&["certify", "--scenario", "zzz*"], &["unknown scenario \"zzz*\""]),
        (&["certify", "--property", "F99"], &["unknown property \"F99\", expected one of F1, "]),
        (&["certify", "--defect", "rt-cache"], &["unknown defect \"rt-cache\", did you mean \"rt-cached\"?"]),
        (&["replay", "nobody@3"], &["unknown scenario \"nobody\""]),
        (&["replay", "missing.json"], &["a bundle directory, a plan file or scenario@seed", "missing.json"]),
        (&["replay", "plan.json"], &["plan.json", "line 3", "expected"]),
        (&["replay", "no-bundle"], &["no-bundle is no bundle", "expected run.json"]),
        (&["replay", "noise"], &["noise cannot be read"]),
        (&["check", "noise"], &["noise", "line 1 cannot be read"]),
        (&["check", "missing.jsonl"], &["missing.jsonl", "cannot be read"]),
        (&["check", "history.jsonl"], &["history.jsonl", "line 1", "expected the header of a history"]),
        (&["check", "no-bundle"], &["no-bundle is a directory", "expected a history file"]),
        (&["inspect", "missing"], &["expected the directory of a table", "missing"]),
        (&["inspect", "noise"], &["noise is no directory"]),
        (&["inspect", "no-bundle"], &["no schema directory in no-bundle"]),
        (&["inspect", "no-bundle", "--snapshot", "1"], &["--rows"]),
        (&["inspect", "no-bundle", "--rows", "--json"], &["--rows", "--json"]),
        (&["certify", "--seeds", "9..3"], &["--seeds", "a range of seeds that is not empty"]),
        (&["certify", "--seeds", "5..5"], &["--seeds", "a range of seeds that is not empty"]),
        (&["certify", "--seeds", "many"], &["--seeds", "a number of seeds like 500"]),
        (&["certify", "--time", "5parsecs"], &["--time", "a duration like 90s"]),
        (&["certify", "--shard", "2/2"], &["--shard", "I/N"]),
        (&["certify", "--double", "101"], &["--double", "a share from 0 to 100, found 101"]),
        (&["certify", "--jobs", "0"], &["--jobs", "at least 1, found 0"]),
        (&["certify", "--max-failures", "x"], &["--max-failures", "a whole number like 3, found \"x\""]),
        (&["certify", "--resume", "x"], &["--resume"]),
        (&["certify", "--canaries", "missing.json"], &["the canaries in missing.json cannot be read"]),
        (&["certify", "--until-covered", "--scenario", "append"], &["--until-covered", "--scenario"]),
        (&["defects", "--defect", "rt-cache"], &["unknown defect \"rt-cache\", did you mean \"rt-cached\"?"]),
        (&["shrink", "nobody@3"], &["unknown scenario \"nobody\""]),
        (&["shrink", "append@3", "--property", "F99"], &["unknown property \"F99\""]),
        (&["certify", "--date", "2026-01-31"], &["--date", "--seed-database"]),
        (&["certify", "--seed-database", "x", "--date", "today"], &["--date", "a day like 2026-01-31"]),
        (&["seeds", "missing"], &["the seed database missing cannot be read"]),
        (&["defects", "--seeds", "0"], &["--seeds", "at least 1, found 0"]),
        (&["defects", "--starts", "none"], &["--starts", "a whole number like 3"]),
        (&["list", "secrets"], &["secrets"]),
        (&["list", "scenarios", "--long"], &["expected `list properties --long`"]),
        (&["run", "append", "--seed", ""], &["--seed", "found an empty one"]),
        #[cfg(unix)]
        (&["check", "/dev/zero"], &["/dev/zero: line 1 cannot be read", "found a longer one"]),
        #[cfg(unix)]
        (&["replay", "/dev/zero"], &["/dev/zero cannot be read", "found a longer one"]),
        (&["fly"], &["fly"]),
        (&[], &["Usage"]),
    ];
    for (arguments, parts) in table {
        let output = call(place.path(), arguments);
        let said = stderr(&output);
        assert_eq!(status(&output), 64, "{arguments:?} said {said}");
        for part in *parts {
            assert!(said.contains(part), "{arguments:?}: expected {part:?} in {said}");
        }
        assert!(stdout(&output).is_empty(), "{arguments:?} leaves stdout alone");
        assert!(!said.contains("panicked"), "{arguments:?} said {said}");
    }
    assert!(!place.path().join("certificate").exists(), "a refused campaign leaves no directory");
}

#[test]
fn options_can_come_from_the_environment() {
    let place = place();
    let output = command(place.path(), &["certify"]).env("LAKESTREAM_CERTIFY_SEEDS", "3..1").output().unwrap();
    assert_eq!(status(&output), 64);
    assert!(stderr(&output).contains("3..1"));
}

#[test]
fn help_and_version_are_answers() {
    let place = place();
    for arguments in [&["--help"][..], &["--version"], &["help", "certify"], &["replay", "--help"]] {
        let output = call(place.path(), arguments);
        assert_eq!(status(&output), 0, "{arguments:?}");
        assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn lists_are_text_for_people_and_json_for_machines() {
    let place = place();
    for (what, key) in
        [("scenarios", "name"), ("properties", "id"), ("defects", "id"), ("faults", "kind"), ("coverage", "id")]
    {
        let text = stdout(&call(place.path(), &["list", what]));
        let output = call(place.path(), &["list", what, "--json"]);
        assert_eq!(status(&output), 0);
        let items: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(items.len(), text.lines().filter(|line| !line.starts_with(' ')).count(), "{what}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{what}");
        for item in items {
            let name = item[key].as_str().unwrap();
            assert!(text.lines().any(|line| line.starts_with(name)), "{what} {name}");
        }
    }
}

#[test]
fn a_history_that_shows_nothing_is_never_held() {
    let place = place();
    fs::write(place.path().join("history.jsonl"), EMPTY_HISTORY).unwrap();
    let output = call(place.path(), &["check", "history.jsonl"]);
    assert_eq!(status(&output), 2);
    assert_eq!(stdout(&output), "nothing was exercised\n");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let place = place();
    let mut child =
        command(place.path(), &["list", "defects"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((status(&output), stderr(&output).as_str()), (0, ""));
}

/// The certificate of a small campaign with these further options.
fn certificate(place: &Path, out: &str, further: &[&str]) -> Vec<u8> {
    let mut arguments = vec!["certify", "--seeds", "9", "--quiet", "--out", out];
    arguments.extend(further);
    let output = call(place, &arguments);
    assert!([0, 2].contains(&status(&output)), "{}{}", stdout(&output), stderr(&output));
    fs::read(place.join(out).join("certificate.json")).unwrap()
}

#[test]
fn equal_campaigns_give_equal_bytes_whatever_the_number_of_jobs() {
    let place = place();
    let alone = certificate(place.path(), "alone", &["--jobs", "1"]);
    let once = certificate(place.path(), "once", &["--jobs", "2", "--double", "0"]);
    let again = certificate(place.path(), "again", &["--jobs", "2"]);
    assert!(alone == again, "on one job and on two");
    assert!(alone != once, "the certificate says how many seeds were run twice");
    let junit = |out: &str| fs::read(place.path().join(out).join("junit.xml")).unwrap();
    assert!(junit("alone") == junit("again"));
    let certificate: serde_json::Value = serde_json::from_slice(&alone).unwrap();
    assert_eq!(certificate["seeds"], 9);
    assert_eq!(certificate["system"]["planted_defects"], serde_json::json!([]));
    let coverage = &certificate["coverage"];
    let missed = |need: &str| coverage[need].as_array().unwrap().len() as u64;
    let reached = coverage["reached"].as_u64().unwrap();
    assert_eq!(Some(reached + missed("required_missed") + missed("rare_missed")), coverage["points"].as_u64());
    assert!(reached > 0 && coverage["seeds_by_point"]["union-of-both"].as_u64() > Some(0), "{coverage}");
    assert_eq!(coverage["required"], false, "nine seeds are not asked for it");
    assert!(["held", "inconclusive"].contains(&certificate["conclusion"].as_str().unwrap()));
}

#[test]
fn machine_output_is_the_certificate() {
    let place = place();
    let output = call(place.path(), &["certify", "--seeds", "2", "--json"]);
    assert_eq!(output.stdout, fs::read(place.path().join("certificate/certificate.json")).unwrap());
    assert!(stderr(&output).contains("2 seeds of"), "people read stderr");
}

#[test]
fn a_history_that_run_traces_is_one_that_check_judges() {
    let place = place();
    let scenarios = call(place.path(), &["list", "scenarios", "--json"]);
    let scenarios: serde_json::Value = serde_json::from_slice(&scenarios.stdout).unwrap();
    let name = scenarios[0]["name"].as_str().unwrap();
    let traced = call(place.path(), &["run", name, "--seed", "a commit", "--trace"]);
    assert_eq!(status(&traced), 0, "{}", stderr(&traced));
    fs::write(place.path().join("history.jsonl"), &traced.stdout).unwrap();
    let checked = call(place.path(), &["check", "history.jsonl"]);
    assert!([0, 2].contains(&status(&checked)), "{}", stderr(&checked));
}

/// Runs the words of a printed line with this binary.
fn paste(place: &Path, line: &str) -> Output {
    let mut words = line.split(' ');
    assert_eq!(words.next(), Some("lakestream-certify"), "{line}");
    call(place, &words.collect::<Vec<_>>())
}

/// The rest of the last line that begins with `start`.
fn last_after<'a>(text: &'a str, start: &str) -> &'a str {
    let found = text.lines().filter_map(|line| line.trim_start().strip_prefix(start)).next_back();
    found.unwrap_or_else(|| panic!("expected a line that begins with {start:?} in {text}"))
}

/// The 32 digits after `trace hash`.
fn trace_hash(text: &str) -> &str {
    let (_, after) = text.split_once("trace hash ").unwrap_or_else(|| panic!("expected a trace hash in {text}"));
    &after[..32]
}

#[test]
fn a_trace_hash_is_the_same_in_every_process() {
    let place = place();
    let run = call(place.path(), &["run", "append", "--seed", "7"]);
    let replayed = call(place.path(), &["replay", "append@7"]);
    assert_eq!((status(&run), status(&replayed)), (0, 0), "{}{}", stdout(&run), stdout(&replayed));
    let (run, replayed) = (stdout(&run), stdout(&replayed));
    assert_eq!(run.lines().next(), replayed.lines().next(), "told in the same form");
    assert!(trace_hash(&run).chars().all(|digit| digit.is_ascii_hexdigit()), "{run}");
    assert!(!place.path().join("bundles").exists(), "what holds leaves no bundle");
}

#[test]
fn a_failing_run_leaves_a_bundle_and_ends_with_the_line_to_paste() {
    let place = place();
    let found = call(place.path(), &["run", "append", "--seeds", "0..20", "--defect", "rt-cached", "--out", "found"]);
    let said = stdout(&found);
    assert_eq!(status(&found), 1, "{said}{}", stderr(&found));
    let line = said.lines().last().unwrap();
    assert!(line.starts_with("lakestream-certify replay append@") && line.ends_with(" --defect rt-cached"), "{line}");
    assert!(said.lines().any(|line| line.starts_with("F1 A completed `t$rt` read")), "the statement: {said}");
    assert!(said.contains("F1 demands that write or"), "the argument: {said}");
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");

    let bundle = last_after(&said, "bundle: ");
    assert!(bundle.starts_with("found/append@"), "{bundle}");
    for again in [paste(place.path(), line), call(place.path(), &["replay", bundle])] {
        assert_eq!(status(&again), 1, "{}{}", stdout(&again), stderr(&again));
        assert_eq!(trace_hash(&stdout(&again)), trace_hash(&said));
    }
    let judged = call(place.path(), &["check", &format!("{bundle}/history.jsonl")]);
    assert_eq!(status(&judged), 1, "{}{}", stdout(&judged), stderr(&judged));
}

#[test]
fn a_violation_goes_before_a_bundle_that_cannot_be_written() {
    let place = place();
    fs::write(place.path().join("file"), "").unwrap();
    let run = ["run", "append", "--seeds", "0..20", "--defect", "rt-cached", "--out", "file"];
    let found = call(place.path(), &run);
    let (said, complaint) = (stdout(&found), stderr(&found));
    assert_eq!(status(&found), 1, "{said}{complaint}");
    assert!(said.lines().last().unwrap().starts_with("lakestream-certify replay append@"), "{said}");
    assert!(complaint.contains("the reports cannot be written to file") && complaint.contains("--out"), "{complaint}");
}

#[test]
fn a_violation_leaves_a_line_and_a_bundle_that_reproduce_it() {
    let place = place();
    let campaign = ["certify", "--scenario", "append", "--seeds", "0..10", "--double", "0", "--defect", "rt-cached"];
    let found = call(place.path(), &campaign);
    let said = stdout(&found);
    assert_eq!(status(&found), 1, "{said}{}", stderr(&found));
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    let line = said.lines().last().unwrap();
    assert!(line.ends_with(" --defect rt-cached"), "{line}");
    let replayed = paste(place.path(), line);
    assert_eq!(status(&replayed), 1, "{}{}", stdout(&replayed), stderr(&replayed));

    let bundle = last_after(&said, "bundle: ");
    let replayed = call(place.path(), &["replay", bundle]);
    assert_eq!(status(&replayed), 1, "{}{}", stdout(&replayed), stderr(&replayed));

    // The same plan without the bug: nothing is compared, and it holds. What happened can be looked at all the same.
    let plan = format!("{bundle}/plan.json");
    let healthy = call(place.path(), &["replay", &plan, "--trace", "--out", "healthy"]);
    assert_eq!(status(&healthy), 0, "{}", stderr(&healthy));
    let kept = last_after(&stderr(&healthy), "bundle: ").to_owned();
    assert_eq!(fs::read(place.path().join(kept).join("history.jsonl")).unwrap(), healthy.stdout);

    // A history that says otherwise: the difference is named.
    let path = place.path().join(bundle);
    let run = fs::read_to_string(path.join("run.json")).unwrap();
    let mut run: serde_json::Value = serde_json::from_str(&run).unwrap();
    run["trace_hash"] = "00000000000000000000000000000000".into();
    fs::write(path.join("run.json"), run.to_string()).unwrap();
    let history = fs::read_to_string(path.join("history.jsonl")).unwrap();
    let shorter: Vec<&str> = history.lines().take(11).collect();
    fs::write(path.join("history.jsonl"), shorter.join("\n")).unwrap();
    let differs = call(place.path(), &["replay", bundle]);
    assert_eq!(status(&differs), 3);
    assert!(stderr(&differs).contains("the first event that differs is event 10"), "{}", stderr(&differs));
}

#[test]
fn a_seed_database_keeps_what_failed_and_the_next_campaign_begins_with_it() {
    let place = place();
    let campaign = |seeds: &str, further: &[&str]| {
        let always = ["certify", "--scenario", "append", "--property", "F1", "--double", "0", "--quiet"];
        call(place.path(), &[&always[..], &["--seed-database", "seeds/known", "--seeds", seeds], further].concat())
    };
    let planted = ["--defect", "rt-cached", "--date", "2026-02-03", "--build", "abc"];
    let found = campaign("0..10", &planted);
    assert_eq!(status(&found), 1, "{}{}", stdout(&found), stderr(&found));
    let database = || fs::read_to_string(place.path().join("seeds/known")).unwrap();
    let known = database();
    assert!(known.lines().count() > 1, "{known}");
    for line in known.lines().skip(1) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            [&line["status"], &line["property"], &line["first_seen"]],
            ["failing", "F1", "2026-02-03"],
            "{line}"
        );
        assert!(line["failed_after_ms"].as_u64() > Some(0), "{line}");
    }

    // Far from where they were found, the known seeds fail again, and the one that fails soonest is the first.
    let again = campaign("900..901", &planted);
    assert_eq!(status(&again), 1, "{}", stderr(&again));
    assert!(database().starts_with(&known), "{}", database());
    let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let soonest = known.lines().skip(1).map(line).min_by_key(|known| known["failed_after_ms"].as_u64()).unwrap();
    let replayed = format!("lakestream-certify replay append@{} --defect rt-cached", soonest["seed"]);
    assert_eq!(stdout(&again).lines().last(), Some(replayed.as_str()));
    let known = database();
    let healthy = campaign("900..901", &[]);
    assert_eq!(status(&healthy), 0, "{}{}", stdout(&healthy), stderr(&healthy));
    assert_eq!(database(), known, "a seed says nothing about another system");

    let merged = call(place.path(), &["seeds", "seeds/known", "seeds/known", "--write", "merged", "--json"]);
    assert_eq!((status(&merged), stdout(&merged)), (0, known.clone()));
    assert_eq!(fs::read_to_string(place.path().join("merged")).unwrap(), known);
    let shown = stdout(&call(place.path(), &["seeds", "merged"]));
    assert!(shown.starts_with("failing  append@") && shown.contains("with rt-cached  F1  after "), "{shown}");
    assert!(shown.lines().last().unwrap().contains("seed"), "{shown}");

    fs::write(place.path().join("seeds/known"), "append@3").unwrap();
    let refused = campaign("900..901", &[]);
    assert_eq!(status(&refused), 64);
    assert!(stderr(&refused).contains("seeds/known cannot be read: line 1: expected"), "{}", stderr(&refused));
}

/// Ctrl-C to a campaign that has no end of its own, once it has run a seed: the whole of what it says.
#[cfg(unix)]
fn interrupted(place: &Path, further: &[&str]) -> Output {
    let always = ["certify", "--scenario", "append", "--property", "F1", "--time", "1h", "--double", "0", "--verbose"];
    let mut certify = command(place, &[&always[..], further].concat());
    let mut campaign = certify.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(campaign.stderr.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    assert!(Command::new("sh").args(["-c", &format!("kill -INT {}", campaign.id())]).status().unwrap().success());
    // Read to its end, or the campaign would wait for us.
    said.read_to_string(&mut String::new()).unwrap();
    campaign.wait_with_output().unwrap()
}

#[cfg(unix)]
#[test]
fn an_interrupted_campaign_tells_what_it_found_and_says_nothing_of_the_rest() {
    let place = place();
    let healthy = interrupted(place.path(), &[]);
    assert_eq!(status(&healthy), 2, "{}", stdout(&healthy));
    assert!(stdout(&healthy).contains("the campaign was interrupted"), "{}", stdout(&healthy));
    assert!(stdout(&healthy).lines().any(|line| line.starts_with("F1 ") && line.contains(" held ")));
    let certificate = fs::read_to_string(place.path().join("certificate/certificate.json")).unwrap();
    assert!(certificate.contains(r#""conclusion": "inconclusive""#) && certificate.contains(r#""interrupted": true"#));
    let found = interrupted(place.path(), &["--defect", "rt-cached", "--seed-database", "known"]);
    assert_eq!(status(&found), 1, "what was violated stays violated: {}", stdout(&found));
    assert!(fs::read_to_string(place.path().join("known")).unwrap().contains("failing"), "and is kept");
}

#[test]
fn a_seed_in_the_environment_gives_way_to_seeds_on_the_command_line() {
    let place = place();
    let output = command(place.path(), &["run", "append", "--seeds", "3..5"])
        .env("LAKESTREAM_CERTIFY_SEED", "9")
        .output()
        .unwrap();
    assert_eq!((status(&output), stdout(&output)), (0, "nothing was violated in 2 seeds\n".to_owned()));
}

#[test]
fn seeds_and_trace_may_come_from_the_environment() {
    let place = place();
    let mut run = command(place.path(), &["run", "append"]);
    let output = run.env("LAKESTREAM_CERTIFY_SEEDS", "3..4").env("LAKESTREAM_CERTIFY_TRACE", "1").output().unwrap();
    assert_eq!(status(&output), 0);
    assert!(stdout(&output).starts_with("{\"history\":1,"), "the trace is the history");
}

#[test]
fn the_kill_matrix_says_where_each_bug_is_found_and_the_seed_replays() {
    let place = place();
    let chosen = ["--defect", "overwrite-to-store", "--defect", "rt-cached", "--seeds", "60"];
    let output = call(place.path(), &[&["defects", "--json"][..], &chosen].concat());
    let (said, json) = (stderr(&output), stdout(&output));
    assert_eq!(status(&output), 0, "{said}");
    assert_eq!(said.lines().count(), 5, "a head, a line a bug, how many seeds it took and the answer: {said}");
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    let answer: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!([&answer["found"], &answer["right"], &answer["of"]], [2, 2, 2]);
    for (row, (id, property)) in [("rt-cached", "F1"), ("overwrite-to-store", "C15")].into_iter().enumerate() {
        let row = &answer["matrix"][row];
        assert_eq!((&row["id"], &row["properties"]), (&id.into(), &serde_json::json!([property])));
        assert!(row["named"].as_array().unwrap().contains(&property.into()), "{row}");
        let seed = format!("{}@{}", row["scenario"].as_str().unwrap(), row["seed"]);
        let replayed = call(place.path(), &["replay", &seed, "--defect", id]);
        assert_eq!(status(&replayed), 1, "{}", stdout(&replayed));
        assert_eq!(trace_hash(&stdout(&replayed)), row["trace_hash"].as_str().unwrap());
    }
    let recording = ["defects", "--json", "--jobs", "1", "--record", "canaries.json"];
    let alone = call(place.path(), &[&recording[..], &chosen].concat());
    assert_eq!(stdout(&alone), json, "whatever the number of jobs");
    let recorded: serde_json::Value =
        serde_json::from_slice(&fs::read(place.path().join("canaries.json")).unwrap()).unwrap();
    let first = &answer["matrix"][0];
    assert_eq!(recorded["rt-cached"], format!("{}@{}", first["scenario"].as_str().unwrap(), first["seed"]));
}

#[test]
fn more_starts_tell_the_median_and_the_worst_and_hits_are_shrunk() {
    let place = place();
    let chosen = ["defects", "--defect", "rename-unguarded", "--starts", "3", "--seeds", "60"];
    let output = call(place.path(), &[&chosen[..], &["--shrink"]].concat());
    let said = stdout(&output);
    assert_eq!(status(&output), 0, "{said}{}", stderr(&output));
    assert_eq!(said.matches("\n  shrunk to ").count(), 3, "{said}");
    assert!(said.contains(" steps for C1, 1-minimal after "), "{said}");
    assert!(said.contains("\nrename-unguarded  3/3  "), "{said}");
    assert!(
        said.contains("\nseeds to find: median ") && said.ends_with("found 3 of 3, each by its property\n"),
        "{said}"
    );
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    let no_time = call(place.path(), &[&chosen[..], &["--time", "0s"]].concat());
    assert_eq!(status(&no_time), 2);
    assert!(
        stdout(&no_time).contains("not searched from every start, the time was over: rename-unguarded"),
        "{}",
        stdout(&no_time)
    );
}

#[test]
fn a_failing_seed_is_shrunk_to_a_bundle_that_replays() {
    let place = place();
    let shrunk = call(place.path(), &["shrink", "append@0", "--defect", "rename-unguarded"]);
    let said = stdout(&shrunk);
    assert_eq!(status(&shrunk), 1, "{said}{}", stderr(&shrunk));
    assert!(said.starts_with("shrunk from ") && said.contains("1-minimal"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    let again = paste(place.path(), said.lines().last().unwrap());
    assert_eq!(status(&again), 1, "{}{}", stdout(&again), stderr(&again));
    assert_eq!(trace_hash(&stdout(&again)), trace_hash(&said));
    let bundle = last_after(&said, "bundle: ");
    let twice = call(place.path(), &["shrink", bundle, "--property", "C1", "--out", "twice", "--time", "0s"]);
    assert_eq!(status(&twice), 1, "{}{}", stdout(&twice), stderr(&twice));
    let file = format!("{bundle}/shrunk.json");
    assert_eq!(status(&call(place.path(), &["replay", &file, "--defect", "rename-unguarded"])), 1);
    assert!(stdout(&twice).contains("a longer search may find a smaller one"), "{}", stdout(&twice));
    let healthy = call(place.path(), &["shrink", "append@0", "--property", "C1"]);
    assert_eq!(status(&healthy), 0);
    assert_eq!(stdout(&healthy), "append@0: C1 is not violated, so there is nothing to shrink\n");
}

#[test]
fn a_bug_that_is_not_found_ends_with_1_and_its_name() {
    let place = place();
    // No story of the promotion scenario's first seed names partitions.
    let output = call(place.path(), &["defects", "--defect", "partition-selection-ignored", "--seeds", "1"]);
    let said = stdout(&output);
    assert_eq!(status(&output), 1, "{said}");
    assert!(said.contains("not found      1  P6"), "{said}");
    assert!(said.ends_with("not by their property: partition-selection-ignored\n"), "{said}");
}

/// A copy of a table that pypaimon wrote, in `t`.
fn copy_of_a_table(place: &Path) {
    let original =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/tests/fixtures/warehouse-pypaimon-2.1.0/db.db/pk");
    let mut directories = vec![original.clone()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            } else {
                let target = place.join("t").join(entry.path().strip_prefix(&original).unwrap());
                fs::create_dir_all(target.parent().unwrap()).unwrap();
                fs::copy(entry.path(), target).unwrap();
            }
        }
    }
}

#[test]
fn a_sound_table_is_inspected_and_its_rows_are_printed() {
    let place = place();
    copy_of_a_table(place.path());
    let output = call(place.path(), &["inspect", "t"]);
    let text = stdout(&output);
    assert_eq!(status(&output), 0, "{text}{}", stderr(&output));
    for part in ["Primary-key table, key id, dt, partitioned by dt, bucket 2", "3 from 1 to 3", "9 rows", "no findings"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");

    let newest = call(place.path(), &["inspect", "t", "--rows"]);
    let rows = stdout(&newest);
    assert_eq!(status(&newest), 0, "{}", stderr(&newest));
    assert!(rows.lines().count() > 0 && rows.lines().all(|line| line.starts_with("{\"id\":")), "{rows}");
    assert!(stderr(&newest).contains("no findings"));
    let first = call(place.path(), &["inspect", "t", "--rows", "--snapshot", "1"]);
    assert_eq!(status(&first), 0);
    assert_ne!(stdout(&first), rows);
    let absent = call(place.path(), &["inspect", "t", "--rows", "--snapshot", "9"]);
    assert_eq!(status(&absent), 64);
    assert!(stderr(&absent).contains("no snapshot 9"), "{}", stderr(&absent));
}

#[test]
fn a_damaged_table_ends_with_1_and_names_rule_and_file() {
    let place = place();
    copy_of_a_table(place.path());
    fs::remove_file(place.path().join("t/snapshot/snapshot-2")).unwrap();
    let output = call(place.path(), &["inspect", "t"]);
    assert_eq!(status(&output), 1);
    assert!(stdout(&output).contains("snapshot-chain snapshot/snapshot-2\n"), "{}", stdout(&output));

    let output = call(place.path(), &["inspect", "t", "--json"]);
    assert_eq!(status(&output), 1);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let finding = &json["findings"][0];
    assert_eq!((&finding["rule"], &finding["file"]), (&"snapshot-chain".into(), &"snapshot/snapshot-2".into()));
    for field in ["property", "statement", "found", "consequence"] {
        assert!(finding[field].as_str().is_some_and(|text| !text.is_empty()), "{field} in {finding}");
    }
    assert_eq!(json["table"]["snapshots"], serde_json::json!([1, 3]));
}

#[test]
fn an_orphan_counts_only_where_it_is_asked_for() {
    let place = place();
    copy_of_a_table(place.path());
    fs::write(place.path().join("t/dt=d1/bucket-0/data-left-over-0.parquet"), "x").unwrap();
    let output = call(place.path(), &["inspect", "t"]);
    assert_eq!(status(&output), 0);
    assert!(stdout(&output).contains("dt=d1/bucket-0/data-left-over-0.parquet"), "{}", stdout(&output));
    assert_eq!(status(&call(place.path(), &["inspect", "t", "--strict"])), 1);
}

#[test]
fn nothing_in_a_table_commands_the_terminal() {
    let place = place();
    copy_of_a_table(place.path());
    let name = "a\u{1b}[2J\u{9b}2J\u{7f}\u{202e}b";
    fs::create_dir(place.path().join("t/tag")).unwrap();
    fs::copy(place.path().join("t/snapshot/snapshot-3"), place.path().join(format!("t/tag/tag-{name}"))).unwrap();
    fs::write(place.path().join(format!("t/{name}")), "an orphan").unwrap();
    let json = call(place.path(), &["inspect", "t", "--json"]);
    let said: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&said["table"]["tags"][0], &said["orphans"][0]), (&name.into(), &name.into()), "its meaning stays");
    let human = call(place.path(), &["inspect", "t"]);
    let refused = call(place.path(), &["inspect", name]);
    assert_eq!([status(&json), status(&human), status(&refused)], [0, 0, 64]);
    for output in [json, human, refused] {
        let texts = format!("{}{}", stdout(&output), stderr(&output));
        let commands = |shown: char| (shown.is_control() && shown != '\n') || shown == '\u{202e}';
        assert!(!texts.contains(commands), "{texts:?}");
    }
}
