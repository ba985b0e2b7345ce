//! Commands and programs in a skill, judged by the analyser that judges commands.

use petasos_analysis::{Analysis, EffectKind, Facts, Language, analyse_code};

use super::{Class, Report, Severity};

/// Longer programs are cut; what is cut cannot be judged.
const PROGRAM_BYTES_MAX: usize = 256 * 1024;

/// Judges a script, or the fenced commands of a text.
pub(super) fn judged(file: &str, text: &str, report: &mut Report) {
    if super::is_prose(file) {
        for (line, language, code) in fences(text) {
            one(file, line, language, &code, report);
        }
        return;
    }
    let language = match file.rsplit_once('.').map(|(_, ending)| ending) {
        Some("sh" | "bash" | "zsh" | "ksh") => Some(Language::Shell),
        Some("py" | "pyw") => Some(Language::Python),
        Some("js" | "mjs" | "cjs" | "ts") => Some(Language::JavaScript),
        Some("pl" | "pm") => Some(Language::Perl),
        Some("rb") => Some(Language::Ruby),
        Some("php") => Some(Language::Php),
        Some("ps1" | "bat" | "cmd") => Some(Language::PowerShell),
        Some("fish") => Some(Language::OtherShell),
        Some("tcl" | "exp") => Some(Language::Tcl),
        _ if text.starts_with("#!") => Some(Language::of_script(text)),
        _ => None,
    };
    if let Some(language) = language {
        one(file, 1, language, text, report);
    }
}

fn one(file: &str, first: usize, language: Language, code: &str, report: &mut Report) {
    if code.len() > PROGRAM_BYTES_MAX {
        let what = "cannot be judged: too long a program";
        report.add((file, first), (Class::Execution, Severity::High, what), code);
        return;
    }
    let facts = Facts::for_home("/home/user");
    let analysis = analyse_code(language, code, &facts);
    hosts(&analysis, report);
    for finding in &analysis.findings {
        let start = usize::try_from(finding.span.start).unwrap_or(usize::MAX);
        let before = code.get(..start).unwrap_or_default();
        let line = first + before.matches('\n').count();
        let (class, mut severity) = weight(finding.rule);
        if language != Language::Shell {
            // Of other languages only the calls and texts are read, which is no proof.
            severity = severity.min(Severity::High);
        }
        let what =
            if finding.nature == petasos_analysis::Nature::Blind && severity == Severity::High {
                format!("cannot be judged: {}", finding.description)
            } else {
                finding.description.to_owned()
            };
        report.add((file, line), (class, severity, &what), &finding.leaf);
    }
}

fn hosts(analysis: &Analysis, report: &mut Report) {
    let reached = analysis.effects.iter().filter(|effect| effect.kind == EffectKind::Reach);
    report.hosts.extend(reached.map(|effect| effect.target.clone()));
}

/// What a rule of the analyser means for a skill.
fn weight(rule: &str) -> (Class, Severity) {
    use Class::{
        CredentialExposure, Destructive, Execution, Exfiltration, Obfuscation, Persistence,
        PrivilegeEscalation, SupplyChain,
    };
    use Severity::{Critical, High, Medium};
    match rule {
        "credential exfiltration" => (Exfiltration, Critical),
        "reverse shell" => (Execution, Critical),
        "key or trust implant"
        | "persistence"
        | "crontab replacement"
        | "write to a shell start-up file" => (Persistence, Critical),
        "change to agent policy"
        | "write to agent settings"
        | "agent self-harm"
        | "sudo with stdin or askpass"
        | "set-uid bit or capability"
        | "write to a credential file" => (PrivilegeEscalation, Critical),
        "fork bomb"
        | "raw disk write"
        | "make filesystem"
        | "recursive delete of a system directory"
        | "backup or snapshot deletion" => (Destructive, Critical),
        "hidden characters" | "decoded code execution" => (Obfuscation, High),
        "read of a secret" => (CredentialExposure, High),
        "remote code execution" => (SupplyChain, High),
        "analysis limit" | "opaque code execution" => (Execution, High),
        "write to system configuration"
        | "recursive change of owner to root"
        | "permission sweep of a system directory"
        | "security tooling switched off"
        | "account or privilege change"
        | "firewall change" => (PrivilegeEscalation, High),
        "recursive delete"
        | "bulk delete"
        | "destructive SQL"
        | "cloud resource deletion"
        | "cluster resource deletion"
        | "kill all processes"
        | "delete of a system or credential file"
        | "shutdown or reboot" => (Destructive, High),
        // Instructions are often no whole command: what is malformed shows what to fill in.
        _ => (Execution, Medium),
    }
}

/// The fenced commands of a text: the line of the first, the language, the code.
fn fences(text: &str) -> Vec<(usize, Language, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String, String, String)> = None;
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let fence: String = trimmed.chars().take_while(|c| *c == '`' || *c == '~').collect();
        match &mut open {
            None if fence.len() >= 3 => {
                let word = trimmed.get(fence.len()..).unwrap_or_default();
                let word = word.split(|c: char| !c.is_ascii_alphanumeric()).next();
                let word = word.unwrap_or_default().to_lowercase();
                open = Some((at + 2, fence, word, String::new()));
            }
            Some((first, mark, word, code)) if trimmed.trim_end() == mark.as_str() => {
                if let Some(language) = language(word, code) {
                    found.push((*first, language, std::mem::take(code)));
                }
                open = None;
            }
            Some((_, _, _, code)) => {
                // A prompt is no part of the command.
                code.push_str(line.strip_prefix("$ ").unwrap_or(line));
                code.push('\n');
            }
            None => {}
        }
    }
    // A fence without an end goes on to the end, for a reader as for a model.
    if let Some((first, _, word, code)) = open
        && let Some(language) = language(&word, &code)
    {
        found.push((first, language, code));
    }
    found
}

fn language(word: &str, code: &str) -> Option<Language> {
    match word {
        "sh" | "bash" | "shell" | "zsh" | "console" | "terminal" | "shellsession" => {
            Some(Language::Shell)
        }
        "python" | "py" | "python3" => Some(Language::Python),
        "js" | "javascript" | "ts" | "typescript" | "node" => Some(Language::JavaScript),
        "perl" => Some(Language::Perl),
        "ruby" | "rb" => Some(Language::Ruby),
        "php" => Some(Language::Php),
        "powershell" | "ps1" | "bat" | "cmd" => Some(Language::PowerShell),
        "" | "text" | "txt" => looks_like_shell(code).then_some(Language::Shell),
        _ => None,
    }
}

/// Commands without a word that says so.
fn looks_like_shell(code: &str) -> bool {
    const STARTS: [&str; 16] = [
        "curl ", "wget ", "sudo ", "rm ", "bash ", "sh ", "python", "echo ", "cat ", "chmod ",
        "npm ", "pip ", "git ", "eval ", "nc ", "base64 ",
    ];
    code.lines().any(|line| STARTS.iter().any(|start| line.trim_start().starts_with(start)))
}
