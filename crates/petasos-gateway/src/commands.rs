//! Slash commands of chats: those that only a chat has, and all of the session's.

mod list;

use std::sync::Arc;

use petasos_contract::SessionId;
use petasos_contract::message::Content;
use petasos_session::command::{self, AfterCommand};
use petasos_session::{CommandOutcome, EndReason, Input, Session};
use petasos_store::{
    DeliveryClass, Filter, InboundKind, InboxRow, InboxState, NewDelivery, SessionHead,
    SessionScope, StoreError,
};
use serde_json::Value;
use tracing::warn;

use crate::access::{Class, may_run, may_run_with};
use crate::gateway::Shared;
use crate::intake::Admitted;
use crate::options::BusyMode;
use crate::platform::now_ms;
use crate::recover::BEGUN;
use crate::turns::StopReason;

pub use list::chat_commands;
use list::is_own;
pub(crate) use list::{is_for_terminals, own};

/// What a command came to.
enum Done {
    /// This is its answer.
    Said(String),
    /// It stands for a message, which is answered by a turn; the notes are said at once.
    Says { text: String, notes: String, busy: BusyMode },
    /// It calls a skill, which is read when its turn begins.
    Calls,
}

/// Whether a command that may have been carried out can be carried out again without harm.
pub(crate) fn is_repeatable(name: &str) -> bool {
    const ONCE: [&str; 9] =
        ["retry", "again", "undo", "branch", "compress", "background", "go", "rollback", "steer"];
    !ONCE.contains(&name)
}

/// Why somebody may not run a command here.
fn refused(
    message: &Admitted,
    (name, words): (&str, &str),
    options: &crate::options::PlatformOptions,
) -> Option<String> {
    if !may_run_with(message.class, (name, words), options) {
        let whose = match crate::access::command_class(name) {
            Class::Owner => "the owner",
            _ => "administrators",
        };
        return Some(format!("/{name} is for {whose}."));
    }
    is_for_terminals(name).then(|| format!("/{name} works only at a terminal."))
}

