//! What in a skill speaks against it: words, commands, programs, files.
//!
//! Text is read line by line against rules that are data; every fenced command and every script
//! also goes through the analyser that judges commands. What cannot be followed is never safe.

mod commands;
pub(crate) mod orders;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::format;

const FINDINGS_MAX: usize = 200;
const SHOWN_CHARS: usize = 120;

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Something private goes to another machine.
    Exfiltration,
    /// Orders where only instructions for the task belong.
    Injection,
    /// Something is destroyed.
    Destructive,
    /// Something stays behind that runs by itself.
    Persistence,
    /// Another machine is reached.
    Network,
    /// What it does is hidden.
    Obfuscation,
    /// Code is run.
    Execution,
    /// A path leads elsewhere.
    Traversal,
    /// The machine works for somebody else.
    Mining,
    /// Code of others is fetched and run.
    SupplyChain,
    /// More rights than it was given.
    PrivilegeEscalation,
    /// A secret is in it.
    CredentialExposure,
}

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Low,
    /// Worth a look.
    Medium,
    /// A person must look at it.
    High,
    /// No skill needs this.
    Critical,
}

/// What all findings come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing speaks against it.
    Safe,
    /// A person must look, or nobody can tell.
    Caution,
    /// It is not installed.
    Dangerous,
}

impl Verdict {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Caution => "caution",
            Self::Dangerous => "dangerous",
        }
    }
}

/// One thing that speaks against a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is about.
    pub class: Class,
    /// How much it weighs.
    pub severity: Severity,
    /// The file.
    pub file: String,
    /// The line, from one.
    pub line: usize,
    /// What it is, for a person.
    pub what: String,
    /// The place, cut, with hidden characters written out.
    pub text: String,
}

/// What a scan found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// The findings, the gravest first.
    pub findings: Vec<Finding>,
    /// The hosts that its commands and addresses name.
    pub hosts: BTreeSet<String>,
    /// The variables that it asks for.
    pub variables: BTreeSet<String>,
    /// The files of the home that it asks for.
    pub credential_files: BTreeSet<String>,
    /// Files that could not be read as text.
    pub binaries: Vec<String>,
}

impl Report {
    /// What it comes to.
    pub fn verdict(&self) -> Verdict {
        match self.findings.iter().map(|finding| finding.severity).max() {
            Some(Severity::Critical) => Verdict::Dangerous,
            Some(Severity::High) => Verdict::Caution,
            Some(Severity::Low | Severity::Medium) | None => Verdict::Safe,
        }
    }

    fn add(&mut self, place: (&str, usize), found: (Class, Severity, &str), text: &str) {
        if self.findings.len() < FINDINGS_MAX {
            let (class, severity, what) = found;
            self.findings.push(Finding {
                class,
                severity,
                file: place.0.to_owned(),
                line: place.1,
                what: what.to_owned(),
                text: shown(text),
            });
        }
    }
}

/// Looks through the files of a skill, by their relative path.
pub fn scan(files: &BTreeMap<String, Vec<u8>>) -> Report {
    let mut report = Report::default();
    for (name, bytes) in files {
        if rules::is_program_file(name, bytes) {
            let what = "a compiled program: nobody can read what it does";
            report.add((name, 1), (Class::Obfuscation, Severity::High, what), name);
        }
        if rules::is_archive(name, bytes) {
            let what = "an archive inside: what is in it was not looked at";
            report.add((name, 1), (Class::Obfuscation, Severity::High, what), name);
        }
        let Some(text) = (!bytes.contains(&0)).then(|| std::str::from_utf8(bytes).ok()).flatten()
        else {
            report.binaries.push(name.clone());
            continue;
        };
        rules::lines(name, text, &mut report);
        commands::judged(name, text, &mut report);
        if name == format::MAIN_FILE {
            front(text, &mut report);
        }
    }
    report
        .findings
        .sort_by(|a, b| (b.severity, &a.file, a.line).cmp(&(a.severity, &b.file, b.line)));
    report.findings.dedup();
    report
}

/// The description reaches every conversation, so that it is held to more.
fn front(text: &str, report: &mut Report) {
    let checked = format::check(text, std::path::Path::new("skill"));
    report.variables.extend(checked.front.variable_names());
    report.credential_files.extend(checked.front.credential_files.iter().cloned());
    let about = checked.front.description.unwrap_or_default();
    for what in orders::ordered(&about) {
        let what = format!("the description {what}");
        report.add((format::MAIN_FILE, 1), (Class::Injection, Severity::High, &what), &about);
    }
}

/// Whether a file is text for people, and not a program.
fn is_prose(name: &str) -> bool {
    let name = name.to_lowercase();
    let ending = std::path::Path::new(&name).extension().unwrap_or_default();
    ["md", "markdown", "txt", "mdx"].iter().any(|prose| ending == *prose)
}

/// Whether nobody sees a letter, or it moves the others.
pub(crate) fn is_hidden(letter: char) -> bool {
    let mut buffer = [0; 4];
    letter.is_control() || orders::hides_characters(letter.encode_utf8(&mut buffer))
}

/// A text as a person may safely see it.
pub(crate) fn shown(text: &str) -> String {
    let cut = text.trim().chars().take(SHOWN_CHARS);
    let mut shown = String::new();
    for character in cut {
        if is_hidden(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}
