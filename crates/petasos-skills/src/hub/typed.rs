//! The hub as a person types it in a conversation: `/skills search`, `install` and the rest.
//!
//! There is no dialogue: what was shown is remembered for the conversation, and a second line with
//! the skill's name agrees to exactly that, wherever the source leads by then.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::{SessionId, Settings};

use super::fetch::{Fetcher, Package};
use super::install::{self, Decision, Review};
use super::page::fenced;
use super::search::taps;
use super::source::Source;
use crate::error::SkillError;
use crate::format::{self, MAIN_FILE};
use crate::library::blocking;
use crate::{lock, scan};

/// What may stand behind `/skills` here.
pub(crate) const VERBS: [&str; 7] =
    ["search", "inspect", "install", "update", "uninstall", "verify", "publish-check"];
/// So many conversations have something to agree to at once.
const SHOWN_MAX: usize = 64;

/// What each conversation was shown last and has not agreed to.
#[derive(Debug, Default)]
pub(crate) struct Shown(Mutex<BTreeMap<SessionId, String>>);

impl Shown {
    fn put(&self, session: &SessionId, seal: String) {
        let mut all = self.0.lock();
        if all.len() >= SHOWN_MAX && !all.contains_key(session) {
            all.pop_first();
        }
        all.insert(session.clone(), seal);
    }

    /// Whether it was this; it is agreed to once.
    fn take(&self, session: &SessionId, seal: &str) -> bool {
        let mut all = self.0.lock();
        let is_same = all.get(session).is_some_and(|shown| shown == seal);
        if is_same {
            all.remove(session);
        }
        is_same
    }
}

/// Where a conversation asks.
pub(crate) struct Counter<'a> {
    pub(crate) fetcher: Fetcher,
    pub(crate) shown: &'a Shown,
    pub(crate) session: &'a SessionId,
}

/// A skill that was fetched: what names its place everywhere, where it came from, what it is.
struct Fetched {
    typed: String,
    source: Source,
    package: Package,
}

impl Counter<'_> {
    /// Does what was typed and gives a page of Markdown.
    pub(crate) async fn ask(&self, verb: &str, words: &str) -> Result<String, SkillError> {
        match verb {
            "search" => Ok(self.search(words).await),
            "inspect" => Ok(self.reviewed(one(words, "from where")?).await?.1.page()),
            "install" => self.install(words).await,
            "update" => self.update(words).await,
            "publish-check" => self.publish_check(one(words, "which folder")?).await,
            "uninstall" => {
                let name = one(words, "which skill")?.to_owned();
                let done = self.blocking(move |settings| {
                    install::uninstall(&name, settings).map(|at| (name, at))
                });
                let (name, at) = done.await?;
                Ok(format!("`{name}` is archived in `{}`", at.display()))
            }
            _ => {
                let states = self.blocking(install::verify).await?;
                let lines: Vec<String> =
                    states.iter().map(|(name, state)| format!("- `{name}` {state}")).collect();
                let none = || "nothing was installed".to_owned();
                Ok(if lines.is_empty() { none() } else { lines.join("\n") })
            }
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Settings) -> Result<T, SkillError> + Send + 'static,
    ) -> Result<T, SkillError> {
        let settings = Arc::clone(self.fetcher.settings());
        blocking(move || work(&settings)).await
    }

    async fn search(&self, words: &str) -> String {
        let hits = self.fetcher.search(words, &taps(self.fetcher.settings())).await;
        let mut lines = Vec::new();
        for hit in &hits.found {
            let about: String = hit.description.chars().take(80).collect();
            lines.push(format!("{} ({})\n    {about}", hit.identifier, hit.trust.as_str()));
        }
        if lines.is_empty() {
            lines.push("nothing was found".to_owned());
        }
        let silent = hits.failed.iter();
        lines.extend(silent.map(|(place, why)| format!("{place} did not answer: {why}")));
        fenced("text", &lines.join("\n"))
    }

    async fn reviewed(&self, from: &str) -> Result<(Fetched, Review), SkillError> {
        let source = Source::of(from, self.fetcher.settings())?;
        let typed = match &source {
            Source::Folder(path) | Source::Archive(path) => path.display().to_string(),
            _ => from.to_owned(),
        };
        let package = self.fetcher.fetch(&source).await?;
        let fetched = Fetched { typed, source, package };
        self.blocking(move |settings| {
            let review = install::review(&fetched.package, &fetched.source, settings)?;
            Ok((fetched, review))
        })
        .await
    }

    async fn install(&self, words: &str) -> Result<String, SkillError> {
        let (from, confirmed) = confirmation(words);
        let from = one(from, "from where")?;
        let (fetched, review) = self.reviewed(from).await?;
        let again = format!("/skills install {from}");
        self.put((fetched, review), confirmed, &again).await
    }

    /// One skill, or which of them would change.
    async fn update(&self, words: &str) -> Result<String, SkillError> {
        let (name, confirmed) = confirmation(words);
        let installed = self.blocking(lock::read).await?.installed;
        if !name.is_empty() {
            let known = installed.get(name).ok_or_else(|| {
                SkillError::missing(format!("`{name}` was not installed from a hub"))
            })?;
            let (fetched, review) = self.reviewed(&known.identifier).await?;
            if review.name != name {
                let said = format!("it is called `{}` there now: install that one", review.name);
                return Err(SkillError::new("stale", said));
            }
            if review.diff.as_deref().is_some_and(str::is_empty) {
                return Ok(format!("`{name}` is up to date"));
            }
            let again = format!("/skills update {name}");
            return self.put((fetched, review), confirmed, &again).await;
        }
        let mut lines = Vec::new();
        for (name, known) in &installed {
            let state = match self.reviewed(&known.identifier).await {
                Ok((_, review)) if review.diff.as_deref().is_some_and(str::is_empty) => {
                    "is up to date".to_owned()
                }
                Ok(_) => format!("would change: `/skills update {name}`"),
                Err(error) => format!("cannot be looked up: {}", error.message),
            };
            lines.push(format!("- `{name}` {state}"));
        }
        let none = || "nothing was installed".to_owned();
        Ok(if lines.is_empty() { none() } else { lines.join("\n") })
    }

    /// Installs what needs nothing more, or what was shown and is agreed to; shows anything else.
    async fn put(
        &self,
        (fetched, review): (Fetched, Review),
        confirmed: Option<&str>,
        again: &str,
    ) -> Result<String, SkillError> {
        let (name, page) = (review.name.clone(), review.page());
        if review.decision == Decision::Refuse {
            return Ok(format!("{page}\n\nIt is dangerous: it is not installed."));
        }
        if let Some(typed) = confirmed.filter(|typed| *typed != name) {
            let said = format!("`{typed}` is not its name: the skill is called `{name}`");
            return Err(SkillError::bad(said));
        }
        let asks = review.decision != Decision::Allow || review.diff.is_some() || review.modified;
        let seal = format!("{again} {}", review.seal());
        let agreed = confirmed.is_some() && self.shown.take(self.session, &seal);
        if asks && !agreed {
            self.shown.put(self.session, seal);
            let not_this = match confirmed {
                Some(_) => "This is not what was shown before.\n\n",
                None => "",
            };
            return Ok(format!(
                "{not_this}{page}\n\nNothing is installed yet. Read it; then `{again} confirm \
                 {name}` installs it."
            ));
        }
        let wants = review.report.variables.iter().map(String::as_str).collect::<Vec<_>>();
        let wants = match wants.join(" ") {
            none if none.is_empty() => String::new(),
            names => {
                let allow = format!("petasos skills allow-env {name} {names}");
                format!("\n\nIts commands see no variables before `{allow}`.")
            }
        };
        let at = self.blocking(move |settings| {
            let Fetched { typed, source, package } = &fetched;
            install::install(package, &review, (typed, source), settings)
        });
        Ok(format!("`{name}` is in `{}`{wants}", at.await?.display()))
    }

    async fn publish_check(&self, folder: &str) -> Result<String, SkillError> {
        let source = Source::of(folder, self.fetcher.settings())?;
        let package = self.fetcher.fetch(&source).await?;
        let lines = self.blocking(move |_| {
            let main = package.files.get(MAIN_FILE).cloned().unwrap_or_default();
            let main = String::from_utf8_lossy(&main).into_owned();
            let checked = format::check(&main, std::path::Path::new(&package.folder));
            let report = scan::scan(&package.files);
            let mut lines = vec![format!(
                "{}: {} files, {}",
                checked.name,
                package.files.len(),
                report.verdict().as_str()
            )];
            lines.extend(checked.problems.iter().map(|problem| format!("  {}", problem.what)));
            lines.extend(report.lines());
            Ok(lines)
        });
        Ok(fenced("text", &lines.await?.join("\n")))
    }
}

