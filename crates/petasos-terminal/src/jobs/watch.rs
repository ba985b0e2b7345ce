//! Which matches are told: one in a while for each job, and not too many in all.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// One match is told in so long.
const WINDOW: Duration = Duration::from_secs(15);
/// After so many windows in a row with more than one match, watching ends.
const STRIKES_MAX: u32 = 3;
/// So many lines and characters of a match are told.
const LINES_MAX: usize = 20;
const CHARS_MAX: usize = 2000;
/// More than so many in so long, over all jobs of a session, pauses them all for so long.
const BURST_MAX: usize = 15;
const BURST_WINDOW: Duration = Duration::from_secs(10);
/// The pause.
pub(super) const PAUSE: Duration = Duration::from_secs(30);

/// What is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// A match.
    Match { pattern: String, output: String, suppressed: u64 },
    /// The end of watching.
    Disabled,
}

/// The matches of one job.
#[derive(Debug)]
pub(super) struct Watch {
    patterns: Vec<String>,
    told_at: Option<Instant>,
    dropped: bool,
    strikes: u32,
    suppressed: u64,
    off: bool,
    hit: Option<String>,
}

impl Watch {
    pub(super) fn new(patterns: Vec<String>) -> Self {
        Self {
            patterns,
            told_at: None,
            dropped: false,
            strikes: 0,
            suppressed: 0,
            off: false,
            hit: None,
        }
    }

    /// The pattern that was told last.
    pub(super) fn hit(&self) -> Option<&str> {
        self.hit.as_deref()
    }

    pub(super) fn is_on(&self) -> bool {
        !self.off && !self.patterns.is_empty()
    }

    /// Looks at whole lines.
    pub(super) fn look(&mut self, text: &str, now: Instant) -> Option<Told> {
        if !self.is_on() {
            return None;
        }
        let matches = |line: &&str| self.patterns.iter().any(|pattern| line.contains(pattern));
        let lines: Vec<&str> = text.lines().filter(matches).collect();
        let first = lines.first()?;
        let pattern = self.patterns.iter().find(|pattern| first.contains(pattern.as_str()));
        let pattern = pattern.cloned().unwrap_or_default();
        if self.told_at.is_some_and(|told| now.duration_since(told) < WINDOW) {
            return self.suppress(lines.len() as u64);
        }
        if !self.dropped {
            self.strikes = 0;
        }
        self.told_at = Some(now);
        self.hit = Some(pattern.clone());
        self.dropped = false;
        let output: String = lines.iter().take(LINES_MAX).flat_map(|line| [*line, "\n"]).collect();
        let output: String = output.chars().take(CHARS_MAX).collect();
        let unsaid = lines.len().saturating_sub(LINES_MAX) as u64;
        Some(Told::Match {
            pattern,
            output,
            suppressed: std::mem::take(&mut self.suppressed) + unsaid,
        })
    }

    /// The first match too many in a window is a strike.
    fn suppress(&mut self, count: u64) -> Option<Told> {
        self.suppressed += count;
        if std::mem::replace(&mut self.dropped, true) {
            return None;
        }
        self.strikes += 1;
        self.off = self.strikes >= STRIKES_MAX;
        self.off.then_some(Told::Disabled)
    }
}

/// What the gate says to one more match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Passage {
    /// Tell it; first tell how many were not told in the pause that is over.
    Open { released: Option<u64> },
    /// Do not, and tell that the pause begins.
    Tripped,
    /// Do not.
    Closed,
}

/// The matches of all jobs of a session.
#[derive(Debug, Default)]
pub(super) struct Gate {
    recent: VecDeque<Instant>,
    closed_until: Option<Instant>,
    suppressed: u64,
}

impl Gate {
    /// Whether it remembers nothing that matters now.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        let recent = |at: &Instant| now.duration_since(*at) < BURST_WINDOW;
        self.closed_until.is_none() && !self.recent.back().is_some_and(recent)
    }

    pub(super) fn pass(&mut self, now: Instant) -> Passage {
        let mut released = None;
        if let Some(until) = self.closed_until {
            if now < until {
                self.suppressed += 1;
                return Passage::Closed;
            }
            self.closed_until = None;
            self.recent.clear();
            released = Some(std::mem::take(&mut self.suppressed));
        }
        while self.recent.front().is_some_and(|at| now.duration_since(*at) >= BURST_WINDOW) {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        if self.recent.len() > BURST_MAX {
            self.closed_until = Some(now + PAUSE);
            self.suppressed = 1;
            return Passage::Tripped;
        }
        Passage::Open { released }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(watch: &mut Watch, at: Instant) -> Option<&'static str> {
        watch.look("an error here\n", at).map(|told| match told {
            Told::Match { .. } => "match",
            Told::Disabled => "disabled",
        })
    }

    #[test]
    fn a_job_is_told_of_once_in_a_window_and_given_up_after_three_bad_ones() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut watch = Watch::new(vec!["error".to_owned()]);
        let expected = [
            (0, Some("match")),
            (1, None),
            (2, None),
            (15, Some("match")),
            (16, None),
            (30, Some("match")),
            (31, Some("disabled")),
            (60, None),
        ];
        for (second, expected) in expected {
            assert_eq!(told(&mut watch, at(second)), expected, "second {second}");
        }
    }

    #[test]
    fn a_quiet_window_forgives() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut watch = Watch::new(vec!["error".to_owned()]);
        for second in [0, 1, 15, 16, 30, 45, 46, 60, 61] {
            assert_ne!(told(&mut watch, at(second)), Some("disabled"), "second {second}");
        }
        let Some(Told::Match { suppressed, .. }) = watch.look("error\n", at(75)) else { panic!() };
        assert_eq!(suppressed, 1);
    }

    #[test]
    fn too_many_matches_in_all_pause_everybody_once() {
        let start = Instant::now();
        let mut gate = Gate::default();
        for _ in 0..BURST_MAX {
            assert_eq!(gate.pass(start), Passage::Open { released: None });
        }
        assert_eq!(gate.pass(start), Passage::Tripped);
        assert_eq!(gate.pass(start + Duration::from_secs(29)), Passage::Closed);
        let after = start + PAUSE;
        assert_eq!(gate.pass(after), Passage::Open { released: Some(2) });
        assert_eq!(gate.pass(after), Passage::Open { released: None });
    }
}
