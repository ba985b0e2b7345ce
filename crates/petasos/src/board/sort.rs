//! Tasks in triage: a model splits what is too large for one worker, and says of the rest that it
//! is one piece of work. What it says decides about cards and nothing else.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use petasos_contract::context::Surface;
use petasos_contract::message::Message;
use petasos_contract::model::{Model, Prompt, Role};
use petasos_contract::{CallContext, SessionId, Settings};
use petasos_redact::Redactor;
use petasos_store::{
    Actor, BoardError, BoardStore, NewTask, On, Part, Sorted, Task, TriageAsk, board_time,
};
use serde::Deserialize;

use super::{profile, root};

/// Nobody else looks at a task meanwhile; a look that failed is repeated afterwards.
const LOOK: Duration = Duration::from_mins(10);
const PARTS_MAX: usize = 12;
const TITLE_CHARS_MAX: usize = 120;
const ORDER: &str = "You plan work for several agents that cannot ask each other. You are given one \
    task. Split it only where parts can be done and checked on their own. Answer with JSON alone: \
    {\"tasks\": [{\"title\": \"...\", \"body\": \"all that whoever does it must know\", \
    \"assignee\": \"a profile\", \"after\": [0]}]}. `after` lists earlier entries, counted from 0, \
    that must be done before. The task itself comes last and brings the parts together: do not \
    list that. One piece of work is {\"tasks\": []}.";

#[derive(Debug, Deserialize)]
struct Answer {
    tasks: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    title: String,
    #[serde(default)]
    body: String,
    assignee: Option<String>,
    #[serde(default)]
    after: Vec<usize>,
}

/// Looks at what is in triage on one board.
pub(super) struct Sorter<'a> {
    pub(super) store: &'a Arc<dyn BoardStore>,
    pub(super) model: Option<&'a Arc<dyn Model>>,
    pub(super) settings: &'a Arc<Settings>,
    pub(super) board: &'a str,
    pub(super) failures_max: u32,
}

