//! Whose key a pasted text is, by the beginning that vendors give their keys.

/// Beginnings of keys, the longer ones first.
const SHAPES: &[(&str, &str)] = &[
    ("sk-ant-api", "anthropic"),
    ("sk-or-", "openrouter"),
    ("sk-proj-", "openai-api"),
    ("sk-svcacct-", "openai-api"),
    ("gsk_", "groq"),
    ("AIza", "gemini"),
    ("xai-", "xai"),
    ("csk-", "cerebras"),
    ("pplx-", "perplexity"),
    ("nvapi-", "nvidia"),
    ("hf_", "huggingface"),
    ("fw_", "fireworks"),
    ("tgp_", "together"),
];

/// A shorter text is a name.
const KEY_CHARS: usize = 20;

/// The provider, when the text is plainly a key of one.
pub(super) fn provider(text: &str) -> Option<&'static str> {
    if text.len() < KEY_CHARS || text.contains(char::is_whitespace) {
        return None;
    }
    SHAPES.iter().find(|(beginning, _)| text.starts_with(beginning)).map(|(_, provider)| *provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_whose_it_is_and_a_name_does_not() {
        assert_eq!(provider("sk-ant-api03-0123456789abcdef"), Some("anthropic"));
        assert_eq!(provider("sk-or-v1-0123456789abcdef"), Some("openrouter"));
        assert_eq!(provider("gsk_0123456789abcdef0123"), Some("groq"));
        assert_eq!(provider("sk-0123456789abcdef0123456"), None, "many vendors share it");
        assert_eq!(provider("xai-oauth"), None);
        assert_eq!(provider("groq"), None);
    }
}
