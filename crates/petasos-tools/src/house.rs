//! What the Home Assistant tools share.

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::{CallContext, ToolOutput};
use petasos_vendors::VendorError;
use petasos_vendors::homeassistant::{self, Told};
use serde_json::json;

use crate::vendors::{Shape, failed, masked};

/// There is a token.
pub(crate) static HOUSE: CheckDef = CheckDef {
    id: "homeassistant",
    scope: CheckScope::Profile,
    probe: |cx| {
        let ready = homeassistant::is_set_up(&cx.settings);
        Box::pin(async move { Availability::when(ready, homeassistant::NEEDS) })
    },
};

/// Every call reaches the house.
pub(crate) fn reach(cx: &CallContext) -> Effects {
    homeassistant::host(&cx.settings)
        .map_or(Effects::none(), |host| Effects::one(Effect::Reach(host)))
}

/// The answer under `result`, marked where strangers may have written some of it.
pub(crate) fn told(answer: Result<Told, VendorError>, cx: &CallContext) -> ToolOutput {
    match answer {
        Ok(Told { value, strangers }) => {
            let text = masked(json!({ "result": value }), cx);
            if strangers { ToolOutput::Untrusted(text) } else { ToolOutput::Text(text) }
        }
        Err(error) => {
            // A vendor's own words come along as `detail`.
            let strangers = error.extra.contains_key("detail");
            let text = masked(failed(error, Shape::Plain), cx);
            if strangers { ToolOutput::Untrusted(text) } else { ToolOutput::Text(text) }
        }
    }
}
