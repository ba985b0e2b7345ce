//! Names that answers are remembered under: a rule keeps its older ones.

use petasos_analysis::RULES;

/// Whether two names are of one category, whichever of its names they are.
pub(crate) fn same_key(one: &str, other: &str) -> bool {
    one == other || current(one) == current(other)
}

fn current(key: &str) -> &str {
    let renamed = RULES.iter().find(|rule| rule.aliases.contains(&key));
    renamed.map_or(key, |rule| rule.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_names_are_one_key() {
        for rule in RULES {
            for alias in rule.aliases {
                assert!(same_key(alias, rule.key));
            }
        }
        assert!(!same_key("recursive delete", "bulk delete"));
    }
}
