//! Other names that program text gives to functions and modules, and the commands
//! that hide in options and in languages without a table of their own.

use super::Language;
use super::calls;
use super::scan::Token;
use crate::words::lists;
use std::collections::HashMap;

/// Names kept at most; a text with more is refused.
pub(super) const NAMES_MAX: usize = 512;

/// Which known name an other name stands for.
pub(super) fn names(tokens: &[Token], language: Language) -> HashMap<String, String> {
    let mut found = HashMap::new();
    for (at, token) in tokens.iter().enumerate() {
        if found.len() >= NAMES_MAX {
            break;
        }
        let Token::Name(name) = token else { continue };
        let ahead = |steps: usize| tokens.get(at + steps);
        // `from os import walk, remove`
        if let (Some(Token::Name(module)), Some(Token::Name(word))) = (ahead(1), ahead(2))
            && name == "from"
            && word == "import"
        {
            let names = tokens.iter().skip(at + 3).step_by(2).take(16).map_while(|it| match it {
                Token::Name(name) => Some((name.clone(), format!("{module}.{name}"))),
                _ => None,
            });
            found.extend(names.filter(|(_, whole)| calls::action(whole).is_some()));
        }
        match (ahead(1), ahead(2)) {
            // `import shutil as s`, `from os import system as x`
            (Some(Token::Name(word)), Some(Token::Name(other)))
                if word == "as" && matches!(language, Language::Python | Language::JavaScript) =>
            {
                found.insert(other.clone(), name.clone());
            }
            // `{execSync: x} = require(…)`
            (Some(Token::Sign(':')), Some(Token::Name(other)))
                if language == Language::JavaScript && calls::action(name).is_some() =>
            {
                found.insert(other.clone(), name.clone());
            }
            // `const cp = require("child_process")`
            (Some(Token::Sign('=')), Some(Token::Name(word))) if word == "require" => {
                if let (Some(Token::Sign('(')), Some(Token::Text(module))) = (ahead(3), ahead(4)) {
                    let module = module.trim_start_matches("node:");
                    let module = module.rsplit('/').next().unwrap_or(module);
                    found.insert(name.clone(), module.to_owned());
                }
            }
            // `f = os.system`
            (Some(Token::Sign('=')), Some(Token::Name(other)))
                if !matches!(ahead(3), Some(Token::Sign('(' | '.' | '[')))
                    && name != other
                    && calls::action(other).is_some() =>
            {
                found.insert(name.clone(), other.clone());
            }
            _ => {}
        }
    }
    found
}

/// `name` with its other name taken back; `None` when it has none.
pub(super) fn known(name: &str, others: &HashMap<String, String>) -> Option<String> {
    if others.is_empty() {
        return None;
    }
    if let Some(whole) = others.get(name) {
        return Some(whole.clone());
    }
    let (head, tail) = name.split_once('.')?;
    others.get(head).map(|module| format!("{module}.{tail}"))
}

/// The words of `args: [...]` among the tokens of a call.
pub(super) fn listed_arguments(tokens: &[Token]) -> Option<Vec<String>> {
    let at = tokens
        .windows(3)
        .position(|three| matches!(three, [Token::Name(name), Token::Sign(':'), Token::Sign('[')] if name == "args"))?;
    let inside = tokens.iter().skip(at + 3).take_while(|token| **token != Token::Sign(']'));
    let words = inside.filter_map(Token::text);
    Some(words.take(64).map(str::to_owned).collect())
}

/// Whether a name of any language starts a program.
pub(super) fn runs_program(name: &str) -> bool {
    let last = name.rsplit(['.', ':', '/']).next().unwrap_or_default();
    if name.contains("sys.process") || name.contains("Runtime.getRuntime") {
        return true;
    }
    lists(
        "system shell sh cmd exec run execute popen spawn process Process callCommand \
                callProcess readProcess open_port unix syscmd command shellCommand \
                ProcessBuilder execCmd execCmdEx execShellCmd esyscmd program Command",
        last,
    )
}

/// The strings of a text, each alone and all in a row, as commands they may be.
pub(super) fn possible_commands(tokens: &[Token]) -> Vec<String> {
    let texts: Vec<&str> =
        tokens.iter().filter_map(Token::text).filter(|text| !text.is_empty()).collect();
    let mut found: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    if texts.len() > 1 {
        found.push(texts.join(" "));
    }
    found
}
