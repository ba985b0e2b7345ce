//! Setup as a conversation: what was found on this machine, a server of one's own, or a provider
//! and its key; then a model. Nothing is stored before it has answered.

use petasos_config::{Inputs, dotenv, home};
use petasos_providers::table::{Provider, Table};

use super::find::{self, Candidate};
use super::key_shape;
use super::save;
use super::trial::{self, Tried};
use crate::command::Session;
use crate::commands::auth;
use crate::commands::models::offered_here;
use crate::host::Host;
use crate::out::{Out, Style};
use crate::prompt;
use crate::report::Report;

/// Providers that most people look for, before anybody searches.
const LISTED: [&str; 8] =
    ["anthropic", "openai-api", "openrouter", "gemini", "xai", "deepseek", "groq", "mistral"];
/// Models that are listed before anybody searches.
const MODELS_LISTED: usize = 15;

/// What the person chose, and what must be stored with it.
struct Choice {
    candidate: Candidate,
    /// The variable and its key.
    key: Option<(String, String)>,
}

/// Leads to a model that answers, and saves it. Whether there is one.
pub(super) fn run(session: &mut Session) -> Result<bool, Report> {
    let out = session.out;
    let inputs = session.host.inputs().clone();
    let found = find::all(session.host.get()?)?;
    let table = Table::of(session.host.get()?.settings()).0;
    let providers = known(&table);
    list(out, &found, &providers, &table);
    while let Some(answer) = ask(out, found.first())? {
        let picked = match answer.strip_prefix("login ") {
            Some(name) => logged_in(session, name.trim(), &table),
            None => pick(out, &answer, (&found, &providers), session.host.get()?)?,
        };
        let Some(mut choice) = picked else { continue };
        let inputs = choice.inputs(&inputs);
        choice.model(out, &inputs)?;
        let model = choice.candidate.model.as_deref().unwrap_or("it");
        out.remark(format!("Testing {model} …"));
        let tried = trial::all(vec![choice.candidate.clone()], &inputs)?;
        let failed = tried.iter().find_map(|one: &Tried| one.error.clone());
        if let Some(why) = failed {
            out.remark(format!("{} {why}", out.paint(Style::Bad, "✗")));
            out.remark("Nothing was saved. Choose again, or press Enter to stop.");
            continue;
        }
        for warning in tried.iter().filter_map(|one: &Tried| one.warning.as_ref()) {
            out.remark(out.paint(Style::Warn, warning));
        }
        return choice.save(session).map(|()| true);
    }
    Ok(false)
}

/// Providers with a key, the usual ones first.
fn known(table: &Table) -> Vec<Provider> {
    let mut known: Vec<Provider> =
        table.providers().iter().filter(|row| !row.key_env.is_empty()).cloned().collect();
    known.sort_by_key(|row| (row.rank.unwrap_or(u8::MAX), row.id.clone()));
    known
}

fn list(out: Out, found: &[Candidate], providers: &[Provider], table: &Table) {
    out.remark(out.paint(Style::Bold, "Which model should answer?"));
    for (at, one) in found.iter().enumerate() {
        let model = one.model.as_deref().unwrap_or("no model listed");
        out.remark(format!("{:3}. {} {model} ({})", at + 1, one.provider, one.source));
    }
    let names = |row: &Provider| row.id.clone();
    let more = providers.len().saturating_sub(LISTED.len());
    out.remark(format!("     With a key: {}", LISTED.join(", ")));
    out.remark(format!("       and {more} more: type a part of a name, or `list`"));
    let logins = table.providers().iter().filter(|row| auth::has_login(&row.id)).map(names);
    let logins: Vec<String> = logins.collect();
    out.remark("     With a login in the browser or on another device: `login NAME`");
    out.remark(format!("       {}", logins.join(", ")));
    out.remark("     Your own server: its URL, such as http://localhost:8000/v1");
}

/// One answer; nothing when the person gave up.
fn ask(out: Out, first: Option<&Candidate>) -> Result<Option<String>, Report> {
    let question = match first {
        Some(_) => "Number, provider, login NAME, pasted key or URL (Enter takes 1, q stops):",
        None => "Provider, login NAME, pasted key or URL (Enter stops):",
    };
    let answer = prompt::line(out, question)?;
    Ok(match (answer.as_str(), first) {
        ("q" | "quit", _) | ("", None) => None,
        ("", Some(_)) => Some("1".to_owned()),
        _ => Some(answer),
    })
}

