//! `computer_use`: look at the desktop and act on it, as its person would.
//!
//! Every action but looking is stated as an effect on the program whose window it meets, and that
//! window must still be there when the action happens. Text that is typed into a terminal is
//! judged as the command that it is.

mod schema;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::output::Multimodal;
use petasos_contract::tool::{Example, Provenance};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, SessionId, Settings, Tool, ToolDef, ToolError,
    ToolOutput,
};
use petasos_redact::Redactor;
use petasos_vendors::x11::{Button, Desktop, Direction, Place, Window, X11Error, keys};
use serde::Deserialize;
use serde_json::json;

use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "computer_use",
    toolset: "computer_use",
    description: "Look at the desktop and act on it",
    core: true,
    provenance: Provenance::Foreign,
    check: Some(&DESKTOP),
    schema: schema::schema,
    examples: &[
        Example {
            title: "which windows there are",
            args: r#"{"action":"list_windows"}"#,
            shows: r#""windows":["#,
        },
        Example {
            title: "a combination that ends the session is never pressed",
            args: r#"{"action":"key","keys":"ctrl+alt+delete"}"#,
            shows: "never pressed",
        },
    ],
    build: |_| Arc::new(ComputerUse::default()),
    ..ToolDef::USUAL
};

const NEEDS: &str = "needs an X11 display of this machine (DISPLAY) and a person who watches";
/// Programs whose windows run what is typed into them.
const TERMINALS: &str = "xterm uxterm gnome-terminal konsole kitty alacritty urxvt rxvt st wezterm \
    foot xfce4-terminal lxterminal mate-terminal tilix terminator guake yakuake";
/// Lines of windows that a result shows.
const LINES_MAX: usize = 40;
const ELEMENTS_USUAL: usize = 100;
const ELEMENTS_MAX: usize = 1000;
const WAIT_MAX: f64 = 30.0;
const SCROLL_MAX: u32 = 50;
/// Captures that are remembered.
const SESSIONS_MAX: usize = 64;

static DESKTOP: CheckDef = CheckDef {
    id: "computer_use",
    scope: CheckScope::Session,
    probe: |cx| {
        Box::pin(async move {
            let there = place(&cx.settings).is_some_and(|place| place.is_there());
            Availability::when(there && cx.attended, NEEDS)
        })
    },
};

/// The display that the settings tell of.
fn place(settings: &Settings) -> Option<Place> {
    let display = settings.variable("DISPLAY")?.value.expose().to_owned();
    let named = settings.variable("XAUTHORITY").map(|it| it.value.expose().into());
    let usual = settings.user_home().join(".Xauthority");
    Some(Place { display, authority: Some(named.unwrap_or(usual)) })
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Input {
    action: String,
    mode: Option<String>,
    app: Option<String>,
    pid: Option<u32>,
    window_id: Option<u32>,
    max_elements: Option<usize>,
    element: Option<usize>,
    coordinate: Option<(i32, i32)>,
    button: Option<String>,
    #[serde(default)]
    modifiers: Vec<String>,
    from_element: Option<usize>,
    to_element: Option<usize>,
    from_coordinate: Option<(i32, i32)>,
    to_coordinate: Option<(i32, i32)>,
    direction: Option<String>,
    amount: Option<u32>,
    text: Option<String>,
    keys: Option<String>,
    seconds: Option<f64>,
    delivery_mode: Option<String>,
    #[serde(default)]
    capture_after: bool,
}

impl Input {
    /// Whether it only looks or waits.
    fn is_look(&self) -> bool {
        matches!(self.action.as_str(), "capture" | "wait" | "list_apps" | "list_windows")
    }
}

/// What a call would do: the window that it meets and where.
#[derive(Debug, Clone)]
struct Aim {
    window: Option<Window>,
    at: Option<(i32, i32)>,
    to: Option<(i32, i32)>,
}

#[derive(Default)]
struct ComputerUse {
    /// The windows of each session's last capture, by their numbers.
    seen: Arc<Mutex<HashMap<SessionId, Vec<Window>>>>,
}

impl Tool for ComputerUse {
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(async move {
            let input: Input = args.clone().parse()?;
            if input.is_look() {
                let work: Work = Ok((input, None));
                return Ok(Plan::new(args).with_work(work));
            }
            let seen = self.seen.lock().get(&cx.session).cloned().unwrap_or_default();
            let place = place(&cx.settings);
            let asked = input.clone();
            let aim = blocking(move || aim(&asked, place, &seen)).await;
            let effects =
                aim.as_ref().map_or_else(|_| Effects::none(), |aim| stated(&input, aim, cx));
            let work: Work = aim.map(|aim| (input, Some(aim)));
            Ok(Plan::new(args).with_effects(effects).with_work(work))
        })
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let work: Work = cleared.into_work()?;
            let done = match work {
                Ok((input, aim)) => self.act(input, aim, cx).await,
                Err(trouble) => Err(trouble),
            };
            Ok(done.unwrap_or_else(|trouble| {
                let mut value = trouble.value();
                Redactor::of(&cx.settings).value(&mut value);
                ToolOutput::json(&value)
            }))
        })
    }
}

