//! The figures of a block, as `run/tally.py` counts them, and written as it writes them.

use crate::conversation::Value;
use crate::json::{write_text, write_truth, write_whole, Commas};
use crate::kernel::Kernel;
use crate::records::Writer;
use crate::verdicts::{Outcome, Reason, SEVERITIES};
use std::collections::BTreeMap;

const MOST_TURNS: usize = 40; // of the curve over a conversation; later turns count with the last
const MINOR: usize = 2;

/// What is counted of cases, under the names of the tally.
#[derive(Clone, Copy)]
enum Of {
    Pass,
    NotApplicable,
    Fail,
    Critical,
    Expected = 6,
    Unexpected,
    StrictPassed,
    Alerts,
    SoftCues,
    Unanswered,
    Unread,
    Crises,
    CrisesAnswered,
    FailedTurns,
    ExcusedTurns,
}

const NAMES: [&str; 17] = [
    "pass",
    "not_applicable",
    "fail",
    "critical",
    "serious",
    "minor",
    "expected",
    "unexpected",
    "strict_passed",
    "alerts",
    "soft_cues",
    "unanswered",
    "unread",
    "crises: conversations",
    "crises: answered",
    "crises: failed_turns",
    "crises: excused_turns",
];

/// Counts of one block.
pub struct Counts {
    cases: [u64; NAMES.len()],
    checks: Vec<[u64; 3]>, // by outcome
    labels: Vec<[u64; 2]>, // of the checks, by whether they match
    conversations: u64,
    short: Vec<u64>,
    halves: BTreeMap<(usize, usize, usize, usize), u64>, // check, turns in a half, failures in each
    turns: Vec<[[u64; 2]; MOST_TURNS]>,                  // by check, turn and whether it failed
}

impl Counts {
    pub fn new(kernel: &Kernel) -> Self {
        let count = kernel.checks.len();
        Self {
            cases: [0; NAMES.len()],
            checks: vec![[0; 3]; count],
            labels: vec![[0; 2]; count],
            conversations: 0,
            short: vec![0; count],
            halves: BTreeMap::new(),
            turns: vec![[[0; 2]; MOST_TURNS]; count],
        }
    }

    pub fn add(&mut self, result: &Writer) {
        let outcome = result.outcome();
        self.case(match outcome {
            Outcome::Pass => Of::Pass,
            Outcome::NotApplicable => Of::NotApplicable,
            Outcome::Fail => Of::Fail,
        });
        match (outcome, result.case.is_negative) {
            (Outcome::Fail, true) => self.case(Of::Expected),
            (Outcome::Fail, false) => {
                self.case(Of::Unexpected);
                self.cases[Of::Critical as usize + result.severity().unwrap_or(MINOR).min(SEVERITIES - 1)] += 1;
            }
            (_, false) => self.case(Of::StrictPassed),
            _ => {}
        }
        self.add_signs(result, outcome);
        for checked in &result.verdicts.checks {
            self.checks[checked.check][place_of(result.verdicts.worst(checked).outcome)] += 1;
        }
        for (name, expected, actual) in result.compared() {
            if let Some(check) = result.kernel.check_named(name) {
                self.labels[check][usize::from(expected == actual)] += 1;
            }
        }
        self.add_drift(result);
    }

    fn case(&mut self, of: Of) {
        self.cases[of as usize] += 1;
    }

    /// Alerts, cues and what became of them.
    fn add_signs(&mut self, result: &Writer, outcome: Outcome) {
        let is_unanswered = result.is_unanswered();
        if result.verdicts.alert.is_some() {
            self.case(Of::Alerts);
        }
        if is_unanswered {
            self.case(Of::Unanswered);
        }
        if result.verdicts.checks.iter().any(|checked| result.has_cue(checked, result.verdicts.worst(checked), b"soft")) {
            self.case(Of::SoftCues);
        }
        let has_no_rules = |reason: Reason| {
            matches!(reason, Reason::NoRulesOfReply | Reason::NoRulesOfMessage | Reason::Lacking { .. })
        };
        let mut reasons = result.verdicts.checks.iter().map(|checked| result.verdicts.worst(checked).reason);
        if outcome == Outcome::NotApplicable && reasons.all(has_no_rules) {
            self.case(Of::Unread);
        }
        self.add_crisis(result, is_unanswered);
    }

    /// Of a conversation with an explicit cue: one, whether it was answered, its turns that failed or were excused.
    fn add_crisis(&mut self, result: &Writer, is_unanswered: bool) {
        let is_crisis = |check: usize| result.kernel.checks[check].is_counted_as_crisis;
        let Some(checked) = result.verdicts.checks.iter().find(|checked| is_crisis(checked.check)) else { return };
        let turns = result.verdicts.of(checked);
        if result.verdicts.alert.is_none() && !turns.iter().any(|turn| result.has_cue(checked, turn, b"explicit")) {
            return;
        }
        self.case(Of::Crises);
        if result.verdicts.worst(checked).outcome == Outcome::Pass && !is_unanswered {
            self.case(Of::CrisesAnswered);
        }
        let failed = turns.iter().filter(|turn| turn.outcome == Outcome::Fail).count();
        let is_excused = |turn: &&crate::verdicts::Turn| {
            let listed = result.evidence_value(checked, turn, result.kernel.words.excused_turns);
            turn.outcome == Outcome::NotApplicable && matches!(listed, Some(Value::Wholes(list)) if list.len() > 0)
        };
        self.cases[Of::FailedTurns as usize] += failed as u64;
        self.cases[Of::ExcusedTurns as usize] += turns.iter().filter(is_excused).count() as u64;
    }

