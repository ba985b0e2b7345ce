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

/// Its name.
pub(crate) fn name(busy: WhenBusy) -> &'static str {
    match busy {
        WhenBusy::Interrupt => "interrupt",
        WhenBusy::Queue => "queue",
        WhenBusy::Steer => "steer",
        WhenBusy::Refuse => "refuse",
    }
}
