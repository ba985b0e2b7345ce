//! Whether the file tools can work: on this machine always, elsewhere when the terminal can.

use petasos_contract::check::{Availability, CheckDef, CheckScope};

/// Shared by all file tools; starts nothing.
pub(crate) static FILES: CheckDef = CheckDef {
    id: "files",
    scope: CheckScope::Profile,
    probe: |cx| {
        Box::pin(async move {
            let usable = cx.ports.terminal.as_ref().map(|terminal| terminal.usable(&cx.settings));
            match usable {
                None | Some(Ok(())) => Availability::Ready,
                Some(Err(reason)) => Availability::Missing(reason),
            }
        })
    },
};
