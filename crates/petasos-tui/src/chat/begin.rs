//! How a chat begins: what it is made of, as the configuration says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;
use petasos_contract::Settings;
use petasos_session::{CommandInfo, Replay, Session};

use super::menu::Swallow;
use super::offering::Offering;
use super::{Chat, ChatError, Mode, Next, Setup, busy};
use crate::command;
use crate::composer::{Complete, ComposerOptions, Offered, Pastes};
use crate::draft::Draft;
use crate::input::Input;
use crate::raw::Raw;
use crate::screen::{Look, Screen};
use crate::signals::Signals;
use crate::skin::Skin;
use crate::view::{self, Detail, View, Words};
use crate::watch::Emoji;
use crate::words::Markup;

/// Pastes of more lines are folded, unless `paste_collapse_threshold` says otherwise.
const FOLD_PASTES_ABOVE: usize = 5;

impl Chat {
    pub(super) fn new(setup: Setup, settings: Arc<Settings>) -> Result<Self, ChatError> {
        let Setup {
            session,
            look,
            history,
            first,
            greeting,
            emoji,
            editor,
            clipboard,
            pasted,
            pictures,
            ears,
            mouth,
        } = setup;
        let skin = Arc::new(Mutex::new(look.skin));
        let raw = if look.live { Some(Raw::hold()?) } else { None };
        let flag = |key: &str| settings.get(key).and_then(serde_json::Value::as_bool);
        let status = Arc::new(Mutex::new(String::new()));
        let is_vi = Arc::new(AtomicBool::new(flag("display.vi_mode").unwrap_or_default()));
        let own =
            Own { skin: Arc::clone(&skin), status: Arc::clone(&status), is_vi: Arc::clone(&is_vi) };
        let options = composed(&session, &settings, own, (history, pasted));
        let pastes = Pastes::new(options.pasted.clone(), options.fold_pastes_above);
        let complete = Complete::new(options.commands.clone(), options.workspace.clone());
        let input = if look.live { Input::composer(options) } else { Input::lines() };
        let view = Self::viewed(&settings, look, emoji);
        let mut chat = Self {
            events: Some(session.events(Replay::Since(0))),
            screen: Screen::stdout(look),
            view,
            busy: busy::configured(&settings, input.is_piped()),
            footer: flag("display.show_cost").unwrap_or_default()
                || flag("display.runtime_footer").unwrap_or_default(),
            lines: first.into_iter().collect(),
            doing: None,
            pending: BTreeSet::new(),
            queued: BTreeMap::new(),
            question: None,
            picker: None,
            offering: Offering::new(complete),
            swallow: Swallow::default(),
            used: 0,
            status,
            answering: None,
            input,
            signals: Signals::new()?,
            draft: Draft::folding(pastes),
            interrupted: None,
            mode: Mode::Lines,
            next: Next::Stay,
            session,
            settings,
            editor,
            clipboard,
            pictures,
            ears,
            mouth,
            speaks: false,
            skin,
            is_vi,
            raw,
        };
        chat.markdown(&greeting);
        chat.name_unused_commands();
        Ok(chat)
    }

    /// The picture of turns, as configured.
    fn viewed(settings: &Settings, look: Look, emoji: Emoji) -> View {
        let flag = |key: &str| settings.get(key).and_then(serde_json::Value::as_bool);
        let mut view = View::new(look.live, emoji);
        view.hint_after = look.live.then_some(view::HINTED_AFTER);
        view.parts.reasoning = flag("display.show_reasoning").unwrap_or_default();
        view.parts.diffs = flag("display.inline_diffs").unwrap_or(true);
        view.parts.space = !flag("display.compact").unwrap_or_default();
        view.written.markup = Markup::of(settings);
        view.words = if flag("display.interim_assistant_messages") == Some(false) {
            Words::Final
        } else if flag("display.streaming") == Some(false) {
            Words::Whole
        } else {
            Words::Streamed
        };
        view.detail = match settings.get("display.tool_progress") {
            _ if flag("agent.verbose").unwrap_or_default() => Detail::Verbose,
            Some(value) if value == "off" || value == false => Detail::Quiet,
            Some(value) if value == "verbose" => Detail::Verbose,
            _ => Detail::Usual,
        };
        view
    }

    fn name_unused_commands(&mut self) {
        let service = Arc::clone(self.session.service());
        let shadowed: Vec<String> = service
            .commands()
            .into_iter()
            .map(|info| info.name)
            .filter(|name| command::find(name).is_some())
            .filter(|name| !petasos_session::built_in().any(|known| known == name))
            .collect();
        for name in service.refused_commands().iter().chain(&shadowed) {
            let text = format!("/{name} is built in; the added command of that name is not used");
            self.note(&text);
        }
    }
}

/// What the chat and its composer both look at.
struct Own {
    skin: Arc<Mutex<Skin>>,
    status: Arc<Mutex<String>>,
    is_vi: Arc<AtomicBool>,
}

/// What the composer offers here.
fn composed(
    session: &Session,
    settings: &Settings,
    Own { skin, status, is_vi }: Own,
    (history, pasted): (Option<PathBuf>, PathBuf),
) -> ComposerOptions {
    let offered = |info: CommandInfo| Offered {
        name: format!("/{}", info.name),
        about: info.about,
        usage: info.usage,
    };
    let commands = command::listed(session.service().commands());
    let folded = settings.get("paste_collapse_threshold").and_then(serde_json::Value::as_u64);
    ComposerOptions {
        history,
        workspace: settings.workspace().to_path_buf(),
        commands: commands.into_iter().map(offered).collect(),
        skin,
        is_vi,
        pasted,
        fold_pastes_above: folded
            .and_then(|lines| usize::try_from(lines).ok())
            .unwrap_or(FOLD_PASTES_ABOVE),
        status,
    }
}