type Work = Result<(Input, Option<Aim>), Trouble>;

/// What an action does to the world. One consent covers one program, and this way of acting only.
fn stated(input: &Input, aim: &Aim, cx: &CallContext) -> Effects {
    let app = aim.window.as_ref().map_or("desktop", name);
    let target = format!("desktop:{app}/foreground");
    let acts = Effects::one(Effect::Actuate { target, guarded: false });
    let is_terminal = TERMINALS.split_whitespace().any(|it| app.eq_ignore_ascii_case(it));
    match (&input.text, is_terminal) {
        (Some(text), true) if input.action == "type" => {
            let script = text.trim_end().to_owned();
            acts.and(Effect::Command { script, cwd: cx.workspace.to_path_buf() })
        }
        _ => acts,
    }
}

fn name(window: &Window) -> &str {
    if window.app.is_empty() { &window.title } else { &window.app }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Trouble> + Send + 'static,
) -> Result<T, Trouble> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Trouble::new("crashed", error.to_string())))
}

fn open(place: Option<Place>) -> Result<Desktop, Trouble> {
    let place = place.ok_or_else(|| Trouble::new("missing_setup", NEEDS))?;
    Ok(Desktop::open(&place)?)
}

impl From<X11Error> for Trouble {
    fn from(error: X11Error) -> Self {
        let kind = match error {
            X11Error::Display { .. } => "missing_setup",
            X11Error::Server(_) => "upstream",
            X11Error::Unsupported(_) => "unsupported",
        };
        Self::new(kind, error.to_string())
    }
}

/// Finds out what a call means, before anybody judges it.
fn aim(input: &Input, place: Option<Place>, seen: &[Window]) -> Result<Aim, Trouble> {
    check(input)?;
    let desktop = open(place)?;
    let windows = desktop.windows()?;
    let of = |number: Option<usize>| number.map(|it| element(it, seen, &windows)).transpose();
    let named = chosen(input, &windows)?;
    let (from, to) = (of(input.element.or(input.from_element))?, of(input.to_element)?);
    let middle = |window: &Option<Window>| window.as_ref().map(Window::middle);
    let at = input.coordinate.or(input.from_coordinate).or_else(|| middle(&from));
    let to = input.to_coordinate.or_else(|| middle(&to));
    let under = |(x, y): (i32, i32)| windows.iter().rev().find(|it| it.holds(x, y)).cloned();
    let needs_point = matches!(
        input.action.as_str(),
        "click" | "double_click" | "right_click" | "middle_click" | "drag"
    );
    let at = at.or_else(|| middle(&named).filter(|_| !needs_point || input.action != "drag"));
    if needs_point && at.is_none() || input.action == "drag" && to.is_none() {
        let why = "say where: `coordinate`, or `element` of the last capture; a drag has two ends";
        return Err(Trouble::new("bad_argument", why));
    }
    let window = match at.filter(|_| needs_point || input.action == "scroll") {
        Some(point) => under(point),
        None => match named {
            Some(window) => Some(window),
            None => desktop.focused()?,
        },
    };
    Ok(Aim { window, at, to })
}

/// What can be refused without a look at the desktop.
fn check(input: &Input) -> Result<(), Trouble> {
    let bad = |why: &str| Err(Trouble::new("bad_argument", why));
    if input.delivery_mode.as_deref() == Some("background") {
        let why = "X11 delivers input to what the person sees: `background` is not possible here";
        return Err(Trouble::new("unsupported", why));
    }
    match input.action.as_str() {
        "type" if input.text.as_deref().is_none_or(str::is_empty) => bad("`text` is empty"),
        "click" | "double_click" | "right_click" | "middle_click" | "drag" | "scroll" | "type"
        | "focus_app" => Ok(()),
        "key" => {
            let chord = keys::chord(input.keys.as_deref().unwrap_or_default());
            chord.map(drop).map_err(|why| Trouble::new("denied", why))
        }
        "set_value" => {
            let why = "X11 knows no controls whose value could be set: click and type instead";
            Err(Trouble::new("unsupported", why))
        }
        other => {
            let why = format!("`{other}` is no action of this tool");
            Err(Trouble::new("bad_argument", why))
        }
    }
}

