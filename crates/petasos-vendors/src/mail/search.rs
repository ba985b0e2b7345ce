//! What is looked for in a mailbox.

use super::imap::Piece;
use crate::fault::VendorError;
use crate::text::cut;

/// What is looked for; all that is given must hold.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Anywhere in the letter.
    pub text: Option<String>,
    /// In the sender.
    pub from: Option<String>,
    /// In the recipients.
    pub to: Option<String>,
    /// In the subject.
    pub subject: Option<String>,
    /// From this day on.
    pub since: Option<String>,
    /// Before this day.
    pub before: Option<String>,
    /// Only what nobody has read.
    pub unread: bool,
    /// The folder.
    pub folder: String,
    /// How many.
    pub limit: usize,
}

impl Query {
    /// The words of the protocol.
    pub(super) fn criteria(&self) -> Result<Vec<Piece>, VendorError> {
        let mut pieces = Vec::new();
        let words = |text: &str| Piece::Words(text.to_owned());
        for (key, text) in [
            ("TEXT", &self.text),
            ("FROM", &self.from),
            ("TO", &self.to),
            ("SUBJECT", &self.subject),
        ] {
            if let Some(text) = text.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
                pieces.extend([words(key), Piece::Text(text.replace(['\r', '\n', '\0'], " "))]);
            }
        }
        for (key, day) in [("SINCE", &self.since), ("BEFORE", &self.before)] {
            if let Some(day) = day.as_deref().map(str::trim).filter(|day| !day.is_empty()) {
                let date: jiff::civil::Date = day.parse().map_err(|_| {
                    let text = format!("`{}` is no day: write it as 2026-11-30", cut(day, 40));
                    VendorError::argument(text)
                })?;
                pieces.push(Piece::Words(format!("{key} {}", date.strftime("%d-%b-%Y"))));
            }
        }
        if self.unread {
            pieces.push(words("UNSEEN"));
        }
        if pieces.is_empty() {
            pieces.push(words("ALL"));
        }
        Ok(pieces)
    }
}
