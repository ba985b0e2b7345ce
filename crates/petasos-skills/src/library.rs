//! All of it behind one handle: what sessions, tools and commands ask about skills.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::context::Principal;
use petasos_contract::ports::{BroughtSkill, CalledSkill, Door, Ports, SkillLine, Skills};
use petasos_contract::processes::Processes;
use petasos_contract::terminal::Terminal;
use petasos_contract::{BoxFuture, CallContext, SessionId, Settings};
use petasos_redact::Redactor;
use serde_json::{Value, json};

use crate::consent::Consent;
use crate::disclose;
use crate::discover::{Brought, Cache, Skill, Survey, Surveyor, Why};
use crate::error::SkillError;
use crate::hub::{Counter, Fetcher, Shown, VERBS};
use crate::lending::Lending;
use crate::pending::{self, Pending};
use crate::places::PlaceKind;
use crate::settings::SkillSettings;
use crate::usage::{Happened, Usage};
use crate::{format, inline, lock, lookup, places, view};

/// So many reviews are remembered at once.
const REVIEWS_MAX: usize = 32;

/// The skills of a program. Cheap to clone.
#[derive(Clone, Default)]
pub struct Library(Arc<Inner>);

#[derive(Default)]
struct Inner {
    cache: Cache,
    /// What plugins bring, by plugin.
    brought: Mutex<BTreeMap<String, Vec<Brought>>>,
    /// The way of a command inside a text.
    door: Option<Arc<dyn Door>>,
    /// Whose commands see the variables of a skill.
    terminal: Option<Arc<dyn Terminal>>,
    /// What whoever looks over a turn has read so far, by its conversation.
    viewed: Mutex<BTreeMap<SessionId, BTreeSet<(String, String)>>>,
    /// Who starts git.
    processes: Option<Arc<dyn Processes>>,
    /// Skills of others that a person was shown.
    shown: Shown,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").finish_non_exhaustive()
    }
}

impl Library {
    /// A library whose skills reach commands through these ports.
    pub fn new(ports: &Ports) -> Self {
        let (door, terminal) = (ports.door.clone(), ports.terminal.clone());
        let processes = ports.processes.clone();
        Self(Arc::new(Inner { door, terminal, processes, ..Inner::default() }))
    }

    /// The library that a program linked; one of its own where it linked none.
    pub fn of(ports: &Ports) -> Self {
        let linked = ports.skills.clone().map(|linked| linked as Arc<dyn Any + Send + Sync>);
        linked
            .and_then(|linked| linked.downcast::<Self>().ok())
            .map_or_else(|| Self::new(ports), |library| Self::clone(&library))
    }

    /// Everything that there is for this conversation.
    pub fn survey(&self, cx: &CallContext) -> Survey {
        let settings = SkillSettings::of(cx);
        let usage = Usage::of(&cx.settings);
        let consent = Consent::of(&cx.settings);
        let hub = lock::read(&cx.settings).unwrap_or_default().installed;
        let disabled = |skill: &Skill| {
            let off = usage.get(&skill.name).is_some_and(crate::usage::Record::is_off);
            let bundled_off = off && skill.place == PlaceKind::Bundled;
            let installed =
                (skill.place == PlaceKind::Home).then(|| hub.get(&skill.name)).flatten();
            if installed.is_some_and(|installed| crate::hub::is_tampered(skill, installed)) {
                return Some(Why::Tampered);
            }
            (settings.disabled.contains(&skill.name) || bundled_off).then_some(Why::Disabled)
        };
        let surveyor = Surveyor { cache: &self.0.cache, consent: &consent, disabled: &disabled };
        let brought: Vec<Brought> = self.0.brought.lock().values().flatten().cloned().collect();
        surveyor.survey(&places::of(cx, &settings), &brought)
    }

    /// One skill by what somebody calls it.
    pub fn find(&self, name: &str, cx: &CallContext) -> Result<Arc<Skill>, SkillError> {
        lookup::find(&self.survey(cx), name)
    }