/// The window of a number of the last capture, when it is still the same.
fn element(number: usize, seen: &[Window], now: &[Window]) -> Result<Window, Trouble> {
    let stale = |why: String| Trouble::new("stale", why);
    let then = number.checked_sub(1).and_then(|at| seen.get(at));
    let then = then
        .ok_or_else(|| stale(format!("the last capture has no element {number}: capture again")))?;
    let same = now.iter().find(|window| window.id == then.id && window.app == then.app);
    let same = same.ok_or_else(|| stale(format!("element {number} is gone: capture again")))?;
    Ok(same.clone())
}

/// The window that a call names, if it names one.
fn chosen(input: &Input, windows: &[Window]) -> Result<Option<Window>, Trouble> {
    if input.window_id.is_none() && input.pid.is_none() && input.app.is_none() {
        return Ok(None);
    }
    let fits = |window: &&Window| {
        let app = input.app.as_deref().is_none_or(|app| {
            let app = app.to_lowercase();
            window.app.to_lowercase() == app || window.title.to_lowercase().contains(&app)
        });
        let id = input.window_id.is_none_or(|id| window.id == id);
        app && id && input.pid.is_none_or(|pid| window.pid == Some(pid))
    };
    let found = windows.iter().rev().find(fits).cloned();
    let known: Vec<&str> = windows.iter().map(name).collect();
    let none =
        || Trouble::new("not_found", "no window fits: see candidates").with("candidates", known);
    found.map(Some).ok_or_else(none)
}

impl ComputerUse {
    async fn act(
        &self,
        input: Input,
        aim: Option<Aim>,
        cx: &CallContext,
    ) -> Result<ToolOutput, Trouble> {
        let (place, capture_after) = (place(&cx.settings), input.capture_after);
        if input.action == "wait" {
            let seconds = input.seconds.unwrap_or(1.0).clamp(0.0, WAIT_MAX);
            tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
            return Ok(ToolOutput::json(&json!({ "ok": true, "action": "wait" })));
        }
        let Some(aim) = aim else { return self.look(input, place, cx).await };
        let action = input.action.clone();
        let app = aim.window.as_ref().map(|window| name(window).to_owned());
        let again = place.clone();
        blocking(move || deed(&input, &aim, &open(again)?)).await?;
        if capture_after {
            let look = Input { action: "capture".to_owned(), ..Input::default() };
            return self.look(look, place, cx).await;
        }
        Ok(ToolOutput::json(&json!({ "ok": true, "action": action, "app": app })))
    }

    async fn look(
        &self,
        input: Input,
        place: Option<Place>,
        cx: &CallContext,
    ) -> Result<ToolOutput, Trouble> {
        let action = input.action.clone();
        let asked = input.clone();
        let (windows, focused, shot, size) = blocking(move || {
            let desktop = open(place)?;
            let windows = desktop.windows()?;
            let focused = desktop.focused()?;
            let of = chosen(&asked, &windows)?;
            let wants = asked.action == "capture" && asked.mode.as_deref() != Some("ax");
            let shot = wants.then(|| desktop.picture(of.as_ref())).transpose()?;
            Ok((windows, focused, shot, desktop.size()))
        })
        .await?;
        if action != "capture" {
            return Ok(list(&action, &windows, cx));
        }
        let most = input.max_elements.unwrap_or(ELEMENTS_USUAL).clamp(1, ELEMENTS_MAX);
        let mut shown = windows.clone();
        shown.truncate(most);
        let (width, height) = shot.as_ref().map_or(size, |shot| (shot.width, shot.height));
        let mut told = json!({
            "mode": input.mode.as_deref().unwrap_or("som"),
            "width": width,
            "height": height,
            "app": focused.as_ref().map(name),
            "window_title": focused.as_ref().map(|window| window.title.as_str()),
            "elements": shown.iter().zip(1..).take(LINES_MAX).map(line).collect::<Vec<_>>(),
            "total_elements": windows.len(),
        });
        if windows.len() > LINES_MAX.min(most) {
            told["truncated_elements"] = (windows.len() - LINES_MAX.min(most)).into();
        }
        Redactor::of(&cx.settings).value(&mut told);
        self.remember(&cx.session, shown);
        let words = told.to_string();
        let Some(shot) = shot else { return Ok(ToolOutput::Text(words)) };
        let url = format!("data:image/png;base64,{}", STANDARD.encode(shot.png));
        let content = vec![
            json!({ "type": "text", "text": words }),
            json!({ "type": "image_url", "image_url": { "url": url } }),
        ];
        Ok(ToolOutput::Multimodal(Multimodal { content, text_summary: Some(words) }))
    }

