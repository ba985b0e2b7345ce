//! Files that a command runs and that were there before: what the agent wrote in this session is
//! judged as if it had been typed; what is somebody else's is a program like any other, but for
//! what can never run and what reaches out of the project.

use super::call::Call;
use super::engine::{Engine, WORK_PER_BYTE};
use super::value::{Arg, Stream, Taint};
use crate::code::Language;
use crate::facts::Facts;
use crate::rule::{Nature, Signal};
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
        self.run_in_folder(path, |engine| {
            engine.run_code(language, Arg::new(text, span), args.to_vec(), span)
        });
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

    /// Whether a program run by path is one that this line wrote.
    pub(super) fn is_written(&mut self, name: &str) -> bool {
        if !name.contains('/') {
            return false;
        }
        let path = self.resolve(name);
        self.recall(&path);
        self.state.files.contains_key(&path)
    }

    /// A program run by path: what this line wrote there is known.
    pub(super) fn run_path(&mut self, call: &Call<'_>) -> Stream {
        let path = self.resolve(&call.name.text);
        self.recall(&path);
        let Some(stream) = self.state.files.get(&path).cloned() else {
            self.run_foreign(None, &path, call.args, call.span);
            if self.unpacked
                && (call.name.text.starts_with("./") || call.name.text.starts_with("/tmp/"))
                || self.is_cloned_script(&path)
            {
                self.report.signal(Signal::RemoteCode, call.span, call.name.text.clone());
            }
            return self.output(call);
        };
        let span = call.span;
        self.signal_code(
            stream.taint.without(Taint::OPAQUE),
            span,
            std::slice::from_ref(call.name),
        );
        let Some(text) = stream.text else { return Stream::unknown(Taint::PROGRAM) };
        let language = if stream.taint.has(Taint::SOURCE) {
            Language::Other
        } else {
            Language::of_script(&text)
        };
        let args = call.args.to_vec();
        self.run_in_folder(&path, |engine| {
            engine.run_code(language, Arg::new(text, span), args, span)
        })
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
    finding.nature != Nature::Blind
        && (finding.severity == Severity::Block
            || finding.nature == Nature::OwnFiles
            || finding.target.as_ref().is_some_and(outside))
}
