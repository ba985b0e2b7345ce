//! What the policy must know about the keys of built-in rules: older names, and families.

use petasos_analysis::RULES;

const SELF_HARM: &str = "agent self-harm";
const SECRET_READ: &str = "read of a secret";
const SUDO: &str = "sudo with stdin or askpass";

/// Whether two names are of one category, whichever of its names they are.
pub(crate) fn same_key(one: &str, other: &str) -> bool {
    one == other || current(one) == current(other)
}

fn current(key: &str) -> &str {
    let renamed = RULES.iter().find(|rule| rule.aliases.contains(&key));
    renamed.map_or(key, |rule| rule.key)
}

/// Whether the command would stop or restart the agent's own gateway.
pub(crate) fn stops_gateway(key: &str) -> bool {
    key == SELF_HARM
}

/// Whether the command hands sudo a password, which is a guess where none was configured.
pub(crate) fn feeds_sudo(key: &str, leaf: &str) -> bool {
    let is_stdin = |word: &str| match word.strip_prefix("--") {
        Some(long) => long.len() > 2 && "stdin".starts_with(long),
        None => word.strip_prefix('-').is_some_and(|flags| flags.contains('S')),
    };
    key == SUDO && leaf.split_whitespace().any(is_stdin)
}

/// Whether the rule is about reading keys, tokens and passwords.
pub(crate) fn reads_secret(key: &str) -> bool {
    key == SECRET_READ
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_families_name_rules_that_exist() {
        for key in [SELF_HARM, SECRET_READ, SUDO] {
            assert!(RULES.iter().any(|rule| rule.key == key), "{key}");
        }
    }

    #[test]
    fn old_and_new_names_are_one_key() {
        for rule in RULES {
            for alias in rule.aliases {
                assert!(same_key(alias, rule.key));
            }
        }
        assert!(!same_key("recursive delete", "bulk delete"));
    }

    #[test]
    fn only_the_form_that_reads_a_password_is_a_guess() {
        for leaf in ["sudo -S id", "sudo -nS id", "sudo --stdin id"] {
            assert!(feeds_sudo(SUDO, leaf), "{leaf}");
        }
        for leaf in ["sudo -s", "sudo -A id", "sudo --shell"] {
            assert!(!feeds_sudo(SUDO, leaf), "{leaf}");
        }
    }
}
