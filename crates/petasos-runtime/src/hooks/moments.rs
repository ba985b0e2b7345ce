//! The moments outside of the door: what each lets a hook change, and nothing else.

use petasos_contract::BoxFuture;
use petasos_contract::hook::{Directive, HookKind, Moment, Moments};
use tracing::warn;

use super::HookBus;

impl HookBus {
    /// Shows a moment in which nobody can change anything.
    pub async fn observe(&self, moment: &Moment<'_>) {
        for (hook, directive) in self.fire(moment).await {
            let moment = moment.kind().as_str();
            warn!(hook, moment, ?directive, "nothing can be changed at this moment, ignored");
        }
    }

    /// The first replacement that is not empty.
    pub async fn replacement(&self, moment: &Moment<'_>) -> Option<String> {
        for (hook, directive) in self.fire(moment).await {
            match directive {
                Ok(Directive::Replace(text)) if !text.is_empty() => return Some(text),
                other => warn!(hook, ?other, "directive does not fit this moment, ignored"),
            }
        }
        None
    }

    /// Everything that hooks want to add, in order.
    pub async fn additions(&self, moment: &Moment<'_>) -> Vec<String> {
        let mut texts = Vec::new();
        for (hook, directive) in self.fire(moment).await {
            match directive {
                Ok(Directive::Append(text)) if !text.trim().is_empty() => texts.push(text),
                other => warn!(hook, ?other, "directive does not fit this moment, ignored"),
            }
        }
        texts
    }

    /// The first reason not to end yet.
    pub async fn objection(&self, moment: &Moment<'_>) -> Option<String> {
        for (hook, directive) in self.fire(moment).await {
            match directive {
                Ok(Directive::Block(text)) if !text.trim().is_empty() => return Some(text),
                Err(refusal) => return Some(refusal.message),
                Ok(other) => warn!(hook, ?other, "directive does not fit this moment, ignored"),
            }
        }
        None
    }
}

impl Moments for HookBus {
    fn wants(&self, kind: HookKind) -> bool {
        Self::wants(self, kind)
    }

    fn tell<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, ()> {
        Box::pin(self.observe(moment))
    }

    fn replace<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Option<String>> {
        Box::pin(self.replacement(moment))
    }
}
