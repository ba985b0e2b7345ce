//! What the browser tools share: the engine, when they are offered, how they run, and the shape of
//! an answer. A tool is a name, a schema, its arguments, and one deed ([`Act`]).

use std::marker::PhantomData;
use std::sync::Arc;

use petasos_browser::{BrowserError, BrowserSettings, Browsers};
use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::ports::Ports;
use petasos_contract::tool::Provenance;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Settings, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_net::sites::{Neighbourhood, neighbourhood};
use petasos_net::{Url, checked_url};
use petasos_redact::Redactor;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::waiting::telling;

const NEEDS: &str = "needs a browser: install chromium or google-chrome, or set browser.cdp_url";
const CHECKED: &str = "the site seems to check for robots; it may not show its content here";
const NEEDS_RAW: &str = "needs browser.cdp_url or browser.raw_cdp: true";

/// A browser is installed or named. Looks at the disk and starts nothing.
pub(crate) static BROWSER: CheckDef = CheckDef {
    id: "browser",
    scope: CheckScope::Profile,
    probe: |cx| Box::pin(async move { available(&cx.settings) }),
};

/// The bare protocol is offered.
pub(crate) static RAW: CheckDef = CheckDef {
    id: "browser_cdp",
    scope: CheckScope::Profile,
    probe: |cx| {
        Box::pin(async move {
            let own: BrowserSettings = cx.settings.section().unwrap_or_default();
            match available(&cx.settings) {
                Availability::Ready => Availability::when(own.offers_raw(), NEEDS_RAW),
                missing @ Availability::Missing(_) => missing,
            }
        })
    },
};

fn available(settings: &Settings) -> Availability {
    Availability::when(is_available(settings), NEEDS)
}

/// Whether a browser is installed or named.
pub(crate) fn is_available(settings: &Settings) -> bool {
    let own: BrowserSettings = settings.section().unwrap_or_default();
    let named = own.is_elsewhere() || settings.variable("BROWSER_CDP_URL").is_some();
    named || petasos_browser::find(settings).is_some()
}

/// What every browser tool is declared with.
pub(crate) const USUAL: ToolDef = ToolDef {
    toolset: "browser",
    core: true,
    provenance: Provenance::Foreign,
    check: Some(&BROWSER),
    ..ToolDef::USUAL
};

/// What comes of a deed.
pub(crate) type Answer = Result<Map<String, Value>, BrowserError>;

/// What one browser tool does.
pub(crate) trait Act: Send + Sync + 'static {
    /// Its arguments.
    type Input: DeserializeOwned + Send;

    /// Does it.
    fn act<'a>(
        browsers: &'a Arc<Browsers>,
        input: Self::Input,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer>;

    /// What it reaches: the open page, unless it says otherwise.
    fn effects(engine: &Engine, _args: &Args, cx: &CallContext) -> Effects {
        engine.page(cx)
    }

    /// The answer as the model gets it.
    fn output(answer: Answer, _args: &Args, cx: &CallContext) -> ToolOutput {
        told(answer, cx)
    }
}

/// A browser tool: its deed within what all of them have around it.
pub(crate) struct Frame<A>(Engine, PhantomData<fn() -> A>);

/// Builds the tool of a deed.
pub(crate) fn frame<A: Act>(ports: &Ports) -> Arc<dyn Tool> {
    Arc::new(Frame::<A>(Engine::of(ports), PhantomData))
}

impl<A: Act> Tool for Frame<A> {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args = cleared.into_args();
            let input: A::Input = args.clone().parse()?;
            let answer = match self.0.get() {
                Ok(browsers) => telling(cx, "the page", A::act(browsers, input, cx)).await,
                Err(error) => Err(error),
            };
            Ok(A::output(answer, &args, cx))
        })
    }

    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let effects = A::effects(&self.0, &args, cx);
        Box::pin(std::future::ready(Ok(Plan::new(args).with_effects(effects))))
    }
}

/// The browsers of the program, as a tool holds them.
pub(crate) struct Engine(Option<Arc<Browsers>>);

