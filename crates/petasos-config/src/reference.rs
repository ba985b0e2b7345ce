//! The reference of keys and variables, made from the tables that the program itself uses.

use std::fmt::Write as _;

use crate::explain::{expects, project, variables_of};
use crate::keys::{self, Key};
use crate::reserved;
use crate::variables::{self, Meaning};

/// The whole page, as Markdown.
pub fn markdown() -> String {
    let mut page = String::from(HEAD);
    let mut section = "";
    for key in keys::all() {
        let own = key.path.split('.').next().unwrap_or_default();
        let single = !key.path.contains('.');
        let title = if single { "Single keys" } else { own };
        if title != section {
            section = title;
            line(&mut page, format_args!("\n## {title}\n"));
            line(
                &mut page,
                format_args!("| Key | Takes | Default | A project | Variables | What it does |"),
            );
            line(&mut page, format_args!("|---|---|---|---|---|---|"));
        }
        key_row(&mut page, key);
    }
    page.push_str(VARIABLES);
    for row in variables::all() {
        let kind = match row.meaning {
            Meaning::Setting(key, _) => format!("sets `{key}`"),
            Meaning::Secret => "credential".to_owned(),
            Meaning::Endpoint => "endpoint".to_owned(),
            Meaning::Role => "role".to_owned(),
            Meaning::Place => "place".to_owned(),
            Meaning::Plain => "plain".to_owned(),
        };
        line(
            &mut page,
            format_args!("| `{}` | {} | {} |", row.shown(), cell(&kind), cell(row.doc)),
        );
    }
    page
}

fn key_row(page: &mut String, key: &Key) {
    // What has no effect has no default either.
    let default = match (key.default, key.reserved) {
        ("", _) | (_, Some(_)) => String::new(),
        (default, None) => format!("`{}`", cell(default)),
    };
    let note = reserved::said(key).map(|note| format!(" (*{note}*)")).unwrap_or_default();
    let variables = variables_of(key.path).join(", ");
    line(
        page,
        format_args!(
            "| `{}` | {} | {default} | {} | {} | {}{} |",
            key.path.replace("@task", "<task>").replace('*', "<name>"),
            cell(&expects(key.kind)),
            project(key.project),
            cell(&variables),
            cell(key.doc),
            cell(&note),
        ),
    );
}

fn line(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    if writeln!(page, "{text}").is_err() {
        page.push('\n');
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

const HEAD: &str = "# Configuration reference

Generated from the tables in `petasos-config`; do not edit.

The home is `PETASOS_HOME`, else `HERMES_HOME`, else `~/.petasos`. It holds `config.yaml` and `.env`.
From weak to strong: built-in defaults, `config.yaml`, the project's `.petasos/config.yaml` (or
`.hermes/config.yaml`), `.env`, the process environment, the command line. Where a key differs from
this, its row says so. `petasos config explain KEY` shows what holds and what lost.

- A project's file may only make guards stricter, and may not touch what starts programs, grants
  something or chooses where keys go. What it may not set is ignored, with a notice.
- For credentials and endpoints a line in `.env` beats an export left in a shell. For settings the
  process environment beats `.env`. A `.env` in the project is not read.
- `${NAME}` and `${env:NAME}` in a value are filled in at start; a name that is not set stays.
- A key that is *reserved* is accepted and has no effect in this version: `config check`, `doctor` and
  `config explain` say so, and why. No key that guards something is reserved.
- An unknown key is a notice. In `approvals`, `security`, `permissions` and `terminal.sandbox*` it
  refuses the start.
";

const VARIABLES: &str = "
## Environment variables

`PETASOS_X` is also accepted as `HERMES_X`; the first goes first. A switch is on for `1`, `true`,
`yes`, `on`; for `TERMINAL_*` for `1`, `true`, `yes`. Lists and maps are JSON.

| Variable | Kind | What it does |
|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_key_and_variable_once() {
        let page = markdown();
        assert!(page.contains("| `display.show_cost` | true or false | `false` | may set it |"));
        assert!(page.contains("| `auxiliary.<task>.provider` |"));
        assert!(page.contains(
            "Messages put before every conversation (*reserved: no effect in this version;"
        ));
        for row in variables::all() {
            let cell = format!("\n| `{}` |", row.shown());
            assert_eq!(page.matches(&cell).count(), 1, "{}", row.shown());
        }
    }
}
