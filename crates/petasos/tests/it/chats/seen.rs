//! Pictures in chats for models that do not see.

use base64::Engine as _;

use super::gateway;
use crate::bot_api::{BotApi, PICTURE};
use crate::loopback::{Loopback, Say};

/// Where the picture says that it was taken.
const PLACE: &[u8] = b"Quince Lane 12";

/// What the model of the conversation was told.
fn told(model: &Loopback) -> String {
    model.asked().iter().map(|asked| asked["messages"].to_string()).collect()
}

#[test]
fn s53_a_picture_is_described_by_a_model_that_sees_or_told_by_its_place() {
    let seeing = Loopback::saying(vec![Say::Text("a very small dot")]);
    let eyes = format!(
        "auxiliary:\n  vision:\n    base_url: {}\n    model: eyes\n    api_key: sk-eyes-0123456789\n",
        seeing.url
    );
    for (more, expected) in [(eyes.as_str(), "a very small dot"), ("", "not looked at")] {
        let (model, api) = (Loopback::saying(vec![Say::Text("I see")]), BotApi::new());
        let home = model.home();
        let blind = format!("{}  supports_vision: false\n{}{more}", model.config(), api.config());
        home.write(".petasos/config.yaml", blind);
        let _running = gateway(&home);
        api.photo(1, 7, "what is this?");
        api.until("an answer", |calls| calls.iter().any(|it| it.1["text"] == "I see"));
        let told = told(&model);
        assert!(told.contains("what is this?") && told.contains(expected), "{told:.900}");
        assert!(told.contains("cache/images/"), "its place is told: {told:.900}");
        assert!(!told.contains("base64"), "a model that does not see is shown nothing");
        let left = super::files_with(&home.agent(), PLACE);
        assert!(left.is_empty(), "where it was taken is kept nowhere: {left:?}");
    }
    let looked = seeing.asked();
    assert_eq!(looked.len(), 1, "the picture was looked at once");
    let asked = looked[0].to_string();
    assert!(asked.contains("data:image/"));
    assert!(PICTURE.windows(PLACE.len()).any(|words| words == PLACE), "it came with its place");
    let shown = asked.split("base64,").nth(1).and_then(|rest| rest.split('"').next());
    let shown = base64::engine::general_purpose::STANDARD.decode(shown.expect("a picture"));
    let shown = shown.expect("base64");
    assert!(!shown.windows(PLACE.len()).any(|words| words == PLACE), "nobody is told its place");
}
