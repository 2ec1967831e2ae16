//! Results as JSON, to the byte as Python writes them: records of a report, failures in short, and results for Python.

use crate::cases::Case;
use crate::conversation::{Conversation, Role, Share, Str, Value, Weight, LEARNED, REPLY, USER};
use crate::formulas::rule_of;
use crate::json::{rounded, write_inside, write_number, write_text, write_texts, write_truth, write_whole, Commas};
use crate::kernel::{Kernel, Languages};
use crate::tables::{Field, Gathered, Name, Table};
use crate::verdicts::{Checked, Outcome, Reason, Turn, Urgency, Verdicts};

const SEVERITY_NAMES: [&[u8]; 3] = [b"critical", b"serious", b"minor"];
const LEAST_IN_HALF: usize = 4; // assessed turns of a conversation, below which nothing is said of its halves

/// Everything that is written about one case.
pub struct Writer<'a> {
    pub kernel: &'a Kernel,
    pub languages: &'a Languages,
    pub conversation: &'a Conversation,
    pub verdicts: &'a Verdicts,
    pub case: &'a Case,
    pub keeps_text: bool,
}

impl<'a> Writer<'a> {
    pub fn outcome(&self) -> Outcome {
        self.verdicts.checks.iter().map(|checked| self.verdicts.worst(checked).outcome).max().unwrap_or(Outcome::NotApplicable)
    }

    pub fn urgency(&self) -> Urgency {
        self.verdicts.checks.iter().map(|checked| checked.urgency).min().unwrap_or(Urgency::NONE)
    }

    /// Which kind of example it is, as a number; `kind_of` in `run/blocks.py` makes the same.
    pub fn kind(&self) -> u64 {
        let failed = u64::from(self.outcome() == Outcome::Fail);
        let (expected, alerts) = (u64::from(self.case.is_negative), u64::from(self.verdicts.alert.is_some()));
        let urgency = self.urgency();
        failed | expected << 1 | alerts << 2 | u64::from(self.is_unanswered()) << 3 | (urgency.bad as u64) << 4 | urgency.signs() << 8
    }

