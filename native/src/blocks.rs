//! Which lines of a text are code, quoted or rows of a table; the same as `_Blocks` of `rules/prose.py` notes.

use crate::characters::{Characters, DECIMAL};
use crate::text::Span;

const LONGEST_NUMBER: usize = 9; // digits of a list item's number
const RULE: usize = 3; // characters of a horizontal rule
const DEEPEST: usize = 8; // list items on one line
const CODE: usize = 4; // columns that make a line code
const FENCE: usize = 3; // characters of a fence

pub const LINE_FEED: u32 = 10;
const RETURN: u32 = 13;
const PIPE: u32 = b'|' as u32;
const BACKSLASH: u32 = b'\\' as u32;
const BACKTICK: u32 = b'`' as u32;

/// A line: where it stands without its line break, and what it shows without carriage returns at its end.
#[derive(Clone, Copy)]
pub struct Line<'t> {
    pub start: usize,
    pub end: usize,
    pub shown: &'t [u32],
}

impl<'t> Line<'t> {
    fn new(text: &'t [u32], start: usize, end: usize) -> Self {
        let returns = text[start..end].iter().rev().take_while(|&&c| c == RETURN).count();
        Self { start, end, shown: &text[start..end - returns] }
    }
}

/// The lines of a text; one that ends with a line break has an empty line behind it.
pub fn lines(text: &[u32]) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    text.split(|&c| c == LINE_FEED).map(move |line| {
        let found = Line::new(text, start, start + line.len());
        start = found.end + 1;
        found
    })
}

/// What is noted of the lines of a text. Its buffers serve one text after the other.
#[derive(Default)]
pub struct Blocks {
    pub left_out: Vec<Span>,
    pub quoted: Vec<Span>,
    pub rules: Vec<Span>,
    pub begins: Vec<usize>, // where a new stretch of running text begins, in rising order
}

impl Blocks {
    pub fn clear(&mut self) {
        self.left_out.clear();
        self.quoted.clear();
        self.rules.clear();
        self.begins.clear();
    }

    pub fn find(&mut self, text: &[u32], characters: &Characters) {
        self.clear();
        let (running, quoting, in_table) = (false, false, false);
        let mut walk = Walk { found: self, characters, fence: None, inside: 0, running, quoting, in_table };
        let mut rest = lines(text).peekable();
        while let Some(line) = rest.next() {
            walk.take(&line, rest.peek().map_or(&[], |after| after.shown));
        }
    }
}

/// Marks that opened a block of code: which, and how many.
#[derive(Clone, Copy)]
struct Fence {
    mark: u32,
    length: usize,
}

/// Goes through the lines once.
struct Walk<'a> {
    found: &'a mut Blocks,
    characters: &'a Characters,
    fence: Option<Fence>, // the one that is open
    inside: usize,        // the column where the text of the innermost list item begins
    running: bool,        // a paragraph that the next line may continue
    quoting: bool,        // the same inside a block quote
    in_table: bool,
}

