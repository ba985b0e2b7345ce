//! Money: what a call may cost, and what a conversation has spent so far.
//!
//! Small sums pass and are counted. A sum above the limit of a call, or one that goes beyond what a
//! conversation may spend, is asked about each time; where nobody can be asked, the lower limit of
//! unattended runs holds and everything above it is refused.

use petasos_contract::CallContext;
use petasos_contract::approval::{Intent, Scope};
use petasos_contract::effect::{Effect, Effects};

use super::decision::{Class, Observed};
use super::layers::finding;
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
    let (whole, cost) = (spent.saturating_add(cents), told(cents));
    let why = if cx.attended && cents > limits.ask_above {
        format!("may cost {cost}; more than {} a call is asked about", told(limits.ask_above))
    } else if cx.attended && whole > limits.session_max {
        let (spent, most) = (told(spent), told(limits.session_max));
        format!("may cost {cost}, and this conversation has spent up to {spent} of {most}")
    } else if !cx.attended && whole > limits.unattended_max {
        let most = told(limits.unattended_max);
        format!("may cost {cost}, and a run that nobody watches may spend {most} in all")
    } else {
        return None;
    };
    Some(Observed::new(finding(MONEY, why, Scope::Once), Class::Guarded))
}

fn told(cents: u32) -> String {
    format!("{}.{:02} USD", cents / 100, cents % 100)
}
