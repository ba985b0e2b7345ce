//! Who looks at a picture: the main model, another of its provider's models, or nobody there.

use petasos_contract::Settings;
use serde_json::Value;

use crate::fallback::Wanted;
use crate::table::Table;

/// Families that read text alone. Of the others a request tells: a refusal is repaired.
const BLIND: &[&str] = &[
    "deepseek",
    "glm-4.5",
    "glm-4.6",
    "glm-4.7",
    "glm-5",
    "gpt-3.5",
    "gpt-oss",
    "kimi-k2-",
    "llama-3.1",
    "llama-3.3",
    "minimax-m2",
    "o1-mini",
    "o3-mini",
    "qwen3-coder",
];
/// Their siblings that see.
const SEEING: &[&str] = &["-vl", "-vision", "deepseek-ocr", "glm-4.5v", "glm-4.6v", "glm-5v"];

/// How the main provider looks at an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sight {
    /// With the main model.
    Own,
    /// With another of its models.
    By(String),
    /// Not at all.
    Blind,
}

/// By what the user says, then by the provider's row, then by the model's name.
pub(crate) fn of(main: &Wanted, settings: &Settings, table: &Table) -> Sight {
    let said = settings.get("model.supports_vision").and_then(Value::as_bool);
    if said == Some(true) {
        return Sight::Own;
    }
    let is_denied = said == Some(false);
    let named = main.provider.as_deref().or_else(|| settings.text("model.provider"));
    let row = named.and_then(|name| table.find(name));
    if let Some(model) = row.and_then(|row| row.vision_model.clone()) {
        return Sight::By(model);
    }
    let is_blind_row = row.is_some_and(|row| row.id.starts_with("kimi-coding"));
    let model = main.model.as_deref().or_else(|| settings.text("model.default"));
    if is_denied || is_blind_row || model.is_some_and(is_blind) {
        return Sight::Blind;
    }
    Sight::Own
}

fn is_blind(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    let name = model.rsplit('/').next().unwrap_or(&model);
    BLIND.iter().any(|family| name.starts_with(family))
        && !SEEING.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sight(values: Value) -> Sight {
        let Value::Object(values) = values else { panic!("a map") };
        let settings = Settings::from_values(values);
        let (table, _) = Table::of(&settings);
        of(&Wanted::default(), &settings, &table)
    }

    #[test]
    fn the_user_the_row_and_the_name_tell_who_sees() {
        let model = |name: &str| sight(json!({ "model": { "default": name } }));
        assert_eq!(model("gpt-5.2"), Sight::Own);
        assert_eq!(model("deepseek/deepseek-chat"), Sight::Blind);
        assert_eq!(model("zai-org/GLM-4.6V"), Sight::Own);
        assert_eq!(model("qwen3-coder-plus"), Sight::Blind);
        let told = json!({ "model": { "default": "deepseek-chat", "supports_vision": true } });
        assert_eq!(sight(told), Sight::Own);
        let told = json!({ "model": { "default": "gpt-5.2", "supports_vision": false } });
        assert_eq!(sight(told), Sight::Blind);
        let row = json!({ "model": { "provider": "zai", "default": "glm-5.2" } });
        assert_eq!(sight(row), Sight::By("glm-5v-turbo".to_owned()));
    }
}
