//! The dialect, as a table.

use super::*;

fn check(provider: &str, url: &str, model: &str, saved: Option<ApiMode>) -> ApiMode {
    let table = crate::table::Table::built_in();
    let url = BaseUrl::parse(url).unwrap();
    let usual = table.get(provider).unwrap().api_mode;
    mode(&Question { provider, url: &url, model, saved, usual, option: ModeOption::Plain })
}

#[test]
fn the_dialect_follows_provider_model_and_address() {
    use ApiMode::{AnthropicMessages, BedrockConverse, ChatCompletions, CodexResponses};
    let cases = [
        ("openai-codex", "https://chatgpt.com/backend-api/codex", "gpt-5.6", CodexResponses),
        ("openai-api", "https://api.openai.com/v1", "gpt-5.6", CodexResponses),
        ("openai-api", "https://box.test/v1", "gpt-5.6", ChatCompletions),
        ("xai", "https://api.x.ai/v1", "grok-4", CodexResponses),
        ("anthropic", "https://api.anthropic.com", "claude-fable-5", AnthropicMessages),
        ("opencode-zen", "https://opencode.ai/zen/v1", "claude-opus-4", AnthropicMessages),
        ("opencode-zen", "https://opencode.ai/zen/v1", "gpt-5", CodexResponses),
        ("opencode-zen", "https://opencode.ai/zen/v1", "kimi-k2.5", ChatCompletions),
        ("opencode-go", "https://opencode.ai/zen/go/v1", "minimax-m3", AnthropicMessages),
        ("opencode-go", "https://opencode.ai/zen/go/v1", "gpt-5", ChatCompletions),
        ("azure-foundry", "https://me.openai.azure.com/openai/v1", "gpt-5.2", CodexResponses),
        ("azure-foundry", "https://me.openai.azure.com/openai/v1", "gpt-4o", ChatCompletions),
        ("azure-foundry", "https://me.azure.com/anthropic", "gpt-5.2", AnthropicMessages),
        ("copilot", "https://api.githubcopilot.com", "gpt-5.4", CodexResponses),
        ("copilot", "https://api.githubcopilot.com", "gpt-5-mini", ChatCompletions),
        ("copilot", "https://api.githubcopilot.com", "claude-sonnet-5", ChatCompletions),
        (
            "bedrock",
            "https://bedrock-runtime.eu-west-1.amazonaws.com",
            "us.anthropic.claude-sonnet-5",
            AnthropicMessages,
        ),
        (
            "bedrock",
            "https://bedrock-runtime.eu-west-1.amazonaws.com",
            "amazon.nova-pro",
            BedrockConverse,
        ),
        ("minimax", "https://api.minimax.io/anthropic", "MiniMax-M3", AnthropicMessages),
        ("minimax", "https://api.minimax.io/v1", "MiniMax-M3", ChatCompletions),
        ("kimi-coding", "https://api.kimi.com/coding", "kimi-k3", AnthropicMessages),
        ("kimi-coding", "https://api.moonshot.ai/v1", "kimi-k3", ChatCompletions),
        ("custom", "https://box.test/anthropic/v1", "m", AnthropicMessages),
        ("custom", "https://api.openai.com.evil.test/v1", "m", ChatCompletions),
    ];
    for (provider, url, model, wanted) in cases {
        assert_eq!(check(provider, url, model, None), wanted, "{provider} {url} {model}");
    }
}

#[test]
fn a_saved_dialect_counts_where_the_provider_has_a_choice() {
    use ApiMode::{AnthropicMessages, ChatCompletions, CodexResponses};
    let saved = |provider, url, mode| check(provider, url, "m", Some(mode));
    assert_eq!(
        saved("deepseek", "https://api.deepseek.com/v1", AnthropicMessages),
        AnthropicMessages
    );
    assert_eq!(
        saved("nous", "https://inference-api.nousresearch.com/v1", CodexResponses),
        ChatCompletions
    );
    assert_eq!(saved("custom", "https://box.test/v1", CodexResponses), ChatCompletions);
    assert_eq!(saved("custom", "https://api.openai.com/v1", CodexResponses), CodexResponses);
    assert_eq!(saved("custom", "https://box.test/v1", AnthropicMessages), AnthropicMessages);
}

#[test]
fn the_dialect_of_an_entry_s_own_is_no_left_over() {
    let url = BaseUrl::parse("https://box.test/v1").unwrap();
    let ask = |option| {
        mode(&Question {
            provider: "custom",
            url: &url,
            model: "m",
            saved: Some(ApiMode::CodexResponses),
            usual: ApiMode::ChatCompletions,
            option,
        })
    };
    assert_eq!(ask(ModeOption::OwnEntry), ApiMode::CodexResponses);
    assert_eq!(ask(ModeOption::Plain), ApiMode::ChatCompletions);
}

#[test]
fn the_endpoint_is_settled_for_its_dialect() {
    use ApiMode::{AnthropicMessages, ChatCompletions};
    let check =
        |provider, mode, url| settled(provider, mode, &BaseUrl::parse(url).unwrap()).to_string();
    assert_eq!(
        check("lmstudio", ChatCompletions, "http://127.0.0.1:1234/api/v1/"),
        "http://127.0.0.1:1234/v1"
    );
    assert_eq!(
        check("opencode-zen", AnthropicMessages, "https://opencode.ai/zen/v1"),
        "https://opencode.ai/zen"
    );
    assert_eq!(
        check("opencode-zen", ChatCompletions, "https://opencode.ai/zen"),
        "https://opencode.ai/zen/v1"
    );
    assert_eq!(check("custom", AnthropicMessages, "https://box.test/v1"), "https://box.test");
    assert_eq!(
        check("deepseek", ChatCompletions, "https://api.deepseek.com/v1"),
        "https://api.deepseek.com/v1"
    );
}

#[test]
fn gemini_speaks_its_own_protocol_at_home_and_where_told_to() {
    let check =
        |url, asked| wire("gemini", ApiMode::ChatCompletions, &BaseUrl::parse(url).unwrap(), asked);
    assert_eq!(check("https://generativelanguage.googleapis.com/v1beta", None), Wire::Gemini);
    assert_eq!(
        check("https://generativelanguage.googleapis.com/v1beta/openai", None),
        Wire::ChatCompletions
    );
    assert_eq!(check("http://127.0.0.1:9/v1beta", Some("gemini")), Wire::Gemini);
}
