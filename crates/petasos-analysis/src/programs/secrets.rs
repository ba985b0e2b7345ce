//! Tools that print a token or a secret of their own store.

use crate::program::{Program, act, verbal};
use crate::rule::Signal::{KeyExport, SecretRead};

pub(super) static PROGRAMS: &[Program] = &[
    act(SecretRead, "gh", "auth token"),
    act(SecretRead, "gcloud", "auth print-*"),
    act(SecretRead, "az", "account get-access-token"),
    verbal(
        SecretRead,
        "aws",
        "--profile --region --output",
        "configure get|export-credentials; secretsmanager get-secret*; ssm get-parameter*",
    ),
    verbal(
        SecretRead,
        "kubectl oc",
        "-n --namespace --context --kubeconfig",
        "get secret* -o|--output|--template; get _ secret* -o|--output|--template",
    ),
    act(SecretRead, "vault", "read; kv get"),
    act(SecretRead, "op", "read|item"),
    act(SecretRead, "pass gopass bw keyring", "!ls|list|git|insert|generate|edit|find _"),
    act(KeyExport, "security", "find-* -w|-g; dump-keychain|export"),
    act(KeyExport, "secret-tool", "lookup|search"),
    act(SecretRead, "doppler", "secrets"),
    act(SecretRead, "git", "credential fill"),
    act(SecretRead, "npm pnpm yarn", "config get *_auth*|*_password*"),
    act(SecretRead, "heroku", "config*"),
    act(SecretRead, "keyctl", "print|read|pipe"),
    act(SecretRead, "kubectl oc", "config view @--raw|--flatten"),
    act(KeyExport, "gpg gpg2", "--export-secret*"),
    act(KeyExport, "getent", "shadow|gshadow"),
    act(SecretRead, "lpass", "show|export"),
    act(SecretRead, "kwallet-query", "-r"),
    act(SecretRead, "gcloud", "secrets versions access"),
    act(SecretRead, "az", "keyvault secret show|download; ..keys ..list; ..get-credentials"),
    act(SecretRead, "aws", "ecr get-login-password; sts get-session-token|assume-role"),
    act(SecretRead, "gh glab", "auth status @-t|--show-token"),
    act(SecretRead, "npm", "token create"),
];
