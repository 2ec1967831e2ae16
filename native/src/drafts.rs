//! Where the user asked for a text, the parts of the reply that can be this text; as `drafts` of `rules/prose.py`.

use crate::blocks::{lines, Blocks, Line};
use crate::characters::Characters;
use crate::text::{is_one_of, Span};

const SHORT_LINE: usize = 40; // characters of a greeting behind its first words, or of a name below a letter
const CLOSING: usize = 12; // characters that may follow closing words on their line: "Yours, Tom"

/// The parts of replies that can be a text to send. Its buffers serve one reply after the other.
#[derive(Default)]
pub struct Drafts {
    blocks: Blocks,
    found: Vec<Span>,
    openings: Vec<Span>,
    closings: Vec<Span>,
}

impl Drafts {
    /// A block, what stands between rules, a letter: in order and apart.
    ///
    /// Openings and closings are words that may begin and end a letter.
    pub fn read(&mut self, text: &[u32], openings: &[Span], closings: &[Span], characters: &Characters) -> &[Span] {
        self.blocks.find(text, characters);
        self.found.clear();
        self.found.extend(self.blocks.left_out.iter().chain(&self.blocks.quoted));
        put_by_start(openings, &mut self.openings);
        put_by_start(closings, &mut self.closings);
        Letters { text, openings: &self.openings, closings: &self.closings }.find(&mut self.found);
        if let [first, .., last] = self.blocks.rules[..] {
            self.found.push((first.0, last.1));
        }
        self.found.sort_unstable();
        join(&mut self.found);
        &self.found
    }
}

/// Puts spans in the order of their starts; of several with one start the last is kept, as in a dictionary.
fn put_by_start(spans: &[Span], sorted: &mut Vec<Span>) {
    sorted.clear();
    sorted.extend(spans.iter().rev());
    sorted.sort_by_key(|span| span.0);
    sorted.dedup_by_key(|span| span.0);
}

fn end_of(spans: &[Span], start: usize) -> Option<usize> {
    spans.binary_search_by_key(&start, |span| span.0).ok().map(|found| spans[found].1)
}

/// Makes one of spans that touch or overlap.
fn join(spans: &mut Vec<Span>) {
    spans.dedup_by(|next, before| {
        let touches = next.0 <= before.1;
        if touches {
            before.1 = before.1.max(next.1);
        }
        touches
    });
}

/// Letters: from a subject or a greeting, on a line of its own, to the name below the closing words.
struct Letters<'a> {
    text: &'a [u32],
    openings: &'a [Span],
    closings: &'a [Span],
}

impl Letters<'_> {
    fn find(&self, found: &mut Vec<Span>) {
        let (mut start, mut end) = (None, None);
        if self.openings.is_empty() || self.closings.is_empty() {
            return;
        }
        for line in lines(self.text) {
            let (first, content) = content(&line);
            match (start, end) {
                (None, _) if self.opens(first, content) => start = Some(line.start),
                (Some(_), _) if self.closes(first, content) => end = Some(line.end),
                (Some(begun), Some(closed)) if !content.is_empty() => {
                    found.push((begun, if is_name(content) { line.end } else { closed }));
                    (start, end) = (None, None);
                }
                _ => {}
            }
        }
        found.extend(start.zip(end));
    }

    /// A subject, whatever follows; or words to somebody, and nothing else on the line.
    fn opens(&self, first: usize, content: &[u32]) -> bool {
        let Some(end) = end_of(self.openings, first) else { return false };
        let opening = self.text.get(first..end.min(self.text.len())).unwrap_or(&[]);
        let ends_with = |text: &[u32], marks: &str| text.last().is_some_and(|&c| is_one_of(c, marks));
        let is_short = content.len() <= opening.len() + SHORT_LINE;
        ends_with(opening, ":：") || content == opening || (is_short && ends_with(content, ",:!，：！、"))
    }

    fn closes(&self, first: usize, content: &[u32]) -> bool {
        end_of(self.closings, first).is_some_and(|end| first + content.len() <= end.saturating_add(CLOSING))
    }
}

/// A line without the marks around its words, and where those begin; a line of marks alone has none and begins with it.
fn content<'t>(line: &Line<'t>) -> (usize, &'t [u32]) {
    let is_mark = |c: &&u32| is_one_of(**c, "*_# \t\r");
    let before = line.shown.iter().take_while(is_mark).count();
    let behind = line.shown[before..].iter().rev().take_while(is_mark).count();
    let content = &line.shown[before..line.shown.len() - behind];
    (line.start + if content.is_empty() { 0 } else { before }, content)
}

/// Whether a line below closing words can be who signs.
fn is_name(content: &[u32]) -> bool {
    content.len() <= SHORT_LINE && !content.last().is_some_and(|&c| is_one_of(c, ".!?。！？।:："))
}

/// Whether a place lies in one of the spans, which are in order and apart.
pub fn is_inside(spans: &[Span], place: usize) -> bool {
    let before = spans.partition_point(|span| span.0 <= place);
    before > 0 && place < spans[before - 1].1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(text: &str, openings: &[Span], closings: &[Span]) -> Vec<Span> {
        let text: Vec<u32> = text.chars().map(u32::from).collect();
        let mut found = Vec::new();
        Letters { text: &text, openings, closings }.find(&mut found);
        found
    }

    #[test]
    fn a_letter_ends_with_the_name_below_its_closing_words() {
        assert_eq!(letters("Dear A,\nx\nBest,\n\nTom\nEnd.", &[(0, 4)], &[(10, 14)]), [(0, 20)]);
        assert_eq!(letters("Dear A,\nx\nBest,\nIs it fine?", &[(0, 4)], &[(10, 14)]), [(0, 15)]);
        assert_eq!(letters("**Dear A**\nx\nBest, T", &[(2, 6)], &[(13, 17)]), []);
        assert_eq!(letters("**Dear A:**\nx\nBest, T", &[(2, 6)], &[(14, 18)]), [(0, 21)]);
    }

    #[test]
    fn spans_that_touch_become_one() {
        let mut spans = vec![(0, 3), (1, 2), (3, 5), (6, 6), (7, 9)];
        join(&mut spans);
        assert_eq!(spans, [(0, 5), (6, 6), (7, 9)]);
        assert_eq!([0, 4, 5, 6, 8, 9].map(|place| is_inside(&spans, place)), [true, true, false, false, true, false]);
    }

    #[test]
    fn of_two_openings_at_one_place_the_last_counts() {
        let mut sorted = Vec::new();
        put_by_start(&[(5, 9), (0, 4), (0, 2)], &mut sorted);
        assert_eq!(sorted, [(0, 2), (5, 9)]);
    }
}
