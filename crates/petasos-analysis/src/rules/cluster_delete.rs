//! Deletes, drains or replaces resources of a cluster.

use crate::flow::call::Call;
use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "cluster resource deletion",
    aliases: &[],
    description: "deletes, drains or replaces resources of a cluster",
    severity: Severity::Ask,
    checks: &[Check::Signal(Signal::ClusterDelete), Check::Call("kubectl oc", check)],
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
};

/// A patch after which nothing runs.
fn idles(patch: &str) -> bool {
    let plain: String =
        patch.chars().filter(|letter| !letter.is_whitespace() && *letter != '"').collect();
    plain.contains("replicas:0") || plain.contains("suspend:true")
}

fn check(call: &Call<'_>) -> bool {
    let dry = call
        .args
        .iter()
        .any(|arg| arg.text.starts_with("--dry-run") && !arg.text.ends_with("none"));
    let first = call.operand(0);
    let idle = first == "patch" && call.args.iter().any(|arg| idles(&arg.text))
        || first == "scale" && call.args.iter().any(|arg| arg.text.ends_with("replicas=0"));
    idle && !dry
}
