//! Lines become cases here. Whatever is not plainly a case is left to Python, which says what is wrong with it.

use crate::characters::{Characters, SPACE};
use crate::conversation::{Conversation, REPLY, USER};
use crate::json::{write_text, write_whole, Scanner};
use crate::kernel::Kernel;

/// A part of the content that a case keeps.
#[derive(Clone, Copy)]
pub struct Part {
    start: usize,
    end: usize,
}

/// One message as the line has it, also of a system or a tool.
#[derive(Clone, Copy)]
pub struct Turn {
    pub role: Part,
    pub content: Part,
}

/// What a line says beside its texts. Its buffers serve one case after the other.
#[derive(Default)]
pub struct Case {
    pub id: Vec<u8>,
    pub checks: Vec<usize>,
    pub labels: Vec<(Vec<u8>, bool)>,
    pub messages: Vec<Turn>, // empty for a case with `user` and `assistant`
    pub is_negative: bool,
    pub is_unanswered: bool, // the user said something last, and no reply follows
    pub has_source: bool,
    pub own_id: Option<Vec<u8>>,
    pub language: Option<Vec<u8>>,
    pub is_odd: bool, // labels and tags contradict each other: Python says how
    file: Vec<u8>,    // as JSON
    line: u64,
    buffer: Vec<u8>,
    said: Vec<(usize, Part)>, // by side, neighbours of one side joined
}

/// Where lines come from.
pub struct Origin<'a> {
    pub file: &'a [u8], // as JSON
    pub is_ready: bool, // cases that Python made of the rows of a log, with fields that no file can set
    pub asked: &'a Asked,
}

/// Which checks a run asks for.
#[derive(Default)]
pub struct Asked {
    pub instead: Vec<usize>, // of those that cases name; empty: theirs
    pub only: Vec<usize>,    // of these alone; empty: all
}

impl Case {
    fn clear(&mut self) {
        self.id.clear();
        self.checks.clear();
        self.labels.clear();
        self.messages.clear();
        self.buffer.clear();
        self.said.clear();
        self.file.clear();
        (self.is_negative, self.is_unanswered, self.has_source, self.is_odd) = (false, false, false, false);
        (self.own_id, self.language, self.line) = (None, None, 0);
    }

    pub fn content(&self, part: Part) -> &[u8] {
        &self.buffer[part.start..part.end]
    }