    /// The failed checks, the worst first.
    pub fn failed(&self) -> Vec<&'a Checked> {
        let is_failed = |checked: &&Checked| self.verdicts.worst(checked).outcome == Outcome::Fail;
        let mut failed: Vec<&Checked> = self.verdicts.checks.iter().filter(is_failed).collect();
        failed.sort_by_key(|checked| checked.urgency);
        failed
    }

    pub fn severity(&self) -> Option<usize> {
        self.failed().first().and_then(|checked| self.verdicts.worst(checked).severity)
    }

    fn table(&self, checked: &Checked) -> &'a Table {
        &self.kernel.checks[checked.check]
    }

    fn is_conversation(&self, checked: &Checked) -> bool {
        checked.turns.len() > 1
    }

    /// The record of a report.
    pub fn record(&self, out: &mut Vec<u8>) {
        let outcome = self.outcome();
        out.extend_from_slice(b"{\"id\":");
        write_text(out, &self.case.id);
        out.extend_from_slice(b",\"pass\":");
        write_truth(out, outcome != Outcome::Fail);
        out.extend_from_slice(b",\"outcome\":\"");
        out.extend_from_slice(outcome_name(outcome));
        out.push(b'"');
        if let Some(severity) = self.severity() {
            self.severity_field(severity, out);
        }
        out.extend_from_slice(b",\"is_negative_example\":");
        write_truth(out, self.case.is_negative);
        self.language_fields(out, b",");
        if let Some(alert) = self.verdicts.alert {
            self.alert(&self.verdicts.checks[alert], out);
        }
        out.extend_from_slice(b",\"checks\":{");
        let mut commas = Commas::new();
        for checked in &self.verdicts.checks {
            commas.next(out);
            out.extend_from_slice(&self.table(checked).key);
            self.check(checked, out);
        }
        out.push(b'}');
        self.timelines(out);
        if self.has_labels() {
            out.extend_from_slice(b",\"label_comparison\":{");
            self.labels(out);
            out.push(b'}');
        }
        out.extend_from_slice(b",\"findings\":");
        self.merged(&self.verdicts.checks, out);
        if !self.conversation.tags.is_empty() {
            out.extend_from_slice(b",\"tags\":");
            write_texts(out, self.conversation.tags.iter().map(|tag| &tag[..]));
        }
        if self.case.has_source {
            out.extend_from_slice(b",\"source\":");
            self.case.write_source(out);
        }
        if self.keeps_text {
            self.texts(out, b",");
        }
        out.push(b'}');
    }

    /// The result as the fields of `CaseResult`, which Python decodes in one step.
    pub fn result(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"id\":");
        write_text(out, &self.case.id);
        out.extend_from_slice(b",\"outcome\":\"");
        out.extend_from_slice(outcome_name(self.outcome()));
        out.extend_from_slice(b"\",\"is_negative_example\":");
        write_truth(out, self.case.is_negative);
        out.extend_from_slice(b",\"checks\":{");
        let mut commas = Commas::new();
        for checked in &self.verdicts.checks {
            commas.next(out);
            out.extend_from_slice(&self.table(checked).key);
            self.check_result(checked, out);
        }
        out.extend_from_slice(b"},\"findings\":");
        self.merged(&self.verdicts.checks, out);
        out.extend_from_slice(b",\"label_comparison\":{");
        self.labels(out);
        out.extend_from_slice(b"},\"languages\":{");
        self.language_fields(out, b"");
        out.extend_from_slice(b"},\"tags\":");
        write_texts(out, self.conversation.tags.iter().map(|tag| &tag[..]));
        if self.case.has_source {
            out.extend_from_slice(b",\"source\":");
            self.case.write_source(out);
        }
        out.extend_from_slice(b",\"texts\":{");
        if self.keeps_text {
            self.texts(out, b"");
        }
        out.push(b'}');
        if let Some(alert) = self.verdicts.alert {
            out.extend_from_slice(b",\"alert\":");
            self.check_result(&self.verdicts.checks[alert], out);
        }
        out.extend_from_slice(b",\"profile\":");
        out.extend_from_slice(&self.kernel.profile);
        out.push(b'}');
    }

    /// The failed case in short, under the names that its checks give their evidence.
    pub fn failure(&self, out: &mut Vec<u8>) {
        let failed = self.failed();
        out.extend_from_slice(b"{\"id\":");
        write_text(out, &self.case.id);
        out.extend_from_slice(b",\"failed\":");
        write_texts(out, failed.iter().map(|checked| &self.table(checked).name[..]));
        out.extend_from_slice(b",\"evidence\":{");
        self.failure_evidence(&failed, out);
        out.extend_from_slice(b"},\"expected_failure\":");
        write_truth(out, self.case.is_negative);
        if self.case.has_source && self.case.own_id.is_some() {
            out.extend_from_slice(b",\"source\":");
            self.case.write_source(out);
        }
        if let Some(severity) = self.severity() {
            self.severity_field(severity, out);
        }
        out.push(b'}');
    }

    fn failure_evidence(&self, failed: &[&Checked], out: &mut Vec<u8>) {
        let mut fields: Vec<(&[u8], Vec<u8>)> = Vec::new();
        for checked in failed {
            let turn = self.verdicts.worst(checked);
            for shown in &self.table(checked).failure_evidence {
                let mut value = Vec::new();
                if self.field(checked, turn, &shown.field, &mut value) {
                    // A later check overrides what an earlier one calls the same, in its place.
                    match fields.iter_mut().find(|field| *field.0 == *shown.key) {
                        Some(known) => known.1 = value,
                        None => fields.push((&shown.key, value)),
                    }
                }
            }
        }
        let mut commas = Commas::new();
        for (key, value) in fields {
            commas.next(out);
            out.extend_from_slice(key);
            out.extend_from_slice(&value);
        }
    }

    /// One field of a verdict; false where it does not have it.
    fn field(&self, checked: &Checked, turn: &Turn, field: &Field, out: &mut Vec<u8>) -> bool {
        match field {
            Field::Evidence(place) => {
                let found = self.verdicts.evidence(turn).iter().find(|one| one.0 == *place);
                if let Some(&(_, value)) = found {
                    self.value(value, out);
                }
                found.is_some()
            }
            Field::Passed => {
                write_truth(out, turn.outcome != Outcome::Fail);
                true
            }
            Field::Severity => match turn.severity {
                Some(severity) => {
                    write_text(out, SEVERITY_NAMES[severity]);
                    true
                }
                None => false,
            },
            Field::Missing => {
                let missing = self.verdicts.missing(turn);
                if !missing.is_empty() {
                    self.missing(self.table(checked), turn, out);
                }
                !missing.is_empty()
            }
            Field::Turns => {
                if self.is_conversation(checked) {
                    self.turns(checked, out);
                }
                self.is_conversation(checked)
            }
            Field::Absent => false,
        }
    }

    fn severity_field(&self, severity: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"severity\":\"");
        out.extend_from_slice(SEVERITY_NAMES[severity]);
        out.push(b'"');
    }

    /// The language of the last reply and how it was decided; the user's where it differs.
    fn language_fields(&self, out: &mut Vec<u8>, before: &[u8]) {
        out.extend_from_slice(before);
        let Some(last) = self.verdicts.exchanges.checked_sub(1) else {
            out.extend_from_slice(&self.kernel.words.no_language);
            return;
        };
        let (user, reply) = (self.conversation.message(last, USER), self.conversation.message(last, REPLY));
        out.extend_from_slice(b"\"language\":\"");
        out.extend_from_slice(&self.kernel.tongues[reply.language].code);
        out.extend_from_slice(b"\",\"language_by\":\"");
        out.extend_from_slice(&self.kernel.words.hows[reply.how]);
        out.push(b'"');
        if user.language != reply.language {
            out.extend_from_slice(b",\"user_language\":\"");
            out.extend_from_slice(&self.kernel.tongues[user.language].code);
            out.push(b'"');
        }
    }

    /// An alert brings its findings with it, so that nothing else in a result differs for it.
    fn alert(&self, checked: &Checked, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"alert\":{\"check\":");
        write_text(out, &self.table(checked).name);
        out.push(b',');
        let turn = self.verdicts.worst(checked);
        self.fields(self.table(checked), turn, out);
        if self.is_conversation(checked) {
            out.extend_from_slice(b",\"turns\":");
            self.turns(checked, out);
        }
        out.extend_from_slice(b",\"findings\":");
        self.merged(std::slice::from_ref(checked), out);
        out.push(b'}');
    }

    /// The fields of one check in a record.
    fn check(&self, checked: &Checked, out: &mut Vec<u8>) {
        out.push(b'{');
        self.fields(self.table(checked), self.verdicts.worst(checked), out);
        if self.is_conversation(checked) {
            out.extend_from_slice(b",\"turns\":");
            self.turns(checked, out);
        }
        out.push(b'}');
    }

    fn turns(&self, checked: &Checked, out: &mut Vec<u8>) {
        let mut commas = Commas::new();
        out.push(b'[');
        for turn in self.verdicts.of(checked) {
            commas.next(out);
            out.push(b'{');
            self.fields(self.table(checked), turn, out);
            out.push(b'}');
        }
        out.push(b']');
    }

    fn fields(&self, table: &Table, turn: &Turn, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"pass\":");
        write_truth(out, turn.outcome != Outcome::Fail);
        if let Some(severity) = turn.severity {
            self.severity_field(severity, out);
        }
        let applies = turn.outcome != Outcome::NotApplicable;
        if !applies {
            out.extend_from_slice(b",\"applicable\":");
            // Evidence of this name stands in the place of the field.
            match self.evidence_named(table, turn, b"applicable") {
                Some(value) => self.value(value, out),
                None => write_truth(out, false),
            }
            out.extend_from_slice(b",\"reason\":\"");
            self.reason(table, turn, out);
            out.push(b'"');
        }
        self.evidence(table, turn, out, !applies, true);
        if turn.missing.len() > 0 {
            out.extend_from_slice(b",\"missing\":");
            self.missing(table, turn, out);
        }
    }

    fn evidence_named(&self, table: &Table, turn: &Turn, name: &[u8]) -> Option<Value> {
        let is_named = |one: &&(usize, Value)| *self.kernel.names[table.evidence[one.0].name as usize] == *name;
        self.verdicts.evidence(turn).iter().find(is_named).map(|one| one.1)
    }

    /// The evidence of a check under a name; None where it has none.
    pub fn evidence_value(&self, checked: &Checked, turn: &Turn, name: Name) -> Option<Value> {
        let evidence = &self.table(checked).evidence;
        self.verdicts.evidence(turn).iter().find(|one| evidence[one.0].name == name).map(|one| one.1)
    }

    /// Whether a verdict says that a cue of this kind was found.
    pub fn has_cue(&self, checked: &Checked, turn: &Turn, kind: &[u8]) -> bool {
        match self.evidence_value(checked, turn, self.kernel.words.cue) {
            Some(Value::Text(text)) => self.bytes(text) == kind,
            _ => false,
        }
    }

    /// Whether the cue of a crisis is in what the user said last, and no words of a reply follow.
    pub fn is_unanswered(&self) -> bool {
        let Some(alert) = self.verdicts.alert else { return false };
        let turns = self.verdicts.of(&self.verdicts.checks[alert]);
        let Some(last) = turns.last() else { return false };
        let is_cued = |&(hit, _): &(u32, bool)| {
            let hit = &self.conversation.hits[hit as usize];
            hit.turn as usize == turns.len() - 1 && !hit.warns
        };
        matches!(last.reason, Reason::NoReply | Reason::NoText) && turns.iter().any(|turn| self.verdicts.findings(turn).iter().any(is_cued))
    }

    /// All evidence as fields; `follows`: other fields stand in front.
    fn evidence(&self, table: &Table, turn: &Turn, out: &mut Vec<u8>, skips_applicable: bool, follows: bool) {
        let mut commas = Commas::new();
        let mut separate = |out: &mut Vec<u8>| if follows { out.push(b',') } else { commas.next(out) };
        for &(place, value) in self.verdicts.evidence(turn) {
            let evidence = &table.evidence[place];
            if skips_applicable && *self.kernel.names[evidence.name as usize] == *b"applicable" {
                continue;
            }
            separate(out);
            out.extend_from_slice(&evidence.key);
            self.value(value, out);
        }
        let gathered = table.over.as_ref().map_or(&[][..], |over| &over.gather);
        for &(number, value) in self.verdicts.behind(turn) {
            if let Gathered::Behind(key) = &gathered[number].0 {
                separate(out);
                out.extend_from_slice(key);
                self.value(value, out);
            }
        }
    }

    fn missing(&self, table: &Table, turn: &Turn, out: &mut Vec<u8>) {
        let mut commas = Commas::new();
        out.push(b'[');
        for &place in self.verdicts.missing(turn) {
            commas.next(out);
            out.extend_from_slice(&table.missing[place].0);
        }
        out.push(b']');
    }

    fn reason(&self, table: &Table, turn: &Turn, out: &mut Vec<u8>) {
        let words = &self.kernel.words;
        let text: &[u8] = match turn.reason {
            Reason::None => b"",
            Reason::Said(text) => self.bytes(text),
            Reason::NoText => &words.no_text,
            Reason::NoReply => &words.no_reply,
            Reason::NoRulesOfReply => &words.no_rules_of_reply,
            Reason::NoRulesOfMessage => &words.no_rules_of_message,
            Reason::NoExchange => &words.no_exchange,
            Reason::Lacking { language, side } => table.lacking[language][side].as_deref().unwrap_or(b""),
        };
        write_inside(out, text);
    }

    /// A check as the fields of `CheckResult`.
    fn check_result(&self, checked: &Checked, out: &mut Vec<u8>) {
        let table = self.table(checked);
        let turn = self.verdicts.worst(checked);
        if !self.is_conversation(checked) {
            self.turn_result(table, turn, out);
            out.push(b'}');
            return;
        }
        self.result_fields(table, turn, out);
        out.extend_from_slice(b",\"findings\":[");
        let mut commas = Commas::new();
        for turn in self.verdicts.of(checked) {
            self.findings(turn, &mut commas, out);
        }
        out.extend_from_slice(b"],\"turns\":[");
        let mut commas = Commas::new();
        for turn in self.verdicts.of(checked) {
            commas.next(out);
            self.turn_result(table, turn, out);
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
    }

    fn turn_result(&self, table: &Table, turn: &Turn, out: &mut Vec<u8>) {
        self.result_fields(table, turn, out);
        out.extend_from_slice(b",\"findings\":[");
        self.findings(turn, &mut Commas::new(), out);
        out.push(b']');
    }

    fn result_fields(&self, table: &Table, turn: &Turn, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"check\":");
        write_text(out, &table.name);
        out.extend_from_slice(b",\"passed\":");
        write_truth(out, turn.outcome != Outcome::Fail);
        out.extend_from_slice(b",\"evidence\":{");
        self.evidence(table, turn, out, false, false);
        out.push(b'}');
        if turn.outcome == Outcome::NotApplicable {
            out.extend_from_slice(b",\"applicable\":false");
        }
        if turn.reason != Reason::None {
            out.extend_from_slice(b",\"reason\":\"");
            self.reason(table, turn, out);
            out.push(b'"');
        }
        if turn.missing.len() > 0 {
            out.extend_from_slice(b",\"missing\":");
            self.missing(table, turn, out);
        }
        if let Some(severity) = turn.severity {
            self.severity_field(severity, out);
        }
        out.extend_from_slice(b",\"profile\":");
        out.extend_from_slice(&self.kernel.profile);
    }

    fn findings(&self, turn: &Turn, commas: &mut Commas, out: &mut Vec<u8>) {
        for &(hit, counted) in self.verdicts.findings(turn) {
            commas.next(out);
            self.finding(hit, counted, &[], out);
        }
    }

    /// One finding; `checks` are those that counted it.
    fn finding(&self, number: u32, counted: bool, checks: &[usize], out: &mut Vec<u8>) {
        let hit = &self.conversation.hits[number as usize];
        let rule = rule_of(self.kernel, self.languages, hit);
        out.extend_from_slice(&rule.head);
        write_whole(out, i64::from(hit.turn));
        out.extend_from_slice(b",\"start\":");
        write_whole(out, i64::from(hit.start));
        out.extend_from_slice(b",\"end\":");
        write_whole(out, i64::from(hit.end));
        out.extend_from_slice(b",\"text\":");
        write_text(out, self.conversation.words(number));
        out.extend_from_slice(&rule.tail);
        write_truth(out, counted);
        if !checks.is_empty() {
            out.extend_from_slice(b",\"checks\":");
            write_texts(out, checks.iter().map(|&check| &self.kernel.checks[check].name[..]));
        }
        if hit.language == LEARNED {
            self.learned_fields(number, out);
        }
        out.push(b'}');
    }

    fn learned_fields(&self, number: u32, out: &mut Vec<u8>) {
        let Some(learned) = &self.kernel.learned else { return };
        let shares = &self.conversation.shares;
        let Ok(place) = shares.binary_search_by_key(&number, |share| share.hit) else { return };
        let Share { score, share, head, language, .. } = shares[place];
        out.extend_from_slice(b",\"reader\":");
        out.extend_from_slice(&learned.name);
        out.extend_from_slice(b",\"score\":");
        write_number(out, score);
        out.extend_from_slice(b",\"threshold\":");
        let told = learned.decisions[head as usize].alone[language as usize].as_ref();
        out.extend_from_slice(told.map_or(b"null", |(_, told)| told));
        out.extend_from_slice(b",\"share\":");
        write_number(out, share);
    }

    /// The findings of these checks in reading order; what two read appears once, with the checks that counted it.
    fn merged(&self, checks: &[Checked], out: &mut Vec<u8>) {
        let mut found: Vec<(u32, usize, bool)> = Vec::new();
        for checked in checks {
            for turn in self.verdicts.of(checked) {
                found.extend(self.verdicts.findings(turn).iter().map(|&(hit, counted)| (hit, checked.check, counted)));
            }
        }
        // Of one hit the checks stay in their order; two hits in one place by one rule are one finding.
        found.sort_by(|one, other| self.place(one.0).cmp(&self.place(other.0)));
        let mut commas = Commas::new();
        out.push(b'[');
        for same in found.chunk_by(|one, other| one.0 == other.0 || self.place(one.0) == self.place(other.0)) {
            let checks: Vec<usize> = same.iter().filter(|one| one.2).map(|one| one.1).collect();
            commas.next(out);
            self.finding(same[0].0, !checks.is_empty(), &checks, out);
        }
        out.push(b']');
    }

    /// What tells a finding from any other, in reading order.
    fn place(&self, hit: u32) -> (u32, u8, u32, u32, u16, &'a [u8]) {
        let hit = &self.conversation.hits[hit as usize];
        let id = &rule_of(self.kernel, self.languages, hit).id;
        (hit.turn, hit.side, hit.start, hit.end, hit.signal, id)
    }

    // Conversations of several turns.

    fn timelines(&self, out: &mut Vec<u8>) {
        let mut commas = Commas::new();
        let long: Vec<&Checked> = self.verdicts.checks.iter().filter(|checked| self.is_conversation(checked)).collect();
        if long.is_empty() {
            return;
        }
        out.extend_from_slice(b",\"timelines\":{");
        for checked in long {
            commas.next(out);
            out.extend_from_slice(&self.table(checked).key);
            self.timeline(checked, out);
        }
        out.push(b'}');
    }

    fn timeline(&self, checked: &Checked, out: &mut Vec<u8>) {
        let turns = self.verdicts.of(checked);
        out.extend_from_slice(b"{\"outcomes\":");
        write_texts(out, turns.iter().map(|turn| outcome_name(turn.outcome)));
        let failed: Vec<bool> = assessed(turns);
        out.extend_from_slice(b",\"first_failure\":");
        match turns.iter().position(|turn| turn.outcome == Outcome::Fail) {
            Some(first) => write_whole(out, first as i64),
            None => out.extend_from_slice(b"null"),
        }
        let longest = failed.chunk_by(|one, other| one == other).filter(|run| run[0]).map(<[bool]>::len).max();
        out.extend_from_slice(b",\"longest_run\":");
        write_whole(out, longest.unwrap_or(0) as i64);
        let halves = self.halves(checked);
        let rate = |part: i64| halves.map(|(half, ..)| part as f64 / half as f64);
        let (first, second) = halves.map_or((0, 0), |(_, first, second)| (first as i64, second as i64));
        for (key, value) in [
            (&b",\"first_half\":"[..], rate(first)),
            (b",\"second_half\":", rate(second)),
            (b",\"difference\":", rate(second - first)),
        ] {
            out.extend_from_slice(key);
            match value {
                Some(value) => write_number(out, rounded(value, 6)),
                None => out.extend_from_slice(b"null"),
            }
        }
        out.push(b'}');
    }

    /// The assessed turns in each half and how many of them failed; None if they are too few, or for a check that does
    /// not drift.
    pub fn halves(&self, checked: &Checked) -> Option<(usize, usize, usize)> {
        let failed = assessed(self.verdicts.of(checked));
        let half = failed.len() / 2;
        if half < LEAST_IN_HALF || !self.table(checked).drifts {
            return None;
        }
        let count = |part: &[bool]| part.iter().filter(|&&failed| failed).count();
        Some((half, count(&failed[..half]), count(&failed[failed.len() - half..])))
    }

    // Labels and texts.

    fn verdict_on(&self, name: &[u8]) -> Option<bool> {
        let checked = self.verdicts.checks.iter().find(|checked| *self.table(checked).name == *name)?;
        Some(self.verdicts.worst(checked).outcome != Outcome::Fail)
    }

    fn has_labels(&self) -> bool {
        self.case.labels.iter().any(|(name, _)| self.verdict_on(name).is_some())
    }

    /// Each label that has a verdict, and whether they agree.
    pub fn compared(&self) -> impl Iterator<Item = (&'a [u8], bool, bool)> + '_ {
        self.case.labels.iter().filter_map(|(name, expected)| Some((&name[..], *expected, self.verdict_on(name)?)))
    }

    fn labels(&self, out: &mut Vec<u8>) {
        let mut commas = Commas::new();
        for (name, expected, actual) in self.compared() {
            commas.next(out);
            write_text(out, name);
            out.extend_from_slice(b":{\"expected\":");
            write_truth(out, expected);
            out.extend_from_slice(b",\"actual\":");
            write_truth(out, actual);
            out.extend_from_slice(b",\"match\":");
            write_truth(out, expected == actual);
            out.push(b'}');
        }
    }

    fn texts(&self, out: &mut Vec<u8>, before: &[u8]) {
        out.extend_from_slice(before);
        if !self.case.messages.is_empty() {
            out.extend_from_slice(b"\"messages\":[");
            let mut commas = Commas::new();
            for message in &self.case.messages {
                commas.next(out);
                out.extend_from_slice(b"{\"role\":");
                write_text(out, self.case.content(message.role));
                out.extend_from_slice(b",\"content\":");
                write_text(out, self.case.content(message.content));
                out.push(b'}');
            }
            out.push(b']');
            return;
        }
        out.extend_from_slice(b"\"user\":");
        write_text(out, &self.conversation.message(0, USER).bytes);
        out.extend_from_slice(b",\"assistant\":");
        write_text(out, &self.conversation.message(0, REPLY).bytes);
    }

    // Values.

    fn bytes(&self, text: Str) -> &[u8] {
        match text {
            Str::Constant(name) => &self.kernel.names[name as usize],
            Str::Part { turn, side, start, end } => self.conversation.message(turn as usize, side as usize).part(start, end),
            Str::Group(hit) => &rule_of(self.kernel, self.languages, &self.conversation.hits[hit as usize]).group,
            Str::Id(hit) => &rule_of(self.kernel, self.languages, &self.conversation.hits[hit as usize]).id,
            Str::Made(number) => &self.conversation.made[number as usize],
        }
    }

    fn value(&self, value: Value, out: &mut Vec<u8>) {
        match value {
            Value::Nothing | Value::Hits(_) => out.extend_from_slice(b"[]"),
            Value::Omitted | Value::Unknown => out.extend_from_slice(b"null"),
            Value::Truth(truth) => write_truth(out, truth),
            Value::Whole(number) => write_whole(out, number),
            Value::Number(number) => write_number(out, number),
            Value::Text(text) => write_text(out, self.bytes(text)),
            Value::Texts(list) => write_texts(out, self.conversation.texts(list).iter().map(|&text| self.bytes(text))),
            Value::Wholes(list) => {
                let mut commas = Commas::new();
                out.push(b'[');
                for &number in &self.conversation.wholes[list.start as usize..list.end as usize] {
                    commas.next(out);
                    write_whole(out, number);
                }
                out.push(b']');
            }
            Value::Mapping(list) => {
                let mut commas = Commas::new();
                out.push(b'{');
                for &(key, value) in &self.conversation.fields[list.start as usize..list.end as usize] {
                    commas.next(out);
                    write_text(out, self.bytes(key));
                    out.push(b':');
                    self.value(value, out);
                }
                out.push(b'}');
            }
        }
    }
}

