//! What a person can choose for a session: its mode, its model, how hard it thinks.

use agent_client_protocol_schema::v1::{
    ConfigOptionUpdate, CurrentModeUpdate, Error, SessionConfigKind, SessionConfigOption,
    SessionConfigOptionCategory, SessionConfigSelect, SessionConfigSelectOption, SessionUpdate,
};
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
    let models = host.models(&view.choice).await;
    let mut options = vec![mode(open.ruled.mode())];
    options.extend(model(&view.choice, &models));
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

fn model(choice: &Choice, models: &[ModelOption]) -> Option<SessionConfigOption> {
    let named = |model: &ModelOption| format!("{}:{}", model.provider, model.model);
    let chosen = models.iter().find(|model| {
        choice.model.as_ref().is_some_and(|it| *it == model.model)
            && choice.provider.as_ref().is_none_or(|it| *it == model.provider)
    });
    let now = named(chosen.or(models.first())?);
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

/// Chooses a value. While a turn runs, a model and a level wait for its end.
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
        "thought_level" if value == USUAL => return Ok(()),
        "thought_level" => {
            let known = LEVELS.iter().any(|(id, _)| *id == value);
            known.then(|| format!("/reasoning {value}")).ok_or_else(unknown)?
        }
        _ => {
            let why = format!("there is no option `{option}`");
            return Err(told(Error::invalid_params(), &why));
        }
    };
    let view = open.session.view().await;
    if view.is_ok_and(|view| view.busy) {
        open.later.lock().push(line);
        return Ok(());
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

/// Another mode, from the next call on.
pub(crate) async fn set_mode(open: &EditorSession, mode: Mode) {
    open.ruled.set_mode(mode);
    open.tell(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode.id()))).await;
}

/// Tells all options again.
pub(crate) async fn tell(open: &EditorSession, host: &dyn EditorHost) {
    if let Ok(options) = options(open, host).await {
        open.tell(SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options))).await;
    }
}