/// What was typed before `confirm NAME`, and the name.
fn confirmation(words: &str) -> (&str, Option<&str>) {
    let words = words.trim();
    let cut = |(before, name): (&'_ str, &'_ str)| -> Option<(usize, usize)> {
        let is_one = !name.trim().is_empty() && !name.trim().contains(char::is_whitespace);
        is_one.then_some((before.len(), words.len() - name.len()))
    };
    let found = words.rsplit_once(" confirm ").or_else(|| words.rsplit_once(" --confirm "));
    match found.and_then(cut) {
        Some((before, name)) => {
            let before = words.get(..before).unwrap_or_default();
            (before.trim(), words.get(name..).map(str::trim))
        }
        None => (words, None),
    }
}

fn one<'a>(words: &'a str, what: &str) -> Result<&'a str, SkillError> {
    let words = words.trim();
    if words.is_empty() {
        return Err(SkillError::bad(format!("say {what}: `/skills` lists what there is")));
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confirmation_is_the_last_two_words() {
        for (typed, from, name) in [
            ("a/b/c", "a/b/c", None),
            ("a/b/c confirm tea", "a/b/c", Some("tea")),
            ("a/b/c --confirm tea", "a/b/c", Some("tea")),
            ("./my folder confirm  tea ", "./my folder", Some("tea")),
            ("confirm tea", "confirm tea", None),
            ("a confirm two words", "a confirm two words", None),
        ] {
            assert_eq!(confirmation(typed), (from, name), "{typed}");
        }
    }

    #[test]
    fn only_what_was_shown_last_is_agreed_to_and_once() {
        let (shown, one, two) = (Shown::default(), SessionId::new("1"), SessionId::new("2"));
        shown.put(&one, "a".to_owned());
        assert!(!shown.take(&two, "a") && !shown.take(&one, "b"));
        assert!(shown.take(&one, "a") && !shown.take(&one, "a"));
        for number in 0..200 {
            shown.put(&SessionId::new(number.to_string()), "a".to_owned());
        }
        assert!(shown.0.lock().len() <= SHOWN_MAX);
    }
}