    fn remember(&self, session: &SessionId, windows: Vec<Window>) {
        let mut seen = self.seen.lock();
        if seen.len() >= SESSIONS_MAX && !seen.contains_key(session) {
            seen.clear();
        }
        seen.insert(session.clone(), windows);
    }
}

fn line((window, number): (&Window, usize)) -> String {
    let Window { app, title, x, y, width, height, .. } = window;
    format!("[{number}] {app} \"{title}\" at {x},{y} size {width}x{height}")
}

fn list(action: &str, windows: &[Window], cx: &CallContext) -> ToolOutput {
    let row = |window: &Window| {
        json!({
            "window_id": window.id, "app": window.app, "title": window.title, "pid": window.pid,
            "x": window.x, "y": window.y, "width": window.width, "height": window.height,
        })
    };
    let mut told = if action == "list_apps" {
        let mut apps: Vec<&str> = windows.iter().map(name).collect();
        apps.sort_unstable();
        apps.dedup();
        json!({ "ok": true, "action": action, "apps": apps })
    } else {
        json!({ "ok": true, "action": action, "windows": windows.iter().map(row).collect::<Vec<_>>() })
    };
    Redactor::of(&cx.settings).value(&mut told);
    ToolOutput::json(&told)
}

/// Does it, when what was judged is still what is there.
fn deed(input: &Input, aim: &Aim, desktop: &Desktop) -> Result<(), Trouble> {
    let windows = desktop.windows()?;
    let is_pointed = !matches!(input.action.as_str(), "type" | "key" | "focus_app");
    let now = match aim.at.filter(|_| is_pointed) {
        Some((x, y)) => windows.iter().rev().find(|it| it.holds(x, y)).map(|it| it.id),
        None => aim
            .window
            .as_ref()
            .filter(|it| windows.iter().any(|now| now.id == it.id))
            .map(|it| it.id),
    };
    if now != aim.window.as_ref().map(|window| window.id) {
        let why = "another window is there now than the one that was judged: capture again";
        return Err(Trouble::new("stale", why));
    }
    let held =
        input.modifiers.iter().map(|word| keys::modifier(word)).collect::<Result<Vec<_>, _>>();
    let held = held.map_err(|why| Trouble::new("bad_argument", why))?;
    let at = aim.at.unwrap_or_default();
    let done = match input.action.as_str() {
        "click" => desktop.click(at, button(input), 1, &held),
        "double_click" => desktop.click(at, button(input), 2, &held),
        "right_click" => desktop.click(at, Button::Right, 1, &held),
        "middle_click" => desktop.click(at, Button::Middle, 1, &held),
        "drag" => desktop.drag(at, aim.to.unwrap_or(at), button(input)),
        "scroll" => {
            let direction = match input.direction.as_deref() {
                Some("up") => Direction::Up,
                Some("left") => Direction::Left,
                Some("right") => Direction::Right,
                _ => Direction::Down,
            };
            let middle = aim.window.as_ref().map(Window::middle);
            let at = aim.at.or(middle).unwrap_or_default();
            desktop.scroll(at, direction, input.amount.unwrap_or(3).min(SCROLL_MAX), &held)
        }
        "focus_app" => match &aim.window {
            Some(window) => desktop.focus(window.id),
            None => return Err(Trouble::new("not_found", "there is no window to bring forward")),
        },
        action => keyboard(action, input, aim, desktop),
    };
    Ok(done?)
}

/// Typing and keys go to the window that was judged.
fn keyboard(action: &str, input: &Input, aim: &Aim, desktop: &Desktop) -> Result<(), X11Error> {
    if let Some(window) = &aim.window
        && desktop.focused()?.is_none_or(|focused| focused.id != window.id)
    {
        desktop.focus(window.id)?;
    }
    if action == "type" {
        return desktop.type_text(input.text.as_deref().unwrap_or_default());
    }
    let chord = keys::chord(input.keys.as_deref().unwrap_or_default());
    desktop.press(&chord.map_err(X11Error::Unsupported)?)
}

fn button(input: &Input) -> Button {
    match input.button.as_deref() {
        Some("right") => Button::Right,
        Some("middle") => Button::Middle,
        _ => Button::Left,
    }
}
