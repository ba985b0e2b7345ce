//! `browser_cdp`: send a bare call of the DevTools protocol.

use std::sync::Arc;

use petasos_browser::{Browsers, RawAsk};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, CallContext, ToolDef};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::browser::{self, Act, Answer, Engine, RAW};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "browser_cdp",
    description: "Send a bare call of the DevTools protocol",
    emoji: "🧪",
    toolset: "browser-cdp",
    check: Some(&RAW),
    schema,
    examples: &[Example {
        title: "what no other tool offers",
        args: r#"{"method":"Page.getLayoutMetrics"}"#,
        shows: "ontentSize",
    }],
    build: browser::frame::<BrowserCdp>,
    ..browser::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Send one method of the Chrome DevTools protocol to the open tab, a target or a frame. Only for what no other browser tool offers.",
        "parameters": {
            "type": "object",
            "properties": {
                "method": { "type": "string", "description": "Such as Page.getLayoutMetrics" },
                "params": { "type": "object", "description": "Its parameters" },
                "target_id": { "type": "string", "description": "A tab such as t2, or a target" },
                "frame_id": { "type": "string", "description": "A frame in a process of its own" },
                "timeout": { "type": "number", "description": "Seconds, 1 to 300", "default": 30 },
            },
            "required": ["method"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    method: String,
    #[serde(default)]
    params: Map<String, Value>,
    target_id: Option<String>,
    frame_id: Option<String>,
    timeout: Option<f64>,
}

impl Input {
    fn ask(self, cx: &CallContext) -> RawAsk {
        let url = self.params.get("url").and_then(Value::as_str).unwrap_or_default();
        let opens_private = browser::opens_private(url, cx);
        let Self { method, params, target_id, frame_id, timeout } = self;
        RawAsk { method, params, target_id, frame_id, timeout, opens_private }
    }
}

struct BrowserCdp;

impl Act for BrowserCdp {
    type Input = Input;

    fn act<'a>(
        browsers: &'a Arc<Browsers>,
        input: Input,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(browsers.raw(cx, input.ask(cx)))
    }

    /// Methods that reach cookies, storage or the browser itself leave the page's bounds.
    fn effects(engine: &Engine, args: &Args, cx: &CallContext) -> Effects {
        let url = args.get("params").and_then(|params| params.get("url")?.as_str());
        let effects = url.map_or_else(|| engine.page(cx), browser::reach);
        let method = args.text("method").unwrap_or_default().to_owned();
        let ask = RawAsk { method, ..RawAsk::default() };
        let target = format!("browser {}", ask.method);
        if ask.is_asked() { effects.and(Effect::Send { target }) } else { effects }
    }
}
