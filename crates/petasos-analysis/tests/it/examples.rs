//! The examples in the rules are true.

use petasos_analysis::{Facts, RULES, Severity, analyse};
use std::collections::HashSet;

#[test]
fn every_rule_speaks_about_its_examples_and_not_about_the_others() {
    let facts = Facts::default();
    let mut wrong = Vec::new();
    for rule in RULES {
        for example in rule.matches() {
            if !analyse(example, &facts).findings.iter().any(|finding| finding.rule == rule.key) {
                wrong.push(format!("`{}` should match `{example}`", rule.key));
            }
        }
        for example in rule.passes() {
            if analyse(example, &facts).findings.iter().any(|finding| finding.rule == rule.key) {
                wrong.push(format!("`{}` should not match `{example}`", rule.key));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_rule_has_a_key_of_its_own_and_enough_examples() {
    let mut keys = HashSet::new();
    for rule in RULES {
        assert!(keys.insert(rule.key), "`{}` is used twice", rule.key);
        assert!(rule.passes().next().is_some(), "`{}` has no counter-example", rule.key);
        // The limit needs inputs too large to write down; its own test has them.
        assert!(
            rule.matches().count() >= 3 || rule.key == "analysis limit",
            "`{}` has too few examples",
            rule.key
        );
        assert!(!rule.description.ends_with('.'));
    }
    assert!(RULES.iter().any(|rule| rule.severity == Severity::Block));
}