impl Walk<'_> {
    fn take(&mut self, line: &Line, after: &[u32]) {
        let blank = leading_space(line.shown);
        let (content, indent) = (&line.shown[blank..], columns(&line.shown[..blank]));
        if self.fence.is_some_and(|fence| !self.leaves_fence(fence, line, content, indent)) {
            return;
        }
        if content.is_empty() {
            (self.running, self.quoting, self.in_table) = (false, false, false);
            self.found.begins.push(line.start);
            return;
        }
        self.in_table = self.in_table && content.contains(&PIPE);
        if self.in_table || (indent >= self.inside + CODE && !(self.running || self.quoting)) {
            self.leave_out(line);
        } else {
            self.take_text(line, content, indent, after);
        }
    }

    /// Whether the line stands behind the fence: its list item ends. The closing line still belongs to it.
    fn leaves_fence(&mut self, fence: Fence, line: &Line, content: &[u32], indent: usize) -> bool {
        if !content.is_empty() && indent < self.inside {
            self.fence = None;
            return true;
        }
        self.leave_out(line);
        let marks = &content[..content.len() - content.iter().rev().take_while(|&&c| is_blank(c)).count()];
        if indent < self.inside + CODE && marks.len() >= fence.length && marks.iter().all(|&c| c == fence.mark) {
            self.fence = None;
        }
        false
    }

    /// A line that is neither code by its indentation nor a row.
    fn take_text<'t>(&mut self, line: &Line, mut content: &'t [u32], mut indent: usize, after: &[u32]) {
        if !self.running && !self.quoting && indent < self.inside {
            self.inside = 0;
        }
        for _ in 0..DEEPEST {
            let Some(mark) = item(content, self.characters).filter(|_| !is_rule(content)) else { break };
            let rest: &'t [u32] = &content[mark..];
            let spaces = leading_space(rest);
            content = &rest[spaces..];
            indent += mark + if !content.is_empty() && spaces <= CODE { spaces } else { 1 };
            self.inside = indent;
            (self.running, self.quoting) = (false, false);
            self.found.begins.push(line.start);
        }
        self.take_content(line, content, after);
    }

    fn take_content(&mut self, line: &Line, content: &[u32], after: &[u32]) {
        if content.first() == Some(&u32::from('>')) {
            self.quote(line, content);
        } else if let Some(opened) = fence(content) {
            self.fence = Some(opened);
            (self.running, self.quoting) = (false, false);
            self.leave_out(line);
        } else if is_heading(content) || is_rule(content) {
            self.divide(line, content);
        } else if self.quoting {
            self.leave_out_quoted(line); // a lazy line: the paragraph of the quotation goes on
        } else if is_table_head(content, after) {
            (self.in_table, self.running) = (true, false);
            self.leave_out(line);
        } else {
            self.running = !content.is_empty();
        }
    }

    fn quote(&mut self, line: &Line, content: &[u32]) {
        let marks = content.iter().take_while(|&&c| c == u32::from('>') || is_blank(c)).count();
        let inner = &content[marks..];
        self.running = false;
        self.quoting = !(inner.is_empty() || fence(inner).is_some() || is_heading(inner) || is_rule(inner));
        self.leave_out_quoted(line);
    }

    /// A heading or a rule: nothing runs across it.
    fn divide(&mut self, line: &Line, content: &[u32]) {
        if is_rule(content) {
            self.found.rules.push((line.start, line.end));
        }
        (self.running, self.quoting) = (false, false);
        self.found.begins.extend([line.start, line.end]);
    }

    fn leave_out(&mut self, line: &Line) {
        self.found.left_out.push((line.start, line.end));
        self.found.begins.push(line.start);
    }

    fn leave_out_quoted(&mut self, line: &Line) {
        self.found.quoted.push((line.start, line.end));
        self.found.begins.push(line.start);
    }
}

pub fn is_blank(c: u32) -> bool {
    c == u32::from(' ') || c == u32::from('\t')
}

fn leading_space(text: &[u32]) -> usize {
    text.iter().take_while(|&&c| is_blank(c)).count()
}

/// How wide white space is: a tab reaches to the next multiple of four.
fn columns(space: &[u32]) -> usize {
    space.iter().fold(0, |column, &c| if c == u32::from('\t') { (column / 4 + 1) * 4 } else { column + 1 })
}

fn ends_or_is_blank(text: &[u32], at: usize) -> bool {
    text.get(at).map_or(true, |&c| is_blank(c))
}

/// How long the mark of a list item is that the text begins with.
fn item(content: &[u32], characters: &Characters) -> Option<usize> {
    let first = char::from_u32(*content.first()?)?;
    let length = if matches!(first, '-' | '+' | '*') { 1 } else { numbered(content, characters)? };
    ends_or_is_blank(content, length).then_some(length)
}

fn numbered(content: &[u32], characters: &Characters) -> Option<usize> {
    let digits = content.iter().take(LONGEST_NUMBER).take_while(|&&c| characters.is(c, DECIMAL)).count();
    let closes = |&&c: &&u32| c == u32::from('.') || c == u32::from(')');
    content.get(digits).filter(closes).filter(|_| digits > 0).map(|_| digits + 1)
}

fn is_heading(content: &[u32]) -> bool {
    let marks = content.iter().take_while(|&&c| c == u32::from('#')).count();
    (1..=6).contains(&marks) && ends_or_is_blank(content, marks)
}

/// Backticks with no other behind them on the line, or tildes.
fn fence(content: &[u32]) -> Option<Fence> {
    let mark = *content.first().filter(|&&c| c == BACKTICK || c == u32::from('~'))?;
    let length = content.iter().take_while(|&&c| c == mark).count();
    let is_one = length >= FENCE && !(mark == BACKTICK && content[length..].contains(&mark));
    is_one.then_some(Fence { mark, length })
}

fn is_rule(content: &[u32]) -> bool {
    let mut marks = content.iter().filter(|&&c| !is_blank(c));
    let Some(&mark) = marks.next() else { return false };
    let is_mark = [b'-', b'*', b'_'].map(u32::from).contains(&mark);
    is_mark && marks.clone().all(|&c| c == mark) && marks.count() + 1 >= RULE
}

/// Whether a row of dashes with as many cells follows.
fn is_table_head(row: &[u32], below: &[u32]) -> bool {
    row.contains(&PIPE) && below.contains(&PIPE) && dashes(below).is_some_and(|count| count == cells(row))
}

