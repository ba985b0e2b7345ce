//! Pages of text for slash commands, from the same functions that the commands of the program ask.

use std::fmt::Write as _;
use std::time::Duration;

use petasos_checkpoint::Checkpoint;
use petasos_config::explain;
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_providers::catalog::{Listed, list};
use petasos_providers::resolve::Verdict;
use petasos_providers::{Request, Vault, resolve};
use petasos_runtime::definitions::{Fate, Wanted};
use petasos_session::offers::ago;
use petasos_session::{Choice, Offer, OfferKind, Topic};

use crate::host::Host;
use crate::listed::facts;

/// How long a provider may take to list its models.
const LISTING_DEADLINE: Duration = Duration::from_secs(15);

/// The page as Markdown.
pub(super) async fn describe(
    host: &Host,
    topic: Topic,
    about: &str,
    choice: &Choice,
) -> Result<String, String> {
    match topic {
        Topic::Tools => Ok(tools(host, about, choice).await),
        Topic::Toolsets => Ok(toolsets(host).await),
        Topic::Usable => Ok(usable(host, choice).await),
        Topic::Providers => Ok(providers(host)),
        Topic::Provider => Ok(provider(host, choice).await),
        Topic::Models => models(host, about, choice).await,
        Topic::Config => Ok(config(host, about)),
        Topic::Checkpoints => checkpoints(host).await,
        _ => Err("this program cannot describe that".to_owned()),
    }
}

async fn tools(host: &Host, about: &str, choice: &Choice) -> String {
    let call = host.call_context(Surface::Cli, SessionId::new("chat"));
    let window = choice.window(&*host.model(), &call).await;
    let wanted = Wanted {
        selection: choice.selection.clone(),
        context_tokens: u32::try_from(window).ok(),
        whole: false,
    };
    let cx = host.check_context(Surface::Cli, SessionId::new("chat"));
    let defined = host.catalogue().define(&wanted, &cx).await;
    let snapshot = host.catalogue().registry().snapshot();
    let mut text = String::new();
    for (name, fate) in defined.fates.iter().filter(|(name, _)| name.as_str().contains(about)) {
        let emoji = snapshot.emoji(name.as_str(), "⚙").to_owned();
        let beside = match fate {
            Fate::Offered => String::new(),
            Fate::Deferred => " (found by search)".to_owned(),
            Fate::NotRegistered => continue,
            Fate::Unavailable(why) | Fate::Withdrawn(why) => format!(" — not offered: {why}"),
        };
        writeln!(text, "- {emoji} `{name}`{beside}").unwrap_or_default();
    }
    if text.is_empty() { "no such tool in these toolsets".to_owned() } else { text }
}

async fn toolsets(host: &Host) -> String {
    let cx = host.check_context(Surface::Cli, SessionId::new("chat"));
    let views = host.catalogue().toolsets(&cx).await;
    let mut text = String::new();
    for view in views {
        let beside = if view.available { "" } else { " (nothing of it works here)" };
        let names: Vec<&str> = view.tools.iter().map(petasos_contract::ToolName::as_str).collect();
        writeln!(text, "- **{}**{beside}: {}", view.name, names.join(", ")).unwrap_or_default();
    }
    text
}

/// The chosen toolsets, without those of which nothing works here.
async fn usable(host: &Host, choice: &Choice) -> String {
    let Some(enabled) = &choice.selection.enabled else { return "(default)".to_owned() };
    let cx = host.check_context(Surface::Cli, SessionId::new("chat"));
    let views = host.catalogue().toolsets(&cx).await;
    let works = |name: &&String| views.iter().any(|view| view.available && view.name == **name);
    let named: Vec<&str> = enabled.iter().filter(works).map(String::as_str).collect();
    named.join(", ")
}

fn providers(host: &Host) -> String {
    let settings = host.settings();
    let view = Vault::of(settings).view(settings);
    let mut text = String::new();
    for provider in view.table.providers() {
        if resolve(&Request::of(&provider.id), settings, &view).outcome.is_ok() {
            writeln!(text, "- `{}` {}", provider.id, provider.name).unwrap_or_default();
        }
    }
    if text.is_empty() {
        text.push_str("no provider can be used yet: `petasos setup` looks for keys and servers");
    }
    text
}

fn request(choice: &Choice) -> Request {
    let mut request = Request::default();
    request.provider.clone_from(&choice.provider);
    request.model.clone_from(&choice.model);
    request
}

