//! Deletes, drains or replaces resources of a cluster.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "cluster resource deletion",
    description: "deletes, drains or replaces resources of a cluster",
    checks: &[Check::Signal(Signal::ClusterDelete)],
    examples: include_str!("cluster_delete.txt"),
    ..Rule::ASK
};
