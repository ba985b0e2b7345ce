//! Deletes, drains or replaces resources of a cluster.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "cluster resource deletion",
    description: "deletes, drains or replaces resources of a cluster",
    checks: &[Check::Signal(Signal::ClusterDelete)],
    matches: &[
        "kubectl delete namespace staging",
        "kubectl delete -f deploy.yaml",
        "helm uninstall api",
        "kubectl drain node-1",
        "kubectl scale deploy/api --replicas=0",
        "helm rollback api 1",
        "kubeadm reset -f",
        "kubectl replace --force -f x.yaml",
        "argocd app delete x",
    ],
    passes: &[
        "kubectl get pods",
        "kubectl delete pod x --dry-run=client",
        "helm list -A",
        "kubectl logs -f x",
        r#"kubectl annotate pod web note="do not kubectl delete""#,
        "helm uninstall api --dry-run",
        "kubectl apply -f x.yaml",
    ],
    ..Rule::ASK
};
