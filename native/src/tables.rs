//! Tables of checks as Python hands them over: formulas as trees, checked once when they are loaded.
//!
//! `checks/formula.py` says what a formula means; it knows no check, and neither does anything here.

use crate::input::Problem;
use crate::json::{write_text, Json};
use std::collections::HashMap;

/// A text that tables name: groups, ids of rules, names of evidence.
pub type Name = u32;

/// Texts by number, each once.
#[derive(Default)]
pub struct Names {
    numbers: HashMap<Box<[u8]>, Name>,
    pub texts: Vec<Box<[u8]>>,
}

impl Names {
    pub fn number(&mut self, text: &str) -> Name {
        if let Some(&known) = self.numbers.get(text.as_bytes()) {
            return known;
        }
        let number = self.texts.len() as Name;
        self.texts.push(text.as_bytes().into());
        self.numbers.insert(text.as_bytes().into(), number);
        number
    }
}

/// What a step was before the first turn.
#[derive(Clone, Copy, Debug)]
pub enum Before {
    Nothing,
    Zero,
    False,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Comparison {
    AtLeast,
    Above,
    Below,
    AtMost,
    Equal,
    Unequal,
}

macro_rules! named {
    ($(#[$about:meta])* $kind:ident { $($variant:ident = $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum $kind { $($variant,)* }

        impl $kind {
            fn of(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

named! {
    /// What a table can ask about an exchange without a rule.
    Fact {
        Traffic = "traffic",
        Turn = "turn",
        ThisTurn = "this_turn",
        Readable = "readable",
        Similarity = "similarity",
        Opening = "opening",
        Sentences = "sentences",
        Length = "length",
        TakenUp = "taken_up",
        OnlyRepeats = "only_repeats",
        SpeaksBesideText = "speaks_beside_text",
        Helplines = "helplines",
        SentencesOfMessage = "sentences_of_message",
        QuestionMarks = "question_marks",
        QuotationMarks = "quotation_marks",
        HoldsCode = "holds_code",
        HoldsMaterial = "holds_material",
    }
}

named! {
    /// Operators whose arguments are values.
    Operator {
        Agrees = "agrees",
        Backed = "backed",
        Outermost = "outermost",
        Apart = "apart",
        NotAlone = "not_alone",
        Once = "once",
        InOrder = "in_order",
        InGroups = "in_groups",
        WithoutGroups = "without_groups",
        OfRule = "of_rule",
        InOpening = "in_opening",
        AfterOpening = "after_opening",
        InFirstSentence = "in_first_sentence",
        AfterFirstSentence = "after_first_sentence",
        WithoutGround = "without_ground",
        CoverReply = "cover_reply",
        Rules = "rules",
        Count = "count",
        Groups = "groups",
        RuleIds = "rule_ids",
        OfSignal = "of_signal",
        Words = "words",
        AllWords = "all_words",
        Tightest = "tightest",
        ByGroup = "by_group",
        Warnings = "warnings",
        InWords = "in_words",
        Share = "share",
        Tagged = "tagged",
        Shows = "shows",
        Rounded = "rounded",
        Advice = "advice",
        Holds = "holds",
        Both = "both",
        InNames = "in_names",
        Families = "families",
    }
}

named! {
    /// Operators whose arguments have names.
    OfNames {
        Present = "present",
        Absent = "absent",
        WordsByName = "words_by_name",
        Named = "named",
    }
}

/// A formula.
#[derive(Debug)]
pub enum Node {
    Nothing,
    Omitted,
    Truth(bool),
    Whole(i64),
    Number(f64),
    Text(Name),
    List(Vec<Name>),
    Mapping(Vec<(Name, Node)>),
    Step(usize),
    Shared(usize),
    Before(usize, Before),
    Applicable,
    RowName,
    RowStrength,
    Fact(Fact),
    Hits(usize),
    Learned { head: usize, signal: usize },
    And(Vec<Node>, bool),
    Or(Vec<Node>, bool),
    Not(Box<Node>),
    Compare(Comparison, Box<[Node; 2]>),
    Add(Box<[Node; 2]>),
    Subtract(Box<[Node; 2]>),
    Choice(Box<[Node; 3]>),
    Call(Operator, Vec<Node>),
    OfNames(OfNames, Vec<(Name, Node)>),
    Weighed(Vec<(usize, Node)>),
    Told(Vec<(usize, Name)>),
    OfHead(Operator, usize, Option<Box<Node>>),
    OfSignal(Operator, Option<usize>, Option<Box<Node>>),
}

/// A part of a reason: words, or what a step holds.
#[derive(Debug)]
pub enum ReasonPart {
    Words(Box<[u8]>),
    Own(usize),
    Shared(usize),
}

#[derive(Debug)]
pub struct Unless {
    pub when: Node,
    pub reason: Vec<ReasonPart>,
}

#[derive(Debug)]
pub struct Row {
    pub name: Name,
    pub when: Option<Node>,
    pub strength: Name,
}

#[derive(Debug)]
pub struct SeverityRow {
    pub severity: usize,
    pub groups: Vec<Name>,
    pub when: Option<Node>,
}

/// How a conversation is judged from its turns; `same` and sources are places among the evidence.
#[derive(Debug)]
pub struct OverTurns {
    pub same: usize,
    pub gather: Vec<(Gathered, usize)>,
    pub prefer: Node,
}

/// Where joined lists go: in the place of an evidence, or behind all of it.
#[derive(Debug)]
pub enum Gathered {
    Evidence(usize),
    Behind(Box<[u8]>),
}

#[derive(Debug)]
pub struct Evidence {
    pub name: Name,
    pub key: Box<[u8]>, // `"name":`
    pub formula: Node,
}

/// What a failure shows of its evidence, and under which key.
#[derive(Debug)]
pub struct Shown {
    pub key: Box<[u8]>,
    pub field: Field,
}

#[derive(Debug, PartialEq)]
pub enum Field {
    Evidence(usize),
    Passed,
    Severity,
    Missing,
    Turns,
    Absent,
}

/// A check as data. The steps that all tables share are a table, too.
#[derive(Debug)]
pub struct Table {
    pub name: Box<[u8]>,
    pub key: Box<[u8]>,
    pub steps: Vec<Node>,
    pub unless: Vec<Unless>,
    pub rows: Vec<Row>, // of the decision in the profile at hand
    pub passes: Option<Node>,
    pub missing: Vec<(Box<[u8]>, Node)>,
    pub evidence: Vec<Evidence>,
    pub evidence_without_verdict: bool,
    pub counted: Vec<Node>,
    pub counted_without_verdict: bool,
    pub shown: Vec<(usize, Option<Node>)>,
    pub failure_evidence: Vec<Shown>,
    pub alert_on: Vec<usize>,
    pub over: Option<OverTurns>,
    pub severity: Vec<SeverityRow>,
    pub drifts: bool,
    pub is_counted_as_crisis: bool,
    pub lacking: Vec<[Option<Box<[u8]>>; 2]>, // by language, of the reply and of the message: that it has no rules there
    pub reads_message: bool,
}

/// What formulas may name, with the numbers that they get.
pub struct Scope<'a> {
    pub names: &'a mut Names,
    pub signals: &'a HashMap<String, usize>,
    pub heads: &'a HashMap<String, usize>, // of the learned reader, by name; also where it is switched off
    pub languages: usize,
}

pub const LEARNED: &str = "learned.";

/// Reads one table.
pub struct Loader<'a, 'b> {
    scope: &'a mut Scope<'b>,
    steps: HashMap<String, usize>,
    evidence: HashMap<String, usize>, // while a formula is about the evidence of a result
    shared: &'a HashMap<String, usize>,
}

/// The steps of a table by name.
pub fn steps_of(table: &Json) -> Result<HashMap<String, usize>, Problem> {
    let steps = table.field("steps")?.list()?.iter().enumerate();
    steps.map(|(number, step)| Ok((step.list()?.first().ok_or("a step without a name")?.text()?.to_string(), number))).collect()
}

impl<'a, 'b> Loader<'a, 'b> {
    pub fn new(
        scope: &'a mut Scope<'b>, table: &Json, shared: &'a HashMap<String, usize>,
    ) -> Result<Self, Problem> {
        Ok(Self { scope, steps: steps_of(table)?, evidence: HashMap::new(), shared })
    }

    pub fn table(mut self, json: &Json) -> Result<Table, Problem> {
        let name = json.field("name")?.text()?.to_string();
        let steps = each(json.field("steps")?, |step| self.node(at(step, 1)?))?;
        let evidence = each(json.field("evidence")?, |one| self.evidence(one))?;
        let mut table = Table {
            key: key(&name),
            name: name.into_bytes().into(),
            steps,
            unless: each(json.field("unless")?, |row| self.unless(row))?,
            rows: each(json.field("decision")?, |row| self.row(row))?,
            passes: self.maybe(json.find("pass"))?,
            missing: each(json.field("missing")?, |one| Ok((quoted(at(one, 0)?.text()?), self.node(at(one, 1)?)?)))?,
            failure_evidence: each(json.field("failure_evidence")?, |one| self.shown(one, &evidence))?,
            evidence,
            evidence_without_verdict: json.field("evidence_without_verdict")?.truth()?,
            counted: each(json.field("counted")?, |one| self.node(one))?,
            counted_without_verdict: json.field("counted_without_verdict")?.truth()?,
            shown: each(json.field("shown")?, |one| {
                Ok((self.signal(at(one, 0)?.text()?)?, self.maybe(some(at(one, 1)?))?))
            })?,
            alert_on: each(json.field("alert_on")?, |name| self.signal(name.text()?))?,
            over: None,
            severity: each(json.field("severity")?, |row| self.severity(row))?,
            drifts: json.field("drifts")?.truth()?,
            is_counted_as_crisis: json.field("is_counted_as_crisis")?.truth()?,
            lacking: each(json.field("lacking")?, |one| Ok([bytes(at(one, 0)?)?, bytes(at(one, 1)?)?]))?,
            reads_message: json.field("reads_message")?.truth()?,
        };
        if table.lacking.len() != self.scope.languages {
            return Err("a table does not know all languages".into());
        }
        self.evidence = table.evidence.iter().enumerate().map(|(number, one)| (self.told(one.name), number)).collect();
        table.over = match json.find("over_turns") {
            Some(over) => Some(self.over(over)?),
            None => None,
        };
        Ok(table)
    }

    fn told(&self, name: Name) -> String {
        String::from_utf8_lossy(&self.scope.names.texts[name as usize]).into_owned()
    }

    fn evidence(&mut self, one: &Json) -> Result<Evidence, Problem> {
        let name = at(one, 0)?.text()?;
        Ok(Evidence { name: self.scope.names.number(name), key: key(name), formula: self.node(at(one, 1)?)? })
    }

    fn unless(&mut self, row: &Json) -> Result<Unless, Problem> {
        let reason = each(at(row, 1)?, |part| match part {
            Json::Text(words) => Ok(ReasonPart::Words(words.as_bytes().into())),
            step => {
                let name = at(step, 0)?.text()?;
                match self.steps.get(name) {
                    Some(&own) => Ok(ReasonPart::Own(own)),
                    None => self.shared.get(name).map(|&one| ReasonPart::Shared(one)).ok_or(format!("no step '{name}'")),
                }
            }
        })?;
        Ok(Unless { when: self.node(at(row, 0)?)?, reason })
    }

    fn row(&mut self, row: &Json) -> Result<Row, Problem> {
        let (name, strength) = (at(row, 0)?.text()?, at(row, 2)?.text()?);
        let (name, strength) = (self.scope.names.number(name), self.scope.names.number(strength));
        Ok(Row { name, when: self.maybe(some(at(row, 1)?))?, strength })
    }

    fn severity(&mut self, row: &Json) -> Result<SeverityRow, Problem> {
        let groups = each(at(row, 1)?, |group| Ok(self.scope.names.number(group.text()?)))?;
        // Asked of the steps that all checks share, which have no table around them.
        let own = std::mem::take(&mut self.steps);
        let when = self.maybe(some(at(row, 2)?));
        self.steps = own;
        Ok(SeverityRow { severity: at(row, 0)?.below(3)?, groups, when: when? })
    }

    fn shown(&mut self, one: &Json, evidence: &[Evidence]) -> Result<Shown, Problem> {
        let field = at(one, 1)?.text()?;
        let number = self.scope.names.number(field);
        let field = match (evidence.iter().position(|one| one.name == number), field) {
            (Some(place), _) => Field::Evidence(place),
            (None, "pass") => Field::Passed,
            (None, "severity") => Field::Severity,
            (None, "missing") => Field::Missing,
            (None, "turns") => Field::Turns,
            (None, _) => Field::Absent,
        };
        Ok(Shown { key: key(at(one, 0)?.text()?), field })
    }

    fn over(&mut self, over: &Json) -> Result<OverTurns, Problem> {
        let place = |name: &Json| {
            let name = name.text()?;
            self.evidence.get(name).copied().ok_or_else(|| format!("no evidence is called '{name}'"))
        };
        let gather = each(over.field("gather")?, |one| {
            let name = at(one, 0)?.text()?;
            let goes = self.evidence.get(name).map_or_else(|| Gathered::Behind(key(name)), |&own| Gathered::Evidence(own));
            Ok((goes, place(at(one, 1)?)?))
        })?;
        let same = place(over.field("same")?)?;
        let own = std::mem::replace(&mut self.steps, self.evidence.clone());
        let prefer = self.node(over.field("prefer")?);
        self.steps = own;
        Ok(OverTurns { same, gather, prefer: prefer? })
    }

    fn signal(&self, name: &str) -> Result<usize, Problem> {
        self.scope.signals.get(name).copied().ok_or_else(|| format!("no signal is called '{name}'"))
    }

    fn maybe(&mut self, json: Option<&Json>) -> Result<Option<Node>, Problem> {
        json.map(|json| self.node(json)).transpose()
    }

    fn node(&mut self, json: &Json) -> Result<Node, Problem> {
        let kind = at(json, 0)?.text()?;
        Ok(match kind {
            "none" => Node::Nothing,
            "omitted" => Node::Omitted,
            "value" => self.value(at(json, 1)?)?,
            "step" => self.step(at(json, 1)?.text()?)?,
            "shared" => Node::Shared(self.shared_step(at(json, 1)?.text()?)?),
            "before" => {
                let before = match at(json, 2)? {
                    Json::List(_) => Before::Nothing,
                    Json::Whole(_) => Before::Zero,
                    _ => Before::False,
                };
                // Carried steps are those of the shared table itself, or what other tables call shared.
                let name = at(json, 1)?.text()?;
                let own = self.steps.get(name).or_else(|| self.shared.get(name)).copied();
                Node::Before(own.ok_or_else(|| format!("no step is called '{name}'"))?, before)
            }
            "row" => Node::RowName,
            "strength" => Node::RowStrength,
            "fact" => {
                let name = at(json, 1)?.text()?;
                Node::Fact(Fact::of(name).ok_or_else(|| format!("no fact is called '{name}'"))?)
            }
            "hits" => self.hits(at(json, 1)?.text()?)?,
            "and" => Node::And(self.nodes(at(json, 1)?)?, at(json, 2)?.truth()?),
            "or" => Node::Or(self.nodes(at(json, 1)?)?, at(json, 2)?.truth()?),
            "not" => Node::Not(Box::new(self.node(at(json, 1)?)?)),
            "compare" => Node::Compare(comparison(at(json, 1)?.text()?)?, self.pair(at(json, 2)?, at(json, 3)?)?),
            "add" => Node::Add(self.pair(at(json, 1)?, at(json, 2)?)?),
            "subtract" => Node::Subtract(self.pair(at(json, 1)?, at(json, 2)?)?),
            "if" => {
                let parts = [self.node(at(json, 1)?)?, self.node(at(json, 2)?)?, self.node(at(json, 3)?)?];
                Node::Choice(Box::new(parts))
            }
            "call" => self.call(at(json, 1)?.text()?, at(json, 2)?.list()?)?,
            "named" => self.of_names(at(json, 1)?.text()?, at(json, 2)?)?,
            other => return Err(format!("there is no formula '{other}'")),
        })
    }

    fn nodes(&mut self, json: &Json) -> Result<Vec<Node>, Problem> {
        each(json, |one| self.node(one))
    }

    fn pair(&mut self, one: &Json, other: &Json) -> Result<Box<[Node; 2]>, Problem> {
        Ok(Box::new([self.node(one)?, self.node(other)?]))
    }

    fn step(&self, name: &str) -> Result<Node, Problem> {
        match self.steps.get(name) {
            Some(&own) => Ok(Node::Step(own)),
            None if name == "applicable" => Ok(Node::Applicable),
            None => Err(format!("no step is called '{name}'")),
        }
    }

    fn shared_step(&self, name: &str) -> Result<usize, Problem> {
        self.shared.get(name).copied().ok_or_else(|| format!("no shared step is called '{name}'"))
    }

    fn value(&mut self, json: &Json) -> Result<Node, Problem> {
        Ok(match json {
            Json::Truth(truth) => Node::Truth(*truth),
            Json::Whole(number) => Node::Whole(*number),
            Json::Number(number) => Node::Number(*number),
            Json::Text(text) => Node::Text(self.scope.names.number(text)),
            Json::List(items) => {
                let texts = items.iter().map(|item| Ok::<_, Problem>(self.scope.names.number(item.text()?)));
                Node::List(texts.collect::<Result<_, _>>()?)
            }
            Json::Map(fields) => {
                let mut found = Vec::new();
                for (name, value) in fields {
                    found.push((self.scope.names.number(name), self.value(value)?));
                }
                Node::Mapping(found)
            }
            Json::Null => return Err("a constant is null".into()),
        })
    }

    fn hits(&self, name: &str) -> Result<Node, Problem> {
        let signal = self.signal(name)?;
        match name.strip_prefix(LEARNED) {
            None => Ok(Node::Hits(signal)),
            Some(head) => Ok(Node::Learned { head: self.head(head)?, signal }),
        }
    }

    fn head(&self, name: &str) -> Result<usize, Problem> {
        self.scope.heads.get(name).copied().ok_or_else(|| format!("the learned reader has no head '{name}'"))
    }

    fn of_names(&mut self, name: &str, parts: &Json) -> Result<Node, Problem> {
        let operator = OfNames::of(name).ok_or_else(|| format!("no operator is called '{name}'"))?;
        let parts = each(parts, |part| {
            let name = self.scope.names.number(at(part, 0)?.text()?);
            Ok((name, self.node(at(part, 1)?)?))
        })?;
        Ok(Node::OfNames(operator, parts))
    }

    fn call(&mut self, name: &str, parts: &[Json]) -> Result<Node, Problem> {
        let part = |number: usize| parts.get(number).ok_or_else(|| format!("{name} has too few arguments"));
        match name {
            "weighed" | "told" => return self.of_steps(name, part(0)?),
            "agrees" => return Ok(Node::OfHead(Operator::Agrees, self.head(constant(part(0)?)?)?, None)),
            "backed" => {
                let (hits, head) = (self.node(part(0)?)?, self.head(constant(part(1)?)?)?);
                return Ok(Node::OfHead(Operator::Backed, head, Some(Box::new(hits))));
            }
            "warnings" | "shows" => {
                let operator = if name == "shows" { Operator::Shows } else { Operator::Warnings };
                let signal = self.scope.signals.get(constant(part(0)?)?).copied();
                return Ok(Node::OfSignal(operator, signal, None));
            }
            "of_signal" => {
                let (hits, signal) = (self.node(part(0)?)?, self.scope.signals.get(constant(part(1)?)?).copied());
                return Ok(Node::OfSignal(Operator::OfSignal, signal, Some(Box::new(hits))));
            }
            _ => {}
        }
        let operator = Operator::of(name).ok_or_else(|| format!("no operator is called '{name}'"))?;
        let parts = parts.iter().map(|part| self.node(part)).collect::<Result<Vec<_>, _>>()?;
        if parts.len() != operator.takes() {
            return Err(format!("{name} takes {} arguments, not {}", operator.takes(), parts.len()));
        }
        Ok(Node::Call(operator, parts))
    }

    /// An operator over steps that a constant names.
    fn of_steps(&mut self, name: &str, part: &Json) -> Result<Node, Problem> {
        let fields = at(part, 1)?.map()?.iter();
        let mut steps = fields.map(|(step, value)| match self.step(step)? {
            Node::Step(number) => Ok((number, value)),
            _ => Err(format!("'{step}' is not a step")),
        });
        if name == "told" {
            let steps = steps.collect::<Result<Vec<_>, Problem>>()?;
            let told = steps.into_iter().map(|(step, text)| Ok::<_, Problem>((step, self.scope.names.number(text.text()?))));
            return Ok(Node::Told(told.collect::<Result<_, _>>()?));
        }
        let weights = steps.try_fold(Vec::new(), |mut found, step| {
            let (step, weight) = step?;
            found.push((step, if let Json::Whole(number) = weight { Node::Whole(*number) } else { Node::Number(weight.number()?) }));
            Ok::<_, Problem>(found)
        })?;
        Ok(Node::Weighed(weights))
    }
}

impl Operator {
    fn takes(self) -> usize {
        use Operator::*;
        match self {
            Apart | NotAlone | InGroups | WithoutGroups | OfRule | WithoutGround | InWords | Share | Advice | Both
            | InNames => 2,
            _ => 1,
        }
    }
}

fn comparison(sign: &str) -> Result<Comparison, Problem> {
    Ok(match sign {
        ">=" => Comparison::AtLeast,
        ">" => Comparison::Above,
        "<" => Comparison::Below,
        "<=" => Comparison::AtMost,
        "==" => Comparison::Equal,
        "!=" => Comparison::Unequal,
        other => return Err(format!("there is no comparison '{other}'")),
    })
}

fn at(json: &Json, place: usize) -> Result<&Json, Problem> {
    json.list()?.get(place).ok_or_else(|| format!("{json:?} is too short"))
}

fn some(json: &Json) -> Option<&Json> {
    Some(json).filter(|json| **json != Json::Null)
}

fn bytes(json: &Json) -> Result<Option<Box<[u8]>>, Problem> {
    some(json).map(|json| Ok(json.text()?.as_bytes().into())).transpose()
}

fn each<T>(json: &Json, read: impl FnMut(&Json) -> Result<T, Problem>) -> Result<Vec<T>, Problem> {
    json.list()?.iter().map(read).collect()
}

/// The text of a part that is a constant.
fn constant(part: &Json) -> Result<&str, Problem> {
    if at(part, 0)?.text()? == "value" { at(part, 1)?.text() } else { Err("an argument is not a constant".into()) }
}

pub fn quoted(text: &str) -> Box<[u8]> {
    let mut out = Vec::new();
    write_text(&mut out, text.as_bytes());
    out.into()
}

/// A text as the key of a mapping.
pub fn key(text: &str) -> Box<[u8]> {
    let mut out = Vec::new();
    write_text(&mut out, text.as_bytes());
    out.push(b':');
    out.into()
}
