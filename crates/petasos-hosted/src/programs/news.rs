//! What a call told about a program, read from its text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The news of one answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct News {
    /// New output.
    pub(super) output: Vec<u8>,
    /// How many pieces that was.
    pub(super) outputs: u64,
    /// Nobody can write output any more.
    pub(super) output_ended: bool,
    /// New error output.
    pub(super) errors: Vec<u8>,
    /// How many pieces that was.
    pub(super) pieces_of_errors: u64,
    /// Nobody can write error output any more.
    pub(super) errors_ended: bool,
    /// The program has ended with this code.
    pub(super) exit: Option<i32>,
    /// Why there is no news, and will be none.
    pub(super) fate: Option<Fate>,
}

/// Why a program has no news.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was not started, and never will be.
    NotStarted(String),
    /// Its folder is gone.
    Gone,
}

impl News {
    /// Reads an answer; one without its last line was cut.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut news = Self::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "petasos-o" => {
                    news.outputs = count(rest)?;
                    news.output = bytes(&mut lines)?;
                }
                "petasos-e" => {
                    news.pieces_of_errors = count(rest)?;
                    news.errors = bytes(&mut lines)?;
                }
                "petasos-o-end" => news.output_ended = true,
                "petasos-e-end" => news.errors_ended = true,
                "petasos-exit" => {
                    let code = rest.trim().parse();
                    news.exit = Some(code.map_err(|_| format!("`{rest}` is no exit code"))?);
                }
                "petasos-not-started" => news.fate = Some(Fate::NotStarted(rest.to_owned())),
                "petasos-gone" => news.fate = Some(Fate::Gone),
                "petasos-end" => return Ok(news),
                // Images greet, warn about locales, and so on.
                _ => {}
            }
        }
        let head: String = text.chars().take(200).collect();
        Err(format!("the sandbox gave an answer that cannot be read: `{}`", head.trim()))
    }
}

fn count(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("`{text}` is no number of pieces"))
}

fn bytes<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Result<Vec<u8>, String> {
    let encoded: String = lines.take_while(|line| *line != ".").collect();
    STANDARD.decode(encoded.trim()).map_err(|error| format!("output came damaged: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_and_a_cut_one_is_not() {
        let text = "hello from the image\npetasos-o 2\naGk=\n.\npetasos-o-end\npetasos-exit 7\npetasos-end\n";
        let news = News::parse(text).unwrap();
        assert_eq!((news.output.as_slice(), news.outputs, news.exit), (&b"hi"[..], 2, Some(7)));
        assert!(news.output_ended && !news.errors_ended);
        for cut in ["", "petasos-o 1\naGk=\n", "petasos-o x\n.\npetasos-end\n", "<html>"] {
            assert!(News::parse(cut).is_err(), "{cut}");
        }
    }
}
