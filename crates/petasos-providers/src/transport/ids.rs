//! Call identities in the narrow alphabet that some dialects insist on.

use std::collections::BTreeMap;

/// Identities that the dialect accepts; two different ones never become the same.
#[derive(Debug, Default)]
pub struct Ids(BTreeMap<String, String>);

impl Ids {
    /// The accepted spelling of an identity; the same one gives the same spelling.
    pub fn of(&mut self, id: &str) -> String {
        if let Some(known) = self.0.get(id) {
            return known.clone();
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let safe = id.chars().take(48).map(|c| if plain(c) { c } else { '_' });
        let mut safe: String = safe.collect();
        if safe.is_empty() {
            safe.push_str("tool_0");
        }
        let mut candidate = safe.clone();
        let mut count = 1;
        while self.0.values().any(|taken| *taken == candidate) {
            count += 1;
            candidate = format!("{safe}_{count}");
        }
        self.0.insert(id.to_owned(), candidate.clone());
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_identities_stay_different() {
        let mut ids = Ids::default();
        assert_eq!(ids.of("call.1"), "call_1");
        assert_eq!(ids.of("call_1"), "call_1_2");
        assert_eq!(ids.of("call.1"), "call_1");
        assert_eq!(ids.of(""), "tool_0");
    }
}
