//! What the Feishu tools share.

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::{Args, CallContext};
use petasos_vendors::VendorError;
use petasos_vendors::feishu;

/// There is an app.
pub(crate) static APP: CheckDef = CheckDef {
    id: "feishu",
    scope: CheckScope::Profile,
    probe: |cx| {
        let ready = feishu::is_set_up(&cx.settings);
        Box::pin(async move { Availability::when(ready, feishu::NEEDS) })
    },
};

/// Every call reaches the service.
pub(crate) fn reach(cx: &CallContext) -> Effects {
    feishu::host(&cx.settings).map_or(Effects::none(), |host| Effects::one(Effect::Reach(host)))
}

/// A comment is for everybody who reads the file; one that cannot be made reaches nobody.
pub(crate) fn comments(args: &Args, cx: &CallContext) -> Effects {
    match feishu::token("file_token", args.text("file_token").unwrap_or_default()) {
        Ok(file) => reach(cx).and(Effect::Send { target: format!("feishu:{file}") }),
        Err(_) => Effects::none(),
    }
}

/// The kind of a file.
pub(crate) fn kind(named: Option<&str>) -> Result<&str, VendorError> {
    let kind = named.map(str::trim).filter(|kind| !kind.is_empty()).unwrap_or("docx");
    if matches!(kind, "doc" | "docx" | "sheet" | "file" | "slides") {
        return Ok(kind);
    }
    Err(VendorError::argument("`file_type` is doc, docx, sheet, file or slides"))
}
