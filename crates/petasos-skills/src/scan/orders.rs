//! Orders where only a description belongs. A match is a reason to show the text to a person
//! first, never proof of intent.

use std::sync::LazyLock;

use regex::RegexSet;

const PATTERNS: &[(&str, &str)] = &[
    (
        r"(?i)\b(ignore|disregard|forget|override|bypass)\b.{0,40}\b(previous|prior|above|earlier|all|any|your|system|safety)\b.{0,40}\b(instructions?|rules?|prompts?|guidelines?|restrictions?|policies)\b",
        "asks to ignore instructions",
    ),
    (
        r"(?i)\byou are now\b.{0,60}\b(unrestricted|jailbroken|dan|in developer mode|a different|root)\b|\bpretend (to be|you are)\b.{0,40}\b(unrestricted|system|root|developer)\b",
        "asks to be somebody else",
    ),
    (
        r"(?i)\b(do not|don't|never|without)\b.{0,20}\b(tell|telling|inform|informing|mention|mentioning|notify|notifying|ask|asking|alert|alerting)\b.{0,20}\b(the )?(user|person|human|owner|anyone|anybody)\b",
        "asks to hide something from the user",
    ),
    (
        r"(?i)\b(new|updated|override) system prompt\b|</?(system|assistant|instructions?|important)>|\[/?INST\]|<\|im_(start|end)\|>|^\s*(system|assistant)\s*:",
        "imitates a system prompt",
    ),
    (
        r"(?i)\b(always|first|before (anything|everything|any)|must|immediately|silently|secretly|quietly)\b.{0,40}\b(run|execute|call|invoke|send|post|upload|fetch|download|curl|install|read|load)\b.{0,80}(https?://|\.env\b|id_rsa|\.ssh|credentials?|secrets?|tokens?|passwords?|api.?keys?|every (task|message|conversation|session))",
        "gives an order instead of a description",
    ),
    (
        r"(?i)\b(send|post|upload|forward|exfiltrate|leak|copy|e-?mail|append|include)\b.{0,60}\b(conversation|chat history|transcript|memory|environment variables?|env vars?|credentials?|secrets?|api.?keys?|passwords?|private keys?|tokens?)\b.{0,60}(\bto\b|\bat\b|https?://)",
        "asks to send something private away",
    ),
    (
        r"(?i)\b(auto(matically)?[- ]?approve|approve (all|every|any)|disable (the )?(approval|sandbox|safety|guard|confirmation)s?|turn off (the )?(approval|sandbox|safety)s?|yolo mode)\b",
        "asks to loosen the policy",
    ),
];

/// Characters that a reader does not see, and that turn text around.
const INVISIBLE: &str = "[\u{00AD}\u{034F}\u{061C}\u{115F}\u{1160}\u{17B4}\u{17B5}\u{180E}\u{200B}\u{200E}\u{200F}\u{202A}-\u{202E}\u{2060}-\u{2064}\u{2066}-\u{206F}\u{3164}\u{FFA0}\u{E0000}-\u{E007F}\u{E0100}-\u{E01EF}]";

static SET: LazyLock<Option<RegexSet>> =
    LazyLock::new(|| RegexSet::new(PATTERNS.iter().map(|(pattern, _)| pattern)).ok());

static HIDDEN: LazyLock<Option<regex::Regex>> = LazyLock::new(|| regex::Regex::new(INVISIBLE).ok());

/// What a line orders, in words for a person.
pub(crate) fn ordered(line: &str) -> Vec<&'static str> {
    let Some(set) = &*SET else { return vec!["could not be scanned"] };
    set.matches(line).iter().filter_map(|at| Some(PATTERNS.get(at)?.1)).collect()
}

/// Whether a text has characters that nobody sees.
pub(crate) fn hides_characters(text: &str) -> bool {
    HIDDEN.as_ref().is_none_or(|hidden| hidden.is_match(text))
}
