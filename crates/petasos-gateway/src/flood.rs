//! More messages than anybody means: people who write faster than they read, and two programs that
//! answer each other.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The span in which messages are counted.
const MINUTE: Duration = Duration::from_mins(1);
/// From here on messages of one person wait instead of interrupting.
const QUEUED_FROM: u32 = 30;
/// From here on they are refused.
const REFUSED_FROM: u32 = 120;
/// They are told so, not more often than this.
const TOLD: Duration = Duration::from_mins(10);
/// So many events of another program are answered in a minute; then it is not heard for one.
const BOTS: u32 = 20;
/// So many senders are counted at once.
const SENDERS_MAX: usize = 10_000;

/// What becomes of one more message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// What usually becomes of it.
    Usual,
    /// It waits.
    Queued,
    /// It is not taken; whether its sender should be told.
    Refused {
        /// Nobody was told lately.
        tell: bool,
    },
}

#[derive(Debug, Clone, Copy)]
struct Count {
    since: Instant,
    seen: u32,
    told: Option<Instant>,
    deaf_until: Option<Instant>,
}

/// How much each sender has written lately.
#[derive(Default)]
pub(crate) struct Floods(Mutex<HashMap<String, Count>>);

impl Floods {
    /// One more message of a person.
    pub(crate) fn person(&self, who: &str, now: Instant) -> Flow {
        self.counted(who, now, |count| match count.seen {
            0..=QUEUED_FROM => Flow::Usual,
            seen if seen <= REFUSED_FROM => Flow::Queued,
            _ => Flow::Refused { tell: count.tells(now) },
        })
    }

    /// One more message of another program in a chat.
    pub(crate) fn bot(&self, who: &str, now: Instant) -> Flow {
        self.counted(who, now, |count| {
            if count.deaf_until.is_some_and(|until| now < until) {
                return Flow::Refused { tell: false };
            }
            if count.seen <= BOTS {
                return Flow::Usual;
            }
            count.deaf_until = Some(now + MINUTE);
            Flow::Refused { tell: count.tells(now) }
        })
    }

    fn counted(&self, who: &str, now: Instant, decide: impl FnOnce(&mut Count) -> Flow) -> Flow {
        let mut counts = self.0.lock();
        if counts.len() > SENDERS_MAX {
            counts.retain(|_, count| now.duration_since(count.since) < TOLD);
        }
        let fresh = Count { since: now, seen: 0, told: None, deaf_until: None };
        let count = counts.entry(who.to_owned()).or_insert(fresh);
        if now.duration_since(count.since) >= MINUTE {
            (count.since, count.seen) = (now, 0);
        }
        count.seen += 1;
        decide(count)
    }
}

impl Count {
    fn tells(&mut self, now: Instant) -> bool {
        let due = self.told.is_none_or(|told| now.duration_since(told) >= TOLD);
        if due {
            self.told = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t23_a_flood_waits_and_then_is_refused_with_one_word() {
        let (floods, now) = (Floods::default(), Instant::now());
        let flows: Vec<Flow> = (0..130).map(|_| floods.person("una", now)).collect();
        assert!(flows[..30].iter().all(|flow| *flow == Flow::Usual));
        assert!(flows[30..120].iter().all(|flow| *flow == Flow::Queued));
        assert_eq!(flows[120], Flow::Refused { tell: true });
        assert!(flows[121..].iter().all(|flow| *flow == Flow::Refused { tell: false }));
        assert_eq!(floods.person("ben", now), Flow::Usual, "others are not disturbed");
        assert_eq!(floods.person("una", now + MINUTE), Flow::Usual, "a minute later");
    }

    #[test]
    fn s41_two_programs_stop_after_twenty_events() {
        let (floods, now) = (Floods::default(), Instant::now());
        assert!((0..20).all(|_| floods.bot("b", now) == Flow::Usual));
        assert_eq!(floods.bot("b", now), Flow::Refused { tell: true });
        let soon = now + Duration::from_secs(59);
        assert_eq!(floods.bot("b", soon), Flow::Refused { tell: false }, "not heard for a minute");
        assert_eq!(floods.bot("b", now + Duration::from_secs(121)), Flow::Usual);
    }
}