async fn provider(host: &Host, choice: &Choice) -> String {
    let settings = host.settings();
    let view = Vault::of(settings).view(settings);
    let net = host.net();
    let resolved = host.resolver().resolve(&request(choice), settings, view, &net).await;
    let mut text = String::new();
    for candidate in &resolved.trace {
        let mark = match candidate.verdict {
            Verdict::Taken => "✓",
            Verdict::Refused => "✗",
            Verdict::Passed => "·",
        };
        writeln!(text, "- {mark} {}: {} ({})", candidate.rule, candidate.what, candidate.why)
            .unwrap_or_default();
    }
    match &resolved.outcome {
        Ok(runtime) => {
            let model = runtime.model.as_deref().unwrap_or("(the provider's default)");
            let place = runtime.base_url.as_str();
            write!(text, "\n**{model}** from {} at {place}", runtime.provider).unwrap_or_default();
        }
        Err(error) => write!(text, "\n**nobody answers**: {error}").unwrap_or_default(),
    }
    text
}

/// What there is to choose from.
pub(super) async fn offers(
    host: &Host,
    kind: OfferKind,
    choice: &Choice,
) -> Result<Vec<Offer>, String> {
    match kind {
        OfferKind::Models => {
            let listed = listed(host, choice).await?;
            Ok(listed.iter().map(|model| model_offer(model, host)).collect())
        }
        OfferKind::Checkpoints => {
            let cx = host.call_context(Surface::Cli, SessionId::new("chat"));
            let copies = host.checkpoints().list(&cx).await.map_err(|error| error.to_string())?;
            let offer = |copy: &Checkpoint| Offer {
                label: copy.why.clone(),
                detail: format!("{} · {}", ago(copy.made), copy.id),
                line: format!("/rollback {}", copy.id),
            };
            Ok(copies.iter().map(offer).collect())
        }
        _ => Err("there is nothing to choose from here".to_owned()),
    }
}

fn model_offer(model: &Listed, host: &Host) -> Offer {
    let now = host.settings().text("model.default") == Some(model.id.as_str());
    let mut detail = facts(model);
    detail.extend(now.then(|| "configured".to_owned()));
    Offer {
        label: model.id.clone(),
        detail: detail.join(" · "),
        line: format!("/model {}", model.id),
    }
}

async fn models(host: &Host, about: &str, choice: &Choice) -> Result<String, String> {
    let listed = listed(host, choice).await?;
    let mut text = String::new();
    for model in listed.iter().filter(|model| model.id.contains(about)) {
        let facts = facts(model).join(" · ");
        writeln!(text, "- `{}` {facts}", model.id).unwrap_or_default();
    }
    Ok(if text.is_empty() { format!("no model of it contains `{about}`") } else { text })
}

async fn listed(host: &Host, choice: &Choice) -> Result<Vec<Listed>, String> {
    let settings = host.settings();
    let view = Vault::of(settings).view(settings);
    let runtime = resolve(&request(choice), settings, &view).outcome;
    let runtime = runtime.map_err(|error| error.to_string())?;
    let net = host.net();
    list(&net, &runtime, LISTING_DEADLINE).await.map_err(|error| error.to_string())
}

fn config(host: &Host, about: &str) -> String {
    let settings = host.settings();
    if about.is_empty() {
        let file = settings.home().join("config.yaml");
        return format!(
            "The file is `{}`. `/config KEY` shows a value and where it comes from; \
             `petasos config set KEY VALUE` changes it for later chats.",
            file.display()
        );
    }
    let explained = explain::explain(settings, about);
    let mut text = format!("**{}** {}\n\n", explained.key, explained.doc.unwrap_or_default());
    for candidate in &explained.candidates {
        let why = candidate.passed_over.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        writeln!(text, "- `{}` from {}{why}", candidate.value, candidate.source)
            .unwrap_or_default();
    }
    if let Some(nearest) = &explained.nearest {
        write!(text, "nothing reads this key; did you mean `{nearest}`?").unwrap_or_default();
    }
    text
}

async fn checkpoints(host: &Host) -> Result<String, String> {
    let cx = host.call_context(Surface::Cli, SessionId::new("chat"));
    let copies = host.checkpoints().list(&cx).await.map_err(|error| error.to_string())?;
    let mut text = String::new();
    for copy in copies {
        let age = copy.made.elapsed().unwrap_or_default().as_secs() / 60;
        writeln!(text, "- `{}` {}, {age} minutes ago", copy.id, copy.why).unwrap_or_default();
    }
    if text.is_empty() {
        text.push_str(
            "no copy of this workspace yet; they are made before the agent changes files",
        );
    } else {
        text.push_str("\n`/rollback NUMBER` goes back to one.");
    }
    Ok(text)
}
