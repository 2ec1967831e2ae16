//! JSON: documents that Python writes for the kernel, strings in lines of cases, and a writer with msgspec's spelling.

use crate::input::Problem;

/// A value of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Truth(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
}

const DEEPEST: usize = 200;

impl Json {
    pub fn parse(content: &[u8]) -> Result<Self, Problem> {
        let mut reader = Scanner::new(content);
        let found = reader.value(0).ok_or_else(|| format!("the set-up is not valid JSON at byte {}", reader.at))?;
        reader.skip();
        if reader.at == content.len() { Ok(found) } else { Err("the set-up goes on behind its end".into()) }
    }

    pub fn field(&self, name: &str) -> Result<&Json, Problem> {
        self.find(name).ok_or_else(|| format!("'{name}' is missing"))
    }

    /// A field that may be missing; null counts as missing.
    pub fn find(&self, name: &str) -> Option<&Json> {
        let Json::Map(fields) = self else { return None };
        fields.iter().find(|(key, _)| key == name).map(|(_, value)| value).filter(|value| **value != Json::Null)
    }

    pub fn text(&self) -> Result<&str, Problem> {
        if let Json::Text(text) = self { Ok(text) } else { Err(format!("{self:?} is not a text")) }
    }

    pub fn truth(&self) -> Result<bool, Problem> {
        if let Json::Truth(truth) = self { Ok(*truth) } else { Err(format!("{self:?} is not true or false")) }
    }

    pub fn whole(&self) -> Result<i64, Problem> {
        if let Json::Whole(number) = self { Ok(*number) } else { Err(format!("{self:?} is not a whole number")) }
    }

    pub fn number(&self) -> Result<f64, Problem> {
        match self {
            Json::Number(number) => Ok(*number),
            Json::Whole(number) => Ok(*number as f64),
            _ => Err(format!("{self:?} is not a number")),
        }
    }

    /// A whole number that counts something below a bound.
    pub fn below(&self, bound: usize) -> Result<usize, Problem> {
        let number = self.whole()?;
        usize::try_from(number).ok().filter(|&found| found < bound).ok_or_else(|| format!("{number} is not below {bound}"))
    }

    pub fn list(&self) -> Result<&[Json], Problem> {
        if let Json::List(items) = self { Ok(items) } else { Err(format!("{self:?} is not a list")) }
    }

    pub fn map(&self) -> Result<&[(String, Json)], Problem> {
        if let Json::Map(fields) = self { Ok(fields) } else { Err(format!("{self:?} is not a mapping")) }
    }

    pub fn texts(&self) -> Result<Vec<String>, Problem> {
        self.list()?.iter().map(|item| Ok(item.text()?.to_string())).collect()
    }
}

/// Goes through JSON from left to right. Every method returns None where the content is not what it takes.
pub struct Scanner<'a> {
    pub content: &'a [u8],
    pub at: usize,
}

/// Bytes that cannot stand in a string as they are.
static SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 32 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
};

impl<'a> Scanner<'a> {
    pub fn new(content: &'a [u8]) -> Self {
        Self { content, at: 0 }
    }

    #[inline(always)]
    pub fn peek(&self) -> Option<u8> {
        self.content.get(self.at).copied()
    }

    #[inline(always)]
    pub fn skip(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// One mark, with white space in front of it and behind it.
    #[inline(always)]
    pub fn mark(&mut self, wanted: u8) -> Option<()> {
        self.skip();
        if self.peek() != Some(wanted) {
            return None;
        }
        self.at += 1;
        self.skip();
        Some(())
    }

    /// After an item: whether another one follows; None if neither a comma nor the end does.
    #[inline(always)]
    pub fn goes_on(&mut self, end: u8) -> Option<bool> {
        self.skip();
        let found = self.peek()?;
        self.at += 1;
        self.skip();
        if found == b',' { Some(true) } else { (found == end).then_some(false) }
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > DEEPEST {
            return None;
        }
        self.skip();
        match self.peek()? {
            b'"' => {
                let mut text = Vec::new();
                self.string(&mut text)?;
                String::from_utf8(text).ok().map(Json::Text)
            }
            b'{' => self.fields(depth),
            b'[' => self.items(depth),
            b't' => self.word(b"true", Json::Truth(true)),
            b'f' => self.word(b"false", Json::Truth(false)),
            b'n' => self.word(b"null", Json::Null),
            _ => self.number(),
        }
    }

    fn fields(&mut self, depth: usize) -> Option<Json> {
        self.mark(b'{')?;
        let mut fields = Vec::new();
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(Json::Map(fields));
        }
        loop {
            let mut key = Vec::new();
            self.string(&mut key)?;
            self.mark(b':')?;
            fields.push((String::from_utf8(key).ok()?, self.value(depth + 1)?));
            if !self.goes_on(b'}')? {
                return Some(Json::Map(fields));
            }
        }
    }

