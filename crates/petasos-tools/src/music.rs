//! What the Spotify tools share: each says what a call asks for, and this carries it out.

use std::sync::Arc;

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::ports::{Logins, Ports};
use petasos_contract::{Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolError, ToolOutput};
use petasos_vendors::VendorError;
use petasos_vendors::spotify::{self, Account, Deed, Kind, LOGIN, Named};
use serde_json::{Value, json};

use crate::vendors::{self, Shape};

/// Somebody is signed in.
pub(crate) static SIGNED_IN: CheckDef = CheckDef {
    id: "spotify",
    scope: CheckScope::Profile,
    probe: |cx| {
        let logins = cx.ports.logins.as_ref();
        let ready = logins.is_some_and(|logins| logins.is_signed_in(LOGIN, &cx.settings));
        Box::pin(async move { Availability::when(ready, spotify::NEEDS) })
    },
};

/// What a call does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It looks.
    Reads,
    /// Something is heard, or not any more.
    Plays,
    /// A list or the library changes.
    Keeps,
}

/// What a call asks for.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) action: String,
    pub(crate) doing: Doing,
    pub(crate) deed: Deed,
}

impl Asked {
    pub(crate) fn new(action: &str, doing: Doing, deed: Deed) -> Self {
        Self { action: action.to_owned(), doing, deed }
    }
}

/// Reads the arguments of one tool.
pub(crate) type Reading = fn(Args) -> Result<Result<Asked, VendorError>, ToolError>;

/// One of the tools.
pub(crate) struct Music {
    logins: Option<Arc<dyn Logins>>,
    reading: Reading,
}

impl Music {
    pub(crate) fn new(ports: &Ports, reading: Reading) -> Self {
        Self { logins: ports.logins.clone(), reading }
    }
}

impl Tool for Music {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let asked: Result<Asked, VendorError> = cleared.into_work()?;
            let work = async {
                let asked = asked?;
                let account = Account::open(self.logins.as_ref(), &cx.settings)?;
                let result = account.run(&asked.deed, cx).await?;
                Ok(json!({
                    "success": true, "action": asked.action, "result": spotify::told(&result),
                }))
            };
            let done = vendors::until_cancelled(cx, Box::pin(work)).await;
            Ok(vendors::told(done, Shape::Success, cx))
        })
    }

    /// A call that cannot be made reaches nobody; the run says why.
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let planned = (self.reading)(args.clone()).map(|asked| {
            let reach = spotify::host(&cx.settings).map(Effect::Reach);
            let further = asked.as_ref().ok().and_then(|asked| match asked.doing {
                Doing::Reads => None,
                Doing::Plays => {
                    Some(Effect::Actuate { target: "spotify".to_owned(), guarded: false })
                }
                Doing::Keeps => Some(Effect::Remember { store: "spotify".to_owned() }),
            });
            let effects: Effects = match &asked {
                Ok(_) => reach.into_iter().chain(further).collect(),
                Err(_) => Effects::none(),
            };
            Plan::new(args).with_effects(effects).with_work(asked)
        });
        Box::pin(std::future::ready(planned))
    }
}

/// How many, within Spotify's bounds.
pub(crate) fn limit(wanted: Option<u64>, usual: u64) -> String {
    wanted.unwrap_or(usual).clamp(1, 50).to_string()
}

/// A word of two letters, such as DE.
pub(crate) fn market(wanted: Option<String>) -> Result<Option<String>, VendorError> {
    let Some(text) = wanted.map(|text| text.trim().to_uppercase()).filter(|it| !it.is_empty())
    else {
        return Ok(None);
    };
    if text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Ok(Some(text));
    }
    Err(VendorError::argument("`market` is a country of two letters, such as DE"))
}

/// URIs of things of these kinds.
pub(crate) fn uris(all: &[String], fits: &[Kind], most: usize) -> Result<Vec<String>, VendorError> {
    if all.is_empty() {
        return Err(VendorError::argument("`uris` is empty: name at least one"));
    }
    if all.len() > most {
        return Err(VendorError::argument(format!("at most {most} are taken at once")));
    }
    all.iter().map(|text| Named::read(text, fits).map(|named| named.uri())).collect()
}

/// What an unknown action is answered with.
pub(crate) fn unknown(action: &str, known: &[&str]) -> VendorError {
    let text = format!("there is no action `{}`", petasos_vendors::text::cut(action, 40));
    VendorError::argument(text).with("candidates", known.to_vec())
}

/// A parameter that an action cannot do without.
pub(crate) fn needed(name: &str, action: &str) -> VendorError {
    VendorError::argument(format!("`{action}` needs `{name}`"))
}

/// A parameter's schema.
pub(crate) fn text(what: &str) -> Value {
    json!({ "type": "string", "description": what })
}
