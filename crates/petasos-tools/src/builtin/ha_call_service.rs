//! `ha_call_service`: tells a house to do something.

use std::sync::Arc;

use petasos_contract::effect::Effect;
use petasos_contract::effect::Effects;
use petasos_contract::tool::Example;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_vendors::VendorError;
use petasos_vendors::homeassistant::{House, Order};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{house, vendors};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "ha_call_service",
    toolset: "homeassistant",
    description: "Tell a house to do something",
    emoji: "🏠",
    core: true,
    check: Some(&house::HOUSE),
    schema,
    examples: &[
        Example {
            title: "light in the kitchen",
            args: r#"{"domain":"light","service":"turn_on","entity_id":"light.kitchen"}"#,
            shows: r#""success":true"#,
        },
        Example {
            title: "programs on that machine are not run",
            args: r#"{"domain":"shell_command","service":"backup"}"#,
            shows: "blocked_policy",
        },
    ],
    build: |_| Arc::new(CallService),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Call a service of the house, such as light, turn_on, light.kitchen.",
        "parameters": {
            "type": "object",
            "properties": {
                "domain": { "type": "string" },
                "service": { "type": "string" },
                "entity_id": { "type": "string" },
                "data": { "type": "string", "description": "More, as JSON" }
            },
            "required": ["domain", "service"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    domain: String,
    service: String,
    entity_id: Option<String>,
    data: Option<Value>,
}

impl Input {
    fn order(&self) -> Result<Order, VendorError> {
        Order::read(&self.domain, &self.service, self.entity_id.as_deref(), self.data.as_ref())
    }
}

struct CallService;

impl Tool for CallService {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let order: Result<Order, VendorError> = cleared.into_work()?;
            let work = async {
                let order = order?;
                House::open(&cx.settings)?.call(&order, cx).await
            };
            Ok(house::told(vendors::until_cancelled(cx, Box::pin(work)).await, cx))
        })
    }

    /// An order that must not be given moves nothing and reaches nobody; the run says why.
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let planned = args.clone().parse::<Input>().map(|input| {
            let order = input.order();
            let effects = match &order {
                Ok(order) => order.moved().into_iter().fold(house::reach(cx), |effects, target| {
                    effects.and(Effect::Actuate { target, guarded: order.is_guarded() })
                }),
                Err(_) => Effects::none(),
            };
            Plan::new(args).with_effects(effects).with_work(order)
        });
        Box::pin(std::future::ready(planned))
    }
}