    /// What `skills_list` tells.
    pub fn list(&self, category: Option<&str>, cx: &CallContext) -> Value {
        let survey = self.survey(cx);
        let chosen = |skill: &&Arc<Skill>| category.is_none_or(|shelf| skill.shelf() == shelf);
        let rows: Vec<Value> = survey
            .skills
            .iter()
            .filter(chosen)
            .map(|skill| {
                let about = disclose::cleaned(skill.description(), format::DESCRIPTION_MAX);
                let about = about
                    .unwrap_or_else(|| format!("(withheld: petasos skills check {})", skill.name));
                let mut row = json!({
                    "name": skill.name, "description": about, "category": skill.shelf(),
                    "place": skill.place,
                });
                if !skill.shadows.is_empty() {
                    row["shadows"] = json!(skill.shadows);
                }
                row
            })
            .collect();
        let mut categories: Vec<&str> = survey.skills.iter().map(|skill| skill.shelf()).collect();
        categories.sort_unstable();
        categories.dedup();
        let waiting =
            survey.withheld.iter().filter(|held| matches!(held.why, Why::NotAgreed { .. }));
        let mut told = json!({
            "success": true,
            "count": rows.len(),
            "skills": rows,
            "categories": categories,
            "hint": "Read one with skill_view(name) before work it is about.",
        });
        let waiting = waiting.count();
        if waiting > 0 {
            told["not_agreed"] = waiting.into();
            told["note"] = "skills of this project wait for the user: petasos skills trust".into();
        }
        told
    }

    /// What `skill_view` tells of a skill, or of one file of it.
    pub async fn view(&self, name: &str, file: Option<&str>, cx: &CallContext) -> Value {
        if cx.principal == Principal::Review {
            self.note_viewed(name, file.filter(|file| !file.is_empty()), cx);
        }
        let told = match file.filter(|file| !file.is_empty()) {
            Some(file) => self.file(name, file, cx).await,
            None => self.main(name, Happened::Viewed, cx).await.map(|(_, told)| told),
        };
        let mut told = told.unwrap_or_else(SkillError::told);
        Redactor::of(&cx.settings).value(&mut told);
        told
    }

    fn note_viewed(&self, name: &str, file: Option<&str>, cx: &CallContext) {
        let Ok(skill) = self.find(name, cx) else { return };
        let mut viewed = self.0.viewed.lock();
        if viewed.len() >= REVIEWS_MAX && !viewed.contains_key(&cx.session) {
            viewed.pop_first();
        }
        let file = file.unwrap_or(format::MAIN_FILE).to_owned();
        viewed.entry(cx.session.clone()).or_default().insert((skill.name.clone(), file));
    }

    /// Whether whoever looks over a turn has read a file in this run.
    pub(crate) fn has_viewed(&self, name: &str, file: &str, cx: &CallContext) -> bool {
        let viewed = self.0.viewed.lock();
        viewed.get(&cx.session).is_some_and(|it| it.contains(&(name.to_owned(), file.to_owned())))
    }

    async fn file(&self, name: &str, file: &str, cx: &CallContext) -> Result<Value, SkillError> {
        let (library, name, file) = (self.clone(), name.to_owned(), file.to_owned());
        let there = cx.clone();
        blocking(move || {
            let skill = library.find(&name, &there)?;
            view::one_file(&skill, &file)
        })
        .await
    }

    /// The texts of several skills in their order, in use from here on; one that is missing or
    /// withheld fails all.
    pub async fn loaded(
        &self,
        names: &[String],
        cx: &CallContext,
    ) -> Result<Vec<String>, SkillError> {
        let mut texts = Vec::new();
        for name in names {
            let (text, told) = self.main(name, Happened::Used, cx).await?;
            let folder = told.get("skill_dir").and_then(Value::as_str).unwrap_or_default();
            let (_, body) = format::split(&text);
            texts.push(format!("Skill `{name}`, in {folder}:\n\n{}", body.trim()));
        }
        Ok(texts)
    }

