//! How many requests a turn may make.

use petasos_contract::Settings;
use serde_json::Value;

/// For the main agent.
const MAIN: u32 = 90;
/// For an agent that works for another one.
const SUBAGENT: u32 = 50;

/// Counts requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    left: u32,
    refunds: u32,
}

impl Budget {
    /// So many; as many again may be given back, so that what gives back ends as well.
    pub fn of(requests: u32) -> Self {
        Self { left: requests, refunds: requests }
    }

    /// So many and not one more: somebody asked for this number.
    pub fn hard(requests: u32) -> Self {
        Self { left: requests, refunds: 0 }
    }

    /// As configured for the main agent.
    pub fn main(settings: &Settings) -> Self {
        Self::of(number(settings, "agent.max_turns").unwrap_or(MAIN))
    }

    /// As configured for a subagent; what a model asks for does not count.
    pub fn subagent(settings: &Settings) -> Self {
        Self::of(number(settings, "delegation.max_iterations").unwrap_or(SUBAGENT))
    }

    /// Takes one; `false` when none is left.
    pub fn spend(&mut self) -> bool {
        let some = self.left > 0;
        self.left = self.left.saturating_sub(1);
        some
    }

    /// Gives one back, as long as there are some to give: a round that only ran code is free.
    pub fn refund(&mut self) {
        if self.refunds > 0 {
            self.refunds -= 1;
            self.left = self.left.saturating_add(1);
        }
    }
}

/// A positive whole number from the settings.
pub(crate) fn number(settings: &Settings, key: &str) -> Option<u32> {
    let value = settings.get(key).and_then(Value::as_u64).filter(|value| *value > 0)?;
    u32::try_from(value).ok()
}