    fn items(&mut self, depth: usize) -> Option<Json> {
        let mut items = Vec::new();
        self.list(|scanner| {
            items.push(scanner.value(depth + 1)?);
            Some(())
        })?;
        Some(Json::List(items))
    }

    fn word(&mut self, word: &[u8], means: Json) -> Option<Json> {
        self.literal(word).map(|()| means)
    }

    #[inline(always)]
    pub fn literal(&mut self, word: &[u8]) -> Option<()> {
        let found = self.content.get(self.at..self.at + word.len())?;
        if found != word {
            return None;
        }
        self.at += word.len();
        Some(())
    }

    fn number(&mut self) -> Option<Json> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.content[start..self.at]).ok()?;
        let is_whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if is_whole { text.parse().ok().map(Json::Whole) } else { text.parse().ok().map(Json::Number) }
    }

    /// A whole number that is not negative, as msgspec writes it.
    pub fn whole(&mut self) -> Option<u64> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        std::str::from_utf8(&self.content[start..self.at]).ok()?.parse().ok()
    }

    /// The content of a string, unescaped, behind what is in `into`; where the string has no escapes, its place.
    ///
    /// Whether it is UTF-8 is not looked at. Half a surrogate pair is for Python to say something about.
    pub fn string(&mut self, into: &mut Vec<u8>) -> Option<Option<(usize, usize)>> {
        if self.peek()? != b'"' {
            return None;
        }
        let first = self.at + 1;
        let mut at = first;
        loop {
            let start = at;
            at += plain_run(&self.content[at..]);
            into.extend_from_slice(&self.content[start..at]);
            match *self.content.get(at)? {
                b'"' => {
                    let is_plain = start == first;
                    self.at = at + 1;
                    return Some(is_plain.then_some((first, at)));
                }
                b'\\' => at = self.escape(at + 1, into)?,
                _ => return None, // a control character
            }
        }
    }

    /// A string without escapes, as it is: keys and names are such strings.
    #[inline(always)]
    pub fn plain(&mut self) -> Option<&'a [u8]> {
        if self.peek()? != b'"' {
            return None;
        }
        let start = self.at + 1;
        let end = start + plain_run(&self.content[start..]);
        if *self.content.get(end)? != b'"' {
            return None;
        }
        self.at = end + 1;
        Some(&self.content[start..end])
    }

    /// Passes over a value, whatever it is.
    pub fn pass_value(&mut self) -> Option<()> {
        self.value(0).map(|_| ())
    }

    /// The items of a list, each read by `item`.
    pub fn list(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.mark(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            item(self)?;
            if !self.goes_on(b']')? {
                return Some(());
            }
        }
    }

    /// The fields of a mapping whose keys have no escapes; `field` reads the value.
    pub fn mapping(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        self.mark(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let key = self.plain()?;
            self.mark(b':')?;
            field(self, key)?;
            if !self.goes_on(b'}')? {
                return Some(());
            }
        }
    }

    pub fn truth(&mut self) -> Option<bool> {
        match self.peek()? {
            b't' => self.literal(b"true").map(|()| true),
            _ => self.literal(b"false").map(|()| false),
        }
    }

    fn escape(&self, at: usize, into: &mut Vec<u8>) -> Option<usize> {
        let byte = *self.content.get(at)?;
        let means = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.code_point(at + 1, into),
            _ => return None,
        };
        into.push(means);
        Some(at + 1)
    }

    fn code_point(&self, at: usize, into: &mut Vec<u8>) -> Option<usize> {
        let first = self.hex(at)?;
        let (code, end) = if (0xD800..0xDC00).contains(&first) {
            if self.content.get(at + 4..at + 6)? != b"\\u" {
                return None;
            }
            let second = self.hex(at + 6)?.checked_sub(0xDC00).filter(|&low| low < 0x400)?;
            (0x10000 + ((first - 0xD800) << 10) + second, at + 10)
        } else {
            (first, at + 4)
        };
        let mut bytes = [0; 4];
        into.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut bytes).as_bytes());
        Some(end)
    }

    fn hex(&self, at: usize) -> Option<u32> {
        let digits = self.content.get(at..at + 4)?;
        digits.iter().try_fold(0, |code, &digit| Some(code << 4 | char::from(digit).to_digit(16)?))
    }
}

