//! Remembering an answer and recording the decision, before the call runs.

use petasos_contract::CallContext;
use petasos_contract::approval::{Answer, Intent, Scope, Settlement, Verdict};
use petasos_contract::effect::Effect;
use petasos_store::owner_of;

use super::decision::Decision;
use super::{Engine, known, spending};
use crate::grants::{self, GrantError};
use crate::log::{self, DecisionLogError};

/// Why a settlement could not be recorded.
#[derive(Debug, thiserror::Error)]
pub(super) enum SettleError {
    #[error("the approval could not be remembered, so the call did not run: {0}")]
    Remember(#[from] GrantError),
    #[error("the decision could not be recorded, so the call did not run: {0}")]
    Record(#[from] DecisionLogError),
}

impl Engine {
    pub(super) async fn settled(
        &self,
        settled: &Settlement<'_>,
        cx: &CallContext,
    ) -> Result<(), SettleError> {
        // Before anything is remembered: the log tells what was seen when it was judged.
        let decision = self.judged(settled.intent, cx);
        if let (Verdict::Ask(_), Some(Answer::Allowed { scope, .. })) =
            (settled.verdict, settled.answer)
        {
            self.remember(&decision, *scope, cx).await?;
        }
        let runs = matches!(
            (settled.verdict, settled.answer),
            (Verdict::Allow, _) | (Verdict::Ask(_), Some(Answer::Allowed { .. }))
        );
        let effects = &settled.intent.plan.effects;
        if runs {
            self.memory.wrote(&cx.session, &decision.written);
            self.memory.spend(&cx.session, spending::cents(effects));
        }
        let is_run =
            |effect: &Effect| matches!(effect, Effect::Command { .. } | Effect::Code { .. });
        let plain = *settled.verdict == Verdict::Allow && decision.observed.is_empty();
        if plain && !effects.iter().any(is_run) || cx.settings.home().as_os_str().is_empty() {
            return Ok(());
        }
        let records = self.records.of(cx.settings.home());
        records.decisions.append(log::entry(settled, &decision, cx)).await?;
        Ok(())
    }

    /// What was seen when this call was judged.
    fn judged(&self, intent: &Intent<'_>, cx: &CallContext) -> Decision {
        let last = self.judged.lock().take();
        match last {
            Some((judged, decision)) if judged == known(intent, cx) => decision,
            _ => self.decide(intent, cx),
        }
    }

    /// What each finding said that it stores, as far as was agreed and no further than it allows.
    async fn remember(
        &self,
        decision: &Decision,
        scope: Scope,
        cx: &CallContext,
    ) -> Result<(), GrantError> {
        let records = self.records.of(cx.settings.home());
        for it in decision.observed.iter().filter(|it| it.waived.is_none()) {
            let (home, key) = (cx.settings.home(), &it.finding.key);
            let scope = scope.min(it.finding.widest);
            let offers = grants::offers(key, &it.spots, &cx.workspace);
            match (scope, offers) {
                (Scope::Once, _) => {}
                (Scope::Session, Some(offers)) => self.memory.grant(&cx.session, offers)?,
                (Scope::Always, Some(offers)) => {
                    for offer in offers {
                        records.grants.grant(offer, owner_of(cx)).await?;
                    }
                }
                (Scope::Session, None) => self.memory.remember_session(&cx.session, key),
                (Scope::Always, None) => {
                    grants::keep(home, key)?;
                    self.memory.remember_session(&cx.session, key);
                    self.memory.remember_always(home, key);
                }
            }
        }
        Ok(())
    }
}
