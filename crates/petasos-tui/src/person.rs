//! Questions to the person at the chat: shown between the lines, answered in the composer.
//!
//! Whoever asks holds a [`Person`]; the chat holds the other end. The chat decides nothing: what an
//! answer means is up to whoever asked.

use std::fmt::Write as _;
use std::io;

use petasos_agent::engine::{Asker, Question};
use petasos_contract::{BoxFuture, CallContext};
use tokio::sync::{mpsc, oneshot};

/// What came from the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// A line.
    Line(String),
    /// There will be no more.
    End,
    /// The person pressed Ctrl-C.
    Interrupted,
}

/// Something for the chat to show or to ask for.
#[derive(Debug)]
pub(crate) enum Ask {
    /// Show this.
    Show(String),
    /// Wait for a line.
    Line(oneshot::Sender<Typed>),
}

/// The person, as those see them who ask.
#[derive(Debug, Clone)]
pub struct Person {
    asks: mpsc::UnboundedSender<Ask>,
}

/// The chat's end.
#[derive(Debug)]
pub struct Questions(pub(crate) mpsc::UnboundedReceiver<Ask>);

impl Person {
    /// A person, and where the chat hears what they are asked.
    pub fn pair() -> (Self, Questions) {
        let (asks, questions) = mpsc::unbounded_channel();
        (Self { asks }, Questions(questions))
    }

    /// Shows text; places in bold red stay marked, everything else is plain.
    pub fn show(&self, text: &str) -> io::Result<()> {
        self.asks.send(Ask::Show(text.to_owned())).map_err(|_| gone())
    }

    /// Waits for one line that is typed from now on. Dropping the future gives up waiting.
    pub async fn line(&self) -> io::Result<Typed> {
        let (sender, answer) = oneshot::channel();
        self.asks.send(Ask::Line(sender)).map_err(|_| gone())?;
        Ok(answer.await.unwrap_or(Typed::End))
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the chat has ended")
}

impl Asker for Person {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            self.show(&shown(question)).map_err(|error| error.to_string())?;
            match self.line().await.map_err(|error| error.to_string())? {
                Typed::Line(line) => Ok(chosen(question, line.trim())),
                Typed::End | Typed::Interrupted => {
                    Err("the user did not want to answer: decide yourself".to_owned())
                }
            }
        })
    }
}

fn shown(question: &Question) -> String {
    let mut text = format!("\n❓ {}\n", question.text);
    for (at, choice) in question.choices.iter().enumerate() {
        writeln!(text, "  {}. {choice}", at + 1).unwrap_or_default();
    }
    text.push_str(if question.choices.is_empty() {
        "Your answer:"
    } else {
        "A number, or your own words:"
    });
    text
}

/// A number chooses; anything else is the answer itself.
fn chosen(question: &Question, line: &str) -> String {
    let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    number.and_then(|at| question.choices.get(at)).cloned().unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_chooses_and_anything_else_is_the_answer() {
        let choices = vec!["red".to_owned(), "blue".to_owned()];
        let question = Question { text: "Which?".to_owned(), choices };
        for (line, answer) in [("2", "blue"), ("0", "0"), ("3", "3"), ("green", "green")] {
            assert_eq!(chosen(&question, line), answer);
        }
        assert!(shown(&question).contains("  1. red\n  2. blue\n"));
    }
}
