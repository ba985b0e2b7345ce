//! Which files hold keys, tokens and passwords.

use super::matches_glob;
use super::target::{Target, agent_target, below_home};
use crate::facts::Facts;
use crate::words::{begins, ends, holds, lists};

/// Whether the content of `path` (resolved) is a key, a token or a password.
pub(crate) fn is_secret(path: &str, facts: &Facts) -> bool {
    // Most names are plain, and few secrets are.
    if super::is_plain(path) && !path.starts_with("id") {
        return false;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.ends_with(".pub") || matches!(name, "known_hosts" | "config.pub") {
        return false;
    }
    if lists(
        "/etc/shadow /etc/gshadow /etc/shadow- /etc/gshadow- /etc/master.passwd \
                /etc/sudoers.d /etc/security/opasswd /etc/krb5.keytab",
        path,
    ) || path.starts_with("/etc/ssl/private/")
        || path.starts_with("/etc/ssh/ssh_host_") && !path.ends_with(".pub")
        || path.starts_with("/proc/") && ends("/environ /mem", path)
        || begins("/var/run/secrets/ /run/secrets/ /tmp/krb5cc", path)
    {
        return true;
    }
    if is_private_key(name) && (path.contains(".ssh/") || name.starts_with("id_")) {
        return true;
    }
    if agent_target(path, facts) == Some(Target::Agent) {
        return matches!(name, ".env" | "auth.json") || path.contains("mcp-tokens");
    }
    let Some(rest) = below_home(path, facts) else { return path == ".ssh" };
    home_secret(rest)
}

fn is_private_key(name: &str) -> bool {
    lists("identity id_rsa id_dsa id_ecdsa id_ed25519 id_ed25519_sk id_ecdsa_sk", name)
        || name.starts_with("id_") && !name.contains('.')
        || (name.contains('*') || name.contains('?'))
            && (matches_glob(name, "id_rsa") || matches_glob(name, "id_ed25519"))
        || name.ends_with(".pem") && !name.contains("cert")
}

/// Places below a home that hold secrets.
const WHOLE: &str = ".gnupg .password-store .local/share/keyrings Library/Keychains .aws .azure .config/gcloud \
    .kube .config/gh/hosts.yml .config/op .vault-token .config/rclone .terraform.d .oci .config/google-chrome .config/chromium .mozilla \
    .config/BraveSoftware .thunderbird";

/// Files, and directories as a whole.
const FILES: &str = ".codex/auth.json .claude/.credentials.json .config/github-copilot/hosts.json \
    .config/github-copilot/apps.json \
    .electrum .bitcoin/wallet.dat .ethereum/keystore \
    .config/solana/id.json .config/doctl/config.yaml .config/stripe/config.toml \
    .config/sops/age/keys.txt .config/age/keys.txt .age .config/heroku .config/hcloud/cli.toml \
    .fly/config.yml .huggingface/token .cache/huggingface/token .config/openai \
    .gemini/oauth_creds.json .authinfo .authinfo.gpg .smbcredentials .fetchmailrc .msmtprc \
    .config/rclone/rclone.conf .wakatime.cfg .kaggle/kaggle.json .nuget/NuGet.Config \
    .config/sublime-text .zhistory .netrc .pgpass .npmrc .pypirc .git-credentials \
    .docker/config.json .cargo/credentials .cargo/credentials.toml .gem/credentials .my.cnf .ssh \
    .config/gh .m2/settings.xml .composer/auth.json .s3cfg .boto .config/git/credentials \
    .databrickscfg .config/hub .config/containers/auth.json .ssh/* .mylogin.cnf";

fn home_secret(rest: &str) -> bool {
    if lists(FILES, rest.trim_end_matches('/'))
        || rest.contains("Login Data")
        || holds("Cookies", rest)
        || ends("CLI/data.json logins.json key4.db", rest)
    {
        return true;
    }
    if let Some(name) = rest.strip_prefix(".ssh/") {
        return is_private_key(name)
            || name.ends_with(".key")
            || name.contains("rsa")
            || name.contains("ed25519");
    }
    WHOLE.split_ascii_whitespace().any(|entry| {
        rest.strip_prefix(entry).is_some_and(|tail| {
            tail.is_empty()
                || tail.starts_with('/') && !tail.ends_with("/config")
                || tail == "/config" && entry == ".kube"
        })
    })
}

/// Files of environment variables, which hold keys by custom.
pub(crate) fn is_environment_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    (name == ".env" || name == ".envrc" || name.starts_with(".env."))
        && !lists(".env.example .env.sample .env.template .env.dist .env.defaults", name)
}
