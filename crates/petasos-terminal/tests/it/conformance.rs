//! What every place does alike: one list of cases, run against each backend.
//!
//! To put another backend under it, add `conformance/<backend>.rs` with one `#[tokio::test]`
//! that makes a [`Bed`] (a [`Stage`] whose `terminal` settings name the backend, with the
//! variables it needs) and calls [`conforms`]; declare it here, and name what the backend cannot
//! do by [`Bed::lacks`], with the reason, so that the matrix shows it. The matrix is printed, and
//! `docs/reference/backends.md` keeps it: a run that saw something else than the page says fails,
//! and `PETASOS_MATRIX=write scripts/test conforms` writes what it sees.

mod commands;
mod daytona;
mod docker;
mod files;
mod jobs;
mod local;
mod matrix;
mod modal;
mod singularity;
mod ssh;
mod streams;
mod time;

use std::fmt::Write as _;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use petasos_contract::environment::{Environment, Environments};
use petasos_contract::path::TargetPath;
use petasos_contract::wait::Owned;

use crate::stage::Stage;

/// A place under test.
pub(crate) struct Bed {
    pub(crate) name: &'static str,
    pub(crate) stage: Stage,
    /// A folder of the place that only this run uses.
    pub(crate) folder: String,
    lacks: Vec<(&'static str, &'static str)>,
}

pub(crate) type Case = for<'a> fn(&'a Bed) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Writes a case: `case!(name, |bed| { … })`.
macro_rules! cases {
    ($list:ident; $($name:literal => |$bed:ident| $body:block)+) => {
        pub(crate) const $list: &[(&str, $crate::conformance::Case)] =
            &[$(($name, |$bed| Box::pin(async move $body))),+];
    };
}
pub(crate) use cases;

impl Bed {
    pub(crate) async fn new(name: &'static str, stage: Stage) -> Self {
        let place = stage.engine.of(&stage.cx()).await.unwrap();
        let folder = place.facts().temp.join(format!("conformance-{}", std::process::id()));
        let folder = format!("{folder}-{}", name.replace([',', ' '], "-"));
        let bed = Self { name, stage, folder, lacks: Vec::new() };
        bed.stage.output(&format!("mkdir -p '{0}' && cd '{0}'", bed.folder)).await;
        bed
    }

    /// Says that a case cannot hold here, and why.
    pub(crate) fn lacks(mut self, case: &'static str, reason: &'static str) -> Self {
        self.lacks.push((case, reason));
        self
    }

    pub(crate) async fn place(&self) -> Arc<dyn Environment> {
        self.stage.engine.of(&self.stage.cx()).await.unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> TargetPath {
        TargetPath::new(format!("{}/{name}", self.folder))
    }

    /// How many processes there have this text in their arguments.
    pub(crate) async fn running(&self, text: &str) -> usize {
        // The pattern must not find the process that looks for it.
        let (first, rest) = text.split_at(1);
        let look = format!("grep -la '[{first}]{rest}' /proc/[0-9]*/cmdline 2>/dev/null | wc -l");
        let cx = self.stage.session("looks");
        let ran = self.stage.run_in(&cx, crate::stage::command(&look)).await;
        ran.output.trim().parse().unwrap()
    }

    /// Waits for something in the place; the limit only ends a broken test.
    pub(crate) async fn until(&self, script: &str) {
        let begun = Instant::now();
        let cx = self.stage.session("looks");
        loop {
            let ran = self.stage.run_in(&cx, crate::stage::command(script)).await;
            if ran.ended == petasos_contract::terminal::Ended::Exited(0) {
                return;
            }
            assert!(begun.elapsed().as_secs() < 20, "never: {script}: {}", ran.output);
        }
    }
}

fn all() -> impl Iterator<Item = (&'static str, Case)> {
    [commands::CASES, streams::CASES, time::CASES, jobs::CASES, files::CASES]
        .into_iter()
        .flatten()
        .copied()
}

async fn holds(bed: &Arc<Bed>, case: Case) -> bool {
    let under = Arc::clone(bed);
    Owned::start(async move { case(&under).await }).join().await.is_some()
}

/// Runs every case, prints the matrix, holds it against the page, and fails when a case did.
#[expect(clippy::print_stdout, reason = "the matrix is the result")]
pub(crate) async fn conforms(bed: Bed) {
    // One place at a time: this machine sees the processes of containers among its own.
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let _turn = TURN.lock().await;
    let bed = Arc::new(bed);
    let (mut printed, mut failed, mut column) = (String::new(), Vec::new(), Vec::new());
    for (name, case) in all() {
        let begun = Instant::now();
        let result = if let Some((_, reason)) = bed.lacks.iter().find(|(lacks, _)| *lacks == name) {
            column.push((name, "no"));
            format!("no: {reason}")
        } else if holds(&bed, case).await {
            column.push((name, "yes"));
            format!("yes ({} ms)", begun.elapsed().as_millis())
        } else {
            failed.push(name);
            "FAILED".to_owned()
        };
        writeln!(printed, "| {name} | {} | {result} |", bed.name).unwrap();
    }
    println!("{printed}");
    bed.stage.engine.jobs().end_all(std::time::Duration::from_millis(100)).await;
    let cx = bed.stage.session("ends");
    let cleared = format!("rm -rf '{}'", bed.folder);
    bed.stage.run_in(&cx, crate::stage::at("/", &cleared)).await;
    assert!(bed.stage.engine.close_places().await.is_empty());
    assert!(failed.is_empty(), "{} does not conform: {failed:?}", bed.name);
    matrix::keep(bed.name, &column);
}

#[test]
fn there_are_enough_cases_and_the_page_names_each() {
    let page = include_str!("../../../../docs/reference/backends.md");
    let missing: Vec<&str> =
        all().map(|(name, _)| name).filter(|name| !page.contains(&format!("| {name} |"))).collect();
    assert!(missing.is_empty(), "docs/reference/backends.md lacks {missing:#?}");
    assert!(all().count() >= 40);
}
