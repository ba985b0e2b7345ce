//! What a person sees while a call runs: its output as it comes, or how long it has taken.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use petasos_contract::event::{Event, EventSink, Subscriber};

use crate::out::{Out, Style};

/// How often the elapsed time is drawn again.
const FRAME: Duration = Duration::from_millis(200);
/// A call that is quicker than this needs no spinner.
const PATIENCE: Duration = Duration::from_millis(500);
const FRAMES: [&str; 4] = ["◐", "◓", "◑", "◒"];

/// Shows that something is going on, on standard error, while it goes on.
#[derive(Debug)]
pub(crate) struct Progress {
    state: Arc<State>,
    spinner: Option<std::thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct State {
    out: Out,
    live: bool,
    done: AtomicBool,
    streamed: AtomicBool,
}

impl Progress {
    /// Begins; without a terminal nothing is drawn.
    pub(crate) fn start(out: Out, what: &str) -> Self {
        let live = !out.is_json() && std::io::stderr().is_terminal();
        let state = Arc::new(State {
            out,
            live,
            done: AtomicBool::new(false),
            streamed: AtomicBool::new(false),
        });
        let spinner = live.then(|| {
            let (state, what) = (Arc::clone(&state), shortened(what));
            std::thread::spawn(move || spin(&state, &what))
        });
        Self { state, spinner }
    }

    /// Where the call tells what happens.
    pub(crate) fn events(&self) -> EventSink {
        EventSink::to(Arc::clone(&self.state) as Arc<dyn Subscriber>)
    }

    /// Ends; whether the output has been shown already.
    pub(crate) fn finish(mut self) -> bool {
        self.state.done.store(true, Ordering::Release);
        if let Some(spinner) = self.spinner.take() {
            spinner.thread().unpark();
            // A spinner that panicked has nothing left to tell.
            spinner.join().unwrap_or_default();
        }
        self.state.streamed.load(Ordering::Acquire)
    }
}

impl Subscriber for State {
    fn take(&self, event: Event) {
        if let Event::ToolOutput { text, .. } = event
            && self.live
        {
            self.streamed.store(true, Ordering::Release);
            self.out.piece(&text);
        }
    }
}

fn spin(state: &State, what: &str) {
    let started = Instant::now();
    let mut drawn = false;
    for frame in FRAMES.iter().cycle() {
        std::thread::park_timeout(FRAME);
        if state.done.load(Ordering::Acquire) || state.streamed.load(Ordering::Acquire) {
            break;
        }
        if started.elapsed() < PATIENCE {
            continue;
        }
        drawn = true;
        let seconds = started.elapsed().as_secs();
        let line = state.out.paint(Style::Faint, &format!("{frame} {what} ({seconds} s)"));
        draw(&format!("\r\u{1b}[K{line}"));
    }
    if drawn {
        draw("\r\u{1b}[K");
    }
}

/// Drawing is a courtesy: a terminal that is gone is no error.
fn draw(text: &str) {
    let mut terminal = std::io::stderr().lock();
    terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush()).unwrap_or_default();
}

fn shortened(what: &str) -> String {
    const WIDTH: usize = 60;
    let line = what.lines().next().unwrap_or_default();
    match line.char_indices().nth(WIDTH) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line.to_owned(),
    }
}