/// The characters of a row that count: without white space around it and without pipes behind a backslash.
fn counting(row: &[u32]) -> impl Iterator<Item = u32> + '_ {
    let start = leading_space(row);
    let behind = row[start..].iter().rev().take_while(|&&c| is_blank(c)).count();
    let mut rest = &row[start..row.len() - behind];
    std::iter::from_fn(move || {
        while let [BACKSLASH, PIPE, behind @ ..] = rest {
            rest = behind;
        }
        let (&first, behind) = rest.split_first()?;
        rest = behind;
        Some(first)
    })
}

/// How many cells a row has; a pipe at either end parts nothing.
fn cells(row: &[u32]) -> usize {
    let (mut pipes, mut length, mut leading, mut trailing) = (0, 0, 0, 0);
    for c in counting(row) {
        let pipe = usize::from(c == PIPE);
        leading = if length == 0 { pipe } else { leading };
        trailing = if length > 0 { pipe } else { 0 };
        pipes += pipe;
        length += 1;
    }
    pipes + 1 - leading - trailing
}

/// What a cell of dashes has had so far.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Had {
    Nothing,
    Colon,
    Dash,
    SecondColon,
    SpaceBehind,
}

impl Had {
    fn then(self, c: u32) -> Option<Self> {
        match (self, char::from_u32(c)?) {
            (Self::Nothing, ' ' | '\t') => Some(Self::Nothing),
            (Self::Nothing, ':') => Some(Self::Colon),
            (Self::Nothing | Self::Colon | Self::Dash, '-') => Some(Self::Dash),
            (Self::Dash, ':') => Some(Self::SecondColon),
            (Self::Dash | Self::SecondColon | Self::SpaceBehind, ' ' | '\t') => Some(Self::SpaceBehind),
            _ => None,
        }
    }

    fn is_cell(self) -> bool {
        self >= Self::Dash
    }
}

/// How many cells a row has, if all of them are dashes.
fn dashes(row: &[u32]) -> Option<usize> {
    let mut row = counting(row).peekable();
    row.next_if_eq(&PIPE);
    let (mut had, mut full) = (Had::Nothing, 0);
    let mut is_behind_pipe = false;
    for c in row {
        is_behind_pipe = c == PIPE;
        if is_behind_pipe {
            full += had.is_cell().then_some(1)?;
            had = Had::Nothing;
        } else {
            had = had.then(c)?;
        }
    }
    if is_behind_pipe { Some(full) } else { had.is_cell().then_some(full + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(text: &str) -> Vec<u32> {
        text.chars().map(u32::from).collect()
    }

    #[test]
    fn lines_end_before_their_breaks() {
        let text = points("a\r\r\n\nb\n");
        let found: Vec<_> = lines(&text).map(|line| (line.start, line.end, line.shown.len())).collect();
        assert_eq!(found, [(0, 3, 1), (4, 4, 0), (5, 6, 1), (7, 7, 0)]);
    }

    #[test]
    fn tabs_reach_to_the_next_multiple_of_four() {
        assert_eq!([" \t", "\t\t", "   \t ", "    "].map(|space| columns(&points(space))), [4, 8, 5, 4]);
    }

    #[test]
    fn pipes_at_the_ends_and_behind_backslashes_part_no_cells() {
        let counts = ["a|b", "|a|b|", " | a ", r"a\|b|c", r"\\||", "|", "||", ""].map(|row| cells(&points(row)));
        assert_eq!(counts, [2, 2, 1, 2, 1, 1, 1, 1]);
    }

    #[test]
    fn every_cell_below_a_head_is_dashes() {
        let rows = ["-|-", "|:-:|--- |", "| - ", "|", "||", "-||-", ": -|-", "-:-|", "-|:", "- |-|"];
        let counts = rows.map(|row| dashes(&points(row)));
        assert_eq!(counts, [Some(2), Some(2), Some(1), None, None, None, None, None, None, Some(2)]);
    }

    #[test]
    fn a_rule_is_three_of_one_mark() {
        let found = ["---", "* * *", "__", "-*-", "___ x", "===", "- \t--"].map(|line| is_rule(&points(line)));
        assert_eq!(found, [true, true, false, false, false, false, true]);
    }

    #[test]
    fn a_fence_of_backticks_has_no_other_behind_it() {
        let lengths = ["```", "````py", "``` `", "~~~ ` ~", "``"].map(|line| fence(&points(line)).map(|found| found.length));
        assert_eq!(lengths, [Some(3), Some(4), None, Some(3), None]);
    }
}
