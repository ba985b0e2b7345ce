//! Clouds, platforms and the tools that describe them. What these have in common, verbs such as
//! `delete-table`, is read in the rule itself.

use crate::program::{Program, program};
use crate::rule::Signal::CloudDelete;

pub(super) static PROGRAMS: &[Program] = &[
    program(
        "terraform tofu terragrunt terraform.exe cdktf",
        "",
        &[(
            CloudDelete,
            "!plan|fmt ..destroy|destroy-all; apply -destroy|--destroy; state rm|push|replace-provider; \
             workspace delete; force-unlock; taint",
        )],
    ),
    program("pulumi cdk azd", "", &[(CloudDelete, "destroy|down; stack rm; state delete")]),
    program(
        "gh glab",
        "",
        &[(
            CloudDelete,
            "!alias _ delete|delete-asset; repo archive; api -X|--method=delete; --delete-branch; \
             repo sync --force; repo edit ~visibility",
        )],
    ),
    program("rclone", "", &[(CloudDelete, "delete|purge|sync|rmdirs|deletefile|cleanup")]),
    program("gsutil", "", &[(CloudDelete, "..rm|rb; rsync -d")]),
    program("nomad", "", &[(CloudDelete, "stop; job|alloc|node ..stop|purge")]),
    program("vault", "", &[(CloudDelete, "..delete|destroy|disable|revoke|seal")]),
];
