//! Deletes, drains or replaces resources of a cluster.

use super::{Check, Rule};
use crate::flow::call::Call;
use crate::verdict::Severity;

/// Deletes, drains or replaces resources of a cluster.
pub(super) static RULE: Rule = Rule {
    key: "cluster resource deletion",
    aliases: &[],
    description: "deletes, drains or replaces resources of a cluster",
    severity: Severity::Ask,
    checks: &[Check::Call(
        &[
            "kubectl",
            "oc",
            "helm",
            "k3s",
            "kubeadm",
            "velero",
            "argocd",
            "flux",
            "kops",
            "istioctl",
            "kustomize",
            "rke",
            "talosctl",
            "docker",
            "etcdctl",
            "kubectl-ns",
            "helmfile",
            "skaffold",
            "tanzu",
            "k3s-uninstall.sh",
            "k3s-agent-uninstall.sh",
            "kubectl.exe",
            "k",
            "microk8s",
            "kubectx",
            "linkerd",
        ],
        check,
    )],
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
    if call.args.iter().any(|arg| {
        arg.text.starts_with("--dry-run")
            && !arg.text.ends_with("=none")
            && !arg.text.ends_with("=false")
    }) {
        return false;
    }
    let mut verbs = Vec::new();
    let mut words = call.args.iter().map(|arg| arg.text.as_str());
    while let Some(word) = words.next() {
        if matches!(
            word,
            "-n" | "--namespace"
                | "--context"
                | "--kubeconfig"
                | "--cluster"
                | "-s"
                | "--server"
                | "--as"
                | "--user"
                | "--token"
                | "--kube-context"
        ) {
            words.next();
        } else if !word.starts_with('-') {
            verbs.push(word);
        }
    }
    let first = verbs.first().copied().unwrap_or_default();
    let second = verbs.get(1).copied().unwrap_or_default();
    match call.program {
        "helm" => matches!(first, "uninstall" | "delete" | "del" | "un" | "rollback"),
        "kubeadm" | "rke" | "talosctl" => {
            matches!(first, "reset" | "remove" | "reboot" | "shutdown")
        }
        "k3s-uninstall.sh" | "k3s-agent-uninstall.sh" => true,
        "velero" | "argocd" | "flux" | "kops" | "linkerd" | "tanzu" | "skaffold" | "helmfile"
        | "istioctl" => {
            matches!(first, "delete" | "destroy" | "uninstall")
                || matches!(second, "delete" | "rollback")
        }
        "docker" | "etcdctl" | "kustomize" | "kubectx" | "kubectl-ns" => false,
        "microk8s" => matches!(first, "reset" | "stop"),
        _ => {
            matches!(first, "delete" | "drain" | "cordon" | "taint" | "evict")
                || first == "scale"
                    && call.args.iter().any(|arg| arg.text.ends_with("replicas=0"))
                        | call.values(&["--replicas"]).any(|count| count.is("0"))
                || first == "rollout" && matches!(second, "undo" | "restart")
                || first == "replace" && (call.flag_word("--force"))
                || first == "apply" && call.flag_word("--prune")
                || first == "config"
                    && (second.starts_with("delete-") || second == "set-credentials")
                || first == "patch" && call.args.iter().any(|arg| idles(&arg.text))
        }
    }
}
