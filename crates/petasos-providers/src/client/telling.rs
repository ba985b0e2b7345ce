//! What a person hears while a question is on its way.

use petasos_contract::event::Event;
use petasos_contract::model::Step;

use super::walk::Walk;
use crate::failure::Failure;
use crate::fallback::Wanted;
use crate::runtime::ProviderRuntime;
use crate::transport::target::Repair;

impl Walk<'_> {
    pub(super) fn tell_switch(&mut self, wanted: &Wanted, runtime: &ProviderRuntime) {
        let model = wanted.model.clone().or_else(|| runtime.model.clone()).unwrap_or_default();
        let provider = runtime.provider.clone();
        let why = self.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let name = runtime.name();
        let text = format!("switched to `{model}` at `{name}` for this turn{why}");
        self.cx.events.emit(|| Event::Notice { text });
        self.path.push(Step::FellBack { provider, model });
    }

    pub(super) fn tell_wait(&self, failure: &Failure, provider: &str, wait_ms: u64) {
        let why = failure.what();
        let text = format!("`{provider}` {why}; asking again in {} s", wait_ms.div_ceil(1000));
        self.cx.events.emit(|| Event::Notice { text });
    }

    pub(super) fn tell_rotation(&self, failure: &Failure, provider: &str) {
        let why = failure.what();
        let text = format!("`{provider}` {why}; trying its next credential");
        self.cx.events.emit(|| Event::Notice { text });
    }

    pub(super) fn tell_repair(&self, repair: &Repair, provider: &str) {
        let what = repair.name();
        let text = format!("`{provider}` refused a part of the request, which is changed: {what}");
        self.client.tell_once(format!("repair {provider} {what}"), &text, self.cx);
    }
}
