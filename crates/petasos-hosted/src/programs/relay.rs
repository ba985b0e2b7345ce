//! One call that stays open and starts the others' programs.
//!
//! Where each call lives in a world of its own, what one call starts ends with it and cannot be
//! seen, let alone ended, by the next. Programs then belong to a call that we keep open.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::wait::Owned;

use super::scripts::{DETACH, whole};
use super::{Calls, SHORT, quoted};
use crate::{Repeat, VendorError};
use petasos_terminal::ids;

/// The longest that a program may be started by one relay.
const LIFE: Duration = Duration::from_hours(24);

/// The open call.
#[derive(Debug)]
pub(super) struct Relay {
    fifo: String,
    held: Mutex<Option<Owned<()>>>,
}

/// Whether a program outlives the call that started it and is seen by the next one.
pub(super) async fn is_needed(calls: &dyn Calls) -> Result<bool, VendorError> {
    let token = format!("petasos-{}", ids::hex(6));
    let file = format!("/tmp/.{token}");
    // Whoever looks must not carry the token in its own arguments: numbers of processes repeat
    // where each call has its own.
    let tail = token.trim_start_matches("petasos");
    let start = format!(
        "mkdir {file} && echo 'echo $$ > \"$1/pid\"; sleep 30; : {token}' > {file}/go\n\
         detach {file}\n\
         w=0; while [ ! -s {file}/pid ] && [ $w -lt 50 ]; do w=$((w+1)); sleep 0.02 2>/dev/null || sleep 1; done"
    );
    let look = format!(
        "a=petasos b={tail}\n\
         p=$(cat \"/tmp/.$a$b/pid\" 2>/dev/null)\n\
         case \"$p:$(tr '\\0' ' ' 2>/dev/null < \"/proc/$p/cmdline\")\" in\n\
         ?*:*\"/tmp/.$a$b/go\"*) echo petasos-shared; kill \"$p\" ;;\n\
         *) echo petasos-apart ;;\n\
         esac\n\
         rm -rf \"/tmp/.$a$b\""
    );
    calls.run(format!("{DETACH}{}", whole(&start)), SHORT, Repeat::OnlyUnacted).await?;
    let said = calls.run(whole(&look), SHORT, Repeat::Harmless).await?;
    if said.text.contains("petasos-shared") {
        return Ok(false);
    }
    if said.text.contains("petasos-apart") {
        return Ok(true);
    }
    let head: String = said.text.chars().take(200).collect();
    let why = format!("the sandbox does not run `sh` as expected: code {}, `{head}`", said.code);
    Err(VendorError::Refused { why })
}

impl Relay {
    /// Opens the call and waits until it takes orders.
    pub(super) async fn open(calls: Arc<dyn Calls>, folder: &str) -> Result<Self, VendorError> {
        let place = quoted(folder);
        let script = whole(&format!(
            "umask 077; mkdir -p {place} && cd {place} && mkfifo relay && exec 3<>relay || return 1\n\
             : > ready\n\
             while read -r p <&3; do [ \"$p\" = end ] && break; detach \"$p\" 3<&-; done"
        ));
        let script = format!("{DETACH}{script}");
        let keeper = Arc::clone(&calls);
        let held = Owned::start(async move {
            let ended = keeper.run(script, LIFE, Repeat::OnlyUnacted).await;
            tracing::debug!(?ended, "the call that starts commands has ended");
        });
        let wait = whole(&format!(
            "w=0; while [ ! -e {place}/ready ] && [ $w -lt 500 ]; do w=$((w+1)); sleep 0.02 2>/dev/null || sleep 1; done\n\
             [ -e {place}/ready ] && echo petasos-ready"
        ));
        let said = calls.run(wait, SHORT, Repeat::Harmless).await?;
        if !said.text.contains("petasos-ready") {
            let why = "the sandbox keeps no call open that could start commands".to_owned();
            return Err(VendorError::Refused { why });
        }
        Ok(Self { fifo: format!("{folder}/relay"), held: Mutex::new(Some(held)) })
    }

    /// Where it takes orders.
    pub(super) fn fifo(&self) -> String {
        self.fifo.clone()
    }

    /// Whether the call is still open.
    pub(super) fn lives(&self) -> bool {
        self.held.lock().as_ref().is_some_and(|held| !held.is_finished())
    }

    /// Lets go of the call.
    pub(super) fn close(&self) {
        drop(self.held.lock().take());
    }
}
