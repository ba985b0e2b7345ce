//! What a hook said, as what it wants. Two shapes are read: that of the catalogue and that of
//! Claude Code's hooks, which many programs speak.
//!
//! A shape that does not belong to the moment wants nothing; the bus does the rest.

use petasos_contract::Args;
use petasos_contract::hook::{Directive, HookKind};
use serde_json::{Map, Value};

/// What an answer wants at a moment. `Err` says what is wrong with it.
pub fn directive(kind: HookKind, answer: &Value) -> Result<Directive, String> {
    match kind {
        HookKind::PreToolCall => before_call(answer),
        HookKind::TransformToolResult
        | HookKind::TransformTerminalOutput
        | HookKind::TransformLlmOutput => Ok(replacement(answer)),
        HookKind::PreLlmCall => Ok(addition(answer)),
        HookKind::PreVerify => Ok(objection(answer)),
        HookKind::PreGatewayDispatch => Ok(routing(answer)),
        _ => Ok(Directive::Pass),
    }
}

fn text<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| object.get(*name)?.as_str()).filter(|text| !text.trim().is_empty())
}

fn before_call(answer: &Value) -> Result<Directive, String> {
    let Some(object) = answer.as_object() else { return Ok(Directive::Pass) };
    // Claude Code: the part for this event, inside.
    let inner = object.get("hookSpecificOutput").and_then(Value::as_object);
    let own = inner.unwrap_or(object);
    let word = text(own, &["permissionDecision", "action", "decision"]);
    let why = text(own, &["permissionDecisionReason", "message", "reason"])
        .or_else(|| text(object, &["reason", "message", "stopReason"]));
    let stopped = object.get("continue") == Some(&Value::Bool(false));
    match word {
        Some("block" | "deny") => match why {
            Some(why) => Ok(Directive::Block(why.to_owned())),
            // The catalogue ignores a block without words; Claude Code's `deny` needs none.
            None if word == Some("deny") => Ok(Directive::Block("denied by a hook".to_owned())),
            None => Err("a block needs a `message`".to_owned()),
        },
        _ if stopped => Ok(Directive::Block(why.unwrap_or("a hook stopped the call").to_owned())),
        // The catalogue's word for asking a person; Claude Code's `approve` is its old `allow`.
        Some("ask") => Ok(ask(why, own)),
        Some("approve") if object.contains_key("action") => Ok(ask(why, own)),
        // `allow` lifts nothing: policy judges what a hook lets pass.
        _ => rewrite(own),
    }
}

fn ask(why: Option<&str>, own: &Map<String, Value>) -> Directive {
    Directive::AskHuman {
        message: why.unwrap_or("a hook wants a person to agree").to_owned(),
        rule_key: text(own, &["rule_key"]).map(str::to_owned),
    }
}

fn rewrite(own: &Map<String, Value>) -> Result<Directive, String> {
    match own.get("updatedInput").or_else(|| own.get("updated_input")) {
        None | Some(Value::Null) => Ok(Directive::Pass),
        Some(Value::Object(args)) => Ok(Directive::Rewrite(Args::new(args.clone()))),
        Some(_) => Err("`updatedInput` must be an object".to_owned()),
    }
}

fn replacement(answer: &Value) -> Directive {
    let given = match answer {
        Value::String(text) => Some(text.as_str()),
        Value::Object(object) => {
            let inner = object.get("hookSpecificOutput").and_then(Value::as_object);
            text(inner.unwrap_or(object), &["replace", "result", "output", "text"])
        }
        _ => None,
    };
    given.map_or(Directive::Pass, |text| Directive::Replace(text.to_owned()))
}

fn addition(answer: &Value) -> Directive {
    let given = match answer {
        Value::String(text) => Some(text.as_str()),
        Value::Object(object) => {
            let inner = object.get("hookSpecificOutput").and_then(Value::as_object);
            text(inner.unwrap_or(object), &["context", "additionalContext"])
        }
        _ => None,
    };
    let given = given.filter(|text| !text.trim().is_empty());
    given.map_or(Directive::Pass, |text| Directive::Append(text.to_owned()))
}

