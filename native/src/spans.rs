//! The words that a finding of the learned reader marks; the same as `_spans` of `checks/learned.py`.

use crate::characters::{Characters, ALPHANUMERIC};
use std::cmp::{Ordering, Reverse};

const MOST_SPANS: usize = 3;
const LEAST_OWN: f64 = 0.1; // of what speaks for a finding: below it, no words of its side are marked
const ENOUGH: f64 = 0.6; // of what speaks for a finding on its side: then no further words are marked
const NEAR: usize = 3; // tokens: two that stand no further apart are in one span, with their neighbours

/// A token of a text: where it stands, and what it adds to a score.
pub type Token = (u32, u32, i64);

/// Words to mark: where they stand, and what they add together.
pub type Marked = (u32, u32, i128);

/// The buffers that spans are found with.
#[derive(Default)]
pub struct Spans {
    order: Vec<usize>,
    is_chosen: Vec<bool>,
    found: Vec<Marked>,
}

impl Spans {
    /// The words that add most, with their neighbours, until enough of what speaks for it is marked.
    pub fn find(&mut self, tokens: &[Token], text: &[u32], total: i128, characters: &Characters) -> &[Marked] {
        self.found.clear();
        let own: i128 = tokens.iter().map(|token| i128::from(token.2.max(0))).sum();
        if compared(own, LEAST_OWN * total as f64) == Ordering::Less {
            // What decided stands on the other side: this text as a whole is what it is about.
            self.found.push((0, text.len() as u32, 0));
        } else {
            self.choose(tokens, own as f64 * ENOUGH);
            self.mark(tokens, text, characters);
        }
        &self.found
    }

    /// Chooses the tokens that add most, in a few runs, up to what is wanted.
    fn choose(&mut self, tokens: &[Token], wanted: f64) {
        self.order.clear();
        self.order.extend((0..tokens.len()).filter(|&place| tokens[place].2 > 0));
        self.order.sort_unstable_by_key(|&place| (Reverse(tokens[place].2), place));
        self.is_chosen.clear();
        self.is_chosen.resize(tokens.len(), false);
        let (mut reached, mut runs) = (0, 0);
        for &place in &self.order {
            if compared(reached, wanted) != Ordering::Less {
                break;
            }
            let with_it = runs + usize::from(self.begins_run(place)) - usize::from(self.joins_run(place));
            if with_it <= MOST_SPANS {
                self.is_chosen[place] = true;
                reached += i128::from(tokens[place].2);
                runs = with_it;
            }
        }
    }

    /// Whether no token stands shortly before a place that is chosen.
    fn begins_run(&self, place: usize) -> bool {
        !self.is_chosen[place.saturating_sub(NEAR)..place].contains(&true)
    }

    /// Whether the run behind a place would no longer begin by itself if the place were chosen.
    fn joins_run(&self, place: usize) -> bool {
        let behind = self.is_chosen.iter().skip(place + 1).take(NEAR).position(|&is_chosen| is_chosen);
        behind.is_some_and(|distance| self.begins_run(place + 1 + distance))
    }

    /// Marks each run of tokens that are chosen or stand beside one: a word alone would seldom say why.
    fn mark(&mut self, tokens: &[Token], text: &[u32], characters: &Characters) {
        let is_near = |place: usize| self.is_chosen[place.saturating_sub(1)..(place + 2).min(tokens.len())].contains(&true);
        let mut start = 0;
        while start < tokens.len() {
            let end = start + (start..tokens.len()).take_while(|&place| is_near(place)).count();
            // A run without marks and spaces at its ends, unless one of them is what counted.
            let is_kept = |place: &usize| self.is_chosen[*place] || is_alphanumeric(text, tokens[*place].0, characters);
            if let (Some(first), Some(last)) = ((start..end).find(is_kept), (start..end).rev().find(is_kept)) {
                let amounts = (start..end).filter(|&place| self.is_chosen[place]).map(|place| i128::from(tokens[place].2));
                self.found.push((tokens[first].0, tokens[last].1, amounts.sum()));
            }
            start = end + 1;
        }
    }
}

fn is_alphanumeric(text: &[u32], at: u32, characters: &Characters) -> bool {
    text.get(at as usize).is_some_and(|&c| characters.is(c, ALPHANUMERIC))
}

/// A whole number and a floating one compared exactly, as Python compares them; the latter is far from the bounds.
fn compared(whole: i128, floating: f64) -> Ordering {
    let floor = floating.floor();
    whole.cmp(&(floor as i128)).then(if floating > floor { Ordering::Less } else { Ordering::Equal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_exactly() {
        assert_eq!(compared(3, 3.5), Ordering::Less);
        assert_eq!(compared(-3, -3.5), Ordering::Greater);
        assert_eq!(compared(4, 4.0), Ordering::Equal);
        assert_eq!(compared((1 << 53) + 1, 9007199254740992.0), Ordering::Greater);
        assert_eq!(compared(0, -0.0), Ordering::Equal);
    }

    #[test]
    fn runs_are_counted_as_they_grow() {
        let mut spans = Spans { is_chosen: vec![false; 12], ..Spans::default() };
        spans.is_chosen[5] = true;
        assert_eq!([1, 2, 4, 8, 9].map(|place| spans.begins_run(place)), [true, true, true, false, true]);
        assert_eq!([1, 2, 4, 8, 9].map(|place| spans.joins_run(place)), [false, true, true, false, false]);
        spans.is_chosen[3] = true;
        assert_eq!([1, 2, 4].map(|place| spans.joins_run(place)), [true, true, false]);
    }
}
