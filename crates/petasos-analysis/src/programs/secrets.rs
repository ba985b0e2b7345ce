//! Tools that print a token or a secret of their own store.

use crate::program::{Program, program};
use crate::rule::Signal::{KeyExport, SecretRead};

pub(super) static PROGRAMS: &[Program] = &[
    program("gh", "", &[(SecretRead, "auth token")]),
    program("gcloud", "", &[(SecretRead, "auth print-*")]),
    program("az", "", &[(SecretRead, "account get-access-token")]),
    program(
        "aws",
        "--profile --region --output",
        &[(
            SecretRead,
            "configure get|export-credentials; secretsmanager get-secret*; ssm get-parameter*",
        )],
    ),
    program(
        "kubectl oc",
        "-n --namespace --context --kubeconfig",
        &[(SecretRead, "get secret* -o|--output|--template; get _ secret* -o|--output|--template")],
    ),
    program("vault", "", &[(SecretRead, "read; kv get")]),
    program("op", "", &[(SecretRead, "read|item")]),
    program(
        "pass gopass bw keyring",
        "",
        &[(SecretRead, "!ls|list|git|insert|generate|edit|find _")],
    ),
    program("security", "", &[(KeyExport, "find-* -w|-g; dump-keychain|export")]),
    program("secret-tool", "", &[(KeyExport, "lookup|search")]),
    program("doppler", "", &[(SecretRead, "secrets")]),
    program("git", "", &[(SecretRead, "credential fill")]),
    program("heroku", "", &[(SecretRead, "config*")]),
    program("gpg gpg2", "", &[(KeyExport, "--export-secret*")]),
    program("getent", "", &[(KeyExport, "shadow|gshadow")]),
];
