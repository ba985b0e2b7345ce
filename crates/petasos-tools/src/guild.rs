//! What the Discord tools share.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::tool::Patch;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolError, ToolName, ToolOutput,
};
use petasos_vendors::VendorError;
use petasos_vendors::discord::{self, Action, Ask, Bot, Flags, Wanted};
use serde_json::{Map, Value, json};

use crate::vendors::{self, Shape};

/// How long what a bot may see is taken for known.
const KNOWN_FOR: Duration = Duration::from_hours(24);

/// There is a token.
pub(crate) static BOT: CheckDef = CheckDef {
    id: "discord",
    scope: CheckScope::Profile,
    probe: |cx| {
        let ready = discord::is_set_up(&cx.settings);
        Box::pin(async move { Availability::when(ready, discord::NEEDS) })
    },
};

/// One of the two tools: its actions, and what is known of its bot.
pub(crate) struct Guild {
    pub(crate) actions: &'static [Action],
    known: Mutex<Option<(u64, Flags, Instant)>>,
}

impl Guild {
    pub(crate) fn new(actions: &'static [Action]) -> Self {
        Self { actions, known: Mutex::default() }
    }

    /// What the bot may see, asked once a day and token.
    async fn flags(&self, bot: &Bot, cx: &CallContext) -> Result<Flags, VendorError> {
        let print = fingerprint(cx);
        let known = *self.known.lock();
        if let Some((of, flags, at)) = known
            && of == print
            && at.elapsed() < KNOWN_FOR
        {
            return Ok(flags);
        }
        let flags = bot.flags().await?;
        *self.known.lock() = Some((print, flags, Instant::now()));
        Ok(flags)
    }

    /// The plan of a call; one that cannot be made reaches nobody.
    fn planned(&self, args: Args, cx: &CallContext) -> Result<Plan, ToolError> {
        let ask: Ask = args.clone().parse()?;
        let wanted = ask.checked(self.actions, &cx.settings);
        let effects = match (&wanted, Bot::open(&cx.settings)) {
            (Ok(wanted), Ok(bot)) => {
                let reach = Effects::one(Effect::Reach(bot.host().to_owned()));
                let target = wanted.target().map(|target| Effect::Send { target });
                target.into_iter().fold(reach, Effects::and)
            }
            _ => Effects::none(),
        };
        Ok(Plan::new(args).with_effects(effects).with_work(wanted))
    }

    /// Carries the plan out.
    async fn carry_out(&self, cleared: Cleared, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let wanted: Result<Wanted, VendorError> = cleared.into_work()?;
        let work = async {
            let wanted = wanted?;
            let bot = Bot::open(&cx.settings)?;
            let flags = self.flags(&bot, cx).await?;
            bot.run(&wanted, flags).await
        };
        let done = vendors::until_cancelled(cx, Box::pin(work)).await;
        Ok(vendors::told(done, Shape::Success, cx))
    }

    /// The parameters; actions that the bot is known not to have are left out.
    fn patch(&self) -> Patch {
        let known = *self.known.lock();
        match known {
            Some((_, flags, _)) if !flags.sees_members() => {
                let all = self.actions.iter().filter(|it| !it.members).map(|it| it.name);
                let mut changes = Map::new();
                changes.insert("parameters".to_owned(), parameters(&all.collect::<Vec<_>>()));
                Patch::Merge(changes)
            }
            _ => Patch::Keep,
        }
    }
}

impl Tool for Guild {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.carry_out(cleared, cx))
    }

    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(std::future::ready(self.planned(args, cx)))
    }

    fn schema_patch(&self, _granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        Ok(self.patch())
    }
}

fn fingerprint(cx: &CallContext) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    if let Some(token) = cx.settings.variable("DISCORD_BOT_TOKEN") {
        token.value.expose().hash(&mut hasher);
    }
    hasher.finish()
}

/// The parameters with these actions.
pub(crate) fn parameters(actions: &[&str]) -> Value {
    let id = |what: &str| json!({ "type": "string", "description": what });
    json!({
        "type": "object",
        "properties": {
            "action": { "type": "string", "enum": actions, "description": "What to do" },
            "guild_id": id("The server's number"),
            "channel_id": id("The channel's number"),
            "user_id": id("The member's number"),
            "role_id": id("The role's number"),
            "message_id": id("The message's number"),
            "query": id("The beginning of a member's name"),
            "name": id("The thread's name"),
            "limit": { "type": "integer", "minimum": 1, "maximum": 100, "description": "How many" },
            "before": id("Only messages before this one"),
            "after": id("Only messages after this one"),
            "auto_archive_duration": { "type": "integer", "enum": [60, 1440, 4320, 10080], "description": "Minutes without messages until the thread is put away" }
        },
        "required": ["action"],
    })
}
