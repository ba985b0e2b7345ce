//! The same searches in a place that is not this machine: with ripgrep there, else with grep and
//! find.
//!
//! What they print becomes the same answer as a search here. What the lesser tools cannot do is
//! told, not left out in silence.

mod listing;
mod ripgrep;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use petasos_contract::environment::{EnvError, Sandbox};

use super::content::{Found, Keep, Matches};
use super::glob::Glob;
use super::names::Names;
use super::walk::Walked;
use crate::files::guard::Guard;
use crate::files::site::there::{Ran, Script, Stopped, There, quote};
use crate::files::watch::Ended;

/// As long as a search here.
const SEARCH_MAX: Duration = Duration::from_mins(1);
const OUTPUT_MAX: usize = 32 << 20;

/// Told when the place has no ripgrep.
const LESSER: &str = "the target has no ripgrep: ignore files were not obeyed";

/// Where to search, and what counts.
pub(crate) struct Target<'a> {
    pub(crate) there: &'a There<'a>,
    pub(crate) root: &'a Path,
    pub(crate) is_folder: bool,
    pub(crate) globs: &'a [Glob],
    pub(crate) guard: &'a Guard,
    /// Lines around each hit.
    pub(crate) context: usize,
    pub(crate) until: Instant,
}

impl Target<'_> {
    fn run(&self, text: &str) -> Result<Ran, EnvError> {
        let until = self.until.min(Instant::now() + SEARCH_MAX);
        self.there.run(Script {
            text,
            input: None,
            output_max: OUTPUT_MAX,
            until,
            sandbox: Sandbox::default(),
        })
    }

    /// Goes to the folder and says which tool answers, then runs it.
    fn script(&self, ripgrep: &str, lesser: &str) -> String {
        let (folder, name) = self.split();
        format!(
            "cd {} || exit 9\nset -- {}\nif command -v rg >/dev/null 2>&1; then echo rg; {ripgrep}\n\
             else echo grep; {lesser}\nfi",
            quote(&folder.to_string_lossy()),
            quote(&name.to_string_lossy()),
        )
    }

    fn split(&self) -> (&Path, &Path) {
        match (self.is_folder, self.root.parent(), self.root.file_name()) {
            (false, Some(folder), Some(name)) => (folder, Path::new(name)),
            _ => (self.root, Path::new(".")),
        }
    }

    /// The path below the root when the file is wanted; counts what is protected.
    fn wanted(&self, printed: &str, walked: &mut Walked) -> Option<PathBuf> {
        let inside = Path::new(printed.strip_prefix("./").unwrap_or(printed));
        if !self.globs.iter().all(|glob| glob.matches(inside)) {
            return None;
        }
        let (folder, _) = self.split();
        if self.guard.refuses(&folder.join(inside)).is_some() {
            walked.omitted += 1;
            return None;
        }
        Some(inside.to_owned())
    }
}

/// Which tool answered, and what it printed.
fn answer(ran: &Ran) -> Result<(bool, &[u8], Walked), String> {
    let (first, rest) = match memchr::memchr(b'\n', &ran.output) {
        Some(at) => (ran.output.get(..at), ran.output.get(at + 1..).unwrap_or_default()),
        None => (None, &ran.output[..]),
    };
    let has_ripgrep = match first {
        Some(b"rg") => true,
        Some(b"grep") => false,
        _ => return Err(format!("the target could not be searched: {}", ran.errors.trim())),
    };
    if ran.code == 2 && rest.is_empty() {
        return Err(format!("the target could not be searched: {}", ran.errors.trim()));
    }
    let unreadable = ran.errors.lines().filter(|line| !line.trim().is_empty());
    let walked = Walked {
        unreadable: unreadable.clone().count() as u64,
        example: unreadable.min().map(str::to_owned),
        // What is too much is as good as too late: there is more than was looked at.
        ended: ran.stopped.map(|(Stopped::Long | Stopped::Late)| Ended::Late),
        ..Walked::default()
    };
    Ok((has_ripgrep, rest, walked))
}

/// Finds the newest `needed` files.
pub(crate) fn names(
    target: &Target<'_>,
    needed: usize,
    warnings: &mut Vec<String>,
) -> Result<Names, String> {
    let stat =
        "xargs -0 sh -c 'stat -c \"%Y %n\" \"$@\" 2>/dev/null || stat -f \"%m %N\" \"$@\"' sh";
    let ripgrep = format!("rg --no-config --files -0 -- \"$1\" | {stat}");
    let lesser = format!("find \"$1\" -name '.?*' -prune -o -type f -print0 | {stat}");
    let ran = target.run(&target.script(&ripgrep, &lesser)).map_err(|error| error.to_string())?;
    let (has_ripgrep, printed, walked) = answer(&ran)?;
    if !has_ripgrep {
        warnings.push(LESSER.to_owned());
    }
    Ok(listing::newest(target, printed, needed, walked))
}

/// Finds lines; keeps the first `needed` lines or files.
pub(crate) fn content(
    target: &Target<'_>,
    pattern: &str,
    keep: Keep,
    needed: usize,
    warnings: &mut Vec<String>,
) -> Result<Matches, String> {
    let context = target.context;
    let pattern = quote(pattern);
    let ripgrep = format!("rg --no-config --json --sort path -C {context} -e {pattern} -- \"$1\"");
    let lesser = format!(
        "grep -rnIHZ -P -C {context} --exclude-dir='.?*' --exclude='.?*' -e {pattern} -- \"$1\""
    );
    let ran = target.run(&target.script(&ripgrep, &lesser)).map_err(|error| error.to_string())?;
    let (has_ripgrep, printed, mut walked) = answer(&ran)?;
    let mut files = if has_ripgrep {
        ripgrep::parsed(target, printed, &mut walked)
    } else {
        warnings.push(LESSER.to_owned());
        listing::matches(target, printed, &mut walked)
    };
    files.sort_by(|left, right| left.inside.cmp(&right.inside));
    Ok(kept(files, keep, needed, walked))
}

/// Keeps as much as one page may show.
fn kept(mut files: Vec<Found>, keep: Keep, needed: usize, walked: Walked) -> Matches {
    let total_files = files.len() as u64;
    let lines = files.iter().map(|file| file.count).sum();
    let mut room = needed;
    files.retain_mut(|file| {
        if room == 0 {
            return false;
        }
        match keep {
            Keep::Lines { .. } => {
                file.hits.truncate(room);
                room -= file.hits.len();
            }
            Keep::Name | Keep::Count => {
                file.hits.clear();
                room -= 1;
            }
        }
        true
    });
    let total_lines = if keep == Keep::Name { total_files } else { lines };
    Matches { files, total_files, total_lines, binary_at: None, walked }
}
