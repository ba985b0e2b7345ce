//! Images on their way out: kept, or replaced by a line of text that says so.

use petasos_contract::message::{Content, Part};

use super::history::{Turn, clean};
use super::target::{Repair, Target};

/// Said in place of an image.
const GONE: &str = "[image left out: this model or provider does not take it here]";

/// Where images may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Images {
    /// Everywhere.
    Anywhere,
    /// Not in tool results.
    NotInResults,
    /// Only in the last message.
    LastOnly,
}

impl Images {
    /// By the repairs in force, for a dialect that takes images in results or not.
    pub fn of(target: &Target, in_results: bool) -> Self {
        if target.repaired(&Repair::DropOldImages) {
            Self::LastOnly
        } else if !in_results || target.repaired(&Repair::DropToolImages) {
            Self::NotInResults
        } else {
            Self::Anywhere
        }
    }

    /// Whether older images go.
    pub fn drops_old(self) -> bool {
        self == Self::LastOnly
    }
}

/// A person's content as parts.
pub fn parts(content: &Content, keep_images: bool) -> Vec<Part> {
    match content {
        Content::Text(text) => vec![Part::text(clean(text))],
        Content::Parts(parts) => parts.iter().map(|part| one(part, keep_images)).collect(),
    }
}

/// A result's content.
pub fn result(content: &Content, images: Images) -> Content {
    match content {
        Content::Text(text) => Content::Text(clean(text)),
        Content::Parts(parts) => {
            let keep = images == Images::Anywhere;
            let parts: Vec<Part> = parts.iter().map(|part| one(part, keep)).collect();
            let all_text = parts.iter().all(|part| matches!(part, Part::Text { .. }));
            let content = Content::Parts(parts);
            if all_text { Content::Text(content.text()) } else { content }
        }
    }
}

/// Keeps the newest images of tool results and replaces the older ones.
pub fn newest_in_results(turns: &mut [Turn], keep: usize) {
    let mut left = keep;
    let results = turns.iter_mut().rev().filter_map(|turn| match turn {
        Turn::Results(given) => Some(given),
        Turn::User(_) | Turn::Assistant(_) => None,
    });
    for given in results.flat_map(|given| given.iter_mut().rev()) {
        let Content::Parts(parts) = &mut given.content else { continue };
        for part in parts.iter_mut().rev() {
            if matches!(part, Part::ImageUrl { .. }) {
                if left == 0 {
                    *part = Part::text(GONE);
                }
                left = left.saturating_sub(1);
            }
        }
    }
}

fn one(part: &Part, keep_images: bool) -> Part {
    match part {
        Part::Text { text } => Part::text(clean(text)),
        Part::ImageUrl { .. } if !keep_images => Part::text(GONE),
        image @ Part::ImageUrl { .. } => image.clone(),
    }
}