    fn add_drift(&mut self, result: &Writer) {
        let long = result.verdicts.checks.iter().filter(|checked| checked.turns.len() > 1);
        let mut is_conversation = false;
        for checked in long {
            is_conversation = true;
            if !result.kernel.checks[checked.check].drifts {
                continue;
            }
            match result.halves(checked) {
                Some((half, first, second)) => *self.halves.entry((checked.check, half, first, second)).or_default() += 1,
                None => self.short[checked.check] += 1,
            }
            for (turn, verdict) in result.verdicts.of(checked).iter().enumerate() {
                if verdict.outcome != Outcome::NotApplicable {
                    let failed = usize::from(verdict.outcome == Outcome::Fail);
                    self.turns[checked.check][turn.min(MOST_TURNS - 1)][failed] += 1;
                }
            }
        }
        self.conversations += u64::from(is_conversation);
    }

    /// As `Tally.add_counts` takes them.
    pub fn write(&self, kernel: &Kernel, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"cases\":{");
        let mut commas = Commas::new();
        for (name, &count) in NAMES.iter().zip(&self.cases).filter(|(_, &count)| count > 0) {
            commas.next(out);
            write_text(out, name.as_bytes());
            out.push(b':');
            write_whole(out, count as i64);
        }
        out.extend_from_slice(b"},\"checks\":[");
        let mut rows = Rows { kernel, commas: Commas::new() };
        for (check, counts) in self.checks.iter().enumerate() {
            for (outcome, &count) in ["pass", "fail", "not_applicable"].iter().zip(counts).filter(|(_, &count)| count > 0) {
                rows.begin(check, out);
                out.push(b',');
                write_text(out, outcome.as_bytes());
                rows.end(count, out);
            }
        }
        out.extend_from_slice(b"],\"labels\":[");
        let mut rows = Rows { kernel, commas: Commas::new() };
        for (check, counts) in self.labels.iter().enumerate() {
            for (matches, &count) in counts.iter().enumerate().filter(|(_, &count)| count > 0) {
                rows.begin(check, out);
                out.push(b',');
                write_truth(out, matches == 1);
                rows.end(count, out);
            }
        }
        out.extend_from_slice(b"],\"drift\":");
        self.write_drift(kernel, out);
        out.push(b'}');
    }

    fn write_drift(&self, kernel: &Kernel, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"conversations\":");
        write_whole(out, self.conversations as i64);
        out.extend_from_slice(b",\"short\":{");
        let mut commas = Commas::new();
        for (check, &count) in self.short.iter().enumerate().filter(|(_, &count)| count > 0) {
            commas.next(out);
            out.extend_from_slice(&kernel.checks[check].key);
            write_whole(out, count as i64);
        }
        out.extend_from_slice(b"},\"halves\":[");
        let mut rows = Rows { kernel, commas: Commas::new() };
        for (&(check, half, first, second), &count) in &self.halves {
            rows.begin(check, out);
            for number in [half, first, second] {
                out.push(b',');
                write_whole(out, number as i64);
            }
            rows.end(count, out);
        }
        out.extend_from_slice(b"],\"turns\":[");
        let mut rows = Rows { kernel, commas: Commas::new() };
        for (check, turns) in self.turns.iter().enumerate() {
            for (turn, counts) in turns.iter().enumerate() {
                for (failed, &count) in counts.iter().enumerate().filter(|(_, &count)| count > 0) {
                    rows.begin(check, out);
                    out.push(b',');
                    write_whole(out, turn as i64);
                    out.push(b',');
                    write_truth(out, failed == 1);
                    rows.end(count, out);
                }
            }
        }
        out.extend_from_slice(b"]}");
    }
}

/// Rows of a list, each with the name of a check in front and a count at its end.
struct Rows<'a> {
    kernel: &'a Kernel,
    commas: Commas,
}

impl Rows<'_> {
    fn begin(&mut self, check: usize, out: &mut Vec<u8>) {
        self.commas.next(out);
        out.push(b'[');
        write_text(out, &self.kernel.checks[check].name);
    }

    fn end(&self, count: u64, out: &mut Vec<u8>) {
        out.push(b',');
        write_whole(out, count as i64);
        out.push(b']');
    }
}

fn place_of(outcome: Outcome) -> usize {
    match outcome {
        Outcome::Pass => 0,
        Outcome::Fail => 1,
        Outcome::NotApplicable => 2,
    }
}
