//! Histories of the size of a real run: no false alarm, and much is judged.

use super::story::Story;

/// 200 writes in turn with reads, tiered in 20 rounds; `keyed` writes go round 50 keys.
fn run(keyed: bool) -> Story {
    let mut story = if keyed { Story::keyed() } else { Story::append() };
    let mut rows: Vec<(i64, i64)> = Vec::new();
    let mut snapshots = Vec::new();
    let mut added: Vec<(i64, i64)> = Vec::new();
    let mut offset = 0;
    for step in 0..200 {
        let batch: Vec<(i64, i64)> = (0..3).map(|row| ((step * 3 + row) % 50, step * 3 + row)).collect();
        story.write(&batch);
        if keyed {
            rows.retain(|(id, _)| !batch.iter().any(|(other, _)| other == id));
        }
        rows.extend(&batch);
        added.extend(&batch);
        offset += 3;
        if step % 4 == 3 {
            story.read(&rows);
        }
        if step % 10 == 9 {
            snapshots.push((story.now_ms(), offset, rows.clone(), std::mem::take(&mut added)));
            story.base(Some(snapshots.len() as u64), &rows);
        }
    }
    let entries: Vec<_> = (0..if keyed { 0 } else { 600 }).map(|w| ("+I", (w % 50, w), Some(w as u64))).collect();
    for (number, entries) in entries.chunks(50).enumerate() {
        let from = if number == 0 { "earliest".to_owned() } else { format!("p{number}") };
        story.changes(&from, &format!("p{}", number + 1), entries);
    }
    story.phase("healed").wait(500).phase("drained").base(Some(20), &rows).phase("end");
    for (number, (at_ms, offset, rows, added)) in snapshots.iter().enumerate() {
        let added: Vec<_> = added.iter().map(|row| ("+I", *row)).collect();
        story.tiered(number as u64 + 1, *offset, *at_ms, rows, &added);
    }
    story
}

#[test]
fn a_run_of_an_append_table_is_judged_without_an_alarm() {
    let story = run(false);
    for property in ["F1", "F2", "F3", "F4", "F8", "L1", "L2", "L3", "L4", "L6", "L7", "L8", "L11", "C15"] {
        story.holds(property);
    }
    assert!(story.findings().judgements["F1"].judged > 10_000);
}

#[test]
fn a_run_of_a_key_table_is_judged_without_an_alarm() {
    let story = run(true);
    for property in ["F1", "F2", "F3", "F4", "F8", "L1", "L2", "L3", "L4", "L5", "L7", "L8", "L11", "C15"] {
        story.holds(property);
    }
}
