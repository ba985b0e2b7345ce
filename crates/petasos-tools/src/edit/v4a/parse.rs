//! From text to steps. Markers may be missing and spaces may be left out.

use super::{Fault, Hunk, Line, Step};

/// Reads a patch.
pub(crate) fn parse(patch: &str) -> Result<Vec<Step>, Fault> {
    let mut steps = Vec::new();
    for (index, raw) in patch.replace("\r\n", "\n").lines().enumerate() {
        match header(raw) {
            Some(Header::Edge) => {}
            Some(Header::MovedTo(to)) => moved(&mut steps, to, index + 1)?,
            Some(Header::Step(step)) => {
                safe(&step, index + 1)?;
                steps.push(step);
            }
            None => body(&mut steps, raw, index + 1)?,
        }
    }
    if steps.is_empty() { Err(Fault::Nothing) } else { Ok(steps) }
}

enum Header {
    Edge,
    MovedTo(String),
    Step(Step),
}

fn header(raw: &str) -> Option<Header> {
    let rest = raw.strip_prefix("***")?.trim();
    if ["Begin Patch", "End Patch", "End of File"].contains(&rest) {
        return Some(Header::Edge);
    }
    let (word, path) = rest.split_once(':')?;
    let path = path.trim().to_owned();
    let step = match word.trim() {
        "Update File" => Step::Update { path, to: None, hunks: Vec::new() },
        "Add File" => Step::Add { path, content: String::new() },
        "Delete File" => Step::Delete { path },
        "Move to" => return Some(Header::MovedTo(path)),
        "Move File" => {
            let (from, to) = path.split_once("->").unwrap_or((&path, ""));
            Step::Move { path: from.trim().to_owned(), to: to.trim().to_owned() }
        }
        _ => return None,
    };
    Some(Header::Step(step))
}

fn moved(steps: &mut [Step], target: String, line: usize) -> Result<(), Fault> {
    match steps.last_mut() {
        Some(Step::Update { to, .. }) => {
            *to = Some(target);
            steps.last().map_or(Ok(()), |step| safe(step, line))
        }
        _ => Err(Fault::Header { line, why: "`*** Move to:` follows an `*** Update File:` line" }),
    }
}

fn safe(step: &Step, line: usize) -> Result<(), Fault> {
    for path in step.paths() {
        if path.is_empty() {
            return Err(Fault::Header { line, why: "a path is missing" });
        }
        if path.split(['/', '\\']).any(|part| part == "..") {
            return Err(Fault::Header { line, why: "a path may not contain `..`" });
        }
    }
    Ok(())
}

fn body(steps: &mut [Step], raw: &str, line: usize) -> Result<(), Fault> {
    let stray = || Fault::Stray { line, text: raw.chars().take(100).collect() };
    match steps.last_mut() {
        Some(Step::Update { hunks, .. }) => {
            update(hunks, raw);
            Ok(())
        }
        Some(Step::Add { content, .. }) => match raw.strip_prefix('+') {
            Some(added) => {
                content.push_str(added);
                content.push('\n');
                Ok(())
            }
            None if raw.trim().is_empty() || raw.starts_with('\\') => Ok(()),
            None => Err(Fault::Header { line, why: "lines of an added file start with `+`" }),
        },
        Some(Step::Delete { .. } | Step::Move { .. }) | None if raw.trim().is_empty() => Ok(()),
        Some(Step::Delete { .. } | Step::Move { .. }) | None => Err(stray()),
    }
}

fn update(hunks: &mut Vec<Hunk>, raw: &str) {
    if let Some(rest) = raw.strip_prefix("@@") {
        let anchor = rest.strip_suffix("@@").unwrap_or(rest).trim();
        // A unified header has line numbers there, which say nothing about this file.
        let is_numbers = anchor.starts_with('-') && anchor.contains('+');
        let anchor = (!anchor.is_empty() && !is_numbers).then(|| anchor.to_owned());
        hunks.push(Hunk { anchor, lines: Vec::new() });
        return;
    }
    if raw.starts_with('\\') {
        return;
    }
    if hunks.is_empty() {
        if raw.trim().is_empty() {
            return;
        }
        hunks.push(Hunk::default());
    }
    let line = match raw.split_at_checked(1) {
        Some(("-", rest)) => Line::Removed(rest.to_owned()),
        Some(("+", rest)) => Line::Added(rest.to_owned()),
        Some((" ", rest)) => Line::Context(rest.to_owned()),
        Some(_) | None => Line::Context(raw.to_owned()),
    };
    if let Some(hunk) = hunks.last_mut() {
        hunk.lines.push(line);
    }
}