impl Engine {
    pub(crate) fn of(ports: &Ports) -> Self {
        Self(Browsers::of(ports))
    }

    pub(crate) fn get(&self) -> Result<&Arc<Browsers>, BrowserError> {
        self.0.as_ref().ok_or_else(|| BrowserError::new("missing_setup", NEEDS))
    }

    /// What an action on the open page reaches.
    pub(crate) fn page(&self, cx: &CallContext) -> Effects {
        let host = self.0.as_ref().and_then(|browsers| browsers.page_host(cx));
        host.map_or(Effects::none(), |host| Effects::one(Effect::Reach(host)))
    }

    /// What a navigation reaches and spends besides, where the browser is a service's.
    pub(crate) fn with_vendor(&self, effects: Effects, cx: &CallContext) -> Effects {
        match self.0.as_ref().and_then(|browsers| browsers.vendor(cx)) {
            Some((host, 0)) => effects.and(Effect::Reach(host)),
            Some((host, cents)) => effects.and(Effect::Reach(host)).and(Effect::Spend { cents }),
            None => effects,
        }
    }

    /// The kind of field that a reference names.
    pub(crate) fn input_type(&self, cx: &CallContext, reference: &str) -> String {
        let kind = self.0.as_ref().and_then(|browsers| browsers.input_type(cx, reference));
        kind.unwrap_or_default()
    }

    /// What an action that may send a form reaches: the page, the form's own host when that is
    /// another, and whoever gets what people keep to themselves.
    pub(crate) fn form(&self, cx: &CallContext, reference: Option<&str>, by_key: bool) -> Effects {
        let effects = self.page(cx);
        let form = self.0.as_ref().and_then(|browsers| browsers.form(cx, reference, by_key));
        let Some(form) = form else { return effects };
        let effects =
            if form.elsewhere { effects.and(Effect::Reach(form.host.clone())) } else { effects };
        if form.elsewhere || form.sensitive.is_some() {
            return effects.and(Effect::Send { target: form.host });
        }
        effects
    }
}

/// The result of a tool: the answer or the error, with secrets masked.
pub(crate) fn told(
    answer: Result<Map<String, Value>, BrowserError>,
    cx: &CallContext,
) -> ToolOutput {
    let mut object = Map::new();
    object.insert("success".to_owned(), answer.is_ok().into());
    match answer {
        Ok(answer) => {
            let title = answer.get("title").and_then(Value::as_str).unwrap_or_default();
            if answer.contains_key("settled") && petasos_web::is_challenge(title) {
                object.insert("bot_detection_warning".to_owned(), CHECKED.into());
            }
            object.extend(answer);
        }
        Err(error) => {
            object.insert("error".to_owned(), error.message.into());
            object.insert("error_type".to_owned(), error.kind.into());
            object.extend(error.extra);
        }
    }
    let mut value = Value::Object(object);
    Redactor::of(&cx.settings).value(&mut value);
    ToolOutput::json(&value)
}

/// What opening an address reaches, for the policy.
pub(crate) fn reach(url: &str) -> Effects {
    let Some((host, port)) = place(url) else { return Effects::none() };
    Effects::one(match neighbourhood(&host) {
        Neighbourhood::Public | Neighbourhood::ThisMachine => Effect::Reach(host),
        Neighbourhood::Private => Effect::ReachPrivate(format!("{host}:{port}")),
    })
}

/// Whether this call may open a private address: a person is there, and the policy has seen what
/// the address plainly is. A public name that leads to a private address is neither.
pub(crate) fn opens_private(url: &str, cx: &CallContext) -> bool {
    let plainly = place(url).is_some_and(|(host, _)| neighbourhood(&host) != Neighbourhood::Public);
    plainly && cx.attended
}

fn place(url: &str) -> Option<(String, u16)> {
    let url = checked_url(url).or_else(|_| checked_url(&format!("https://{url}"))).ok()?;
    spelled(&url)
}

fn spelled(url: &Url) -> Option<(String, u16)> {
    Some((url.host_str()?.to_owned(), url.port_or_known_default()?))
}
