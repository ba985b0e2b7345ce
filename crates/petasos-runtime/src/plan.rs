//! The planner: cuts a batch of calls into segments that may run together.
//!
//! Results always come in call order, and a later call never starts before an earlier barrier has
//! finished. Pure over the registry snapshot.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use petasos_contract::call::{RawArguments, ToolCall};
use petasos_contract::context::CallContext;
use petasos_contract::path::{folded as without_dots, resolve};
use petasos_contract::tool::Concurrency;
use petasos_shell::reading::leaves_no_trace;
use serde_json::Value;

use crate::dispatch::parse_arguments;
use crate::registry::Snapshot;
use crate::search;

/// Calls that run together, or one after another; indexes into the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// At the same time.
    Parallel(Vec<usize>),
    /// In this order.
    Sequential(Vec<usize>),
}

/// Where a call may stand.
enum Place {
    Barrier,
    Anywhere,
    /// Beside anything that names no path: nobody knows which files it looks at.
    Command,
    At(Vec<PathBuf>),
}

/// Cuts a batch of calls whose relative paths start at `base`.
pub fn plan(calls: &[ToolCall], tools: &Snapshot, base: &Path, cx: &CallContext) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut run: Vec<usize> = Vec::new();
    let mut reserved: Vec<PathBuf> = Vec::new();
    let mut looking = false;
    for (at, call) in calls.iter().enumerate() {
        let place = place(call, tools, base, cx);
        let apart = match &place {
            Place::Barrier => true,
            Place::Anywhere => false,
            Place::Command => !reserved.is_empty(),
            Place::At(paths) => {
                let taken = |path: &PathBuf| reserved.iter().any(|other| overlap(path, other));
                looking || paths.iter().any(taken)
            }
        };
        if apart {
            close(&mut segments, &mut run, &mut reserved);
            looking = false;
        }
        match place {
            Place::Barrier => {
                push_sequential(&mut segments, at);
                continue;
            }
            Place::Anywhere => {}
            Place::Command => looking = true,
            Place::At(paths) => reserved.extend(paths),
        }
        run.push(at);
    }
    close(&mut segments, &mut run, &mut reserved);
    segments
}

/// A run of one is not parallel; it joins the sequence before it.
fn close(segments: &mut Vec<Segment>, run: &mut Vec<usize>, reserved: &mut Vec<PathBuf>) {
    reserved.clear();
    match run.as_slice() {
        [] => {}
        [one] => push_sequential(segments, *one),
        _ => segments.push(Segment::Parallel(run.clone())),
    }
    run.clear();
}

fn push_sequential(segments: &mut Vec<Segment>, at: usize) {
    match segments.last_mut() {
        Some(Segment::Sequential(calls)) => calls.push(at),
        Some(Segment::Parallel(_)) | None => segments.push(Segment::Sequential(vec![at])),
    }
}

fn place(call: &ToolCall, tools: &Snapshot, base: &Path, cx: &CallContext) -> Place {
    if search::is_bridge(call.name.as_str()) {
        return Place::Barrier;
    }
    let Some(entry) = tools.find(call.name.as_str()) else { return Place::Barrier };
    let args = match &call.arguments {
        RawArguments::Text(text) => match parse_arguments(text) {
            Ok(args) => args.into_object(),
            Err(_) => return Place::Barrier,
        },
        RawArguments::Object(object) => object.clone(),
    };
    let is_set = |name: &&str| args.get(*name).is_some_and(|value| *value != Value::Bool(false));
    match entry.concurrency {
        Concurrency::Barrier => Place::Barrier,
        Concurrency::Safe => Place::Anywhere,
        Concurrency::ByCommand { script, alone } => {
            let script = args.get(script).and_then(Value::as_str).unwrap_or_default();
            let alone = alone.iter().any(is_set);
            let free = !alone && !script.trim().is_empty() && leaves_no_trace(script);
            if free { Place::Command } else { Place::Barrier }
        }
        Concurrency::ByPath { path, alone } => {
            let path = args.get(path).and_then(Value::as_str);
            match path.filter(|path| !path.trim().is_empty() && !alone.iter().any(is_set)) {
                Some(path) => Place::At(vec![canonical(path, base, cx)]),
                None => Place::Barrier,
            }
        }
    }
}

/// An absolute path with links resolved as far as it exists.
fn canonical(path: &str, base: &Path, cx: &CallContext) -> PathBuf {
    let home = cx.settings.user_home();
    let path = resolve(path, base, |user| user.is_empty().then(|| home.to_owned()));
    let mut existing = path.as_path();
    let mut missing = Vec::new();
    loop {
        if let Ok(real) = existing.canonicalize() {
            let whole = missing.iter().rev().fold(real, |path, part| path.join(part));
            return without_dots(&whole);
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name.to_owned());
                existing = parent;
            }
            _ => return path,
        }
    }
}

/// One contains the other.
fn overlap(left: &Path, right: &Path) -> bool {
    let (left, right) = (folded(left), folded(right));
    left.starts_with(&right) || right.starts_with(&left)
}

/// macOS and Windows take two spellings for one file.
fn folded(path: &Path) -> PathBuf {
    if cfg!(any(target_os = "macos", windows)) {
        return PathBuf::from(path.to_string_lossy().to_lowercase());
    }
    path.to_owned()
}