/// What an answer means; nothing when it has to be asked again.
fn pick(
    out: Out,
    answer: &str,
    (found, providers): (&[Candidate], &[Provider]),
    host: &Host,
) -> Result<Option<Choice>, Report> {
    if let Some(url) = find::address(answer) {
        let candidate = find::server(host, &url)?;
        return Ok(Some(Choice { candidate, key: None }));
    }
    if let Some(at) = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1)) {
        let Some(candidate) = found.get(at).cloned() else {
            out.remark(format!("`{answer}` is not in the list"));
            return Ok(None);
        };
        return Ok(Some(Choice { candidate, key: None }));
    }
    if let Some(id) = key_shape::provider(answer) {
        let row = providers.iter().find(|row| row.id == id);
        return Ok(row.and_then(|row| with_key(row, answer.to_owned())));
    }
    let word = answer.to_lowercase();
    let matching = |row: &&Provider| {
        row.id == word || row.aliases.contains(&word) || row.name.to_lowercase() == word
    };
    let all = word == "list";
    let near =
        |row: &&Provider| all || row.id.contains(&word) || row.name.to_lowercase().contains(&word);
    let exact: Vec<&Provider> = providers.iter().filter(matching).collect();
    let rows = if exact.is_empty() { providers.iter().filter(near).collect() } else { exact };
    match rows.as_slice() {
        [] => {
            out.remark(format!("No provider is called `{answer}`; `list` shows all of them."));
        }
        [row] => return keyed(out, row),
        many => {
            for row in many {
                out.remark(format!("     {:20} {}", row.id, row.name));
            }
        }
    }
    Ok(None)
}

/// Logs in on another device or in a browser; a login that fails is asked for again.
fn logged_in(session: &mut Session, name: &str, table: &Table) -> Option<Choice> {
    let out = session.out;
    let Some(row) = table.find(name).filter(|row| auth::has_login(&row.id)) else {
        out.remark(format!("`{name}` has no login; type its name to give a key"));
        return None;
    };
    if let Err(report) = auth::log_in(session, &row.id) {
        out.remark(report.to_string());
        return None;
    }
    session.host.forget();
    let candidate = Candidate {
        provider: row.id.clone(),
        base_url: None,
        model: row.default_model.clone(),
        source: "login".to_owned(),
    };
    Some(Choice { candidate, key: None })
}

/// Asks for the key of a provider.
fn keyed(out: Out, row: &Provider) -> Result<Option<Choice>, Report> {
    let question = format!("Key of {} (it is not shown; Enter goes back):", row.name);
    let key = prompt::unseen(out, &question)?;
    Ok(if key.is_empty() { None } else { with_key(row, key) })
}

fn with_key(row: &Provider, key: String) -> Option<Choice> {
    let variable = row.key_env.first()?.clone();
    let candidate = Candidate {
        provider: row.id.clone(),
        base_url: None,
        model: row.default_model.clone(),
        source: variable.clone(),
    };
    Some(Choice { candidate, key: Some((variable, key)) })
}

impl Choice {
    /// The surroundings as they would be with this choice.
    fn inputs(&self, inputs: &Inputs) -> Inputs {
        let mut inputs = inputs
            .clone()
            .with_override("model.provider", &self.candidate.provider, "setup")
            .with_override(
                "model.base_url",
                self.candidate.base_url.as_deref().unwrap_or_default(),
                "setup",
            );
        if let Some((variable, key)) = &self.key {
            inputs.environment.insert(variable.clone(), key.clone());
        }
        inputs
    }

    /// Lets the person choose among the models that are offered. A list that cannot be had leaves
    /// the usual one.
    fn model(&mut self, out: Out, inputs: &Inputs) -> Result<(), Report> {
        let host = Host::open(inputs)?;
        let Ok((_, models)) = offered_here(&host) else { return Ok(()) };
        let models: Vec<String> = models.into_iter().map(|model| model.id).collect();
        let usual = self.candidate.model.clone().filter(|model| models.contains(model));
        let Some(usual) = usual.or_else(|| models.first().cloned()) else { return Ok(()) };
        self.candidate.model = Some(usual.clone());
        if models.len() == 1 {
            return Ok(());
        }
        let mut shown: Vec<&String> = models.iter().collect();
        loop {
            for (at, model) in shown.iter().take(MODELS_LISTED).enumerate() {
                out.remark(format!("{:3}. {model}", at + 1));
            }
            let left = shown.len().saturating_sub(MODELS_LISTED);
            if left > 0 {
                out.remark(format!("     and {left} more: type a part of the name"));
            }
            let answer = prompt::line(out, &format!("Model (Enter takes {usual}):"))?;
            if answer.is_empty() {
                return Ok(());
            }
            let number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let chosen = number.and_then(|at| shown.get(at)).copied();
            if let Some(model) = chosen.or_else(|| models.iter().find(|model| **model == answer)) {
                self.candidate.model = Some(model.clone());
                return Ok(());
            }
            let near: Vec<&String> = models.iter().filter(|it| it.contains(&answer)).collect();
            if near.is_empty() {
                out.remark(format!("no model matches `{answer}`"));
            } else {
                shown = near;
            }
        }
    }

    fn save(&self, session: &mut Session) -> Result<(), Report> {
        let (out, inputs) = (session.out, session.host.inputs());
        if let Some((variable, key)) = &self.key {
            dotenv::set(&home::places(inputs)?.dotenv, variable, key)?;
        }
        let file = save::save(inputs, &self.candidate)?;
        let model = self.candidate.model.as_deref().unwrap_or_default();
        let done = format!("{model} answers; saved in {}", file.display());
        out.remark(format!("{} {done}", out.paint(Style::Good, "✓")));
        session.host.forget();
        Ok(())
    }
}