    pub fn write_source(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"file\":");
        out.extend_from_slice(&self.file);
        out.extend_from_slice(b",\"line\":");
        write_whole(out, self.line as i64);
        if let Some(id) = &self.own_id {
            out.extend_from_slice(b",\"id\":");
            write_text(out, id);
        }
        out.push(b'}');
    }

    /// Reads a line into this case and its texts into a conversation; None where Python must look at it.
    pub fn read(
        &mut self, line: &[u8], number: u64, origin: &Origin, kernel: &Kernel, into: &mut Conversation,
    ) -> Option<()> {
        self.clear();
        into.clear();
        std::str::from_utf8(line).ok()?;
        if !origin.is_ready {
            self.file.extend_from_slice(origin.file);
            (self.line, self.has_source) = (number, true);
        }
        let exchange = into.add();
        let mut texts = exchange.sides.each_mut().map(|side| std::mem::take(&mut side.bytes));
        let seen = self.fields(&mut Scanner::new(line), origin, kernel, &mut texts, &mut into.tags);
        let exchange = &mut into.exchanges[0];
        for (side, text) in exchange.sides.iter_mut().zip(texts) {
            side.bytes = text;
        }
        let seen = seen?;
        self.require(seen, origin, into)?;
        self.is_negative = into.tags.iter().any(|tag| kernel.words.is_negative(tag));
        self.choose(origin.asked, kernel);
        self.is_odd = self.contradicts(kernel);
        if !self.messages.is_empty() {
            self.pair(kernel, into);
        }
        into.exchanges[..into.turns].iter_mut().flat_map(|exchange| &mut exchange.sides).try_for_each(|side| side.decode())
    }

    fn fields(
        &mut self, line: &mut Scanner, origin: &Origin, kernel: &Kernel, texts: &mut [Vec<u8>; 2], tags: &mut Vec<Vec<u8>>,
    ) -> Option<u32> {
        let mut seen = 0;
        line.skip();
        line.mapping(|line, key| {
            let bit = FIELDS.iter().position(|&field| field.as_bytes() == key)?;
            if seen >> bit & 1 != 0 || (bit >= OF_READY && !origin.is_ready) {
                return None;
            }
            seen |= 1 << bit;
            match FIELDS[bit] {
                "id" => line.string(&mut self.id).map(|_| ()),
                "checks" => self.check_names(line, kernel),
                "user" => line.string(&mut texts[USER]).map(|_| ()),
                "assistant" => line.string(&mut texts[REPLY]).map(|_| ()),
                "messages" => self.turns(line, origin.is_ready),
                "expected" => self.read_labels(line, kernel),
                "tags" => line.list(|line| {
                    let mut tag = Vec::new();
                    line.string(&mut tag)?;
                    tags.push(tag);
                    Some(())
                }),
                "lang" => self.read_language(line),
                "notes" => line.string(&mut Vec::new()).map(|_| ()),
                "source" => self.read_source(line),
                _ => line.pass_value(), // times and facts, which figures are made by
            }
        })?;
        line.skip();
        (line.at == line.content.len()).then_some(seen)
    }

    fn check_names(&mut self, line: &mut Scanner, kernel: &Kernel) -> Option<()> {
        line.list(|line| {
            let check = kernel.check_named(line.plain()?)?;
            if self.checks.contains(&check) {
                return None;
            }
            self.checks.push(check);
            Some(())
        })
    }

    fn read_labels(&mut self, line: &mut Scanner, kernel: &Kernel) -> Option<()> {
        line.mapping(|line, name| {
            kernel.check_named(name)?;
            if self.labels.iter().any(|(known, _)| known == name) {
                return None;
            }
            self.labels.push((name.to_vec(), line.truth()?));
            Some(())
        })
    }

    fn read_language(&mut self, line: &mut Scanner) -> Option<()> {
        let code = line.plain()?;
        // The language of a code with a region or in capitals; Python knows more capitals.
        if code.len() < 2 || !code.is_ascii() {
            return None;
        }
        let end = code.iter().position(|&byte| byte == b'-' || byte == b'_').unwrap_or(code.len());
        self.language = Some(code[..end].to_ascii_lowercase());
        Some(())
    }

    fn read_source(&mut self, line: &mut Scanner) -> Option<()> {
        self.has_source = true;
        line.mapping(|line, key| match key {
            b"file" => {
                let mut file = Vec::new();
                line.string(&mut file)?;
                write_text(&mut self.file, &file);
                Some(())
            }
            b"line" => {
                self.line = line.whole()?;
                Some(())
            }
            b"id" => {
                let mut id = Vec::new();
                line.string(&mut id)?;
                self.own_id = Some(id);
                Some(())
            }
            _ => None,
        })
    }

    fn turns(&mut self, line: &mut Scanner, is_ready: bool) -> Option<()> {
        line.list(|line| {
            let (mut role, mut content) = (None, None);
            line.mapping(|line, key| {
                let place = match key {
                    b"role" if role.is_none() => &mut role,
                    b"content" if content.is_none() => &mut content,
                    _ => return None,
                };
                let start = self.buffer.len();
                line.string(&mut self.buffer)?;
                *place = Some(Part { start, end: self.buffer.len() });
                Some(())
            })?;
            let turn = Turn { role: role?, content: content? };
            let is_known = matches!(self.content(turn.role), b"user" | b"assistant" | b"system" | b"tool");
            if !is_ready && (!is_known || turn.content.start == turn.content.end) {
                return None;
            }
            self.messages.push(turn);
            Some(())
        })
    }

    /// What the schema of cases asks for beyond the kinds of fields.
    fn require(&self, seen: u32, origin: &Origin, conversation: &Conversation) -> Option<()> {
        let has = |field: &str| FIELDS.iter().position(|&one| one == field).is_some_and(|bit| seen >> bit & 1 != 0);
        if !has("id") || !has("checks") || self.checks.is_empty() {
            return None;
        }
        if origin.is_ready {
            return Some(());
        }
        let letters = self.id.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
        let (hyphen, digits) = self.id.get(letters..)?.split_first()?;
        let is_named = letters > 0 && *hyphen == b'-' && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        let has_texts = conversation.exchanges[0].sides.iter().all(|side| !side.bytes.is_empty());
        let is_told = if has("messages") {
            !self.messages.is_empty() && !has("user") && !has("assistant")
        } else {
            has("user") && has("assistant") && has_texts
        };
        (is_named && is_told).then_some(())
    }

    /// The checks that a run asks of the case; labels of those that it loses go with them.
    fn choose(&mut self, asked: &Asked, kernel: &Kernel) {
        if asked.instead.is_empty() && asked.only.is_empty() {
            return;
        }
        let named = std::mem::take(&mut self.checks);
        let wanted = if asked.instead.is_empty() { &named } else { &asked.instead };
        self.checks.extend(wanted.iter().filter(|check| asked.only.is_empty() || asked.only.contains(check)));
        let checks = &self.checks;
        let is_dropped = |check: usize| named.contains(&check) && !checks.contains(&check);
        self.labels.retain(|(name, _)| !kernel.check_named(name).is_some_and(is_dropped));
    }

    /// Whether labels and tags contradict each other.
    fn contradicts(&self, kernel: &Kernel) -> bool {
        let is_asked = |name: &[u8]| kernel.check_named(name).is_some_and(|check| self.checks.contains(&check));
        let expects_failure = self.labels.iter().any(|(_, expected)| !expected);
        !self.labels.is_empty()
            && (expects_failure != self.is_negative || self.labels.iter().any(|(name, _)| !is_asked(name)))
    }

    /// What the user said and what the assistant replied, turn by turn.
    fn pair(&mut self, kernel: &Kernel, into: &mut Conversation) {
        let ends_silent = self.join(&kernel.characters);
        into.turns = 0;
        let mut waiting: Option<Part> = None;
        for place in 0..self.said.len() {
            let (side, part) = self.said[place];
            if side == USER {
                waiting = Some(part);
                continue;
            }
            let exchange = into.add();
            if let Some(message) = waiting.take() {
                exchange.sides[USER].bytes.extend_from_slice(self.content(message));
            }
            exchange.sides[REPLY].bytes.extend_from_slice(self.content(part));
        }
        let Some(last) = waiting else { return };
        if ends_silent || kernel.is_traffic {
            into.add().sides[USER].bytes.extend_from_slice(self.content(last));
            self.is_unanswered = !ends_silent;
        }
    }

    /// Messages of the two sides, neighbours of one side joined; others (system, tool) and silent ones are left out.
    ///
    /// Returns whether the assistant is silent at the end, which stays: else nobody would see what the user said last.
    fn join(&mut self, characters: &Characters) -> bool {
        let mut ends_silent = false;
        for place in 0..self.messages.len() {
            let Turn { role, content } = self.messages[place];
            let side = match self.content(role) {
                b"user" => USER,
                b"assistant" => REPLY,
                _ => {
                    ends_silent = false;
                    continue;
                }
            };
            let is_silent = is_blank(self.content(content), characters);
            ends_silent = is_silent && side == REPLY;
            if is_silent {
                continue;
            }
            match self.said.last().copied() {
                Some((before, earlier)) if before == side => {
                    let joined = self.joined(earlier, content);
                    self.said.pop();
                    self.said.push((side, joined));
                }
                _ => self.said.push((side, content)),
            }
        }
        ends_silent
    }

    /// Two parts with an empty line between them. One that stands at the end grows there: a side may speak often.
    fn joined(&mut self, earlier: Part, later: Part) -> Part {
        let mut start = earlier.start;
        if earlier.end != self.buffer.len() {
            start = self.buffer.len();
            self.buffer.extend_from_within(earlier.start..earlier.end);
        }
        self.buffer.extend_from_slice(b"\n\n");
        self.buffer.extend_from_within(later.start..later.end);
        Part { start, end: self.buffer.len() }
    }
}

/// The fields of a case; those from `OF_READY` on no file can set.
const FIELDS: [&str; 12] =
    ["id", "checks", "user", "assistant", "messages", "expected", "tags", "lang", "notes", "source", "times", "facts"];
const OF_READY: usize = 9;

/// Whether a text has nothing but white space.
fn is_blank(text: &[u8], characters: &Characters) -> bool {
    String::from_utf8_lossy(text).chars().all(|c| characters.is(u32::from(c), SPACE))
}
