//! What the calendar tools share.

use petasos_contract::CallContext;
use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_vendors::VendorError;
use petasos_vendors::dav::when::{When, zone};
use petasos_vendors::dav::{self, Change};
use serde::Deserialize;
use serde_json::{Value, json};

/// There is an account.
pub(crate) static ACCOUNT: CheckDef = CheckDef {
    id: "dav",
    scope: CheckScope::Profile,
    probe: |cx| {
        let ready = dav::is_set_up(&cx.settings);
        Box::pin(async move { Availability::when(ready, dav::NEEDS) })
    },
};

/// Every call reaches the server.
pub(crate) fn reach(cx: &CallContext) -> Effects {
    dav::host(&cx.settings).map_or(Effects::none(), |host| Effects::one(Effect::Reach(host)))
}

/// A call that changes a calendar.
pub(crate) fn writes(cx: &CallContext) -> Effects {
    reach(cx).and(Effect::Remember { store: "calendar".to_owned() })
}

/// An event as a model writes it.
#[derive(Deserialize)]
pub(crate) struct Written {
    title: Option<String>,
    start: Option<String>,
    end: Option<String>,
    time_zone: Option<String>,
    location: Option<String>,
    description: Option<String>,
}

impl Written {
    /// What it says, and the zone that it is told in.
    pub(crate) fn change(
        self,
        cx: &CallContext,
    ) -> Result<(Change, jiff::tz::TimeZone), VendorError> {
        let zone = zone(self.time_zone.as_deref(), &cx.settings)?;
        let when = |text: Option<String>| {
            let text = text.filter(|text| !text.trim().is_empty());
            text.map(|text| When::read(&text, &zone)).transpose()
        };
        let change = Change {
            title: self.title.filter(|title| !title.trim().is_empty()),
            start: when(self.start)?,
            end: when(self.end)?,
            location: self.location,
            description: self.description,
        };
        Ok((change, zone))
    }
}

/// The parameters of an event.
pub(crate) fn properties() -> Value {
    json!({
        "title": { "type": "string", "description": "What it is called" },
        "start": { "type": "string", "description": "2026-11-30 for a whole day, 2026-11-30T14:00, or with an offset" },
        "end": { "type": "string", "description": "Its end, written like the start" },
        "time_zone": { "type": "string", "description": "Zone of times without an offset, such as Europe/Berlin" },
        "location": { "type": "string", "description": "Where it is" },
        "description": { "type": "string", "description": "More words" }
    })
}
