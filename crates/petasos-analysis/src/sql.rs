//! Destructive SQL, found by reading statements, not by looking for words.

use crate::shell::normalise::UNKNOWN;
use crate::words::lists;

/// Whether any statement drops, truncates, or deletes without an effective `WHERE`.
pub(crate) fn is_destructive(text: &str) -> bool {
    // A whole line that is not known ends where the next one begins.
    let unseen = format!("{UNKNOWN}\n");
    let text = text.strip_prefix(unseen.as_str()).unwrap_or(text);
    let words = if text.contains(UNKNOWN) {
        words(&text.replace(&format!("\n{unseen}"), "\n;\n"))
    } else {
        words(text)
    };
    words.split(|word| word == ";").any(statement)
}

/// Words in upper case, strings as `'…'`, comments gone, signs by themselves.
fn words(text: &str) -> Vec<String> {
    let mut output = Vec::new();
    let mut letters = text.chars().peekable();
    let mut line_start = true;
    while let Some(letter) = letters.next() {
        let first = std::mem::replace(&mut line_start, letter == '\n');
        match letter {
            // A command of the client, up to the end of its line.
            '\\' if first && letters.peek().is_some_and(char::is_ascii_lowercase) => {
                while letters.next_if(|next| !matches!(next, '\n' | '\\')).is_some() {}
                output.push(";".to_owned());
            }
            '-' if letters.peek() == Some(&'-') => {
                while letters.next_if(|next| *next != '\n').is_some() {}
            }
            '#' => while letters.next_if(|next| *next != '\n').is_some() {},
            '/' if letters.peek() == Some(&'*') => {
                letters.next();
                // `/*! … */` is run by MySQL.
                if letters.peek() == Some(&'!') {
                    letters.next();
                    while letters.next_if(char::is_ascii_digit).is_some() {}
                    continue;
                }
                let mut last = ' ';
                for next in letters.by_ref() {
                    if last == '*' && next == '/' {
                        break;
                    }
                    last = next;
                }
            }
            '\'' => {
                let mut string = String::from("'");
                for next in letters.by_ref() {
                    if next == '\'' {
                        break;
                    }
                    string.push(next);
                }
                output.push(string);
            }
            '"' | '`' | '[' | ']' => {}
            _ if letter.is_alphanumeric() || letter == '_' => {
                let mut word: String = letter.to_uppercase().collect();
                while let Some(next) =
                    letters.next_if(|next| next.is_alphanumeric() || matches!(next, '_' | '.'))
                {
                    word.extend(next.to_uppercase());
                }
                output.push(word);
            }
            _ if letter.is_whitespace() => {}
            other => output.push(other.to_string()),
        }
    }
    output
}

/// Words and signs behind which a statement begins.
const STARTS: &str = "BEGIN DO THEN ELSE ) AS ( * / \\ C GO EXECUTE ! E PUBLIC";

fn statement(words: &[String]) -> bool {
    let mut words = words;
    let mut looked = 0;
    // `EXPLAIN` plans only, unless it is told to run.
    if words.first().is_some_and(|word| word == "EXPLAIN")
        && !words.iter().any(|word| word == "ANALYZE")
    {
        return false;
    }
    // A graph is matched and deleted.
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    if words.first().is_some_and(|word| word == "MATCH")
        && has("DELETE")
        && !has("WHERE")
        && !has("{")
    {
        return true;
    }
    if built(words).is_some_and(|text| is_destructive(&text)) {
        return true;
    }
    while let Some(at) = words
        .iter()
        .position(|word| matches!(word.as_str(), "DROP" | "TRUNCATE" | "DELETE" | "REMOVE"))
    {
        // A statement full of verbs is no honest one.
        looked += 1;
        if looked > 64 {
            return true;
        }
        let before = at.checked_sub(1).and_then(|before| words.get(before)).map(String::as_str);
        let tail = words.get(at + 1..).unwrap_or_default();
        let next = tail.first().map(String::as_str).unwrap_or_default();
        let starts = before.is_none_or(|word| lists(STARTS, word));
        match words.get(at).map(String::as_str) {
            Some("DROP") if starts && next.bytes().any(|byte| byte.is_ascii_alphabetic()) => {
                return true;
            }
            Some("REMOVE") if starts && is_object(next) => return true,
            Some("DROP") if words.first().is_some_and(|word| word == "ALTER") && at > 1 => {
                return true;
            }
            Some("TRUNCATE") if next == "PARTITION" => return true,
            Some("TRUNCATE") if starts && !next.is_empty() && next != "(" => return true,
            Some("DELETE") if starts && deletes_all(next, tail) => return true,
            // A mutation of a column store.
            Some("DELETE") if words.first().is_some_and(|word| word == "ALTER") => {
                return deletes_all("FROM", tail);
            }
            _ => {}
        }
        words = tail;
    }
    false
}

/// The text of a statement that is put together and run: `EXECUTE 'DROP ' || 'TABLE t'`.
fn built(words: &[String]) -> Option<String> {
    let runs = |word: &String| lists("EXECUTE EXEC IMMEDIATE PREPARE SP_EXECUTESQL EVAL", word);
    let at = words.iter().position(runs)?;
    let texts = words.iter().skip(at + 1).filter_map(|word| word.strip_prefix('\''));
    let text: String = texts.collect();
    (!text.is_empty()).then_some(text)
}

fn is_object(word: &str) -> bool {
    lists(
        "TABLE DATABASE SCHEMA INDEX VIEW USER ROLE MATERIALIZED SEQUENCE FUNCTION \
                PROCEDURE TRIGGER TYPE EXTENSION KEYSPACE COLUMN TABLESPACE OWNED TEMPORARY \
                COLLECTION DOMAIN PUBLICATION SERVER DICTIONARY WAREHOUSE STAGE MEASUREMENT \
                BUCKET CONSTRAINT",
        word,
    )
}

fn deletes_all(next: &str, tail: &[String]) -> bool {
    if next != "FROM" && !tail.iter().any(|word| word == "FROM") {
        return false;
    }
    let Some(at) = tail.iter().position(|word| word == "WHERE") else { return true };
    let condition: Vec<&str> = tail
        .get(at + 1..)
        .unwrap_or_default()
        .iter()
        .map(String::as_str)
        .filter(|word| !matches!(*word, "(" | ")"))
        .take_while(|word| !matches!(*word, "RETURNING" | "LIMIT"))
        .collect();
    is_always(&condition)
}

/// A condition that holds for every row.
fn is_always(condition: &[&str]) -> bool {
    let parts = |part: &[&str]| part.split(|word| *word == "AND").all(is_always_part);
    condition.split(|word| *word == "OR").any(parts)
}

fn is_always_part(condition: &[&str]) -> bool {
    match condition {
        [] | ["TRUE"] | ["NOT", "FALSE"] => true,
        [number] => number.bytes().all(|byte| byte.is_ascii_digit()) && *number != "0",
        [left, "=", right] => left == right,
        [left, "<" | "!", ">" | "=", right] => {
            left != right && is_constant(left) && is_constant(right)
        }
        [left, "<", right] | [right, ">", left] => {
            matches!((left.parse::<i64>(), right.parse::<i64>()), (Ok(left), Ok(right)) if left < right)
        }
        [left, "LIKE", pattern] => *pattern == "'%" || left == pattern,
        [_, "IS", "NOT", "NULL"] => false,
        _ => false,
    }
}

fn is_constant(word: &str) -> bool {
    word.starts_with('\'') || word.bytes().all(|byte| byte.is_ascii_digit())
}
