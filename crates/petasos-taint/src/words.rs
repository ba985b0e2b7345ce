//! The record of one conversation: where strangers' words came from, in which turn, and what was
//! said by whom first.

use std::collections::{HashMap, HashSet, VecDeque};

use parking_lot::Mutex;
use petasos_contract::taint::{Carry, Heat, Provenance, Source};

use crate::features::{features, shown};
use crate::windows::{readings, windows};

/// So much of a conversation is remembered by what it can be recognised by.
const REMEMBERED_MAX: usize = 200_000;
/// Sources that are named; the places of others are not.
const SOURCES_MAX: usize = 20;
/// Matches that a person is shown.
const SHOWN_MAX: usize = 3;

/// What one conversation took in, with its subagents and scripts.
#[derive(Debug, Default)]
pub struct Words(Mutex<Record>);

#[derive(Debug, Default)]
struct Record {
    turn: u32,
    numbered: u32,
    sources: Vec<(Source, u32)>,
    /// What strangers said, by the number of its source; the oldest are forgotten first.
    foreign: HashMap<u64, u32>,
    order: VecDeque<u64>,
    /// Something was forgotten, so that nothing is known not to be theirs.
    forgot: bool,
    said: HashSet<u64>,
    kept: HashSet<u64>,
}

impl Record {
    fn hear(&mut self, text: &str, number: u32) {
        for feature in features(text) {
            if self.said.contains(&feature.hash) || self.foreign.contains_key(&feature.hash) {
                continue;
            }
            if self.order.len() >= REMEMBERED_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.foreign.remove(&oldest);
                self.forgot = true;
            }
            self.foreign.insert(feature.hash, number);
            self.order.push_back(feature.hash);
        }
    }
}

impl Provenance for Words {
    fn begin_turn(&self) {
        self.0.lock().turn += 1;
    }

    fn said(&self, text: &str) {
        let mut record = self.0.lock();
        let room = REMEMBERED_MAX.saturating_sub(record.said.len());
        let hashes: Vec<u64> = features(text).iter().map(|feature| feature.hash).collect();
        // Who repeats what strangers said before has not said it first.
        let own: Vec<u64> = hashes
            .into_iter()
            .filter(|hash| !record.foreign.contains_key(hash))
            .take(room)
            .collect();
        record.said.extend(own);
    }

    fn heard(&self, tool: &str, place: &str, call: &str, text: &str) {
        let mut record = self.0.lock();
        record.numbered += 1;
        let number = record.numbered;
        let source = Source {
            number,
            tool: tool.to_owned(),
            place: place.to_owned(),
            call: call.to_owned(),
        };
        let turn = record.turn;
        if record.sources.len() >= SOURCES_MAX {
            // The newest say best what happened; that there were others is still known.
            record.sources.remove(0);
            record.forgot = true;
        }
        record.sources.push((source, turn));
        record.hear(text, number);
    }

    fn kept(&self, text: &str) {
        let mut record = self.0.lock();
        let room = REMEMBERED_MAX.saturating_sub(record.kept.len());
        record.kept.extend(windows(text).into_iter().take(room));
    }

    fn heat(&self) -> Heat {
        let record = self.0.lock();
        if record.sources.is_empty() {
            Heat::Clean
        } else if record.forgot || record.sources.iter().any(|(_, turn)| *turn == record.turn) {
            Heat::Hot
        } else {
            Heat::Warm
        }
    }

    fn sources(&self) -> Vec<Source> {
        self.0.lock().sources.iter().map(|(source, _)| source.clone()).collect()
    }

    fn carried(&self, text: &str, carry: Carry) -> Vec<String> {
        let record = self.0.lock();
        if record.foreign.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<String> = Vec::new();
        let mut end = 0;
        for feature in features(text) {
            let counts = carry == Carry::Anything || feature.phrase;
            // Rows overlap: one match is shown once.
            let apart = feature.at.0 >= end || !feature.phrase;
            if counts && apart && record.foreign.contains_key(&feature.hash) {
                end = feature.at.1;
                let words = shown(text, &feature);
                if !found.contains(&words) {
                    found.push(words);
                }
                if found.len() == SHOWN_MAX {
                    break;
                }
            }
        }
        found
    }

    fn leaks(&self, text: &str) -> bool {
        let record = self.0.lock();
        !record.kept.is_empty()
            && readings(text)
                .iter()
                .any(|reading| windows(reading).iter().any(|window| record.kept.contains(window)))
    }

    fn trust(&self, number: Option<u32>) -> Vec<Source> {
        let mut record = self.0.lock();
        let trusted = |source: &Source| number.is_none_or(|number| source.number == number);
        let (gone, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut record.sources).into_iter().partition(|(it, _)| trusted(it));
        record.sources = left;
        let numbers: HashSet<u32> = gone.iter().map(|(source, _)| source.number).collect();
        let forgiven: Vec<u64> = record
            .foreign
            .iter()
            .filter(|(_, from)| number.is_none() || numbers.contains(*from))
            .map(|(hash, _)| *hash)
            .collect();
        for hash in forgiven {
            record.foreign.remove(&hash);
        }
        let known: HashSet<u64> = record.foreign.keys().copied().collect();
        record.order.retain(|hash| known.contains(hash));
        if number.is_none() {
            record.forgot = false;
        }
        gone.into_iter().map(|(source, _)| source).collect()
    }
}
