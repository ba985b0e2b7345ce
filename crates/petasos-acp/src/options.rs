//! What a person can choose for a session: its mode, its model, how hard it thinks.

use agent_client_protocol_schema::v1::{
    ConfigOptionUpdate, CurrentModeUpdate, Error, SessionConfigKind, SessionConfigOption,
    SessionConfigOptionCategory, SessionConfigSelect, SessionConfigSelectOption, SessionUpdate,
};
use petasos_contract::context::Phase;
use petasos_session::Choice;

use crate::editor::EditorSession;
use crate::mode::Mode;
use crate::port::{EditorHost, ModelOption};
use crate::rpc::told;

const LEVELS: &[(&str, &str)] = &[
    ("off", "Off"),
    ("minimal", "Minimal"),
    ("low", "Low"),
    ("medium", "Medium"),
    ("high", "High"),
    ("xhigh", "Very high"),
    ("max", "Maximal"),
];
/// The value that leaves it to the provider.
const USUAL: &str = "default";

/// All options with what is chosen now.
pub(crate) async fn options(
    open: &EditorSession,
    host: &dyn EditorHost,
) -> Result<Vec<SessionConfigOption>, Error> {
    let view = open.session.view().await;
    let view = view.map_err(|error| told(Error::internal_error(), &error.to_string()))?;
    let mut models = host.models(&view.choice).await;
    let served = open.served.lock().clone();
    if let Some(served) = served.as_ref().filter(|served| !models.contains(served)) {
        models.push(served.clone());
    }
    let mut options = vec![mode(open.ruled.mode())];
    options.extend(model(&view.choice, served.as_ref(), &models));
    options.push(thought_level(&view.choice));
    Ok(options)
}

fn select(current: &str, values: Vec<SessionConfigSelectOption>) -> SessionConfigKind {
    SessionConfigKind::Select(SessionConfigSelect::new(current.to_owned(), values))
}

fn mode(now: Mode) -> SessionConfigOption {
    let value = |(id, name, about): (&'static str, &'static str, &'static str)| {
        SessionConfigSelectOption::new(id, name).description(about.to_owned())
    };
    SessionConfigOption::new("mode", "Mode", select(now.id(), Mode::all().map(value).collect()))
        .description("What is asked before it happens".to_owned())
        .category(SessionConfigOptionCategory::Mode)
}

/// The model that was chosen, or the one that stands in for it.
fn model(
    choice: &Choice,
    served: Option<&ModelOption>,
    models: &[ModelOption],
) -> Option<SessionConfigOption> {
    let named = |model: &ModelOption| format!("{}:{}", model.provider, model.model);
    let chosen = models.iter().find(|model| {
        choice.model.as_ref().is_some_and(|it| *it == model.model)
            && choice.provider.as_ref().is_none_or(|it| *it == model.provider)
    });
    let now = named(served.or(chosen).or(models.first())?);
    let value = |model: &ModelOption| {
        SessionConfigSelectOption::new(named(model), model.model.clone())
            .description(model.provider.clone())
    };
    let kind = select(&now, models.iter().map(value).collect());
    let option = SessionConfigOption::new("model", "Model", kind)
        .description("Who answers".to_owned())
        .category(SessionConfigOptionCategory::Model);
    Some(option)
}

fn thought_level(choice: &Choice) -> SessionConfigOption {
    let now = choice.effort().map(|effort| format!("{effort:?}").to_lowercase());
    let known = now.filter(|now| LEVELS.iter().any(|(id, _)| id == now));
    let mut values = vec![SessionConfigSelectOption::new(USUAL, "As the provider likes")];
    values.extend(LEVELS.iter().map(|(id, name)| SessionConfigSelectOption::new(*id, *name)));
    let kind = select(known.as_deref().unwrap_or(USUAL), values);
    SessionConfigOption::new("thought_level", "Thinking", kind)
        .description("How hard the model thinks".to_owned())
        .category(SessionConfigOptionCategory::ThoughtLevel)
}

/// Chooses a value. While a turn runs, it counts from the next request to a model on.
pub(crate) async fn choose(open: &EditorSession, option: &str, value: &str) -> Result<(), Error> {
    let unknown = || {
        let why = format!("`{value}` is no value of `{option}`");
        told(Error::invalid_params(), &why)
    };
    let line = match option {
        "mode" => {
            let mode = Mode::named(value).ok_or_else(unknown)?;
            return {
                set_mode(open, mode).await;
                Ok(())
            };
        }
        "model" => {
            let (provider, model) = value.split_once(':').ok_or_else(unknown)?;
            let plain = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
            if !plain(provider) || !plain(model) || model.starts_with("--") {
                return Err(unknown());
            }
            format!("/model {model} --provider {provider}")
        }
        "thought_level" => {
            let known = value == USUAL || LEVELS.iter().any(|(id, _)| *id == value);
            known.then(|| format!("/reasoning {value}")).ok_or_else(unknown)?
        }
        _ => {
            let why = format!("there is no option `{option}`");
            return Err(told(Error::invalid_params(), &why));
        }
    };
    if option == "model" {
        *open.served.lock() = None;
    }
    command(open, &line).await
}

/// Runs a command of which only the failure matters.
pub(crate) async fn command(open: &EditorSession, line: &str) -> Result<(), Error> {
    let outcome = open.session.command(line).await;
    let outcome = outcome.map_err(|error| told(Error::internal_error(), &error.to_string()))?;
    let failed = outcome.pages.iter().find_map(|page| match page {
        petasos_session::Page::Warning(why) => Some(why.clone()),
        _ => None,
    });
    failed.map_or(Ok(()), |why| Err(told(Error::invalid_params(), &why)))
}

/// The session's own phase is the mode `plan`: somebody may have typed `/plan` or `/go`, here or in
/// another window.
pub(crate) async fn follow_phase(open: &EditorSession) {
    let Ok(view) = open.session.view().await else { return };
    let (plans, mode) = (view.choice.phase == Phase::Plan, open.ruled.mode());
    let wanted = match (plans, mode) {
        (true, _) => Mode::Plan,
        (false, Mode::Plan) => Mode::Ask,
        (false, other) => other,
    };
    if wanted != mode {
        open.ruled.set_mode(wanted);
        open.tell(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(wanted.id()))).await;
    }
}

/// Another mode, from the next call on.
pub(crate) async fn set_mode(open: &EditorSession, mode: Mode) {
    let before = open.ruled.mode();
    open.ruled.set_mode(mode);
    // The door then refuses by effects what the rules of editors do not know by name.
    let line = match (before == Mode::Plan, mode == Mode::Plan) {
        (false, true) => Some("/plan on"),
        (true, false) => Some("/plan off"),
        _ => None,
    };
    if let Some(line) = line
        && let Err(error) = command(open, line).await
    {
        tracing::warn!(%error, "the session did not follow the editor's mode");
    }
    open.tell(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode.id()))).await;
}

/// Tells all options again.
pub(crate) async fn tell(open: &EditorSession, host: &dyn EditorHost) {
    if let Ok(options) = options(open, host).await {
        open.tell(SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options))).await;
    }
}
