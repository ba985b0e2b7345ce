//! `petasos import`: takes over what another agent kept. The other home is only read, and nothing
//! here is overwritten.

mod boards;
mod conversations;
mod files;
mod item;
mod logins;
mod settings;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, Args, Subcommand};
use petasos_config::{Inputs, home};
use serde_json::json;

use self::item::{Item, State};
use crate::command::{Command, Session, actions, parse};
use crate::out::{Out, Style};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "import",
    about: "Import the home of another agent",
    examples: &[
        ("petasos import hermes --dry-run", "what would be imported"),
        ("petasos import hermes ~/.hermes", "import it"),
    ],
    hidden: false,
    arguments: actions::<Action>,
    run,
};

#[derive(Debug, Subcommand)]
enum Action {
    /// Import settings, keys, logins, conversations, boards, notes and skills of Hermes
    Hermes(Hermes),
}

#[derive(Debug, Args)]
struct Hermes {
    /// Its home (default: HERMES_HOME or ~/.hermes)
    #[arg(value_name = "DIR")]
    path: Option<PathBuf>,
    /// The same as DIR
    #[arg(long, value_name = "DIR", conflicts_with = "path")]
    from: Option<PathBuf>,
    /// Only show what would be imported
    #[arg(long)]
    dry_run: bool,
}

/// From where to where, and whether anything is written.
struct Move<'a> {
    from: &'a Path,
    home: &'a Path,
    inputs: &'a Inputs,
    go: bool,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let Action::Hermes(given) = parse(matches)?;
    let out = session.out;
    let inputs = session.host.inputs();
    let home = home::places(inputs)?.home;
    let from = given.home(inputs)?;
    let moved = Move { from: &from, home: &home, inputs, go: !given.dry_run };
    let mut items = Vec::new();
    if is_same(&from, &home) {
        items.push(Item::kept("everything but conversations", "this home is used as it is"));
    } else {
        items.extend(settings::take(&moved));
        items.extend(logins::take(&moved));
        items.extend(files::take(&moved));
    }
    items.extend(conversations::take(&moved, out));
    items.extend(boards::take(&moved));
    let failed = items.iter().any(|item| item.state == State::Failed);
    if out.is_json() {
        out.value(&json!({ "from": from, "home": home, "dry_run": given.dry_run, "items": items }));
    } else {
        tell(out, &moved, &items);
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Hermes {
    fn home(&self, inputs: &Inputs) -> Result<PathBuf, Report> {
        let given = self.path.as_ref().or(self.from.as_ref());
        let usual = || {
            let named = inputs.environment.get("HERMES_HOME").filter(|text| !text.is_empty());
            named.map(PathBuf::from).or_else(|| Some(inputs.user_home.as_ref()?.join(".hermes")))
        };
        let Some(home) = given.map(|path| inputs.cwd.join(path)).or_else(usual) else {
            return Err(Report::usage("no home directory is known").hint("name the folder"));
        };
        if home.is_dir() {
            return Ok(home);
        }
        Err(Report::new(format!("there is no folder `{}`", home.display()))
            .code("not_found")
            .hint("`petasos import hermes DIR` names another one"))
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

fn tell(out: Out, moved: &Move<'_>, items: &[Item]) {
    let (from, home) = (moved.from.display(), moved.home.display());
    out.line(out.paint(Style::Bold, &format!("{from} → {home}")));
    for item in items {
        let (mark, style) = match item.state {
            State::Taken => ("+", Style::Good),
            State::Kept => ("=", Style::Faint),
            State::LeftOut => ("-", Style::Warn),
            State::Failed => ("✗", Style::Bad),
        };
        let why = if item.why.is_empty() { String::new() } else { format!(": {}", item.why) };
        out.line(format!("{} {}{why}", out.paint(style, mark), item.what));
    }
    let taken = items.iter().filter(|item| item.state == State::Taken).count();
    if moved.go {
        out.remark(format!("{taken} items imported; {from} is unchanged"));
    } else {
        out.remark(format!("{taken} items would be imported; nothing was written"));
    }
}
