//! What a message does while a turn runs, by its name in the configuration.

use petasos_contract::Settings;
use petasos_session::WhenBusy;

/// As configured; lines of a pipe were all written beforehand, so they wait for each other.
pub(crate) fn configured(settings: &Settings, piped: bool) -> WhenBusy {
    let configured = settings.text("display.busy_input_mode").and_then(named);
    configured.unwrap_or(if piped { WhenBusy::Queue } else { WhenBusy::Interrupt })
}

/// By its name.
pub(crate) fn named(name: &str) -> Option<WhenBusy> {
    match name {
        "interrupt" => Some(WhenBusy::Interrupt),
        "queue" => Some(WhenBusy::Queue),
        "steer" => Some(WhenBusy::Steer),
        _ => None,
    }
}

/// What Enter does with what is being typed while a turn runs.
pub(crate) fn on_enter(busy: WhenBusy, text: &str) -> &'static str {
    if text.starts_with('/') {
        return "Enter runs the command";
    }
    match busy {
        WhenBusy::Interrupt => "Enter stops the turn and sends this (/busy changes that)",
        WhenBusy::Queue => "Enter queues this for after the turn (/busy changes that)",
        WhenBusy::Steer => "Enter lets the agent read this on its way (/busy changes that)",
        WhenBusy::Refuse => "Enter sends this after the turn only",
    }
}

/// Its name.
pub(crate) fn name(busy: WhenBusy) -> &'static str {
    match busy {
        WhenBusy::Interrupt => "interrupt",
        WhenBusy::Queue => "queue",
        WhenBusy::Steer => "steer",
        WhenBusy::Refuse => "refuse",
    }
}
