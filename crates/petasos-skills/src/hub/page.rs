//! What a person reads about a skill of somebody else, line by line.

use std::collections::BTreeSet;

use super::install::Review;
use crate::scan::{self, Report};

impl Review {
    /// All of it but the diff.
    pub fn lines(&self) -> Vec<String> {
        let revision = self.revision.as_deref().unwrap_or("no commit");
        let mut lines = vec![
            format!("{}: {}", self.name, scan::shown(&self.description)),
            format!(
                "{} source, {revision}, verdict {}",
                self.trust.as_str(),
                self.verdict.as_str()
            ),
        ];
        lines.extend(self.files.iter().map(|(file, size)| format!("  {file} ({size} bytes)")));
        lines.extend(self.report.lines());
        lines.extend(self.problems.iter().map(|problem| format!("  {}", problem.what)));
        if self.modified {
            let said = "it was changed here since it was installed; the change goes to the archive";
            lines.push(said.to_owned());
        }
        lines
    }

    /// The same as Markdown, the diff below. Nothing in it is markup: it is others' words.
    pub(super) fn page(&self) -> String {
        let mut page = fenced("text", &self.lines().join("\n"));
        if let Some(diff) = self.diff.as_deref().filter(|diff| !diff.is_empty()) {
            page.push_str("\n\n");
            page.push_str(&fenced("diff", diff));
        }
        page
    }
}

impl Report {
    /// The findings, the hosts, and what it wants to have.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for finding in &self.findings {
            let kind = format!("{:?} {:?}", finding.severity, finding.class).to_lowercase();
            let place = format!("{}:{}", finding.file, finding.line);
            lines.push(format!("  {kind} {place} {}: {}", finding.what, finding.text));
        }
        let joined = |names: &BTreeSet<String>| {
            names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
        };
        let wants = [
            ("reaches", &self.hosts),
            ("wants variables", &self.variables),
            ("wants files", &self.credential_files),
        ];
        let wants = wants.iter().filter(|(_, names)| !names.is_empty());
        lines.extend(wants.map(|(what, names)| format!("  {what} {}", joined(names))));
        lines
    }
}

/// A block whose fence nothing inside can end, with hidden characters written out.
pub(super) fn fenced(kind: &str, text: &str) -> String {
    let (mut longest, mut run) = (0, 0);
    let mut inner = String::with_capacity(text.len());
    for letter in text.chars() {
        run = if letter == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
        if letter != '\n' && letter != '\t' && scan::is_hidden(letter) {
            inner.extend(letter.escape_unicode());
        } else {
            inner.push(letter);
        }
    }
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{kind}\n{}\n{fence}", inner.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_block_or_turns_its_letters() {
        let page = fenced("text", "a\n```\n**b** \u{202e}c\u{1b}[2J");
        assert_eq!(page, "````text\na\n```\n**b** \\u{202e}c\\u{1b}[2J\n````");
    }
}
