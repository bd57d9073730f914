//! Luck, keyed and not streamed (rule 1): a draw is a hash of (seed, actor, step, site, occurrence), never "the next
//! number". Whatever else is drawn or left out, a draw with the same key stays what it was.
//!
//! Plans are made of these draws, and so is the luck of a run: latencies, file names. This module never knows what a
//! draw is for.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// All draws of one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    /// The seed.
    pub seed: u64,
}

impl Draws {
    /// A uniformly distributed number that depends on the key only.
    pub fn draw(self, actor: &str, step: &str, site: &str, occurrence: u64) -> u64 {
        self.at(actor, step).draw(site, occurrence)
    }

    /// The draws of one actor for one step: the part of the key that many draws share, hashed once.
    pub fn at(self, actor: &str, step: &str) -> Place {
        // Each part is hashed on its own, with the hash so far as the seed, so that ("ab", "c") is not ("a", "bc").
        Place { key: xxh3_64_with_seed(step.as_bytes(), xxh3_64_with_seed(actor.as_bytes(), self.seed)) }
    }
}

/// The draws of one actor for one step of one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    key: u64,
}

impl Place {
    /// A uniformly distributed number.
    pub fn draw(self, site: &str, occurrence: u64) -> u64 {
        xxh3_64_with_seed(&occurrence.to_le_bytes(), xxh3_64_with_seed(site.as_bytes(), self.key))
    }

    /// A number below `end_exclusive`; 0 where that is 0.
    pub fn below_exclusive(self, site: &str, occurrence: u64, end_exclusive: u64) -> u64 {
        // The high half of a 64 × 64 bit product: uniform to within 2⁻⁶⁴ of the range, and without a division.
        ((u128::from(self.draw(site, occurrence)) * u128::from(end_exclusive)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included; `low` where `high` is less.
    pub fn between_inclusive(self, site: &str, occurrence: u64, low: u64, high: u64) -> u64 {
        low + self.below_exclusive(site, occurrence, high.saturating_sub(low).saturating_add(1))
    }

    /// `true` in so many of a thousand draws.
    pub fn chance(self, site: &str, occurrence: u64, permille: u64) -> bool {
        self.below_exclusive(site, occurrence, 1000) < permille
    }

    /// One of the items; `None` if there are none.
    pub fn pick<'a, T>(self, site: &str, occurrence: u64, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below_exclusive(site, occurrence, items.len() as u64) as usize)
    }

    /// One of the items, each as often as its weight says; `None` if no weight is above zero.
    pub fn pick_weighted<'a, T>(self, site: &str, occurrence: u64, items: &'a [(u64, T)]) -> Option<&'a T> {
        let total = items.iter().map(|(weight, _)| weight).sum();
        let mut left = self.below_exclusive(site, occurrence, total);
        for (weight, item) in items {
            if left < *weight {
                return Some(item);
            }
            left -= weight;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_every_part_of_its_key() {
        let draws = Draws { seed: 7 };
        let key = ("w1", "w1-3", "key", 0);
        let drawn = draws.draw(key.0, key.1, key.2, key.3);
        assert_eq!(drawn, draws.draw(key.0, key.1, key.2, key.3));
        let others = [
            Draws { seed: 8 }.draw("w1", "w1-3", "key", 0),
            draws.draw("w2", "w1-3", "key", 0),
            draws.draw("w1", "w1-4", "key", 0),
            draws.draw("w1", "w1-3", "value", 0),
            draws.draw("w1", "w1-3", "key", 1),
            // The same letters, cut elsewhere.
            draws.draw("w1w", "1-3", "key", 0),
            draws.draw("w1", "w1-", "3key", 0),
        ];
        assert!(others.iter().all(|other| *other != drawn));
    }

    #[test]
    fn ranges_hold_their_ends_and_reach_them() {
        let place = Draws { seed: 1 }.at("a", "b");
        let drawn: Vec<u64> = (0..200).map(|n| place.between_inclusive("x", n, 3, 6)).collect();
        assert_eq!(drawn.iter().min(), Some(&3));
        assert_eq!(drawn.iter().max(), Some(&6));
        assert_eq!(place.between_inclusive("x", 0, 5, 4), 5);
        assert_eq!(place.below_exclusive("x", 0, 0), 0);
    }

    #[test]
    fn weights_are_respected() {
        let place = Draws { seed: 1 }.at("a", "b");
        let items = [(0, "never"), (1, "seldom"), (9, "often")];
        let drawn: Vec<&str> = (0..1000).filter_map(|n| place.pick_weighted("x", n, &items)).copied().collect();
        let share = |wanted: &str| drawn.iter().filter(|item| **item == wanted).count();
        assert_eq!(share("never"), 0);
        assert!((60..160).contains(&share("seldom")), "{}", share("seldom"));
        assert_eq!(drawn.len(), 1000);
        assert_eq!(place.pick_weighted("x", 0, &[(0, "never")]), None);
        assert_eq!(place.pick::<u8>("x", 0, &[]), None);
    }
}
