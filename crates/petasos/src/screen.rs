//! How this terminal is written to: what it can do, and what the person wants of it.

use std::sync::Arc;

use crate::ask::Look as Marks;
use petasos_contract::Settings;
use petasos_runtime::definitions::Catalogue;
use petasos_runtime::registry::DEFAULT_EMOJI;
use petasos_tui::watch::Emoji;
use petasos_tui::{Look, Order, Skin};

use crate::out::Out;

/// For a terminal that can move its cursor, or cannot.
pub(crate) fn look(settings: &Settings, out: Out, moves: bool) -> Look {
    let reader = is_heard(settings);
    let wanted = settings.text("display.skin").and_then(Skin::named).unwrap_or_default();
    let styled = out.look() == Marks::Colour && !reader;
    Look {
        skin: if styled { wanted } else { Skin::Bare },
        live: moves && !reader,
        order: settings.text("display.bidi").and_then(Order::named).unwrap_or_default(),
    }
}

/// Whether the person hears the screen instead of seeing it.
pub(crate) fn is_heard(settings: &Settings) -> bool {
    settings.get("display.screen_reader") == Some(&serde_json::Value::Bool(true))
}

/// The sign before the calls of a tool; a word for somebody who hears them.
pub(crate) fn emoji(settings: &Settings, catalogue: Arc<Catalogue>) -> Emoji {
    if is_heard(settings) {
        return Arc::new(|_| "tool:".to_owned());
    }
    Arc::new(move |tool| catalogue.registry().snapshot().emoji(tool, DEFAULT_EMOJI).to_owned())
}

/// A skin that is not known here, as another agent of the same home may have it.
pub(crate) fn strange_skin(settings: &Settings) -> Option<String> {
    let name = settings.text("display.skin").filter(|name| Skin::named(name).is_none())?;
    let known = Skin::NAMES.join(", ");
    Some(format!("`display.skin: {name}` is not known here, so the default is used ({known})"))
}
