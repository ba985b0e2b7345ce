//! Money: what a call may cost, and what a conversation has spent so far.
//!
//! Small sums pass and are counted. A sum above the limit of a call, or one that goes beyond what a
//! conversation may spend, is asked about each time; where nobody can be asked, the lower limit of
//! unattended runs holds and everything above it is refused.

use petasos_contract::CallContext;
use petasos_contract::approval::{Finding, FindingKind, Intent, Scope};
use petasos_contract::effect::{Effect, Effects};

use super::decision::{Class, Observed};
use crate::settings::Spending;

/// What spending money is called.
pub(super) const MONEY: &str = "spending money";

/// The most that a call may cost, in cents.
pub(super) fn cents(effects: &Effects) -> u32 {
    let of = |effect: &Effect| match effect {
        Effect::Spend { cents } => *cents,
        _ => 0,
    };
    effects.iter().map(of).fold(0, u32::saturating_add)
}

/// What somebody must agree to because of its price.
pub(super) fn gates(
    intent: &Intent<'_>,
    spent: u32,
    limits: &Spending,
    cx: &CallContext,
) -> Option<Observed> {
    let cents = cents(&intent.plan.effects);
    if cents == 0 {
        return None;
    }
    let whole = spent.saturating_add(cents);
    let why = if cx.attended {
        if cents > limits.ask_above {
            format!(
                "may cost {}; more than {} a call is asked about",
                told(cents),
                told(limits.ask_above)
            )
        } else if whole > limits.session_max {
            format!(
                "may cost {}, and this conversation has spent up to {} of {}",
                told(cents),
                told(spent),
                told(limits.session_max)
            )
        } else {
            return None;
        }
    } else if whole > limits.unattended_max {
        format!(
            "may cost {}, and a run that nobody watches may spend {} in all",
            told(cents),
            told(limits.unattended_max)
        )
    } else {
        return None;
    };
    let finding = Finding {
        key: MONEY.into(),
        why,
        kind: FindingKind::Rule,
        span: None,
        widest: Scope::Once,
        stores: None,
    };
    Some(Observed::new(finding, Class::Guarded))
}

fn told(cents: u32) -> String {
    format!("{}.{:02} USD", cents / 100, cents % 100)
}
