//! What a program says about a job over the network: the fields of `/api/jobs`.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::job::Notify;
use crate::jobs::{Author, Draft, JobError};
use crate::late::{Misfire, Overlap};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Fields {
    name: Option<String>,
    prompt: Option<String>,
    schedule: Option<String>,
    tz: Option<String>,
    repeat: Option<u32>,
    deliver: Option<String>,
    skills: Option<Vec<String>>,
    model: Option<String>,
    provider: Option<String>,
    script: Option<String>,
    no_agent: Option<bool>,
    context_from: Option<Vec<String>>,
    enabled_toolsets: Option<Vec<String>>,
    workdir: Option<PathBuf>,
    attach_to_session: Option<bool>,
    misfire: Option<String>,
    overlap: Option<String>,
    notify: Option<String>,
    timeout: Option<u64>,
    jitter: Option<u64>,
    max_cost: Option<f64>,
}

/// Who makes jobs with this key of the HTTP interface.
pub fn author(key: &str) -> Author {
    Author { name: format!("api {key}"), remote: true, ..Author::default() }
}

/// The fields as a draft.
pub fn draft(fields: Map<String, Value>) -> Result<Draft, JobError> {
    let fields: Fields = serde_json::from_value(Value::Object(fields))
        .map_err(|error| JobError::Invalid(error.to_string()))?;
    Ok(Draft {
        name: fields.name,
        prompt: fields.prompt,
        schedule: fields.schedule,
        tz: fields.tz,
        repeat: fields.repeat,
        deliver: fields.deliver,
        skills: fields.skills,
        model: fields.model,
        provider: fields.provider,
        script: fields.script,
        no_agent: fields.no_agent,
        context_from: fields.context_from,
        enabled_toolsets: fields.enabled_toolsets,
        workdir: fields.workdir,
        attach_to_session: fields.attach_to_session,
        misfire: word(fields.misfire, Misfire::named, "`misfire` is grace, once or skip")?,
        overlap: word(fields.overlap, Overlap::named, "`overlap` is skip, queue or parallel")?,
        notify: word(fields.notify, Notify::named, "`notify` is always, failure or change")?,
        timeout: fields.timeout,
        jitter: fields.jitter,
        max_cost: fields.max_cost,
        grants: None,
        accept_drift: false,
    })
}

fn word<T>(
    given: Option<String>,
    named: impl Fn(&str) -> Option<T>,
    what: &str,
) -> Result<Option<T>, JobError> {
    let read = |word: String| named(&word).ok_or_else(|| JobError::Invalid(what.to_owned()));
    given.map(read).transpose()
}