/// How many bytes from the start can stand in a string as they are. Eight at a time: most of a line is text.
#[inline(always)]
fn plain_run(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let mut at = 0;
    for chunk in bytes.chunks_exact(8) {
        let word = u64::from_le_bytes(chunk.try_into().unwrap_or([0; 8]));
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        let special = control | has_zero(word ^ (ONES * u64::from(b'"'))) | has_zero(word ^ (ONES * u64::from(b'\\')));
        if special != 0 {
            // The lowest mark is exact: a borrow can only reach bytes above it.
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + bytes[at..].iter().take_while(|&&byte| !SPECIAL[byte as usize]).count()
}

/// A text between quotes.
pub fn write_text(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    write_inside(out, text);
    out.push(b'"');
}

/// A text as it stands between quotes.
pub fn write_inside(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    loop {
        let run = plain_run(rest);
        out.extend_from_slice(&rest[..run]);
        let Some(&byte) = rest.get(run) else { return };
        write_escape(out, byte);
        rest = &rest[run + 1..];
    }
}

fn write_escape(out: &mut Vec<u8>, byte: u8) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        8 => b'b',
        12 => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ => {
            let digit = |half: u8| b"0123456789abcdef"[half as usize];
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}

pub fn write_whole(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    let mut rest = number.unsigned_abs();
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// A number as msgspec writes it, for those that verdicts have: of a few decimals and no great size.
pub fn write_number(out: &mut Vec<u8>, number: f64) {
    let text = format!("{number}");
    out.extend_from_slice(text.as_bytes());
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        out.extend_from_slice(b".0");
    }
}

/// A number with so many decimals, rounded as Python's `round` does: the nearest, of two equally near ones the even one.
pub fn rounded(number: f64, decimals: usize) -> f64 {
    format!("{number:.decimals$}").parse().unwrap_or(number)
}

pub fn write_truth(out: &mut Vec<u8>, truth: bool) {
    out.extend_from_slice(if truth { b"true" } else { b"false" });
}

/// Items of a list or fields of a mapping, with commas between them.
pub struct Commas {
    is_first: bool,
}

impl Commas {
    pub fn new() -> Self {
        Self { is_first: true }
    }

    #[inline(always)]
    pub fn next(&mut self, out: &mut Vec<u8>) {
        if !std::mem::take(&mut self.is_first) {
            out.push(b',');
        }
    }
}

/// A list of texts.
pub fn write_texts<'t>(out: &mut Vec<u8>, texts: impl Iterator<Item = &'t [u8]>) {
    let mut commas = Commas::new();
    out.push(b'[');
    for text in texts {
        commas.next(out);
        write_text(out, text);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Option<(String, bool)> {
        let mut text = Vec::new();
        let plain = Scanner::new(content.as_bytes()).string(&mut text)?;
        Some((String::from_utf8(text).unwrap(), plain.is_some()))
    }

    #[test]
    fn strings_are_unescaped() {
        assert_eq!(read("\"plain text, longer than eight\""), Some(("plain text, longer than eight".into(), true)));
        assert_eq!(read(r#""a\"b\\c\/\n\u00e9\ud83d\ude00""#), Some(("a\"b\\c/\né😀".into(), false)));
        for wrong in [r#""\ud83d""#, r#""\ud83dx""#, r#""\x""#, "\"a\nb\"", "\"open", "none"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text: String = (0..200).filter_map(char::from_u32).chain("日本😀".chars()).collect();
        let mut out = Vec::new();
        write_text(&mut out, text.as_bytes());
        assert_eq!(read(std::str::from_utf8(&out).unwrap()), Some((text, false)));
    }

    #[test]
    fn numbers_are_spelled_as_python_spells_them() {
        let spelled = |number: f64| {
            let mut out = Vec::new();
            write_number(&mut out, number);
            String::from_utf8(out).unwrap()
        };
        assert_eq!([spelled(0.0), spelled(1.0), spelled(-0.25), spelled(0.333333)], ["0.0", "1.0", "-0.25", "0.333333"]);
        assert_eq!((rounded(0.125, 2), rounded(0.375, 2), rounded(2.675, 2)), (0.12, 0.38, 2.67));
    }

    #[test]
    fn documents_have_values_and_no_rest() {
        let found = Json::parse(br#" {"a": [1, -2.5, true, null, "x"]} "#).unwrap();
        let items = found.field("a").unwrap().list().unwrap();
        assert_eq!((items[0].whole(), items[1].number(), items[4].text()), (Ok(1), Ok(-2.5), Ok("x")));
        assert!(Json::parse(b"[1] 2").is_err() && Json::parse(b"[1,]").is_err() && found.field("b").is_err());
        assert!(Json::parse("[".repeat(1000).as_bytes()).is_err());
    }
}