fn objection(answer: &Value) -> Directive {
    let Some(object) = answer.as_object() else { return Directive::Pass };
    let goes_on = match text(object, &["action", "decision"]) {
        Some("continue" | "block") => text(object, &["message", "reason"]),
        _ => None,
    };
    goes_on.map_or(Directive::Pass, |text| Directive::Block(text.to_owned()))
}

fn routing(answer: &Value) -> Directive {
    let Some(object) = answer.as_object() else { return Directive::Pass };
    match text(object, &["action"]) {
        Some("skip") => {
            Directive::Block(text(object, &["reason"]).unwrap_or("skipped by a hook").to_owned())
        }
        Some("rewrite") => text(object, &["text"])
            .map_or(Directive::Pass, |text| Directive::Replace(text.to_owned())),
        _ => Directive::Pass,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_shapes_mean_the_same() {
        let block = |text: &str| Directive::Block(text.to_owned());
        let ask = |text: &str, key: Option<&str>| Directive::AskHuman {
            message: text.to_owned(),
            rule_key: key.map(str::to_owned),
        };
        let rows = [
            (json!({"action": "block", "message": "no"}), block("no")),
            (json!({"decision": "block", "reason": "no"}), block("no")),
            (
                json!({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}),
                block("no"),
            ),
            (
                json!({"hookSpecificOutput": {"permissionDecision": "deny"}, "reason": "outer"}),
                block("outer"),
            ),
            (json!({"continue": false, "stopReason": "halt"}), block("halt")),
            (
                json!({"action": "approve", "message": "sure?", "rule_key": "k"}),
                ask("sure?", Some("k")),
            ),
            (json!({"permissionDecision": "ask", "reason": "sure?"}), ask("sure?", None)),
            (json!({"decision": "approve"}), Directive::Pass),
            (json!({"permissionDecision": "allow"}), Directive::Pass),
            (json!("text"), Directive::Pass),
            (json!(null), Directive::Pass),
        ];
        for (answer, wanted) in rows {
            assert_eq!(directive(HookKind::PreToolCall, &answer), Ok(wanted), "{answer}");
        }
        let bare = json!({"action": "block"});
        assert!(directive(HookKind::PreToolCall, &bare).is_err(), "a block needs words");
    }

    #[test]
    fn new_arguments_are_an_object() {
        let answer = json!({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"a": 1}}});
        let wanted = Directive::Rewrite(Args::new(crate::payload::object(json!({"a": 1}))));
        assert_eq!(directive(HookKind::PreToolCall, &answer), Ok(wanted));
        assert!(directive(HookKind::PreToolCall, &json!({"updatedInput": 3})).is_err());
    }

    #[test]
    fn other_moments_take_what_is_theirs() {
        let rows = [
            (HookKind::PreLlmCall, json!({"context": "x"}), Directive::Append("x".into())),
            (HookKind::PreLlmCall, json!("x"), Directive::Append("x".into())),
            (
                HookKind::PreVerify,
                json!({"action": "continue", "message": "x"}),
                Directive::Block("x".into()),
            ),
            (
                HookKind::PreVerify,
                json!({"decision": "block", "reason": "x"}),
                Directive::Block("x".into()),
            ),
            (HookKind::TransformToolResult, json!("x"), Directive::Replace("x".into())),
            (
                HookKind::PreGatewayDispatch,
                json!({"action": "rewrite", "text": "x"}),
                Directive::Replace("x".into()),
            ),
            (HookKind::PostToolCall, json!({"action": "block", "message": "x"}), Directive::Pass),
        ];
        for (kind, answer, wanted) in rows {
            assert_eq!(directive(kind, &answer), Ok(wanted), "{kind:?} {answer}");
        }
    }
}
