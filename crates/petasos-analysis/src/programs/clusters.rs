//! Clusters and what is deployed to them.

use crate::program::{Program, program};
use crate::rule::Signal::ClusterDelete;

const VALUES: &str = "-n --namespace --context --kubeconfig --cluster -s --server --as --user --token \
    --kube-context";

pub(super) static PROGRAMS: &[Program] = &[
    program(
        "kubectl oc k3s kubectl.exe k",
        VALUES,
        &[(
            ClusterDelete,
            "delete|drain|cordon|taint|evict; scale --replicas=0; rollout undo|restart; replace --force; \
             apply --prune; config delete-*|set-credentials",
        )],
    ),
    program("helm", VALUES, &[(ClusterDelete, "uninstall|delete|del|un|rollback")]),
    program("kubeadm rke talosctl", "", &[(ClusterDelete, "reset|remove|reboot|shutdown")]),
    program("k3s-uninstall.sh k3s-agent-uninstall.sh", "", &[(ClusterDelete, "")]),
    program(
        "velero argocd flux kops linkerd tanzu skaffold helmfile istioctl",
        VALUES,
        &[(ClusterDelete, "delete|destroy|uninstall; _ delete|rollback")],
    ),
    program("microk8s", "", &[(ClusterDelete, "reset|stop")]),
];
