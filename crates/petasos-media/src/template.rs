//! Commands of the user's own with places for values: `{text_path}`, `{output_path}`. A value is
//! quoted as its place needs, so that a path with spaces and quotes stays one word.

/// How the text around a place is quoted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Nothing,
    Single,
    Double,
}

/// The command with its values; `{{` and `}}` are braces, unknown names stay as they are.
pub(crate) fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let (mut line, mut around, mut rest) = (String::new(), Around::Nothing, template);
    loop {
        let brace = ["{{", "}}"].into_iter().find_map(|two| Some((two, rest.strip_prefix(two)?)));
        if let Some((two, after)) = brace {
            line.extend(two.chars().take(1));
            rest = after;
            continue;
        }
        let place = values.iter().find_map(|(name, value)| {
            let after = rest.strip_prefix('{')?.strip_prefix(name)?.strip_prefix('}')?;
            Some((*value, after))
        });
        if let Some((value, after)) = place {
            line.push_str(&quoted(value, around));
            rest = after;
            continue;
        }
        let mut letters = rest.chars();
        let Some(letter) = letters.next() else { return line };
        line.push(letter);
        around = match (around, letter) {
            (Around::Nothing, '\'') => Around::Single,
            (Around::Nothing, '"') => Around::Double,
            (Around::Single, '\'') | (Around::Double, '"') => Around::Nothing,
            (around, '\\') if around != Around::Single => {
                // What is escaped opens and closes nothing.
                line.extend(letters.next());
                around
            }
            (around, _) => around,
        };
        rest = letters.as_str();
    }
}

fn quoted(value: &str, around: Around) -> String {
    match around {
        Around::Nothing => format!("'{}'", value.replace('\'', r"'\''")),
        Around::Single => value.replace('\'', r"'\''"),
        Around::Double => {
            let mut safe = String::new();
            for letter in value.chars() {
                if matches!(letter, '"' | '\\' | '$' | '`') {
                    safe.push('\\');
                }
                safe.push(letter);
            }
            safe
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e132_a_value_is_one_word_wherever_it_stands() {
        let values = [("out", r#"a 'b' "c" $d"#), ("n", "x")];
        for (template, line) in [
            ("say {out}", r#"say 'a '\''b'\'' "c" $d'"#),
            ("say '{out}' {n}", r#"say 'a '\''b'\'' "c" $d' 'x'"#),
            ("say \"{out}\"", r#"say "a 'b' \"c\" \$d""#),
            ("echo {{n}} {n}", "echo {n} 'x'"),
            ("echo \\' {n} {other}", "echo \\' 'x' {other}"),
        ] {
            assert_eq!(filled(template, &values), line, "{template}");
        }
    }
}
