//! Delta debugging: leaves out of a list what is not needed, large parts first, then smaller ones, then single items
//! until each that is left is needed.
//!
//! It never knows what the items are, nor how a shorter list is tried.

use std::ops::Range;

/// Leaves out what can be left out. `first` gets the list and parts of it in order, and answers which is the first part
/// without which the list still does what is wanted; `None` if there is no such part. What is returned is 1-minimal:
/// for each item alone the last answer was that it is needed, provided that equal questions get equal answers.
pub(super) fn leave_out<T>(mut items: Vec<T>, mut first: impl FnMut(&[T], &[Range<usize>]) -> Option<usize>) -> Vec<T> {
    let mut size = items.len().div_ceil(2);
    while size > 0 && !items.is_empty() {
        let mut any = false;
        let mut from = 0;
        // One pass. What stands before `from` could not be left out in parts of this size.
        while from < items.len() {
            let parts: Vec<Range<usize>> =
                (from..items.len()).step_by(size).map(|start| start..(start + size).min(items.len())).collect();
            let Some(part) = first(&items, &parts) else { break };
            from = parts[part].start;
            items.drain(parts[part].clone());
            any = true;
        }
        // Single items are tried until none can go: leaving one out may have made another one needless.
        size = match size {
            1 if any => 1,
            1 => 0,
            larger => (larger / 2).min(items.len().div_ceil(2)).max(1),
        };
    }
    items
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Leaves out what can be, as long as `holds`; and how often that was asked.
    fn left(items: Vec<u32>, holds: impl Fn(&[u32]) -> bool) -> (Vec<u32>, usize) {
        let mut asked = 0;
        let left = leave_out(items, |items, parts| {
            parts.iter().position(|part| {
                asked += 1;
                holds(&[&items[..part.start], &items[part.end..]].concat())
            })
        });
        (left, asked)
    }

    proptest! {
        #[test]
        fn what_is_needed_is_what_is_left(length in 0..60_u32, needed in prop::collection::btree_set(0..60_u32, 0..6)) {
            let needed: Vec<u32> = needed.into_iter().filter(|item| *item < length).collect();
            let (left, _) = left((0..length).collect(), |items| needed.iter().all(|item| items.contains(item)));
            prop_assert_eq!(left, needed);
        }

        #[test]
        fn each_item_that_is_left_is_needed_though_items_depend_on_each_other(
            length in 1..40_u32,
            pairs in prop::collection::vec((0..40_u32, 0..40_u32), 1..8),
            least in 0..5_usize,
        ) {
            // Whoever has the one of a pair has to have the other, and some have to be there.
            let holds = |items: &[u32]| {
                let paired = pairs.iter().all(|(one, other)| !items.contains(one) || items.contains(other) || *other >= length);
                paired && items.len() >= least.min(length as usize)
            };
            let (left, _) = left((0..length).collect(), holds);
            prop_assert!(holds(&left));
            for place in 0..left.len() {
                let mut shorter = left.clone();
                shorter.remove(place);
                prop_assert!(!holds(&shorter), "{left:?} without {place}");
            }
        }
    }

    #[test]
    fn large_parts_go_first() {
        let (left, asked) = left((0..1_000).collect(), |items| items.contains(&700));
        assert_eq!(left, [700]);
        assert!(asked < 40, "{asked} questions for one item of a thousand");
    }
}
