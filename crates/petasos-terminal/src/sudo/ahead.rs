//! Passwords for places that are not this machine: the shell reads the password before the command
//! begins and has `sudo` check it, which lets the calls that follow pass.
//!
//! Only a `sudo` that is a command word counts, never text that mentions it.

use petasos_contract::environment::{Launch, Program};

use super::{Prepared, Purse};

/// Reads the first line with builtins alone, so that no other process ever has it.
const FIRST: &str = "IFS= read -r __petasos_word; \
    printf '%s\\n' \"$__petasos_word\" | sudo -S -p '' -v; unset __petasos_word\n";

/// Makes a launch ready.
pub(super) async fn prepare(launch: &mut Launch, purse: Purse) -> Prepared {
    let script = match &launch.program {
        Program::Shell(script) if calls_sudo(script) => script.clone(),
        Program::Shell(_) | Program::Argv(_) => return Prepared::default(),
    };
    let Some(password) = purse.password().await else { return Prepared::default() };
    launch.program = Program::Shell(format!("{FIRST}{script}"));
    let typed = format!("{}\n", password.expose()).into_bytes();
    Prepared { typed, given: purse.given, ..Prepared::default() }
}

/// Whether a command word is `sudo`.
fn calls_sudo(script: &str) -> bool {
    let mut at_command = true;
    let mut documents: Vec<String> = Vec::new();
    let mut rest = script;
    while let Some(first) = rest.chars().next() {
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        rest = match first {
            ' ' | '\t' => after,
            '\n' => {
                at_command = true;
                documents.drain(..).fold(after, |text, end| behind(text, &end))
            }
            ';' | '|' | '&' | '(' | '{' | '!' | '`' | ')' | '}' => {
                at_command = true;
                after
            }
            '#' => after.find('\n').and_then(|end| after.get(end..)).unwrap_or_default(),
            '<' if after.starts_with('<') && !after.starts_with("<<") => {
                let named = after.trim_start_matches(['<', '-', ' ', '\t']);
                let (word, rest) = word(named);
                documents.push(word.replace(['\'', '"', '\\'], ""));
                rest
            }
            '<' | '>' => {
                at_command = false;
                after
            }
            _ => {
                let (word, rest) = word(rest);
                if at_command && (word == "sudo" || word.ends_with("/sudo")) {
                    return true;
                }
                at_command = at_command && stays_at_command(word);
                rest
            }
        };
    }
    false
}

/// What follows the here-document that ends with this line.
fn behind<'t>(text: &'t str, end: &str) -> &'t str {
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        rest = after;
        if line.trim_start_matches('\t') == end {
            return rest;
        }
    }
    ""
}

/// A word and what follows it; quoted text stays within the word.
fn word(text: &str) -> (&str, &str) {
    let mut quote = None;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(letter),
            (None, letter) if at > 0 && " \t\n;|&()<>`".contains(letter) => {
                return text.split_at_checked(at).unwrap_or((text, ""));
            }
            _ => {}
        }
    }
    (text, "")
}

/// Words after which a command still comes.
fn stays_at_command(word: &str) -> bool {
    let assignment = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    });
    let keyword = ["if", "then", "else", "elif", "do", "while", "until", "time", "env", "nohup"];
    assignment || keyword.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::calls_sudo;

    #[test]
    fn only_command_words_want_a_password() {
        for script in [
            "sudo ls",
            "a && sudo b | sudo c",
            "FOO=1 /usr/bin/sudo x",
            "if true; then sudo x; fi",
            "echo $(sudo id)",
            "cat <<EOF\ntext\nEOF\nsudo id",
        ] {
            assert!(calls_sudo(script), "{script}");
        }
        for script in [
            "echo sudo",
            "echo 'sudo ls'; grep \"sudo\" x",
            "# sudo\nls",
            "pseudo x",
            "cat > install.sh <<'EOF'\nsudo apt-get update\nEOF\nls",
            "cat <<-EOF\n\tsudo x\n\tEOF\n",
        ] {
            assert!(!calls_sudo(script), "{script}");
        }
    }
}
