//! Skills of others: looking at them, installing, updating, removing, verifying.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use petasos_contract::Settings;
use petasos_skills::hub::{self, Decision, Fetcher, Package, Review, Source};
use petasos_skills::scan::{self, Report as Found};
use petasos_skills::{Consent, PlaceKind, digest_of, lock};
use serde_json::json;

use super::refused;
use crate::command::Session;
use crate::host::Host;
use crate::out::Out;
use crate::prompt;
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct Origin {
    /// owner/repo/name[@ref], an address of a repository, an archive or SKILL.md, or a folder
    from: String,
}

#[derive(Debug, Args)]
pub(super) struct Search {
    /// Words of the name or description (default: all skills)
    words: Vec<String>,
    /// Only this repository, host (well-known:HOST) or archive
    #[arg(long = "in", value_name = "PLACE")]
    place: Option<String>,
}

impl Search {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.shared()?;
        let settings = host.settings();
        let places = self.place.clone().map_or_else(|| hub::taps(settings), |one| vec![one]);
        let fetcher = Fetcher::new(settings, host.ports().processes.clone());
        let hits = host.wait(Box::pin(fetcher.search(&self.words.join(" "), &places)))?;
        if out.is_json() {
            out.value(&json!(hits));
        } else {
            for hit in &hits.found {
                let about: String = hit.description.chars().take(80).collect();
                out.line(format!("{}  ({})", hit.identifier, hit.trust.as_str()));
                out.line(format!("    {about}"));
            }
            if hits.found.is_empty() {
                out.line("nothing was found");
            }
            for (place, why) in &hits.failed {
                out.remark(format!("{place} did not answer: {why}"));
            }
        }
        let is_nothing = hits.found.is_empty() && hits.failed.len() == places.len();
        Ok(if is_nothing { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Adds a repository to those that are looked through, or takes it away.
pub(super) fn tap(session: &mut Session, repo: &str, wanted: bool) -> Result<ExitCode, Report> {
    let (out, host) = (session.out, session.host.shared()?);
    hub::tap(host.settings(), repo, wanted).map_err(refused)?;
    out.line(hub::taps(host.settings()).join("\n"));
    Ok(ExitCode::SUCCESS)
}

/// Whether a folder could be published.
pub(super) fn publish_check(session: &mut Session, folder: &str) -> Result<ExitCode, Report> {
    let (out, host) = (session.out, session.host.shared()?);
    let settings = host.settings();
    let source = Source::of(folder, settings).map_err(refused)?;
    let fetcher = Fetcher::new(settings, None);
    let package = host.wait(Box::pin(fetcher.fetch(&source)))?.map_err(refused)?;
    let main = package.files.get("SKILL.md").cloned().unwrap_or_default();
    let checked = petasos_skills::format::check(
        &String::from_utf8_lossy(&main),
        std::path::Path::new(&package.folder),
    );
    let report = scan::scan(&package.files);
    let verdict = report.verdict();
    if out.is_json() {
        out.value(&json!({ "name": checked.name, "problems": checked.problems,
            "verdict": verdict, "findings": report.findings }));
    } else {
        for problem in &checked.problems {
            out.line(format!("format: {}", problem.what));
        }
        for finding in &report.findings {
            out.line(format!("scan: {}", finding.what));
        }
        out.line(format!("{}: {} files, {verdict:?}", checked.name, package.files.len()));
    }
    let is_good = checked.problems.is_empty() && verdict == scan::Verdict::Safe;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[derive(Debug, Args)]
pub(super) struct Install {
    #[command(flatten)]
    from: Origin,
    /// The name of the skill, to confirm what the review shows
    #[arg(long, value_name = "NAME")]
    confirm: Option<String>,
    /// Let its commands see this environment variable
    #[arg(long, value_name = "VARIABLE")]
    allow_env: Vec<String>,
    /// Lend this file of the home to its commands on other backends
    #[arg(long, value_name = "FILE")]
    allow_file: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct Update {
    /// The skill (default: all that were installed)
    name: Option<String>,
    /// The name of the skill, to confirm what the review shows
    #[arg(long, value_name = "NAME")]
    confirm: Option<String>,
}

impl Origin {
    pub(super) fn inspect(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.shared()?;
        let (_, package, source) = asked(out, &host, &self.from)?;
        let review = hub::review(&package, &source, host.settings()).map_err(refused)?;
        show(out, &review);
        Ok(ExitCode::SUCCESS)
    }
}

impl Install {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.shared()?;
        let settings = host.settings();
        let (typed, package, source) = asked(out, &host, &self.from.from)?;
        let review = hub::review(&package, &source, settings).map_err(refused)?;
        for variable in &self.allow_env {
            if !review.report.variables.contains(variable) {
                return Err(Report::usage(format!(
                    "`{}` does not ask for {variable}",
                    review.name
                )));
            }
        }
        for file in &self.allow_file {
            let asked = review.report.credential_files.contains(file);
            if !asked || !petasos_skills::may_be_offered(file) {
                let said =
                    format!("`{}` does not ask for {file}, or no skill gets it", review.name);
                return Err(Report::usage(said));
            }
        }
        agreed(out, &review, self.confirm.as_deref())?;
        let at = hub::install(&package, &review, (&typed, &source), settings).map_err(refused)?;
        if !self.allow_env.is_empty() {
            let digest = digest_of(&at).map_err(refused)?;
            Consent::allow(settings, &digest, self.allow_env.iter().cloned()).map_err(refused)?;
        }
        if !self.allow_file.is_empty() {
            let digest = digest_of(&at).map_err(refused)?;
            let files = self.allow_file.iter().cloned();
            Consent::allow_files(settings, &digest, files).map_err(refused)?;
        }
        if out.is_json() {
            out.value(&json!({ "installed": review.name, "path": at, "review": review }));
        } else {
            out.line(format!("{} is in {}", review.name, at.display()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Update {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.shared()?;
        let settings = host.settings();
        let installed = lock::read(settings).map_err(refused)?.installed;
        let wanted = |name: &String| self.name.as_ref().is_none_or(|wanted| wanted == name);
        let chosen: Vec<_> = installed.into_iter().filter(|(name, _)| wanted(name)).collect();
        if let Some(name) = self.name.as_ref().filter(|_| chosen.is_empty()) {
            return Err(
                Report::new(format!("`{name}` was not installed from a hub")).code("not_found")
            );
        }
        let mut rows = Vec::new();
        for (name, known) in chosen {
            let (typed, package, source) = fetched(&host, &known.identifier)?;
            let review = hub::review(&package, &source, settings).map_err(refused)?;
            if review.name != name {
                let state = format!("is called {} there now: install that one", review.name);
                rows.push(json!({ "name": name, "state": state }));
                continue;
            }
            if review.diff.as_deref().is_some_and(str::is_empty) {
                rows.push(json!({ "name": name, "state": "up to date" }));
                continue;
            }
            agreed(out, &review, self.confirm.as_deref())?;
            hub::install(&package, &review, (&typed, &source), settings).map_err(refused)?;
            rows.push(json!({ "name": name, "state": "updated", "diff": review.diff }));
        }
        if out.is_json() {
            out.value(&json!({ "skills": rows }));
        } else {
            for row in rows {
                out.line(format!("{}: {}", row["name"], row["state"]).replace('"', ""));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The same for what a person typed, who may have meant a folder.
fn asked(out: Out, host: &Arc<Host>, typed: &str) -> Result<(String, Package, Source), Report> {
    let Some(address) = not_here(typed, host.settings()) else { return fetched(host, typed) };
    let here = format!("there is no folder `{typed}` here");
    out.remark(format!("{here}: looking at {address}"));
    fetched(host, typed).map_err(|report| {
        let hint = "name a folder that has a SKILL.md, or owner/repo/name of a repository";
        Report::new(format!("{here}, and {address}: {}", report.message()))
            .code("not_found")
            .hint(hint)
    })
}

/// Where words that could be a folder here lead instead, because there is none.
fn not_here(typed: &str, settings: &Settings) -> Option<String> {
    let is_address = typed.contains("://") || typed.starts_with("skills.sh/");
    match Source::of(typed, settings) {
        Ok(Source::Git { url, .. }) if !is_address => Some(url),
        _ => None,
    }
}

/// What was typed, made to hold everywhere; the package; where it came from.
fn fetched(host: &Arc<Host>, typed: &str) -> Result<(String, Package, Source), Report> {
    let settings = host.settings();
    let source = Source::of(typed, settings).map_err(refused)?;
    let typed = match &source {
        Source::Folder(path) | Source::Archive(path) => path.display().to_string(),
        _ => typed.to_owned(),
    };
    let fetcher = Fetcher::new(settings, host.ports().processes.clone());
    let package = host.wait(Box::pin(fetcher.fetch(&source)))?.map_err(refused)?;
    Ok((typed, package, source))
}

/// What a person must have said, given what the review shows. An update asks always.
fn agreed(out: Out, review: &Review, confirm: Option<&str>) -> Result<(), Report> {
    if review.decision == Decision::Refuse {
        if !out.is_json() {
            show(out, review);
        }
        return Err(Report::new(format!("`{}` is dangerous: it is not installed", review.name))
            .code("dangerous"));
    }
    let replaces = review.diff.is_some();
    if review.decision == Decision::Allow && !replaces && !review.modified {
        return Ok(());
    }
    if let Some(name) = confirm {
        return if name == review.name {
            Ok(())
        } else {
            Err(Report::usage(format!("the skill is called `{}`", review.name)))
        };
    }
    if !out.is_json() {
        show(out, review);
    }
    if !prompt::somebody_is_there(out) {
        return Err(Report::new(format!("`{}` needs your consent", review.name))
            .code("consent")
            .hint(format!("read the review, then `--confirm {}`", review.name)));
    }
    let sure = if review.decision == Decision::TypeName {
        prompt::line(out, &format!("Type `{}` to install it:", review.name))? == review.name
    } else {
        prompt::confirm(out, &format!("Install `{}`?", review.name))?
    };
    if sure { Ok(()) } else { Err(Report::new("nothing was installed").code("declined")) }
}

fn show(out: Out, review: &Review) {
    if out.is_json() {
        out.value(&json!({ "review": review }));
        return;
    }
    for line in review.lines() {
        out.remark(line);
    }
    if let Some(diff) = &review.diff {
        out.remark(diff);
    }
}

fn findings(out: Out, report: &Found) {
    for line in report.lines() {
        out.remark(line);
    }
}

pub(super) fn uninstall(session: &mut Session, name: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.shared()?;
    let settings = host.settings();
    if !lock::read(settings).map_err(refused)?.installed.contains_key(name) {
        return Err(not_installed(session, name)?);
    }
    let at = hub::uninstall(name, settings).map_err(refused)?;
    out.line(format!("{name} is archived in {}", at.display()));
    Ok(ExitCode::SUCCESS)
}

/// Why a skill that nobody installed cannot be uninstalled.
fn not_installed(session: &mut Session, name: &str) -> Result<Report, Report> {
    let (_host, library, cx) = super::opened(session)?;
    let found = library.survey(&cx).all.iter().find(|skill| skill.name == name).cloned();
    Ok(match found {
        None => Report::new(format!("there is no skill `{name}`"))
            .hint("`petasos skills list` shows them"),
        Some(skill) if skill.place == PlaceKind::Bundled => {
            Report::new(format!("`{name}` comes with the program"))
                .hint("name it in `skills.disabled` to switch it off")
        }
        Some(skill) => {
            let folder = skill.folder.display();
            Report::new(format!("`{name}` was not installed from anywhere: it is in {folder}"))
                .hint("remove that folder, or name it in `skills.disabled`")
        }
    }
    .code("not_found"))
}

pub(super) fn verify(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let states = hub::verify(session.host.get()?.settings()).map_err(refused)?;
    let bad = states.values().any(|state| matches!(*state, "tampered" | "missing"));
    if out.is_json() {
        out.value(&json!({ "skills": states }));
    } else {
        for (name, state) in &states {
            out.line(format!("{name}: {state}"));
        }
    }
    Ok(ExitCode::from(u8::from(bad)))
}

pub(super) fn scan(session: &mut Session, folder: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let settings: &Arc<Settings> = session.host.get()?.settings();
    let path = settings.workspace().join(folder);
    let files = petasos_skills::files_of(&path).map_err(refused)?;
    let mut read: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (name, path) in files {
        read.insert(name, std::fs::read(path)?);
    }
    let report = scan::scan(&read);
    let verdict = report.verdict();
    if out.is_json() {
        out.value(&json!({ "verdict": verdict, "report": report }));
    } else {
        findings(out, &report);
        out.line(format!("{folder}: {}", verdict.as_str()));
    }
    Ok(ExitCode::from(u8::from(verdict != scan::Verdict::Safe)))
}

#[cfg(test)]
mod tests {
    use petasos_contract::settings::Parts;

    use super::*;

    #[test]
    fn words_that_could_be_a_folder_and_are_none_are_told_apart_from_addresses() {
        let settings = Parts { workspace: std::env::temp_dir(), ..Parts::default() };
        let settings = Settings::new(settings);
        let asked = |typed: &str| not_here(typed, &settings);
        assert_eq!(asked("sk/nosuch").as_deref(), Some("https://github.com/sk/nosuch.git"));
        assert_eq!(asked("https://github.com/sk/nosuch.git"), None);
        assert_eq!(asked("./nosuch"), None, "it is refused as it is");
    }
}