    /// Several skills that are called by one name.
    async fn together(
        &self,
        name: &str,
        members: &[String],
        words: &str,
        cx: &CallContext,
    ) -> Result<CalledSkill, String> {
        let texts = self.loaded(members, cx).await.map_err(|error| error.message)?;
        let context = format!(
            "The user called the bundle `{name}`. Do what its skills say for the user's words \
             below.\n\n{}",
            texts.join("\n\n")
        );
        let words = if words.is_empty() { format!("Use {name}.") } else { words.to_owned() };
        Ok(CalledSkill { context, words })
    }

    /// The text of a skill and all that is told with it; from here on it is in use, and commands of
    /// its session have what a person let it have.
    async fn main(
        &self,
        name: &str,
        what: Happened,
        cx: &CallContext,
    ) -> Result<(String, Value), SkillError> {
        let (library, name, there) = (self.clone(), name.to_owned(), cx.clone());
        let (skill, mut loaded, lending) = blocking(move || {
            let skill = library.find(&name, &there)?;
            let loaded = view::load(&skill, &there.settings)?;
            Usage::count(&there.settings, &skill.name, what);
            let lending = Lending::of(&skill, &there.settings);
            Ok((skill, loaded, lending))
        })
        .await?;
        if let (Some(terminal), Some(lending)) = (&self.0.terminal, lending) {
            terminal.lend(&cx.session, &skill.folder.display().to_string(), Arc::new(lending));
        }
        let settings = SkillSettings::of(cx);
        let mut text = loaded.text;
        if settings.template_vars {
            text = inline::filled(&text, &skill, cx);
        }
        let installed = lock::read(&cx.settings)?.installed.get(&skill.name).cloned();
        let installed = installed.filter(|_| skill.place == PlaceKind::Home);
        let trust = view::trust(&skill, installed.is_some());
        if let Some(installed) = &installed {
            loaded.shown.insert("source".to_owned(), installed.identifier.as_str().into());
            loaded.shown.insert("modified".to_owned(), installed.modified.into());
        }
        if let (Some(timeout), Some(door)) = (settings.inline_shell, &self.0.door)
            && trust == "own"
        {
            text = inline::run(&text, timeout, door, cx).await;
        }
        loaded.shown.insert("trust".to_owned(), trust.into());
        loaded.shown.insert("content".to_owned(), text.as_str().into());
        Ok((text, Value::Object(loaded.shown)))
    }
}