impl Shared {
    /// Runs the command of a message, and answers it in one step.
    pub(crate) async fn command(self: Arc<Self>, message: Admitted) {
        if self.calls_skill(&message).await {
            if let Err(error) = self.settle_message(&message, now_ms()).await {
                warn!(%error, id = message.id, "a stored message waits for a restart");
            }
            return;
        }
        // After a crash it must be known whether its effect may have happened.
        let begun = format!("{BEGUN} {}", message.session);
        let from = [InboxState::Accepted];
        match self.store.settle(&message.id, &from, InboxState::Accepted, &begun).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return warn!(%error, id = message.id, "a command waits for a restart"),
        }
        match self.run_command(&message).await {
            Done::Said(said) => {
                if let Err(error) = self.end_with(&message, "a command", said).await {
                    warn!(%error, id = message.id, "a command is not answered");
                }
                if command::split(&message.text)
                    .is_some_and(|(name, _)| matches!(name.as_str(), "restart" | "update"))
                    && self.is_restart_wanted()
                {
                    self.ask_restart();
                }
            }
            Done::Says { text, notes, busy } => self.say_instead(message, text, &notes, busy).await,
            Done::Calls => {
                if let Err(error) = self.settle_message(&message, now_ms()).await {
                    warn!(%error, id = message.id, "a stored message waits for a restart");
                }
            }
        }
    }

    /// A command that asks for a turn is its message from now on, and answered as one.
    async fn say_instead(
        self: &Arc<Self>,
        message: Admitted,
        text: String,
        notes: &str,
        busy: BusyMode,
    ) {
        let told = async {
            if !self.store.recast(&message.id, &text).await? {
                return Ok(());
            }
            if !notes.is_empty() {
                // This is the word that it waits; no second one follows.
                self.runners.may_acknowledge(&message.session);
                let token = format!("note-{}", message.id);
                let note = message.reply(DeliveryClass::Command, notes);
                self.say(NewDelivery { inbox: None, token, ..note }).await?;
            }
            self.place(&Admitted { text, busy, ..message.clone() }).await
        };
        if let Err(error) = told.await {
            warn!(%error, id = message.id, "a stored message waits for a restart");
        }
    }

    /// Whether a message calls a skill that its sender may call: then it is a turn, and survives a
    /// crash like one. A call that is refused is answered as a command is.
    async fn calls_skill(&self, message: &Admitted) -> bool {
        let Some((name, _)) = command::split(&message.text) else { return false };
        let Some(account) = self.account(&message.lane()) else { return false };
        let own = is_own(&name)
            || is_for_terminals(&name)
            || matches!(name.as_str(), "start" | "help" | "commands" | "reset");
        let may = may_run(message.class, &name, &account.options());
        !own && may && self.sessions.meant_skill(&message.session, &message.text).await.is_some()
    }

    /// What the model reads of a message; a skill that it calls comes before its words.
    pub(crate) async fn with_skill(
        &self,
        row: &InboxRow,
        session: &Session,
    ) -> Result<Input, String> {
        let mut input = crate::input::of(row);
        // Words that were queued, or are said once more, may call one, too.
        if row.message.kind != InboundKind::Internal
            && let Some(called) = self.sessions.called_skill(session.id(), &row.message.text).await
        {
            let called = called?;
            input.content = Content::Text(called.words);
            input.context.push(called.context);
        }
        Ok(input)
    }

    async fn run_command(self: &Arc<Self>, message: &Admitted) -> Done {
        let Some((name, words)) = command::split(&message.text) else {
            return Done::Said("That is no command: /help lists them.".to_owned());
        };
        let name = self.whole_name(&message.session, name).await;
        let account = self.account(&message.lane());
        let Some(account) = account else { return Done::Said(String::new()) };
        if let Some(why) = refused(message, (&name, words), &account.options()) {
            return Done::Said(why);
        }
        if matches!(name.as_str(), "queue" | "steer")
            && let Some(why) = self.not_queued(message, words, &account).await
        {
            return Done::Said(why);
        }
        match (name.as_str(), words.is_empty()) {
            ("queue", false) => {
                let waiting = self.store.waiting(&message.session).await.unwrap_or_default();
                let notes = format!("Queued, {waiting} before it.");
                Done::Says { text: words.to_owned(), notes, busy: BusyMode::Queue }
            }
            ("steer", false) => {
                let (text, notes) = (words.to_owned(), String::new());
                Done::Says { text, notes, busy: BusyMode::Steer }
            }
            _ => self.answered_command(message, &name, (words, &account)).await,
        }
    }

    /// Why words that are a command themselves do not wait: only a skill that may be called does.
    async fn not_queued(
        &self,
        message: &Admitted,
        words: &str,
        account: &crate::account::Account,
    ) -> Option<String> {
        let (inner, _) = command::split(words)?;
        let skill = self.sessions.meant_skill(&message.session, words).await.is_some();
        let may = may_run(message.class, &inner, &account.options());
        (!skill || !may).then(|| format!("Commands do not wait: say /{inner} by itself."))
    }

    /// The command that is meant: by its name, by another name of it, or by a beginning that is
    /// no other's.
    async fn whole_name(&self, session: &SessionId, name: String) -> String {
        if is_for_terminals(&name) {
            return name;
        }
        let proper = command::proper(&name);
        if proper != name {
            return proper.to_owned();
        }
        let mut known: Vec<String> = own().map(|(name, _)| name).collect();
        known.extend(["start", "help", "commands"].map(str::to_owned));
        known.extend(list::AT_A_TERMINAL.iter().map(|name| (*name).to_owned()));
        known.extend(self.sessions.commands().into_iter().map(|info| info.name));
        let exact = known.contains(&name)
            || self.sessions.meant_skill(session, &format!("/{name}")).await.is_some();
        let whole = (!exact).then(|| command::only(&name, known)).flatten();
        whole.unwrap_or(name)
    }

    async fn answered_command(
        self: &Arc<Self>,
        message: &Admitted,
        name: &str,
        (words, account): (&str, &Arc<crate::account::Account>),
    ) -> Done {
        Done::Said(match name {
            "start" => String::new(),
            "whoami" => format!(
                "You are `{}` on {}: {}, let in by “{}”.",
                message.sender,
                message.key.platform,
                message.class.as_str(),
                message.rule
            ),
            "help" | "commands" => self.help(message.class, &account.options(), words),
            "approve" | "deny" | "answer" => self.decide(message, name, words).await,
            "stop" => self.stop(message, words).await,
            "new" => said(self.fresh(message).await),
            "busy" => said(self.set_busy(message, words).await),
            "sethome" => {
                let home = self.store.set_home(&message.lane(), &message.sender_name).await;
                home.map_or_else(
                    |error| error.to_string(),
                    |()| "This chat is the home now.".to_owned(),
                )
            }
            "platform" => self.platform(words).await,
            "pair" => said(self.pair(message, words).await),
            "footer" => said(self.set_footer(message, words).await),
            "verbose" => said(self.set_progress(message, words).await),
            "voice" => said(self.set_voice(message, words).await),
            "topic" => said(self.topic(message, words).await),
            "reload" => {
                self.reload.notify_one();
                "The settings are read again; `/platform` shows the accounts.".to_owned()
            }
            "update" if !self.host.is_outdated() => format!(
                "This is {}, and no newer program is in its place.",
                concat!("petasos ", env!("CARGO_PKG_VERSION"))
            ),
            "restart" | "update" => {
                self.want_restart();
                self.remember_restart(&message.lane()).await;
                "Restarting; what you write meanwhile is kept.".to_owned()
            }
            _ => return self.session_command(message, name, words).await,
        })
    }

    async fn session_command(
        self: &Arc<Self>,
        message: &Admitted,
        name: &str,
        words: &str,
    ) -> Done {
        if matches!(name, "resume" | "sessions")
            && let Some(words) = everywhere(words)
        {
            return Done::Said(self.of_everybody(message, name, &words).await);
        }
        let session = match self.open(&message.key, &message.session, &message.sender).await {
            Ok(session) => session,
            Err(error) => return Done::Said(error.to_string()),
        };
        let line = format!("/{name} {words}");
        match session.command_alone(line.trim()).await {
            Ok(outcome) => self.after(message, outcome).await,
            Err(error) => Done::Said(error.to_string()),
        }
    }

    /// `/sessions --all` and `/resume --all`: conversations of every chat. Where no list of
    /// administrators exists everybody is one, so that only a listed one and the owner count.
    async fn of_everybody(&self, message: &Admitted, name: &str, words: &str) -> String {
        let account = self.account(&message.lane());
        let listed = account.is_some_and(|account| {
            let options = account.options();
            let shared = message.key.kind.is_shared();
            let list = if shared { &options.group_admins } else { &options.admins };
            list.contains(&message.sender)
        });
        if message.class != Class::Owner && !listed {
            return format!("/{name} --all is for the owner and listed administrators.");
        }
        let done = match name {
            "sessions" => self.all_sessions().await,
            _ => self.resume_any(message, words).await,
        };
        done.unwrap_or_else(|error| error.to_string())
    }

    async fn all_sessions(&self) -> Result<String, StoreError> {
        let filter = Filter { scope: SessionScope::Everyone, limit: 20, ..Filter::default() };
        let heads = self.conversations.list(&filter).await?;
        let line = |head: &SessionHead| {
            let title = head.title.as_deref().unwrap_or("(no title)");
            let place = head.owner.as_ref().map_or_else(
                || "at the machine".to_owned(),
                |owner| format!("{}:{}", owner.platform, owner.chat),
            );
            format!("- `{}` **{title}**, {} messages, {place}", head.id, head.messages)
        };
        Ok(heads.iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    async fn resume_any(&self, message: &Admitted, words: &str) -> Result<String, StoreError> {
        if words.is_empty() {
            return Ok("Name the conversation: `/sessions --all` lists them.".to_owned());
        }
        let head = self.conversations.find(words, &SessionScope::Everyone).await?;
        self.store.bind(&message.key, &head.session()).await?;
        Ok(format!("This chat goes on with {}.", head.id))
    }

    /// What follows from a command of the session.
    async fn after(&self, message: &Admitted, outcome: CommandOutcome) -> Done {
        let mut said: Vec<String> =
            outcome.pages.iter().map(|page| page.text().to_owned()).collect();
        match outcome.then {
            AfterCommand::New => match self.fresh(message).await {
                Ok(word) => said.push(word),
                Err(error) => said.push(error.to_string()),
            },
            AfterCommand::Switch(session) => match self.store.bind(&message.key, &session).await {
                Ok(()) => said.push(format!("This chat goes on with {session}.")),
                Err(error) => said.push(error.to_string()),
            },
            // What the model reads before the words is read again when the turn begins: a restart
            // in between must not lose it.
            AfterCommand::Submit(_) if !outcome.context.is_empty() => return Done::Calls,
            AfterCommand::Submit(text) => {
                let (notes, busy) = (said.join("\n\n"), BusyMode::Queue);
                return Done::Says { text, notes, busy };
            }
            AfterCommand::Nothing => {}
        }
        Done::Said(said.join("\n\n"))
    }

    async fn stop(&self, message: &Admitted, words: &str) -> String {
        if words == "all" {
            if message.class != Class::Owner {
                return "/stop all is for the owner.".to_owned();
            }
            let by = format!("{} on {}", message.sender, message.key.platform);
            return match self.host.stop_all(&by) {
                Ok(()) => {
                    "Everything is stopped. Nothing starts again until `petasos resume`.".to_owned()
                }
                Err(why) => format!("Not everything is stopped: {why}"),
            };
        }
        let withdrawn = self.store.withdraw(&message.session, "/stop").await.unwrap_or_default();
        let stopped = self.interrupt(&message.session, StopReason::Stopped);
        match (stopped, withdrawn) {
            (false, 0) => "Nothing runs.".to_owned(),
            (true, 0) => "Stopped.".to_owned(),
            (_, count) => format!("Stopped; {count} waiting messages are withdrawn."),
        }
    }

    /// A new conversation for a chat; the old one stays.
    async fn fresh(&self, message: &Admitted) -> Result<String, StoreError> {
        self.store.withdraw(&message.session, "/new").await?;
        self.interrupt(&message.session, StopReason::Stopped);
        let next = self.host.new_session();
        self.store.bind(&message.key, &next).await?;
        if let Some(old) = self.sessions.find(&message.session)
            && let Err(error) = old.end(EndReason::NewSession).await
        {
            warn!(%error, "a session did not end by itself");
        }
        let known = self
            .conversations
            .find(message.session.as_str(), &SessionScope::Everyone)
            .await
            .is_ok();
        let back = if known {
            format!(" `/resume {}` goes back.", message.session)
        } else {
            String::new()
        };
        Ok(format!("New conversation.{back}"))
    }

    async fn set_busy(&self, message: &Admitted, words: &str) -> Result<String, StoreError> {
        if words.is_empty() {
            return Ok(format!("While I work, a message does: {}.", message.busy.as_str()));
        }
        let Some(mode) = BusyMode::named(words) else {
            return Ok(format!("`{words}` is none of interrupt, queue, steer, collect."));
        };
        self.store.choose(&message.key, "busy", Some(Value::from(mode.as_str()))).await?;
        Ok(format!("While I work, a message does: {}.", mode.as_str()))
    }
}

/// What a command says, whether it worked or not.
fn said(done: Result<String, StoreError>) -> String {
    done.unwrap_or_else(|error| error.to_string())
}

/// The words without `--all`, when they have it.
fn everywhere(words: &str) -> Option<String> {
    let all: Vec<&str> = words.split_whitespace().collect();
    let rest: Vec<&str> = all.iter().copied().filter(|word| *word != "--all").collect();
    (rest.len() < all.len()).then(|| rest.join(" "))
}
