//! Rules over lines, as data, and signs of files that nobody can read.

use std::sync::LazyLock;

use regex::Regex;

use super::{Class, Report, Severity, orders};

struct Row {
    class: Class,
    severity: Severity,
    what: &'static str,
    pattern: &'static str,
}

const fn row(class: Class, severity: Severity, what: &'static str, pattern: &'static str) -> Row {
    Row { class, severity, what, pattern }
}

const ROWS: &[Row] = &[
    row(
        Class::CredentialExposure,
        Severity::Critical,
        "a private key is in it",
        r"-----BEGIN ([A-Z]+ )?PRIVATE KEY-----",
    ),
    row(
        Class::CredentialExposure,
        Severity::High,
        "a key or token is in it",
        r"\b(sk-[A-Za-z0-9_-]{24,}|ghp_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|AKIA[0-9A-Z]{16}|xox[abp]-[A-Za-z0-9-]{20,})\b",
    ),
    row(
        Class::Exfiltration,
        Severity::Critical,
        "sends what it reads to an address for collecting",
        r"(?i)\b(webhook\.site|requestbin|pipedream\.net|ngrok(-free)?\.(io|app|dev)|burpcollaborator|interact\.sh|oast\.(fun|pro|live|me)|dnslog|canarytokens|transfer\.sh|file\.io|pastebin\.com/api)\b",
    ),
    row(
        Class::Exfiltration,
        Severity::High,
        "sends messages to a chat",
        r"(?i)\b(discord(app)?\.com/api/webhooks|api\.telegram\.org/bot)",
    ),
    row(
        Class::Exfiltration,
        Severity::Critical,
        "puts private text into the address of a picture or link",
        r"(?i)!\[[^\]]*\]\(https?://[^)]*[?&][^)]*(\{|\$|<|%7B)[^)]*\)",
    ),
    row(
        Class::Exfiltration,
        Severity::High,
        "reads all variables",
        r"(?i)(\bos\.environ\s*([,)\]}]|\.items)|\bprocess\.env\s*[,)\]}]|\bprintenv\s*\||\benv\s*\|)",
    ),
    row(
        Class::Persistence,
        Severity::Critical,
        "writes where programs start by themselves",
        r"(?i)(>>?\s*~?/?[^\s]*(\.bashrc|\.zshrc|\.profile|\.bash_profile|authorized_keys)\b|\bcrontab\s+-)",
    ),
    row(
        Class::Persistence,
        Severity::High,
        "names a place where programs start by themselves",
        r"(?i)(LaunchAgents|/etc/cron|systemctl\s+(--user\s+)?enable|\.config/autostart|CurrentVersion\\Run)",
    ),
    row(
        Class::Persistence,
        Severity::High,
        "changes the instructions of agents",
        r"(?i)\b(write|append|add|insert|edit|modify|update|save|echo|cat|tee|>>?)\b.{0,60}\b(AGENTS\.md|CLAUDE\.md|SOUL\.md|GEMINI\.md|MEMORY\.md|\.cursorrules|\.hermes\.md)\b",
    ),
    row(
        Class::PrivilegeEscalation,
        Severity::Critical,
        "changes what the agent may do",
        r"(?i)(approvals\.(mode|deny)|permissions\.(allow|deny)|--dangerously-skip-permissions|YOLO_MODE|skills\s+(trust|allow-env)|approvals\.mode\s*[:=]\s*(off|yolo))",
    ),
    row(
        Class::PrivilegeEscalation,
        Severity::High,
        "changes who may do what on the machine",
        r"(?i)(/etc/sudoers|NOPASSWD|chmod\s+[0-7]*[4-7][0-7]{3}\b|setcap\s|usermod\s+-aG\s+(sudo|docker|wheel))",
    ),
    row(
        Class::Mining,
        Severity::Critical,
        "makes the machine work for somebody else",
        r"(?i)\b(xmrig|minerd|cpuminer|stratum\+(tcp|ssl)://|coinhive|cryptonight|nicehash)\b",
    ),
    row(
        Class::Execution,
        Severity::Critical,
        "gives somebody a shell",
        r"(?i)(/dev/tcp/|\bnc\b[^\n]{0,40}\s-e\s|bash\s+-i\s+>&|socket\.socket\([^\n]*\)[^\n]*(dup2|pty\.spawn))",
    ),
    row(
        Class::Obfuscation,
        Severity::High,
        "builds names at run time, so that nobody can say what runs",
        r#"(?i)(getattr\(\s*(__import__|builtins|os|sys|__builtins__)\b|__import__\(\s*[^'")\s]|globals\(\)\s*\[|\bexec\s*\(\s*(''|"")?\s*\.?join|\beval\s*\(\s*[a-z_]+\s*[(+]|\['(ev|ex)'\s*\+|chr\(\d+\)\s*\+\s*chr\(|String\.fromCharCode\(\s*\d+\s*,|new Function\()"#,
    ),
    row(
        Class::Obfuscation,
        Severity::High,
        "decodes a text and runs it",
        r"(?i)(base64\s+(-d|--decode|-D)[^\n]*\|\s*(ba|z|k)?sh|exec\s*\([^\n]*b64decode|eval\s*\(\s*(atob|Buffer\.from)|fromhex\([^\n]*\)[^\n]*exec|xxd\s+-r[^\n]*\|\s*(ba)?sh|codecs\.decode\([^\n]*rot|marshal\.loads|zlib\.decompress\([^\n]*b64)",
    ),
    row(
        Class::Obfuscation,
        Severity::High,
        "a long text that nobody can read",
        r"[A-Za-z0-9+/]{400,}={0,2}|(\\x[0-9a-fA-F]{2}){40,}",
    ),
    row(
        Class::SupplyChain,
        Severity::High,
        "fetches code and runs it",
        r"(?i)\b(curl|wget|fetch|iwr|Invoke-WebRequest)\b[^\n|;]*\|\s*(sudo\s+)?(ba|z|da|k)?sh\b|(bash|sh|source|\.)\s+<\(\s*(curl|wget)|\biex\b[^\n]*(iwr|DownloadString)|python3?\s+-c\s+[^\n]*urlopen[^\n]*exec",
    ),
    row(
        Class::SupplyChain,
        Severity::High,
        "installs from an address instead of a registry",
        r"(?i)\b(pip3?|uv pip|npm|yarn|pnpm|gem|cargo)\s+(install|add|i)\b[^\n]*(https?://|git\+|--index-url|--extra-index-url|--registry)",
    ),
    row(Class::Traversal, Severity::High, "leads out of its folder", r"(\.\./){3,}|(\.\.\\){3,}"),
    row(
        Class::Destructive,
        Severity::Critical,
        "destroys the machine's files",
        r"(?i)\brm\s+(-[a-z]*\s+)*-[a-z]*[rf][a-z]*\s+(--no-preserve-root\s+)?(/|~|\$HOME)/?(\s|\*|$|')|\bmkfs\.|\bdd\s+[^\n]*of=/dev/(sd|nvme|disk)|shutil\.rmtree\(\s*(os\.path\.expanduser\(|['\x22]/['\x22])",
    ),
    row(
        Class::CredentialExposure,
        Severity::High,
        "reads a store of credentials",
        r"(?i)(\.ssh/id_|\.aws/credentials|\.netrc|\.config/gcloud|\.docker/config\.json|\.git-credentials|/etc/shadow|login\.keychain|Login Data|\.petasos/(auth|\.env)|\.hermes/(auth|\.env)|wallet\.dat)",
    ),
];