impl Sorter<'_> {
    /// Looks once.
    pub(super) async fn look(&self) -> Result<(), BoardError> {
        let is_off = self.settings.get("kanban.auto_decompose") == Some(&false.into());
        let Some(model) = self.model.filter(|_| !is_off) else { return Ok(()) };
        let most = self.settings.get("kanban.auto_decompose_per_tick");
        let most = most.and_then(serde_json::Value::as_u64).unwrap_or(3);
        let mut taken = Vec::new();
        for _ in 0..most {
            let at_ms = board_time();
            let look = i64::try_from(LOOK.as_millis()).unwrap_or(i64::MAX);
            let ask = TriageAsk {
                board: self.board.to_owned(),
                failures_max: self.failures_max,
                until_ms: at_ms.saturating_add(look),
                at_ms,
            };
            let Some((task, claim)) = self.store.take_triage(ask).await? else { break };
            taken.push(self.sort(model, task, claim));
        }
        for sorted in join_all(taken).await {
            match sorted {
                Ok(()) | Err(BoardError::ClaimLost { .. } | BoardError::WrongState { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn sort(
        &self,
        model: &Arc<dyn Model>,
        task: Task,
        lock: String,
    ) -> Result<(), BoardError> {
        let how = match self.ask(model, &task).await {
            Ok(how) => how,
            Err(why) => Sorted::Failed { why: Redactor::of(self.settings).text(&why).into_owned() },
        };
        let by = Actor { profile: profile(self.settings), lock: Some(lock), at_ms: board_time() };
        let on = On { board: task.board.clone(), task: task.id.clone(), by };
        let sorted = self.store.sort(on, how).await?;
        tracing::info!(task = %sorted.id, status = %sorted.status, "looked at in triage");
        Ok(())
    }

    async fn ask(&self, model: &Arc<dyn Model>, task: &Task) -> Result<Sorted, String> {
        let profiles = self.profiles();
        let question = format!(
            "Task: {}\n{}\n\nProfiles that can be assigned: {}.",
            task.title,
            task.body,
            profiles.join(", ")
        );
        let prompt = Prompt {
            system: ORDER.to_owned(),
            messages: vec![Message::user(question)],
            ..Prompt::default()
        };
        let session = SessionId::new(format!("board-{}", task.id));
        let cx = CallContext::new(Arc::clone(self.settings), Surface::Cron, session);
        let reply = model.ask(&prompt, Role::KanbanDecomposer, &cx).await;
        let reply =
            reply.map_err(|error| format!("the model could not be asked: {}", error.line))?;
        let entries = read(reply.message.text())?;
        if entries.len() < 2 {
            return Ok(Sorted::Whole);
        }
        let parts = entries.into_iter().map(|entry| self.part(entry, task, &profiles)).collect();
        let assignee = self.settings.text("kanban.orchestrator_profile").map(str::to_owned);
        Ok(Sorted::Parts { parts, assignee })
    }

    fn part(&self, entry: Entry, task: &Task, profiles: &[String]) -> Part {
        let redactor = Redactor::of(self.settings);
        let title: String =
            redactor.text(entry.title.trim()).chars().take(TITLE_CHARS_MAX).collect();
        let known = entry.assignee.filter(|name| profiles.contains(name));
        let usual = self.settings.text("kanban.default_assignee").map(str::to_owned);
        let new = NewTask {
            board: task.board.clone(),
            title,
            body: redactor.text(&entry.body).into_owned(),
            assignee: known.or(usual).unwrap_or_else(|| task.assignee.clone()),
            tenant: task.tenant.clone(),
            priority: task.priority,
            by: profile(self.settings),
            session: task.session.clone().map(SessionId::new),
            label: task.label,
            at_ms: board_time(),
            ..NewTask::default()
        };
        Part { new, after: entry.after }
    }

    /// Every profile of this home.
    fn profiles(&self) -> Vec<String> {
        let mut names = vec!["default".to_owned()];
        names.extend(folders(&root(self.settings).join("profiles")));
        names
    }
}

fn folders(place: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The parts that a model named. What does not hold together is a failure, never half a plan.
fn read(text: &str) -> Result<Vec<Entry>, String> {
    let rest = text.find('{').and_then(|at| text.get(at..)).ok_or("the model gave no JSON")?;
    let mut found = serde_json::Deserializer::from_str(rest).into_iter::<Answer>();
    let answer = found.next().ok_or("the model gave no JSON")?;
    let answer = answer.map_err(|error| format!("the model's plan cannot be read: {error}"))?;
    if answer.tasks.len() > PARTS_MAX {
        return Err(format!("{} parts are too many: at most {PARTS_MAX}", answer.tasks.len()));
    }
    for (at, entry) in answer.tasks.iter().enumerate() {
        if entry.title.trim().is_empty() {
            return Err(format!("part {at} has no title"));
        }
        if entry.after.iter().any(|before| *before >= at) {
            return Err(format!("part {at} waits for one that comes later"));
        }
    }
    Ok(answer.tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_taken_whole_or_not_at_all() {
        let one = |text: &str| read(text).map(|entries| entries.len());
        assert_eq!(one("Here: {\"tasks\": []} as you wish"), Ok(0));
        let two = r#"```json
            {"tasks":[{"title":"a"},{"title":"b","after":[0]}]}
        ```"#;
        assert_eq!(one(two), Ok(2));
        for (text, why) in [
            ("none", "no JSON"),
            (r#"{"tasks":[{"title":" "}]}"#, "no title"),
            (r#"{"tasks":[{"title":"a","after":[0]}]}"#, "comes later"),
            (r#"{"tasks":[{"title":"a","after":[-1]}]}"#, "cannot be read"),
            (r#"{"tasks":{"#, "cannot be read"),
        ] {
            assert!(one(text).is_err_and(|told| told.contains(why)), "{text}: {:?}", one(text));
        }
        let entry = r#"{"title":"a"}"#;
        let many = format!("{{\"tasks\":[{}]}}", [entry; 13].join(","));
        assert!(one(&many).is_err_and(|told| told.contains("too many")));
    }
}
