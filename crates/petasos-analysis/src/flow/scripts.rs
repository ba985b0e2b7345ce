//! Files that a command runs and that were there before: what the agent wrote in this session is
//! judged as if it had been typed; what is somebody else's is a program like any other, but for
//! what can never run and what reaches out of the project.

use super::engine::{Engine, WORK_PER_BYTE};
use super::value::{Arg, Stream, Taint};
use crate::code::Language;
use crate::facts::Facts;
use crate::rule;
use crate::shell::Span;
use crate::verdict::{Finding, Severity};

impl Engine<'_> {
    /// Brings in a file that the agent wrote before, as if this line had written it.
    pub(super) fn recall(&mut self, path: &str) {
        if !path.starts_with('/') || self.state.files.contains_key(path) {
            return;
        }
        let written = self.facts.scripts.as_ref().and_then(|scripts| scripts.written(path));
        if let Some(text) = written {
            self.work += WORK_PER_BYTE.saturating_mul(text.len() as u64);
            self.state.files.insert(path.to_owned(), Stream::known(text));
        }
    }

    /// Looks into a script of somebody else; nothing where there is none to look into.
    pub(super) fn run_foreign(
        &mut self,
        language: Option<Language>,
        path: &str,
        args: &[Arg],
        span: Span,
    ) -> Option<Stream> {
        if self.foreign == 0 || !path.starts_with('/') {
            return None;
        }
        let text = self.facts.scripts.as_ref()?.foreign(path)?;
        let language = language.unwrap_or_else(|| Language::of_script(&text));
        let analysis = &self.report.analysis;
        let (findings, leaves) = (analysis.findings.len(), analysis.leaves.len());
        let (foreign, work) = (std::mem::take(&mut self.foreign), self.work);
        self.work += WORK_PER_BYTE.saturating_mul(text.len() as u64);
        let mark = self.state.enter();
        self.run_code(language, Arg::new(text, span), args.to_vec(), span);
        self.state.leave(mark);
        // A script that is too much to follow is still a program like any other.
        (self.work, self.exhausted) = (work, false);
        self.foreign = foreign - 1;
        let facts = self.facts;
        let mut at = 0;
        self.report.analysis.findings.retain(|finding| {
            at += 1;
            at <= findings || reaches_out(finding, facts)
        });
        self.report.analysis.leaves.truncate(leaves);
        Some(Stream::unknown(Taint::PROGRAM))
    }
}

/// Whether a finding in somebody else's script counts.
fn reaches_out(finding: &Finding, facts: &Facts) -> bool {
    let below = |path: &str, root: &str| {
        path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let outside = |path: &String| {
        let own = facts.workspace.as_ref().is_some_and(|root| below(path, root));
        let loose = ["/tmp", "/var/tmp", "/dev"].iter().any(|root| below(path, root));
        path.starts_with('/') && !own && (!loose || below(path, &facts.home))
    };
    !rule::is_blind(finding.rule)
        && (finding.severity == Severity::Block
            || rule::is_own_file(finding.rule)
            || finding.target.as_ref().is_some_and(outside))
}
