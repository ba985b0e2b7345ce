//! A terminal with the program in it: tmux, driven by keys, read by its screen.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use petasos_testkit::{Home, skip};

static NUMBER: AtomicU32 = AtomicU32::new(0);
const PATIENCE: Duration = Duration::from_secs(40);
const GLANCE: Duration = Duration::from_millis(50);

/// How the program is started.
pub(crate) struct Start<'a> {
    pub(crate) arguments: &'a str,
    pub(crate) term: &'a str,
    pub(crate) variables: &'a str,
    pub(crate) columns: u16,
}

impl Default for Start<'_> {
    fn default() -> Self {
        Self { arguments: "chat", term: "tmux-256color", variables: "", columns: 90 }
    }
}

/// One terminal; its server ends with it.
pub(crate) struct Pane {
    server: String,
    pressed: Pressed,
}

/// What a person had to do so far.
#[derive(Default)]
struct Pressed {
    enters: AtomicU32,
    pastes: AtomicU32,
    /// Every other key.
    others: AtomicU32,
}

impl Pane {
    /// Starts the program; nothing when tmux is not there, which the harness is told.
    pub(crate) fn open(test: &str, home: &Home, start: &Start<'_>) -> Option<Self> {
        let command = format!(
            "env -i HOME='{}' PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 TERM={} {} '{}' {}; \
             echo \"[ended with $?]\"; exec sleep 600",
            home.user().display(),
            start.term,
            start.variables,
            env!("CARGO_BIN_EXE_petasos"),
            start.arguments,
        );
        Self::start(test, home, &command, start.columns)
    }

    /// Keeps what the program writes from here on, as it writes it.
    pub(crate) fn record(&self, to: &Path) {
        let command = format!("cat > '{}'", to.display());
        self.tmux(&["pipe-pane", "-O", &command]).expect("tmux records");
    }

    /// Starts a shell of a person, who can start the program by its name.
    pub(crate) fn shell(test: &str, home: &Home) -> Option<Self> {
        let program = Path::new(env!("CARGO_BIN_EXE_petasos"));
        let command = format!(
            "env -i HOME='{}' PATH='{}':/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 \
             TERM=tmux-256color PS1='$ ' bash --norc -i",
            home.user().display(),
            program.parent().expect("a folder").display(),
        );
        Self::start(test, home, &command, Start::default().columns)
    }

    fn start(test: &str, home: &Home, command: &str, columns: u16) -> Option<Self> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let server = format!("petasos-{}-{number}", std::process::id());
        let pane = Self { server, pressed: Pressed::default() };
        if pane.tmux(&["-V"]).is_none() {
            skip(test, "tmux", "the program is not installed");
            return None;
        }
        let (width, folder) = (columns.to_string(), home.workspace());
        let folder = folder.to_str().expect("a readable path");
        pane.tmux(&[
            "-f",
            "/dev/null",
            "-u",
            "new-session",
            "-d",
            "-x",
            &width,
            "-y",
            "40",
            "-c",
            folder,
            command,
        ])
        .expect("tmux starts");
        Some(pane)
    }

    /// Types words as they are.
    pub(crate) fn say(&self, words: &str) {
        let keys = u32::try_from(words.chars().count()).expect("a few words");
        self.pressed.others.fetch_add(keys, Ordering::Relaxed);
        self.tmux(&["send-keys", "-l", words]).expect("keys are taken");
    }

    /// Pastes a text, marked as a paste.
    pub(crate) fn paste(&self, text: &str) {
        self.pressed.pastes.fetch_add(1, Ordering::Relaxed);
        self.tmux(&["set-buffer", text]).expect("a buffer");
        self.tmux(&["paste-buffer", "-p", "-r"]).expect("a paste");
    }

    /// Presses keys by their names.
    pub(crate) fn press(&self, keys: &[&str]) {
        for key in keys {
            let kind = if *key == "Enter" { &self.pressed.enters } else { &self.pressed.others };
            kind.fetch_add(1, Ordering::Relaxed);
        }
        self.tmux(&[&["send-keys"], keys].concat()).expect("keys are taken");
    }

    /// Types a line and sends it.
    pub(crate) fn enter(&self, line: &str) {
        self.say(line);
        self.press(&["Enter"]);
    }

    /// How often Enter was pressed, what was pasted, and how many other keys there were.
    pub(crate) fn pressed(&self) -> (u32, u32, u32) {
        let Pressed { enters, pastes, others } = &self.pressed;
        let count = |kind: &AtomicU32| kind.load(Ordering::Relaxed);
        (count(enters), count(pastes), count(others))
    }

    /// The screen and what has scrolled away, without the blank end.
    pub(crate) fn screen(&self) -> String {
        let text = self.tmux(&["capture-pane", "-p", "-J", "-S", "-500"]).expect("a screen");
        text.trim_end().to_owned()
    }

    /// The screen with its escape sequences.
    pub(crate) fn styled(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e", "-S", "-500"]).expect("a screen")
    }

    /// The lines as wide as the window shows them.
    pub(crate) fn rows(&self) -> Vec<String> {
        let text = self.tmux(&["capture-pane", "-p"]).expect("a screen");
        text.lines().map(str::to_owned).collect()
    }

    /// Another width.
    pub(crate) fn resize(&self, columns: u16) {
        let width = columns.to_string();
        self.tmux(&["resize-window", "-x", &width, "-y", "40"]).expect("another size");
    }

    /// Waits until the screen is as wanted; fails with the screen.
    pub(crate) fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if wanted(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "not seen: {what}\n{screen}");
            std::thread::sleep(GLANCE);
        }
    }

    /// Waits until the screen shows this.
    pub(crate) fn see(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits for an empty prompt below this.
    pub(crate) fn ready_after(&self, text: &str) -> String {
        self.until(&format!("a prompt below `{text}`"), |screen| {
            let below = screen.rsplit_once(text).map(|(_, below)| below);
            below
                .is_some_and(|below| matches!(below.lines().last().map(str::trim), Some("❯" | ">")))
        })
    }

    #[expect(clippy::disallowed_methods, reason = "tests start the terminal that they test in")]
    fn tmux(&self, arguments: &[&str]) -> Option<String> {
        let output =
            Command::new("tmux").args(["-L", &self.server]).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
