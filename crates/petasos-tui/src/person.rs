//! Questions to the person at the chat: shown between the lines, answered in the composer.
//!
//! Whoever asks holds a [`Person`]; the chat holds the other end. The chat decides nothing: what an
//! answer means is up to whoever asked.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use petasos_agent::engine::{Asker, Question};
use petasos_contract::{BoxFuture, CallContext};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc, oneshot};

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
    /// One question at a time: two would take each other's answers.
    floor: Arc<Semaphore>,
}

/// The right to ask; the next question is put when it is dropped.
#[derive(Debug)]
pub struct Floor<'a>(#[expect(dead_code, reason = "held for its drop")] SemaphorePermit<'a>);

/// The chat's end.
#[derive(Debug)]
pub struct Questions(pub(crate) mpsc::UnboundedReceiver<Ask>);

impl Person {
    /// A person, and where the chat hears what they are asked.
    pub fn pair() -> (Self, Questions) {
        let (asks, questions) = mpsc::unbounded_channel();
        (Self { asks, floor: Arc::new(Semaphore::new(1)) }, Questions(questions))
    }

    /// Waits until no other question is open, first come first served. What the wait costs is
    /// nobody's time to answer.
    pub async fn floor(&self) -> io::Result<Floor<'_>> {
        if let Ok(free) = self.floor.try_acquire() {
            return Ok(Floor(free));
        }
        self.show("⏳ another question waits until this one is answered")?;
        let granted = self.floor.acquire().await.map_err(|_| gone())?;
        Ok(Floor(granted))
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
            let _floor = self.floor().await.map_err(|error| error.to_string())?;
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

    #[tokio::test]
    async fn questions_are_put_one_after_the_other_and_each_gets_its_own_answer() {
        let (person, mut questions) = Person::pair();
        let ask = |name: &'static str| {
            let person = person.clone();
            async move {
                let _floor = person.floor().await.unwrap();
                person.show(name).unwrap();
                person.line().await.unwrap()
            }
        };
        let answer_each = async {
            let mut open: Option<String> = None;
            for _ in 0..2 {
                loop {
                    match questions.0.recv().await.unwrap() {
                        Ask::Show(text) if text.contains("waits") => {}
                        Ask::Show(text) => {
                            assert_eq!(open.replace(text), None, "two questions are open");
                        }
                        Ask::Line(answer) => {
                            let name = open.take().unwrap();
                            answer.send(Typed::Line(format!("{name}!"))).unwrap();
                            break;
                        }
                    }
                }
            }
        };
        let (first, second, ()) = tokio::join!(ask("colour"), ask("delete"), answer_each);
        let line = |text: &str| Typed::Line(text.to_owned());
        assert_eq!((first, second), (line("colour!"), line("delete!")));
    }

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
