//! A turn as it happens, for a program that shows one answer and takes no keys.

use std::io;
use std::sync::Arc;

use petasos_contract::event::Event;
use petasos_contract::reply::Delta;

use crate::screen::{Look, Screen};
use crate::view::View;

/// The emoji of a tool.
pub type Emoji = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// What goes on, drawn while it does.
#[derive(Debug)]
pub struct Watch {
    view: View,
    screen: Screen,
    /// The answer is shown here, too.
    answers: bool,
    /// Somebody else has the terminal: a question.
    held: bool,
}

impl Watch {
    /// The answer and everything beside it, on standard output.
    pub fn answering(look: Look, emoji: Emoji) -> Self {
        Self::new(Screen::stdout(look), look, emoji, true)
    }

    /// What goes on, on standard error; the answer goes elsewhere.
    pub fn beside(look: Look, emoji: Emoji) -> Self {
        Self::new(Screen::to(Box::new(io::stderr()), look), look, emoji, false)
    }

    fn new(screen: Screen, look: Look, emoji: Emoji, answers: bool) -> Self {
        let mut view = View::new(look.live, emoji);
        view.begin("thinking");
        Self { view, screen, answers, held: false }
    }

    /// Whether the answer is shown here.
    pub fn answers(&self) -> bool {
        self.answers
    }

    /// Something happened.
    pub fn take(&mut self, mut event: Event) {
        if !self.answers {
            match &mut event {
                Event::Delta { delta: Delta::Text { .. }, .. } => {
                    return self.view.doing("writing");
                }
                Event::Replied { text, .. } => text.clear(),
                _ => {}
            }
        }
        let canvas = self.screen.canvas();
        self.view.take(event, canvas);
        if !self.screen.look().live {
            self.draw();
        }
    }

    /// Draws what there is now.
    pub fn draw(&mut self) {
        if !self.screen.is_settled() {
            return;
        }
        let stay = self.view.done();
        let (canvas, (_, height)) = (self.screen.canvas(), self.screen.size());
        if self.held {
            return self.screen.show(stay, &[]);
        }
        let rows = self.view.rows(canvas, height.saturating_sub(2));
        self.screen.show(stay, &rows);
    }

    /// Leaves the terminal to a question, or comes back.
    pub fn hold(&mut self, held: bool) {
        self.held = held;
        let stay = self.view.done();
        self.screen.show(stay, &[]);
    }

    /// Everything has happened.
    pub fn end(&mut self) {
        let canvas = self.screen.canvas();
        self.view.end(canvas);
        let stay = self.view.done();
        self.screen.show(stay, &[]);
        self.screen.end_line();
    }
}
