//! The ways to reach the person beside the conversation.

use std::path::Path;
use std::time::{Duration, Instant};

use petasos_contract::effect::{Effect, Effects};
use petasos_contract::environment::Ending;
use petasos_contract::processes::{HelperSpec, Processes};
use petasos_contract::{CallContext, Settings, wait};
use petasos_vendors::VendorError;
use petasos_vendors::mail::{self, Account};
use petasos_vendors::ntfy::{self, Topic};

/// What is said when no way is set up.
pub(crate) const NEEDS: &str = "needs a way to reach you: the program notify-send with a desktop, \
    NTFY_TOPIC, or a mail account (mail.address)";

const PROGRAM: &str = "notify-send";
const WITHIN: Duration = Duration::from_secs(10);
/// What the program needs to find the desktop.
const DESKTOP: [&str; 4] =
    ["DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"];

/// A way to reach the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    Desktop,
    Ntfy,
    Mail,
}

impl Channel {
    const ALL: [Self; 3] = [Self::Desktop, Self::Ntfy, Self::Mail];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Desktop => "desktop",
            Self::Ntfy => "ntfy",
            Self::Mail => "mail",
        }
    }

    fn is_ready(self, settings: &Settings, processes: bool) -> bool {
        match self {
            Self::Desktop => processes && has_desktop(settings),
            Self::Ntfy => Topic::open(settings).is_ok(),
            Self::Mail => mail::is_set_up(settings),
        }
    }

    fn needs(self) -> &'static str {
        match self {
            Self::Desktop => "needs the program notify-send and a desktop's session bus",
            Self::Ntfy => ntfy::NEEDS,
            Self::Mail => mail::NEEDS,
        }
    }

    /// What it reaches on its way.
    pub(crate) fn reached(self, settings: &Settings) -> Effects {
        let host = match self {
            Self::Desktop => None,
            Self::Ntfy => Topic::open(settings).ok().map(|topic| topic.host().to_owned()),
            Self::Mail => Account::open(settings).ok().map(|it| it.hosts()[1].to_owned()),
        };
        host.map_or(Effects::none(), |host| Effects::one(Effect::Reach(host)))
    }
}

fn has_desktop(settings: &Settings) -> bool {
    let text = |name: &str| settings.variable(name).map(|it| it.value.expose().to_owned());
    let path = text("PATH").unwrap_or_default();
    text("DBUS_SESSION_BUS_ADDRESS").is_some_and(|bus| !bus.is_empty())
        && path.split(':').any(|folder| Path::new(folder).join(PROGRAM).is_file())
}

/// The way that was asked for, or the first of `notify.channels` that is set up.
pub(crate) fn choose(
    asked: Option<&str>,
    settings: &Settings,
    processes: bool,
) -> Result<Channel, VendorError> {
    let known = |name: &str| Channel::ALL.into_iter().find(|channel| channel.name() == name);
    if let Some(name) = asked.map(str::trim).filter(|name| !name.is_empty()) {
        let channel = known(name)
            .ok_or_else(|| VendorError::argument("`channel` is desktop, ntfy or mail"))?;
        if channel.is_ready(settings, processes) {
            return Ok(channel);
        }
        return Err(VendorError::new("missing_setup", channel.needs()));
    }
    let wanted = settings.names("notify.channels");
    let wanted: Vec<Channel> = match &wanted {
        Some(names) => names.iter().filter_map(|name| known(name)).collect(),
        None => Channel::ALL.to_vec(),
    };
    wanted
        .into_iter()
        .find(|channel| channel.is_ready(settings, processes))
        .ok_or_else(|| VendorError::new("missing_setup", NEEDS))
}

/// What is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Notice<'a> {
    pub(crate) title: &'a str,
    pub(crate) message: &'a str,
    pub(crate) urgency: &'a str,
}

/// Shows it on the desktop, by the desktop's own program.
pub(crate) async fn on_desktop(
    processes: &dyn Processes,
    notice: &Notice<'_>,
    cx: &CallContext,
) -> Result<(), VendorError> {
    let failed = |why: String| VendorError::new("upstream", format!("{PROGRAM} failed: {why}"));
    let Notice { title, message, urgency } = *notice;
    let words = [PROGRAM, "--app-name", "petasos", "--urgency", urgency, "--", title, message];
    let argv = words.iter().map(|word| (*word).to_owned()).collect();
    let mut spec = HelperSpec::new("desktop notification", argv, &cx.settings);
    spec.grants = DESKTOP.iter().map(|name| (*name).to_owned()).collect();
    let helper = processes.start(spec).await.map_err(|error| failed(error.to_string()))?;
    let deadline = Instant::now() + WITHIN;
    match wait::until(deadline, "the desktop", helper.hand.exited()).await {
        Ok(Ok(Ending::Code(0))) => Ok(()),
        Ok(Ok(ending)) => Err(failed(format!("it ended with {}", ending.code()))),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(VendorError::new("timeout", "the desktop did not answer within 10 s")),
    }
}