impl Skills for Library {
    fn index<'a>(
        &'a self,
        toolsets: Option<&'a [String]>,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<String>> {
        let (library, toolsets, cx) = (self.clone(), toolsets.map(<[String]>::to_vec), cx.clone());
        Box::pin(async move {
            let index = blocking(move || {
                let survey = library.survey(&cx);
                let usage = Usage::of(&cx.settings);
                Ok(disclose::index(&survey.skills, &usage, toolsets.as_deref(), &cx))
            });
            index.await.unwrap_or_else(|error| {
                tracing::warn!(%error, "no skills are listed");
                None
            })
        })
    }

    fn callable<'a>(&'a self, cx: &'a CallContext) -> BoxFuture<'a, Vec<SkillLine>> {
        let (library, cx) = (self.clone(), cx.clone());
        Box::pin(async move {
            let listed = blocking(move || {
                let survey = library.survey(&cx);
                let line = |skill: &Arc<Skill>| {
                    let about = disclose::cleaned(skill.description(), format::DESCRIPTION_MAX);
                    SkillLine { name: skill.name.clone(), about: about.unwrap_or_default() }
                };
                let mut lines: Vec<SkillLine> = survey.skills.iter().map(line).collect();
                let bundles = cx.settings.get("bundles").and_then(Value::as_object);
                for name in bundles.into_iter().flatten().map(|(name, _)| name) {
                    if let Some(members) = bundle(name, &cx.settings) {
                        let about = format!("together: {}", members.join(", "));
                        lines.push(SkillLine { name: name.clone(), about });
                    }
                }
                Ok(lines)
            });
            listed.await.unwrap_or_default()
        })
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        words: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CalledSkill, String>> {
        Box::pin(async move {
            if let Some(members) = bundle(name, &cx.settings) {
                return self.together(name, &members, words, cx).await;
            }
            let (text, told) =
                self.main(name, Happened::Used, cx).await.map_err(|error| error.message)?;
            let note = told.get("setup_note").and_then(Value::as_str);
            let folder = told.get("skill_dir").and_then(Value::as_str).unwrap_or_default();
            let named = told.get("name").and_then(Value::as_str).unwrap_or(name);
            let (_, body) = format::split(&text);
            let mut context = format!(
                "The user called the skill `{named}`. Its folder is {folder}. Do what it says for \
                 the user's words below.\n\n{}",
                body.trim()
            );
            if let Some(note) = note {
                context = format!("{context}\n\n{note}");
            }
            let words =
                if words.is_empty() { format!("Use the skill {named}.") } else { words.to_owned() };
            Ok(CalledSkill { context, words })
        })
    }

    fn decide<'a>(
        &'a self,
        words: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<Result<String, String>>> {
        let (words, settings) = (words.to_owned(), Arc::clone(&cx.settings));
        Box::pin(async move {
            let (verb, id) = words.split_once(char::is_whitespace).unwrap_or((&words, ""));
            if VERBS.contains(&verb) {
                let fetcher = Fetcher::new(&settings, self.0.processes.clone());
                let counter = Counter { fetcher, shown: &self.0.shown, session: &cx.session };
                let asked = Box::pin(counter.ask(verb, id)).await;
                return Some(asked.map_err(|error| error.message));
            }
            if !matches!(verb, "pending" | "diff" | "approve" | "reject") {
                return None;
            }
            let (verb, id) = (verb.to_owned(), id.trim().to_owned());
            let decided = blocking(move || decided(&verb, &id, &settings)).await;
            Some(decided.map_err(|error| error.message))
        })
    }

    fn bring(&self, plugin: &str, skills: Vec<BroughtSkill>) {
        let brought = skills.into_iter().map(|skill| Brought {
            name: skill.name,
            file: skill.path,
            kind: PlaceKind::Plugin,
        });
        let brought: Vec<Brought> = brought.collect();
        let mut all = self.0.brought.lock();
        if brought.is_empty() {
            all.remove(plugin);
        } else {
            all.insert(plugin.to_owned(), brought);
        }
    }
}

/// The skills that `bundles` in the configuration puts under one name.
fn bundle(name: &str, settings: &Settings) -> Option<Vec<String>> {
    let one = settings.get("bundles")?.get(name)?;
    let members = one.get("skills").unwrap_or(one).as_array()?;
    Some(members.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// `/skills pending`, `diff`, `approve`, `reject`.
fn decided(verb: &str, id: &str, settings: &Settings) -> Result<String, SkillError> {
    match verb {
        "pending" => {
            let lines: Vec<String> =
                pending::all(settings).iter().map(|one| format!("- {}", one.line())).collect();
            Ok(if lines.is_empty() { "nothing waits".to_owned() } else { lines.join("\n") })
        }
        "diff" => {
            let one = pending::get(settings, id)?;
            Ok(format!("{}\n\n```diff\n{}```", one.line(), one.change.diff))
        }
        "approve" => {
            let done = Pending::approve(settings, id)?;
            Ok(format!("done: {} `{}`", done.change.action, done.change.name))
        }
        _ => {
            let done = Pending::reject(settings, id)?;
            Ok(format!("dropped: {} `{}`", done.change.action, done.change.name))
        }
    }
}

/// Looks at the disk on the pool that may wait for it.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SkillError> + Send + 'static,
) -> Result<T, SkillError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(SkillError::new("cancelled", error.to_string())),
    }
}
