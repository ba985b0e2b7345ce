//! The first call of a scheduled run is noted before it begins: a run that had called nothing when
//! its process ended may begin again, any other may not.

use std::sync::Arc;

use petasos_contract::BoxFuture;
use petasos_contract::context::Surface;
use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment, OnFailure};
use petasos_store::ScheduleStore as _;

use super::Places;
use crate::post::HomeStore;

/// Stands before every call of a scheduled run.
pub(crate) struct FirstCall {
    pub(super) places: Arc<Places>,
    pub(super) store: Arc<HomeStore>,
}

impl Hook for FirstCall {
    fn name(&self) -> &'static str {
        "first-call"
    }

    fn wants(&self) -> HookSet {
        HookSet::EMPTY.with(HookKind::PreToolCall)
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Block
    }

    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        Box::pin(async move {
            let Moment::PreToolCall(call) = moment else { return Ok(Directive::Pass) };
            let session = &call.cx.session;
            let Some(run) =
                self.places.untouched(session).filter(|_| call.cx.surface == Surface::Cron)
            else {
                return Ok(Directive::Pass);
            };
            let failed = |error: petasos_store::StoreError| HookError(error.to_string());
            if self.store.open().map_err(failed)?.called(&run).await.map_err(failed)? {
                self.places.note_call(session);
                return Ok(Directive::Pass);
            }
            // It was silent for so long that another process may have begun it again.
            let why = "this run was given up, and may have begun again elsewhere: end it";
            Ok(Directive::Block(why.to_owned()))
        })
    }
}