static COMPILED: LazyLock<Vec<(Option<Regex>, &Row)>> =
    LazyLock::new(|| ROWS.iter().map(|row| (Regex::new(row.pattern).ok(), row)).collect());

/// What lines say, with comments and quotations told apart from plain words.
pub(super) fn lines(file: &str, text: &str, report: &mut Report) {
    let prose = super::is_prose(file);
    let mut comment = false;
    for (at, line) in text.lines().enumerate() {
        let place = (file, at + 1);
        if orders::hides_characters(line) {
            // Copied pages leave some behind; those that turn text around do not come by themselves.
            let turns = line.chars().any(turns_text);
            let severity = if turns { Severity::Critical } else { Severity::High };
            let what = "characters that nobody sees";
            report.add(place, (Class::Obfuscation, severity, what), line);
        }
        for (pattern, row) in COMPILED.iter() {
            // A rule that does not compile finds everything: a test holds that there is none.
            if pattern.as_ref().is_none_or(|pattern| pattern.is_match(line)) {
                report.add(place, (row.class, row.severity, row.what), line);
            }
        }
        let opens = line.contains("<!--");
        let hidden = prose && (comment || opens) || is_comment(line, prose);
        if prose {
            comment = (comment || opens) && !line.contains("-->");
        }
        let plain = if hidden { line.to_owned() } else { unquoted(line) };
        for what in orders::ordered(&plain) {
            let severity = if hidden { Severity::Critical } else { Severity::High };
            let what = if hidden { format!("a comment {what}") } else { what.to_owned() };
            report.add(place, (Class::Injection, severity, &what), line);
        }
    }
    // An order may be spread over lines.
    let own = text.lines().filter(|line| !line.trim_start().starts_with('>'));
    let whole = unquoted(&own.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" "));
    let known = report
        .findings
        .iter()
        .any(|finding| finding.file == file && finding.class == Class::Injection);
    if prose && !known {
        for sentence in whole.split(['.', '!', '?']) {
            for what in orders::ordered(sentence) {
                report.add((file, 1), (Class::Injection, Severity::High, what), sentence);
            }
        }
    }
}

