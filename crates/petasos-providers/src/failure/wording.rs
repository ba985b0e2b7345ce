//! Telling apart, by their words, failures that share one status.
//!
//! Every phrase here was published by a vendor or server; a new one is a new row and a fixture.

use petasos_contract::model::Reason;

use super::{Size, ToolHint};
use crate::transport::decode::Fault;

const OVERFLOW: [&str; 20] = [
    "context length",
    "context window",
    "context size",
    "maximum context",
    "prompt is too long",
    "too many tokens",
    "input is too long",
    "exceeds the model's",
    "exceed context limit",
    "exceeds the maximum number of tokens",
    "reduce the length",
    "context_length_exceeded",
    "input length and `max_tokens`",
    "token count exceeds",
    "exceeds maximum tokens",
    "larger than the model's context",
    "maximum model length",
    "max_tokens must be at least 1",
    "`max_new_tokens` must be <=",
    "input length exceeds",
];
const CREDIT: [&str; 7] = [
    "credit balance",
    "insufficient credit",
    "insufficient balance",
    "insufficient funds",
    "out of credits",
    "requires more credits",
    "key limit exceeded",
];
const POLICY: [&str; 5] = [
    "content policy",
    "usage policy",
    "content management policy",
    "safety system",
    "flagged as potentially",
];
const MODEL: [&str; 8] = [
    "model not found",
    "model_not_found",
    "is not a valid model",
    "invalid model",
    "no such model",
    "does not exist",
    "unknown model",
    "no endpoints found for",
];

/// The reason, once the words are taken into account.
pub(super) fn refine(base: Reason, status: Option<u16>, fault: &Fault, size: Size) -> Reason {
    let text = fault.message.to_ascii_lowercase();
    let any = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    match base {
        Reason::RateLimit => limited(&text),
        Reason::Billing if any(&["usage limit", "rate limit"]) && any(&["try again", "retry"]) => {
            Reason::RateLimit
        }
        Reason::Auth if status == Some(403) => {
            if any(&CREDIT) {
                Reason::Billing
            } else if any(&["invokemodelwithresponsestream"]) {
                Reason::StreamRefused
            } else if any(&["long context", "context-1m"]) {
                Reason::LongContextTier
            } else if any(&POLICY) {
                Reason::ContentPolicy
            } else {
                Reason::Auth
            }
        }
        Reason::ServerError | Reason::Unknown if any(&OVERFLOW) => Reason::ContextOverflow,
        Reason::ServerError | Reason::Unknown | Reason::Overloaded if grammar(&text) => {
            Reason::ToolSchema
        }
        Reason::ModelNotFound | Reason::Format if status == Some(404) => {
            if any(&["data policy", "guardrail restrictions"]) {
                Reason::PolicyBlocked
            } else if any(&MODEL) || text.contains("model") {
                Reason::ModelNotFound
            } else {
                Reason::Format
            }
        }
        Reason::Format => malformed(&text, fault, size),
        other => other,
    }
}

fn limited(text: &str) -> Reason {
    let any = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    if text.contains("long context") && any(&["extra usage", "usage tier"]) {
        Reason::LongContextTier
    } else if any(&["rate-limited upstream", "provider returned error"]) {
        Reason::UpstreamRateLimit
    } else if any(&["overloaded", "at capacity", "temporarily unavailable"]) {
        Reason::Overloaded
    } else {
        Reason::RateLimit
    }
}

/// What a request error without a telling code is about.
fn malformed(text: &str, fault: &Fault, size: Size) -> Reason {
    let any = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    let all = |phrases: &[&str]| phrases.iter().all(|phrase| text.contains(phrase));
    if any(&POLICY) {
        Reason::ContentPolicy
    } else if text.contains("thinking") && any(&["signature", "cannot be modified"]) {
        Reason::ThinkingSignature
    } else if any(&["encrypted content", "encrypted_content"]) {
        Reason::EncryptedReasoning
    } else if all(&["long context", "beta"]) || text.contains("context-1m") {
        Reason::LongContextTier
    } else if grammar(text) || tool(text, fault.param.as_deref()).is_some() {
        Reason::ToolSchema
    } else if text.contains("image") && any(&["exceeds", "too large", "maximum size", "max size"]) {
        Reason::ImageTooLarge
    } else if text.contains("image")
        && any(&["tool message", "tool result", "role 'tool'", "tool_result"])
    {
        Reason::ToolImagesUnsupported
    } else if any(&CREDIT) {
        Reason::Billing
    } else if any(&OVERFLOW) || room(text).is_some() {
        Reason::ContextOverflow
    } else if all(&["stream", "not supported"]) {
        Reason::StreamRefused
    } else if any(&[
        "unsupported parameter",
        "unsupported value",
        "unrecognized request argument",
        "unknown parameter",
        "extra inputs are not permitted",
        "not supported with this model",
        "unknown field",
        "is deprecated for this model",
    ]) {
        Reason::UnsupportedParameter
    } else if text.contains("model") && any(&MODEL) {
        Reason::ModelNotFound
    } else if any(&["api key not valid", "invalid api key", "incorrect api key"]) {
        Reason::Auth
    } else if text.len() < 40 && size.is_large() {
        Reason::ContextOverflow
    } else {
        Reason::Format
    }
}

fn grammar(text: &str) -> bool {
    let phrases = [
        "failed to parse grammar",
        "json-schema-to-grammar",
        "error parsing grammar",
        "invalid grammar",
        "failed to initialize samplers",
        "unable to generate parser for this template",
    ];
    phrases.iter().any(|phrase| text.contains(phrase))
}

