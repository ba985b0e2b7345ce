//! Names that say their value is a secret: of variables, configuration keys and headers.

/// Words in a name that make its value a secret.
const SECRET_WORDS: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "COOKIE",
    "PRIVATE",
    "AUTH",
    "BEARER",
    "JWT",
];

/// Whether a name says that its value is a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase().replace('-', "_");
    SECRET_WORDS.iter().any(|word| name.contains(word)) && !is_harmless(&name)
}

/// Names that hold a secret's word and no secret: sockets, files, counts, names of variables.
fn is_harmless(name: &str) -> bool {
    matches!(name, "SSH_AUTH_SOCK" | "XAUTHORITY" | "AWS_SHARED_CREDENTIALS_FILE")
        || name.ends_with("_TOKENS")
        || name.ends_with("_ENV")
        || name.ends_with("_HOSTS")
        || name.ends_with("_URLS")
        || name.contains("KEYBOARD")
        || name.contains("AUTHOR") && !name.contains("AUTHORIZATION")
}

#[cfg(test)]
mod tests {
    use super::is_secret_name;

    #[test]
    fn names_tell_secrets_from_their_neighbours() {
        for name in
            ["OPENAI_API_KEY", "api-key", "db_password", "Authorization", "x-auth-token", "jwt"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "HOME",
            "max_tokens",
            "key_env",
            "SSH_AUTH_SOCK",
            "GIT_AUTHOR_NAME",
            "private_hosts",
            "model",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