/// Whether a character changes the order of what is read, or spells in letters nobody sees.
fn turns_text(character: char) -> bool {
    matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{E0000}'..='\u{E007F}')
}

fn is_comment(line: &str, prose: bool) -> bool {
    let line = line.trim_start();
    !prose && (line.starts_with('#') || line.starts_with("//") || line.starts_with("--"))
        || line.starts_with("[//]: #")
}

/// A line without what it only quotes: a text about attacks quotes them.
fn unquoted(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut until: Option<char> = None;
    if line.trim_start().starts_with('>') {
        return kept;
    }
    for character in line.chars() {
        match until {
            Some(end) if character == end => until = None,
            Some(_) => {}
            None => match character {
                '"' => until = Some('"'),
                '`' => until = Some('`'),
                '“' => until = Some('”'),
                '«' => until = Some('»'),
                other => kept.push(other),
            },
        }
    }
    // A quotation without an end quotes nothing.
    if until.is_some() { line.to_owned() } else { kept }
}

pub(super) fn is_program_file(name: &str, bytes: &[u8]) -> bool {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let compiled = starts(b"\x7fELF")
        || starts(b"MZ") && bytes.contains(&0)
        || starts(b"\xcf\xfa\xed\xfe")
        || starts(b"\xca\xfe\xba\xbe")
        || starts(b"\0asm");
    let endings = ["exe", "dll", "so", "dylib", "pyc", "class", "jar", "wasm", "bin", "node"];
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase());
    compiled || ending.is_some_and(|ending| endings.contains(&ending.as_str()))
}

pub(super) fn is_archive(name: &str, bytes: &[u8]) -> bool {
    // Documents of offices are archives of text, and templates are often such.
    let document = [".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub"];
    let lower = name.to_lowercase();
    if document.iter().any(|ending| lower.ends_with(ending)) {
        return false;
    }
    let magic: [&[u8]; 6] =
        [b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!"];
    magic.iter().any(|magic| bytes.starts_with(magic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles() {
        for (pattern, row) in COMPILED.iter() {
            assert!(pattern.is_some(), "{}: {}", row.what, row.pattern);
        }
    }
}