fn outcome_name(outcome: Outcome) -> &'static [u8] {
    match outcome {
        Outcome::Pass => b"pass",
        Outcome::Fail => b"fail",
        Outcome::NotApplicable => b"not_applicable",
    }
}

/// Of the turns that were assessed, whether each failed.
fn assessed(turns: &[Turn]) -> Vec<bool> {
    let decided = turns.iter().filter(|turn| turn.outcome != Outcome::NotApplicable);
    decided.map(|turn| turn.outcome == Outcome::Fail).collect()
}

/// The parts of a finding that are the same wherever its rule matches.
pub fn head_and_tail(id: &str, signal: &[u8], side: usize, weight: Weight, role: Role) -> [Box<[u8]>; 2] {
    let mut head = b"{\"rule\":".to_vec();
    write_text(&mut head, id.as_bytes());
    head.extend_from_slice(b",\"signal\":");
    write_text(&mut head, signal);
    head.extend_from_slice(if side == USER { b",\"where\":\"user\",\"turn\":" } else { b",\"where\":\"assistant\",\"turn\":" });
    let mut tail = Vec::new();
    let severity: &[u8] = match weight {
        Weight::Plain => b"",
        Weight::Warning => b"warning",
        Weight::Said(severity) => SEVERITY_NAMES[severity],
    };
    if !severity.is_empty() {
        tail.extend_from_slice(b",\"severity\":");
        write_text(&mut tail, severity);
    }
    let role: &[u8] = match role {
        Role::For => b"for",
        Role::Against => b"against",
        Role::Context => b"context",
    };
    tail.extend_from_slice(b",\"role\":");
    write_text(&mut tail, role);
    tail.extend_from_slice(b",\"counted\":");
    [head.into(), tail.into()]
}
