//! What is particular about each login: when to renew it and how its absence is called.

const MINUTE_MS: u64 = 60_000;

/// How long before its end a token is renewed; `left_ms` is its remaining life when known.
pub fn skew_ms(provider: &str, left_ms: Option<u64>) -> u64 {
    match provider {
        // Long-lived tokens are renewed an hour early, short ones just in time.
        "xai-oauth" if left_ms.is_some_and(|left| left > 45 * MINUTE_MS) => 60 * MINUTE_MS,
        "minimax-oauth" | "anthropic" | "google-gemini-cli" => MINUTE_MS,
        _ => 2 * MINUTE_MS,
    }
}

/// The code of the error that says that nobody is logged in.
pub fn missing_code(provider: &str) -> &'static str {
    match provider {
        "openai-codex" => "codex_auth_missing",
        "qwen-oauth" => "qwen_auth_missing",
        "nous" => "nous_auth_missing",
        "xai-oauth" => "xai_auth_missing",
        "minimax-oauth" => "minimax_auth_missing",
        _ => "auth_missing",
    }
}
