//! Everything one resolution looks at, gathered once, and the trace it leaves.

use petasos_contract::Settings;
use petasos_net::Url;
use serde_json::Value;

use super::saved::{Saved, normal};
use super::{Candidate, Outcome, Request, ResolveError, Resolved, Verdict};
use crate::credential::VaultView;
use crate::credential::command::SecretCommand;
use crate::runtime::{BaseUrl, Notice};
use crate::table::{Provider, Table};

/// Who named the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChosenBy {
    Request,
    Config,
    Variable,
    Nobody,
}

/// The state of one resolution.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) request: &'a Request,
    pub(crate) settings: &'a Settings,
    pub(crate) vault: &'a VaultView,
    pub(crate) table: &'a Table,
    pub(crate) saved: Saved<'a>,
    /// The name asked for, after precedence and before aliases; `auto` when nobody named one.
    pub(crate) requested: String,
    pub(crate) chosen_by: ChosenBy,
    /// The provider, once a rule has found it.
    pub(crate) provider: Option<&'a Provider>,
    pub(crate) rule: &'static str,
    pub(crate) notices: Vec<Notice>,
    /// Commands that would print a key which is not at hand yet.
    pub(crate) wants: Vec<SecretCommand>,
    trace: Vec<Candidate>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(request: &'a Request, settings: &'a Settings, vault: &'a VaultView) -> Self {
        let saved = Saved::of(settings);
        let mut scene = Self {
            request,
            settings,
            vault,
            table: &vault.table,
            saved,
            requested: "auto".to_owned(),
            chosen_by: ChosenBy::Nobody,
            provider: None,
            rule: "precedence",
            notices: Vec::new(),
            wants: Vec::new(),
            trace: Vec::new(),
        };
        scene.choose_name();
        scene
    }

    /// Request, then configuration, then variable, then `auto`.
    fn choose_name(&mut self) {
        let asked = self.request.provider.as_deref().map(normal).filter(|name| !name.is_empty());
        let variable = if self.request.ignores_selection_variable {
            None
        } else {
            self.settings.role("INFERENCE_PROVIDER").map(|variable| normal(variable.value.expose()))
        };
        let variable = variable.filter(|name| !name.is_empty());
        let names = [
            (ChosenBy::Request, "the request", asked),
            (
                ChosenBy::Config,
                "`model.provider` in the configuration",
                self.saved.provider.clone(),
            ),
            (ChosenBy::Variable, "the variable `HERMES_INFERENCE_PROVIDER`", variable),
        ];
        for (by, place, name) in names {
            let Some(name) = name else { continue };
            if self.chosen_by == ChosenBy::Nobody {
                self.trace(
                    format!("provider `{name}`"),
                    Verdict::Taken,
                    format!("named by {place}"),
                );
                (self.requested, self.chosen_by) = (name, by);
            } else {
                let why = format!("named by {place}, which comes after what is in force");
                self.trace(format!("provider `{name}`"), Verdict::Passed, why);
            }
        }
    }

    pub(crate) fn trace(
        &mut self,
        what: impl Into<String>,
        verdict: Verdict,
        why: impl Into<String>,
    ) {
        let (what, why) = (what.into(), why.into());
        self.trace.push(Candidate { rule: self.rule, what, verdict, why });
    }

    /// Records variables that are set and were not looked at, because something came before them.
    pub(crate) fn trace_unused(&mut self, names: &[String], why: &str) {
        for name in names {
            let what = format!("variable `{name}`");
            if self.variable(name).is_some() && !self.trace.iter().any(|seen| seen.what == what) {
                self.trace(what, Verdict::Passed, why);
            }
        }
    }

    /// Tells a person something once, and records it.
    pub(crate) fn notice(&mut self, key: impl Into<String>, text: impl Into<String>) {
        let notice = Notice { key: key.into(), text: text.into() };
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    /// Ends the resolution.
    pub(crate) fn close(mut self, outcome: Outcome) -> Resolved {
        match &outcome {
            Ok(runtime) => {
                let what = format!("{} at {}", runtime.provider, runtime.base_url);
                let why = format!("{}, key from {}", runtime.api_mode.name(), runtime.source);
                self.trace(what, Verdict::Taken, why);
            }
            Err(error) => self.trace(error.code, Verdict::Refused, error.message.clone()),
        }
        let outcome = outcome.map(|mut runtime| {
            runtime.notices = std::mem::take(&mut self.notices);
            runtime
        });
        Resolved { outcome, trace: self.trace, wants: self.wants }
    }

    /// Whether keys go nowhere but to their own hosts.
    pub(crate) fn is_strict(&self) -> bool {
        self.settings.get("security.strict_key_scope").and_then(Value::as_bool).unwrap_or(false)
    }

    /// Whether a provider is switched off.
    pub(crate) fn is_disabled(&self, id: &str) -> bool {
        let entry = self.settings.values().get("providers").and_then(|map| map.get(id));
        entry.and_then(|entry| entry.get("enabled")) == Some(&Value::Bool(false))
    }

    /// Any key of `providers.<id>`.
    pub(crate) fn provider_setting(&self, id: &str, name: &str) -> Option<&'a Value> {
        self.settings.values().get("providers")?.get(id)?.get(name)
    }

    /// Whether the saved section belongs to this provider.
    pub(crate) fn is_saved_for(&self, id: &str) -> bool {
        self.saved_id().as_deref() == Some(id)
    }

    /// The canonical id of the saved provider; every custom spelling is `custom`.
    pub(crate) fn saved_id(&self) -> Option<String> {
        let name = self.saved.provider.as_deref()?;
        if name.starts_with("custom:") {
            return Some("custom".to_owned());
        }
        let known = self.table.find(name).map(|provider| provider.id.clone());
        Some(known.unwrap_or_else(|| name.to_owned()))
    }

    /// The request's endpoint, checked.
    pub(crate) fn explicit_url(&self) -> Result<Option<BaseUrl>, ResolveError> {
        match self.request.base_url.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
            None => Ok(None),
            Some(text) => self.parse_url(text, "the request").map(Some),
        }
    }

    /// An endpoint from a place, checked.
    pub(crate) fn parse_url(&self, text: &str, place: &str) -> Result<BaseUrl, ResolveError> {
        let expanded = self.expand(text).unwrap_or_else(|_| text.to_owned());
        let parsed = BaseUrl::parse(&expanded).ok().filter(|url| url.origin().is_some());
        parsed.ok_or_else(|| {
            let problem = match BaseUrl::parse(&expanded) {
                Err(problem) => problem.to_string(),
                Ok(_) => "only http and https are spoken here".to_owned(),
            };
            let message = format!("the endpoint from {place} is refused: {problem}");
            ResolveError::new("invalid_base_url", &self.requested, message)
        })
    }

    /// A variable's text, trimmed and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&'a str> {
        let text = self.settings.variable(name)?.value.expose().trim();
        (!text.is_empty()).then_some(text)
    }

    /// A text with its `${NAME}` references replaced, or the first name that is not set.
    pub(crate) fn expand(&self, text: &str) -> Result<String, String> {
        if !text.contains("${") {
            return Ok(text.to_owned());
        }
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, tail)) = after.split_once('}') else { break };
            out.push_str(before);
            out.push_str(self.variable(name).ok_or_else(|| name.to_owned())?);
            rest = tail;
        }
        out.push_str(rest);
        Ok(out)
    }

    /// Whether the user wrote down that this provider's key may go to a foreign host.
    pub(crate) fn host_is_granted(&self, id: &str, url: &Url) -> bool {
        let saved = self.is_saved_for(id).then(|| self.saved.get("allow_key_to_host")).flatten();
        let grants = [saved, self.provider_setting(id, "allow_key_to_host")];
        let host = url.host_str().unwrap_or_default();
        grants.into_iter().flatten().any(|grant| match grant {
            Value::Bool(all) => *all,
            Value::String(one) => one == host,
            Value::Array(many) => many.iter().any(|one| one.as_str() == Some(host)),
            _ => false,
        })
    }
}
