//! The program's own log: the end of it, and what is added.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum as _;
use petasos_config::home;
use serde_json::json;

use super::{Least, Logs};
use crate::command::Session;
use crate::logging::{ALL, FOLDER};
use crate::out::{Out, Style};
use crate::report::Report;

/// How often new lines are looked for.
const LOOK: Duration = Duration::from_millis(250);

/// Shows the end, and with `--follow` what comes.
pub(super) fn show(logs: &Logs, session: &Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let path = home::places(session.host.inputs())?.home.join(FOLDER).join(ALL);
    let failed =
        |error: io::Error| Report::new(format!("`{}`: {error}", path.display())).code("io");
    let mut lines = Vec::new();
    // The file before this one has the beginning when this one is still short.
    let mut older = path.clone().into_os_string();
    older.push(".1");
    for file in [PathBuf::from(older), path.clone()] {
        lines.extend(read(&file, &mut 0).map_err(failed)?);
    }
    if lines.is_empty() && !logs.follow {
        out.remark(format!("nothing has been logged yet in {}", path.display()));
    }
    let wanted: Vec<&String> = lines.iter().filter(|line| logs.wants(line)).collect();
    let from = wanted.len().saturating_sub(usize::try_from(logs.last).unwrap_or(usize::MAX));
    for line in wanted.into_iter().skip(from) {
        tell(out, line);
    }
    if !logs.follow {
        return Ok(ExitCode::SUCCESS);
    }
    let mut place = std::fs::metadata(&path).map_or(0, |found| found.len());
    // Ends with the program: Ctrl-C, or a reader that goes away.
    while !out.is_unread() {
        std::thread::sleep(LOOK);
        for line in read(&path, &mut place).map_err(failed)? {
            if logs.wants(&line) {
                tell(out, &line);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The whole lines behind a place, which moves on; a file that became shorter is read anew.
fn read(path: &Path, place: &mut u64) -> io::Result<Vec<String>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    if file.metadata()?.len() < *place {
        *place = 0;
    }
    file.seek(SeekFrom::Start(*place))?;
    let mut reader = BufReader::new(file);
    let (mut lines, mut bytes) = (Vec::new(), Vec::new());
    while reader.read_until(b'\n', &mut bytes)? > 0 && bytes.ends_with(b"\n") {
        *place += bytes.len() as u64;
        lines.push(String::from_utf8_lossy(&bytes).trim_end().to_owned());
        bytes.clear();
    }
    Ok(lines)
}

/// Time, level, who, what.
fn parts(line: &str) -> Option<(&str, Least, &str, &str)> {
    let (time, rest) = line.split_once(' ')?;
    let (level, rest) = rest.split_once(' ')?;
    let (who, what) = rest.split_once(": ")?;
    Some((time, Least::from_str(level, true).ok()?, who, what))
}

impl Logs {
    fn wants(&self, line: &str) -> bool {
        let level = parts(line).map_or(Least::Error, |(_, level, _, _)| level);
        let session = self.session.as_deref().is_none_or(|session| line.contains(session));
        level <= self.level && session
    }
}

fn tell(out: Out, line: &str) {
    let Some((time, level, who, what)) = parts(line) else { return out.line(line) };
    if out.is_json() {
        let level = format!("{level:?}").to_lowercase();
        out.line(json!({ "at": time, "level": level, "from": who, "text": what }).to_string());
        return;
    }
    let style = match level {
        Least::Error => Style::Bad,
        Least::Warn => Style::Warn,
        Least::Info | Least::Debug | Least::Trace => Style::Faint,
    };
    let word = out.paint(style, &format!("{level:?}").to_uppercase());
    out.line(format!(
        "{} {word} {}: {what}",
        out.paint(Style::Faint, time),
        out.paint(Style::Faint, who)
    ));
}
