//! Clusters and what is deployed to them.

use crate::program::{Program, act, verbal};
use crate::rule::Signal::ClusterDelete;

const VALUES: &str = "-n --namespace --context --kubeconfig --cluster -s --server --as --user --token \
    --kube-context";

pub(super) static PROGRAMS: &[Program] = &[
    verbal(
        ClusterDelete,
        "kubectl oc k3s kubectl.exe k",
        VALUES,
        "delete|drain|cordon|taint|evict; scale --replicas=0; rollout undo|restart; \
         replace --force; apply --prune; config delete-*|set-credentials",
    ),
    verbal(ClusterDelete, "helm", VALUES, "uninstall|delete|del|un|rollback"),
    act(ClusterDelete, "kubeadm rke talosctl", "reset|remove|reboot|shutdown"),
    act(ClusterDelete, "k3s-uninstall.sh k3s-agent-uninstall.sh", ""),
    verbal(
        ClusterDelete,
        "velero argocd flux kops linkerd tanzu skaffold helmfile istioctl",
        VALUES,
        "delete|destroy|uninstall; _ delete|rollback",
    ),
    act(ClusterDelete, "microk8s", "reset|stop"),
    verbal(
        ClusterDelete,
        "kubectl oc",
        VALUES,
        "patch ~replicas\":0|replicas:0|suspend\":true|suspend:true; scale @*replicas=0",
    ),
];
