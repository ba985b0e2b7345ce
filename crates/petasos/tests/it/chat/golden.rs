//! Screens as they must look, element by element, at 60, 100 and 200 columns.
//!
//! A scene is played in a terminal of each width; its file under `tests/golden` holds the three
//! screens. `PETASOS_BLESS=1` writes the files anew; the difference is then read by whoever commits.

mod elements;
mod more;
mod scenes;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use petasos_testkit::Home;

use super::home;
use super::pane::{Pane, Start};
use crate::loopback::{Loopback, Say};

const WIDTHS: [u16; 3] = [60, 100, 200];
/// A screen that did not change for so long is complete; only for writing the files.
const RESTS: Duration = Duration::from_millis(1500);
const PATIENCE: Duration = Duration::from_secs(30);

/// What is played.
pub(super) struct Scene {
    /// The name of its file.
    pub(super) name: &'static str,
    /// What the model says.
    pub(super) says: fn() -> Vec<Say>,
    /// Files before it begins: path below the user's home, and text.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// More lines of the configuration.
    pub(super) config: &'static str,
    pub(super) arguments: &'static str,
    pub(super) term: &'static str,
    pub(super) variables: &'static str,
    /// What the person does.
    pub(super) play: fn(&Pane),
}

impl Scene {
    pub(super) const USUAL: Self = Self {
        name: "",
        says: Vec::new,
        files: &[],
        config: "",
        arguments: "chat",
        term: "tmux-256color",
        variables: "",
        play: |pane| drop(pane.see("❯")),
    };

    /// Plays it at every width and compares.
    pub(super) fn holds(&self) {
        let blesses = blesses();
        let file = file(self.name);
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        let mut whole = String::new();
        for columns in WIDTHS {
            let heading = format!("== {columns} columns\n");
            let expected = kept
                .split_once(&heading)
                .map(|(_, rest)| rest.split_once("\n== ").map_or(rest, |(part, _)| part).trim_end())
                .unwrap_or_default();
            let Some(screen) = self.screen(columns, (!blesses).then_some(expected)) else { return };
            assert!(
                blesses || screen == expected,
                "{} at {columns} columns, expected:\n{expected}\n--- but it is:\n{screen}",
                self.name
            );
            write!(whole, "{heading}{screen}\n\n").expect("a string");
        }
        if blesses {
            let mut file = std::fs::File::create(file).expect("the file");
            file.write_all((whole.trim_end().to_owned() + "\n").as_bytes()).expect("written");
        }
    }

    /// The screen at its end: as expected, or as it is when it rests or the patience is at its end.
    fn screen(&self, columns: u16, expected: Option<&str>) -> Option<String> {
        let model = Loopback::saying((self.says)());
        let home: Home = home(&model, self.config);
        for (path, text) in self.files {
            home.write(path, text);
        }
        let start = Start {
            arguments: self.arguments,
            term: self.term,
            variables: self.variables,
            columns,
        };
        let pane = Pane::open(self.name, &home, &start)?;
        (self.play)(&pane);
        let (begun, mut since) = (Instant::now(), Instant::now());
        let mut last = masked(&pane.rows());
        loop {
            let done = expected.map_or(since.elapsed() > RESTS, |expected| expected == last);
            if done || begun.elapsed() > PATIENCE {
                return Some(last);
            }
            std::thread::sleep(Duration::from_millis(50));
            let now = masked(&pane.rows());
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
    }
}

pub(super) fn file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")).join(format!("{name}.txt"))
}

/// Whether the files are written instead of compared.
#[expect(clippy::disallowed_methods, reason = "whoever runs the tests says so")]
pub(super) fn blesses() -> bool {
    std::env::var_os("PETASOS_BLESS").is_some()
}

/// What differs from run to run, by a sign: times, ports, the moving sign, the version.
fn masked(rows: &[String]) -> String {
    let rows: Vec<String> = rows.iter().map(|row| masked_row(row.trim_end())).collect();
    rows.join("\n").trim_end().to_owned()
}

pub(super) fn masked_row(row: &str) -> String {
    let row = row.replace(env!("CARGO_PKG_VERSION"), "0.0.0");
    let mut shown = String::new();
    let mut rest = row.as_str();
    while let Some((before, after)) = rest.split_once(" · ") {
        shown.push_str(before);
        let digits = after.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
        let is_time = digits.len() < after.len() && digits.starts_with(" s");
        shown.push_str(if is_time { " · _" } else { " · " });
        rest = if is_time { digits } else { after };
    }
    shown.push_str(rest);
    let shown = match shown.split_once("127.0.0.1:") {
        Some((before, after)) => {
            let after = after.trim_start_matches(|sign: char| sign.is_ascii_digit());
            format!("{before}127.0.0.1:PORT{after}")
        }
        None => shown,
    };
    let shown = match shown.split_once("/tmp/.tmp") {
        Some((before, after)) => {
            format!("{before}/tmp/.tmp______{}", masked_row(after.get(6..).unwrap_or_default()))
        }
        None => shown,
    };
    let shown = shown.replace("1 min ago", "just now");
    shown.replace(['⠋', '⠙', '⠸', '⠴', '⠦', '⠧', '⠇', '⠏'], "*")
}
