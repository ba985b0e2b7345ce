//! Clouds, platforms and the tools that describe them. What these have in common, verbs such as
//! `delete-table`, is read in the rule itself.

use crate::program::{Program, act};
use crate::rule::Signal::CloudDelete;

pub(super) static PROGRAMS: &[Program] = &[
    act(CloudDelete, "swift orb", "delete"),
    act(CloudDelete, "salt-key", "-D|-d|--delete*"),
    act(
        CloudDelete,
        "terraform tofu terragrunt terraform.exe cdktf",
        "!plan|fmt ..destroy|destroy-all; apply -destroy|--destroy; \
         state rm|push|replace-provider; workspace delete; force-unlock; taint",
    ),
    act(CloudDelete, "pulumi cdk azd", "destroy|down; stack rm; state delete"),
    act(
        CloudDelete,
        "gh glab",
        "!alias _ delete|delete-asset; repo archive; api -X|--method=delete; --delete-branch; \
         repo sync --force; repo edit ~visibility",
    ),
    act(CloudDelete, "rclone", "delete|purge|sync|rmdirs|deletefile|cleanup"),
    act(CloudDelete, "gsutil", "..rm|rb; rsync -d"),
    act(CloudDelete, "nomad", "stop; job|alloc|node ..stop|purge"),
    act(CloudDelete, "vault", "..delete|destroy|disable|revoke|seal"),
];
