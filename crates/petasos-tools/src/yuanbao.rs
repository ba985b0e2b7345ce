//! What the `yb_*` tools share: the check, the connection of a call and the shape of answers.

use std::sync::Arc;

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::{Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolError, ToolOutput};
use petasos_vendors::VendorError;
use petasos_vendors::yuanbao::{self, Client, Member};
use serde_json::{Value, json};

use crate::vendors::{self, Shape};

/// There are credentials of a bot.
pub(crate) static YUANBAO: CheckDef = CheckDef {
    id: "yuanbao",
    scope: CheckScope::Profile,
    probe: |cx| {
        let ready = yuanbao::is_set_up(&cx.settings);
        Box::pin(async move { Availability::when(ready, yuanbao::NEEDS) })
    },
};

/// What a tool does with an open connection.
pub(crate) type Handle =
    for<'a> fn(&'a mut Client, Args, &'a CallContext) -> BoxFuture<'a, Result<Value, VendorError>>;

/// A tool that asks Yuanbao.
pub(crate) struct YuanbaoTool {
    /// The chat that a call writes to; none when it only reads.
    pub(crate) target: fn(&Args) -> Option<String>,
    /// Files that it sends, and further effects.
    pub(crate) reads: fn(&mut Args, &CallContext) -> Vec<Effect>,
    pub(crate) handle: Handle,
}

impl YuanbaoTool {
    /// A tool that only reads.
    pub(crate) fn reading(handle: Handle) -> Arc<dyn Tool> {
        Arc::new(Self { target: |_| None, reads: |_, _| Vec::new(), handle })
    }
}

impl Tool for YuanbaoTool {
    fn plan<'a>(
        &'a self,
        mut args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let hosts = yuanbao::hosts(&cx.settings).into_iter().map(Effect::Reach);
        let sent = (self.target)(&args).map(|to| Effect::Send { target: format!("yuanbao:{to}") });
        let effects: Effects = hosts.chain(sent).chain((self.reads)(&mut args, cx)).collect();
        Box::pin(std::future::ready(Ok(Plan::new(args).with_effects(effects))))
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args = cleared.into_args();
            let work = Box::pin(async {
                let mut client = Client::open(&cx.settings).await?;
                let told = (self.handle)(&mut client, args, cx).await;
                client.close().await;
                told
            });
            Ok(vendors::told(vendors::until_cancelled(cx, work).await, Shape::Success, cx))
        })
    }
}

/// A member as a result shows it.
pub(crate) fn row(member: &Member) -> Value {
    json!({ "user_id": member.user_id, "nickname": member.nickname, "role": member.role })
}

/// Those whose name has these words.
pub(crate) fn named<'a>(members: &'a [Member], name: &str) -> Vec<&'a Member> {
    let wanted = name.trim().to_lowercase();
    let exact: Vec<&Member> =
        members.iter().filter(|it| it.nickname.to_lowercase() == wanted).collect();
    if exact.is_empty() {
        members.iter().filter(|it| it.nickname.to_lowercase().contains(&wanted)).collect()
    } else {
        exact
    }
}
