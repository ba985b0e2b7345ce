//! Whose words a conversation took in, again after a restart: labels are in the transcript.

use std::sync::Arc;

use petasos_contract::message::Message;
use petasos_contract::model::Role;
use petasos_contract::{CallContext, Provenance};
use petasos_store::LoadedRow;
use petasos_taint::{Words, is_trusted, place_of};

use crate::agent::Agent;
use crate::embedded::{Piece, pieces};
use crate::memory::{self, Memory, Target};

/// How a summary says that strangers' words went into it.
const SUMMARISED: &str = "[From outside: ";

/// What is known of a conversation by its messages, and by notes that strangers' words went into.
pub(crate) fn recalled(rows: &[LoadedRow], memory: &Memory) -> Arc<dyn Provenance> {
    let words = Words::default();
    for target in [Target::Memory, Target::User] {
        for entry in memory.entries(target).unwrap_or_default() {
            if let Some(place) = memory::place(&entry) {
                words.heard("memory", place, "", &entry);
            }
        }
    }
    for row in rows {
        let noted = row.stored.note.is_some();
        match &row.stored.message {
            Message::User { content } => {
                let text = content.text();
                match text.rsplit_once(SUMMARISED).filter(|_| noted) {
                    Some((_, places)) => {
                        words.heard("summary of", places.trim_end_matches(']'), "", &text);
                    }
                    None if !noted => took_in(&words, &text, |_| false),
                    None => {}
                }
            }
            Message::Tool(result) => {
                let text = result.content.text();
                if let Some(tool) = labelled(&text) {
                    words.heard(tool, "", result.tool_call_id.as_str(), &text);
                }
            }
            Message::Assistant(_) => {}
        }
    }
    Arc::new(words)
}

/// A message: what the person wrote is theirs, what strangers wrote is not, and a file of the
/// person's own is neither.
fn took_in(words: &dyn Provenance, message: &str, trusted: impl Fn(&str) -> bool) {
    let pieces = pieces(message);
    for piece in &pieces {
        if let Piece::Words(own) = piece {
            words.said(own);
        }
    }
    for piece in &pieces {
        if let Piece::Embedded { place, text, foreign: true } = piece {
            let place = place_of(place);
            if !trusted(&place) {
                words.heard("embedded in a message", &place, "", text);
            }
        }
    }
}

/// The tool whose words a labelled result holds.
fn labelled(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<untrusted_tool_result source=\"")?;
    Some(rest.split('"').next().unwrap_or_default())
}

/// What a summary adds, so that rewriting lowers no label.
pub(crate) fn summary_note(words: &dyn Provenance) -> Option<String> {
    let places: Vec<String> = words.sources().iter().map(ToString::to_string).collect();
    (!places.is_empty()).then(|| format!("{SUMMARISED}{}]", places.join("; ")))
}

impl Agent {
    /// A person's words are theirs, and their notes are private. What a subagent is told are a
    /// model's words.
    pub(crate) fn note_said(&self, said: &str, cx: &CallContext) {
        if !matches!(self.choice.role, Role::Subagent | Role::BackgroundReview) {
            took_in(cx.words.as_ref(), said, |place| is_trusted(place, &cx.settings));
        }
        for target in [Target::Memory, Target::User] {
            for entry in self.seat.memory.entries(target).unwrap_or_default() {
                cx.words.kept(&entry);
            }
        }
    }

    /// The record for a turn that begins: its own, or that of whom it works for.
    pub(crate) fn heard_so_far(&mut self, cx: &CallContext) -> Arc<dyn Provenance> {
        if self.choice.role == Role::Subagent {
            self.words = Arc::clone(&cx.words);
        } else {
            self.words.begin_turn();
            if !cx.taint.is_clean() && self.words.sources().is_empty() {
                self.words.heard("kept", "what began this conversation", "", "");
            }
        }
        Arc::clone(&self.words)
    }
}