/// The tool that a message or parameter path points at.
pub(super) fn tool(text: &str, param: Option<&str>) -> Option<ToolHint> {
    let paths = ["tools.", "tools[", "function_declarations[", "functiondeclarations["];
    for text in [param.unwrap_or_default(), text] {
        let lower = text.to_ascii_lowercase();
        // The inner list of Google comes after the outer one, which has a single member.
        for path in paths.iter().rev() {
            if let Some(index) = number_after(&lower, path) {
                return usize::try_from(index).ok().map(ToolHint::Index);
            }
        }
    }
    let name = ["schema for function '", "schema for function \"", "invalid schema for tool '"];
    name.iter().find_map(|phrase| {
        let start = text.to_ascii_lowercase().find(phrase)? + phrase.len();
        let rest = text.get(start..)?;
        let name = rest.split(['\'', '"']).next()?;
        Some(ToolHint::Name(name.to_owned()))
    })
}

/// The parameter named between quotes or backquotes.
pub(super) fn parameter(text: &str) -> Option<String> {
    let is_name =
        |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let quoted = text.split(['\'', '"', '`']).skip(1).step_by(2).find(is_name);
    // Anthropic writes `output_config: Extra inputs are not permitted`.
    let led = text.split(':').next().filter(is_name);
    quoted.or(led).map(str::to_owned)
}

/// The context length that a message states.
pub(super) fn context_length(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let leads = [
        "maximum context length is ",
        "maximum context length of ",
        "maximum model length of ",
        "context length is only ",
        "`max_new_tokens` must be <= ",
        "context window of ",
        "context length of only ",
        "context length of ",
        "context size (",
        "tokens > ",
        "limit of ",
        "maximum of ",
    ];
    leads.iter().find_map(|lead| number_after(&lower, lead)).filter(|tokens| *tokens >= 1_000)
}

/// The room for an answer that a message states, or that follows from what it states.
pub(super) fn room(text: &str) -> Option<u32> {
    const ABOUT: [&str; 4] = ["max_tokens", "completion", "output tokens", "max_new_tokens"];
    let lower = text.to_ascii_lowercase();
    if !ABOUT.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let leads = [
        "supports at most ",
        "maximum allowed number of output tokens",
        "available_tokens: ",
        "must be less than or equal to ",
        "must be at most ",
        "available tokens: ",
    ];
    let stated = leads.iter().find_map(|lead| number_after(&lower, lead));
    // `input length and max_tokens exceed context limit: 190000 + 20000 > 200000`
    let sum = || {
        let (before, after) = lower.split_once(" > ")?;
        let limit = digits(after)?;
        let mut terms =
            before.rsplit(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
        let input = terms.nth(1)?.parse::<u64>().ok()?;
        lower.contains("context limit").then(|| limit.saturating_sub(input))
    };
    stated
        .or_else(sum)
        .or_else(|| left(&lower))
        .and_then(|room| u32::try_from(room).ok())
        .filter(|room| *room > 0)
}

/// What the input leaves of the context, where a message states both: the servers that people run
/// themselves refuse a limit that does not fit instead of lowering it.
fn left(lower: &str) -> Option<u64> {
    const INPUT: [&str; 5] = [
        " in the messages",
        " tokens from the input",
        " input tokens",
        " `inputs` tokens",
        " in the prompt",
    ];
    let input = INPUT.iter().find_map(|tail| number_before(lower, tail))?;
    context_length(lower)?.checked_sub(input)
}

fn number_before(text: &str, tail: &str) -> Option<u64> {
    text.match_indices(tail).find_map(|(at, _)| {
        let word = text.get(..at)?.rsplit(|c: char| !c.is_ascii_digit() && c != ',').next()?;
        digits(word)
    })
}

fn number_after(text: &str, lead: &str) -> Option<u64> {
    text.match_indices(lead).find_map(|(at, _)| digits(text.get(at + lead.len()..)?))
}

/// The number that a text starts with, thousands separated or not.
fn digits(text: &str) -> Option<u64> {
    let text = text.trim_start_matches([' ', ':', '`', '(']);
    let number: String = text
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == ',' || *c == '_')
        .filter(char::is_ascii_digit)
        .collect();
    number.parse().ok()
}

/// What a person reads after the provider's name.
pub(super) fn what(reason: Reason) -> &'static str {
    match reason {
        Reason::Auth => "did not accept the credential",
        Reason::Billing => "reports that the quota is used up",
        Reason::RateLimit => "is limiting requests",
        Reason::UpstreamRateLimit => "is limited by its own upstream",
        Reason::Overloaded => "is overloaded",
        Reason::ServerError => "had an internal error",
        Reason::Timeout => "did not answer in time or broke the connection",
        Reason::ContextOverflow => "says the conversation is too long",
        Reason::PayloadTooLarge => "says the request is too large",
        Reason::ImageTooLarge => "says an image is too large",
        Reason::ToolImagesUnsupported => "does not take images in tool results",
        Reason::ThinkingSignature => "does not accept its earlier thinking back",
        Reason::EncryptedReasoning => "does not accept its earlier reasoning back",
        Reason::ToolSchema => "does not accept a tool's schema",
        Reason::UnsupportedParameter => "does not know a parameter",
        Reason::StreamRefused => "does not stream",
        Reason::LongContextTier => "wants a higher tier for a long context",
        Reason::ModelNotFound => "has no such model",
        Reason::PolicyBlocked => "excludes the model by account policy",
        Reason::ContentPolicy => "refused the content",
        Reason::Format => "did not accept the request",
        Reason::InvalidResponse => "gave an answer that cannot be read",
        Reason::Certificate => "has a certificate that is not trusted",
        Reason::Refused => "may not be sent this credential",
        Reason::NotConfigured => "is not configured",
        Reason::Cancelled => "was interrupted",
        Reason::Deadline => "ran into the deadline",
        _ => "failed",
    }
}
