//! Jobs of another agent's `cron/jobs.json`, taken over with their next instants.

use jiff::Timestamp;
use petasos_contract::Address;
use petasos_store::{JobChange, JobState};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::job::{JobBody, Repeat};
use crate::jobs::{Author, JobError, Jobs};
use crate::schedule::{Expression, Period, Schedule, Shape};

/// What became of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Taken over, by name.
    pub taken: Vec<String>,
    /// Known already.
    pub known: usize,
    /// Not taken over, with the reason.
    pub refused: Vec<(String, String)>,
    /// What a person should look at.
    pub told: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Foreign {
    id: String,
    name: Option<String>,
    prompt: Option<String>,
    skills: Option<Vec<String>>,
    skill: Option<String>,
    model: Option<String>,
    provider: Option<String>,
    base_url: Option<String>,
    provider_snapshot: Option<String>,
    model_snapshot: Option<String>,
    script: Option<String>,
    no_agent: Option<bool>,
    context_from: Value,
    schedule: ForeignSchedule,
    repeat: Option<Repeat>,
    enabled: Option<bool>,
    state: Option<String>,
    next_run_at: Option<String>,
    last_run_at: Option<String>,
    created_at: Option<String>,
    deliver: Value,
    origin: Option<ForeignOrigin>,
    enabled_toolsets: Option<Vec<String>>,
    workdir: Option<String>,
    attach_to_session: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ForeignSchedule {
    kind: String,
    run_at: Option<String>,
    minutes: Option<u32>,
    expr: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ForeignOrigin {
    platform: String,
    chat_id: Value,
    thread_id: Value,
    user_id: Value,
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(list) => list.iter().filter_map(text).collect(),
        other => text(other).into_iter().collect(),
    }
}

impl Jobs {
    /// Takes over the jobs of a file; those that are known stay as they are.
    pub async fn import(&self, file: &str) -> Result<Imported, JobError> {
        let file: Value = serde_json::from_str(file)
            .map_err(|error| JobError::Invalid(format!("the file is no JSON: {error}")))?;
        if crate::mirror::is_mirror(&file) {
            let what = "these jobs are our own, written as a file: there is nothing to take over";
            return Err(JobError::Invalid(what.to_owned()));
        }
        let list = file.get("jobs").unwrap_or(&file).as_array().cloned();
        let list = list.ok_or_else(|| JobError::Invalid("the file has no jobs".to_owned()))?;
        let (jobs, broken) = self.list().await?;
        let mut done = Imported::default();
        for value in list {
            let name = value.get("name").and_then(Value::as_str);
            let name = name.or_else(|| value.get("id").and_then(Value::as_str));
            let name = name.unwrap_or("a job without a name").to_owned();
            let foreign: Foreign = match serde_json::from_value(value) {
                Ok(foreign) => foreign,
                Err(error) => {
                    done.refused.push((name, error.to_string()));
                    continue;
                }
            };
            let known = jobs.iter().map(|job| &job.id).chain(broken.iter().map(|(id, _)| id));
            if known.clone().any(|id| *id == foreign.id) {
                done.known += 1;
                continue;
            }
            match self.take_over(foreign, &mut done.told).await {
                Ok(()) => done.taken.push(name),
                Err(error) => done.refused.push((name, error.to_string())),
            }
        }
        self.mirror().await;
        Ok(done)
    }

    async fn take_over(&self, foreign: Foreign, told: &mut Vec<String>) -> Result<(), JobError> {
        let hex = foreign.id.len() == 12 && foreign.id.bytes().all(|it| it.is_ascii_hexdigit());
        if !hex {
            return Err(JobError::Invalid(format!("`{}` is no id of a job", foreign.id)));
        }
        let schedule = self.schedule_of(&foreign)?;
        let origin = foreign.origin.as_ref().and_then(|origin| {
            let chat = text(&origin.chat_id)?;
            Some(Address {
                thread: text(&origin.thread_id).map(Into::into),
                user: text(&origin.user_id).map(Into::into),
                ..Address::chat(origin.platform.as_str(), chat)
            })
        });
        let mut skills = foreign.skills.clone().unwrap_or_default();
        skills.extend(foreign.skill.clone().filter(|skill| !skills.contains(skill)));
        let settings = self.host().settings();
        let now = |key: &str| settings.text(key).map(str::to_owned);
        let deliver = texts(&foreign.deliver).join(",");
        let body = JobBody {
            prompt: foreign.prompt.clone().unwrap_or_default(),
            skills,
            model: foreign.model.clone(),
            provider: foreign.provider.clone(),
            provider_snapshot: foreign.provider_snapshot.clone().or_else(|| now("model.provider")),
            model_snapshot: foreign.model_snapshot.clone().or_else(|| now("model.default")),
            script: foreign.script.clone(),
            no_agent: foreign.no_agent.unwrap_or_default(),
            context_from: texts(&foreign.context_from),
            schedule: Some(schedule.stored()),
            repeat: foreign.repeat.unwrap_or_default(),
            deliver: if deliver.is_empty() { "local".to_owned() } else { deliver },
            origin,
            enabled_toolsets: foreign.enabled_toolsets.clone(),
            workdir: foreign.workdir.clone().filter(|it| !it.is_empty()).map(Into::into),
            attach_to_session: foreign.attach_to_session.filter(|attach| *attach),
            created_by: "import".to_owned(),
            ..JobBody::default()
        };
        let name = foreign.name.clone().unwrap_or_else(|| foreign.id.clone());
        let author = Author { name: "import".to_owned(), ..Author::default() };
        let job = self.keep_as(foreign.id.clone(), (name, body), &schedule, &author).await?;
        let paused = foreign.enabled == Some(false) || foreign.state.as_deref() == Some("paused");
        let base = foreign.base_url.as_deref().is_some_and(|it| !it.is_empty());
        let state = if base {
            told.push(format!(
                "{}: it named an address of its own; name a provider with `petasos cron edit`",
                job.name
            ));
            Some((JobState::Held, "keys: it named an address of its own".to_owned()))
        } else if paused {
            Some((JobState::Paused, "it was paused where it came from".to_owned()))
        } else {
            None
        };
        if state.is_some() {
            let change = JobChange { state, ..JobChange::default() };
            let now = self.now().as_millisecond();
            self.store().change_job(&job.id, job.revision, change, now).await?;
        }
        Ok(())
    }

    /// The schedule of a foreign job in the zone of this home; an interval keeps its next instant.
    fn schedule_of(&self, foreign: &Foreign) -> Result<Schedule, JobError> {
        let zone = self.options().zone.clone();
        let bad = || JobError::Invalid(format!("{} is no schedule", json!(foreign.schedule.kind)));
        let moment = |text: &Option<String>| {
            let text = text.as_deref()?;
            let spelled = text.replace(' ', "T");
            spelled.parse::<Timestamp>().ok().or_else(|| {
                let civil: jiff::civil::DateTime = spelled.parse().ok()?;
                zone.first(civil)
            })
        };
        let shape = match foreign.schedule.kind.as_str() {
            "once" => Shape::Once(moment(&foreign.schedule.run_at).ok_or_else(bad)?),
            "interval" => {
                let minutes = foreign.schedule.minutes.ok_or_else(bad)?;
                let period = minutes.checked_mul(60).and_then(Period::new).ok_or_else(bad)?;
                let length = jiff::SignedDuration::from_secs(i64::from(period.seconds()));
                let next = moment(&foreign.next_run_at).and_then(|at| at.checked_sub(length).ok());
                let began = next
                    .or_else(|| moment(&foreign.last_run_at))
                    .or_else(|| moment(&foreign.created_at));
                Shape::Every { period, anchor: began.unwrap_or_else(|| self.now()) }
            }
            "cron" => {
                let text = foreign.schedule.expr.as_deref().ok_or_else(bad)?;
                Shape::Cron(Box::new(Expression::parse(text)?))
            }
            _ => return Err(bad()),
        };
        Ok(Schedule { shape, zone })
    }
}
