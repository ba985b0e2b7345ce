//! The ways in: a command, a program text, a path. All meet the same rules.

use crate::code::Language;
use crate::facts::Facts;
use crate::flow::engine::Engine;
use crate::flow::report::{Deed, Touch};
use crate::flow::value::Arg;
use crate::shell::normalise;
use crate::shell::{Cut, Span};
use crate::verdict::{Analysis, Judgement, judge};

/// Works out what `command` would do in a shell.
pub fn analyse(command: &str, facts: &Facts) -> Analysis {
    let mut engine = Engine::new(facts, command);
    let source = normalise::source(command);
    engine.dirty = source.text.as_ref() != command;
    engine.obey_exports();
    engine.run_text(source);
    // A trap sees the variables as they are when it runs.
    for code in std::mem::take(&mut engine.traps) {
        let span = code.span;
        engine.run_shell(code, span);
    }
    engine.report.analysis
}

/// Works out what a program in `language` would do.
pub fn analyse_code(language: Language, text: &str, facts: &Facts) -> Analysis {
    if language == Language::Shell {
        return analyse(text, facts);
    }
    let mut engine = Engine::new(facts, text);
    let whole = Cut::new(0, text.len());
    let code = Arg::new(text, Span { start: whole.start, end: whole.end });
    engine.run_program_text(language, &code);
    engine.report.analysis
}

/// Judges a shell command.
pub fn judge_command(command: &str, facts: &Facts) -> Judgement {
    judge(analyse(command, facts))
}

/// Judges a program text by its visible effects.
pub fn judge_code(language: Language, text: &str, facts: &Facts) -> Judgement {
    judge(analyse_code(language, text, facts))
}

/// Judges writing to `path`, which the caller has resolved through links.
pub fn judge_write(path: &str, facts: &Facts) -> Judgement {
    judge_path(Deed::Write, path, facts)
}

/// Judges reading `path`, which the caller has resolved through links.
pub fn judge_read(path: &str, facts: &Facts) -> Judgement {
    judge_path(Deed::Read, path, facts)
}

/// Judges deleting `path`, with everything in it when `recursive`.
pub fn judge_delete(path: &str, recursive: bool, facts: &Facts) -> Judgement {
    judge_path(Deed::Delete { recursive, bulk: false, narrowed: false }, path, facts)
}

fn judge_path(deed: Deed, path: &str, facts: &Facts) -> Judgement {
    let mut engine = Engine::new(facts, path);
    let resolved = crate::path::resolve(path, facts.cwd.as_deref(), &facts.home);
    let touch = Touch::new(deed, &resolved, false, facts);
    let span = Cut::new(0, path.len());
    let leaf = || path.to_owned();
    engine.report.touch(&touch, Span { start: span.start, end: span.end }, &leaf);
    judge(engine.report.analysis)
}
