//! Gates for deeds that outlast or leave a conversation which took in words of strangers. They
//! only ever make a verdict stricter; only a person who is there can agree.

use petasos_contract::CallContext;
use petasos_contract::approval::{Finding, FindingKind, Intent, Scope};
use petasos_contract::context::Surface;
use petasos_contract::effect::Effect;
use petasos_contract::event::Event;
use petasos_contract::taint::{Carry, Heat};
use serde_json::Value;

use super::decision::{Class, Observed, Waiver};
use super::layers::finding;
use crate::permissions::{Access, Anchors, Deed};
use crate::settings::{Approvals, Strangers};

/// Files that agents take for instructions.
const INSTRUCTIONS: &str = "agents.md claude.md gemini.md soul.md .hermes.md .cursorrules \
    copilot-instructions.md skill.md";
/// Folders of rules and skills, whichever agent's.
const FOLDERS: [&str; 5] = ["/skills/", "/.cursor/rules/", "/.claude/", "/.codex/", "/.windsurf/"];
/// Programs that bring in text from the network.
const FETCHERS: [&str; 21] = [
    "curl", "wget", "http", "https", "xh", "aria2c", "lynx", "w3m", "links", "elinks", "ssh", "nc",
    "ncat", "telnet", "socat", "gh", "glab", "dig", "ftp", "sftp", "rclone",
];

const LEAKS: &str = "it would carry private text out";

/// What a person must agree to because strangers' words may be speaking. Where the user wants
/// warnings only, it is told and nobody is asked.
pub(super) fn gates(
    intent: &Intent<'_>,
    (deeds, anchors): (&[Deed], Anchors<'_>),
    approvals: &Approvals,
    cx: &CallContext,
) -> Vec<Observed> {
    let heat = cx.words.heat();
    if heat == Heat::Clean || approvals.taint == Strangers::Nothing {
        return Vec::new();
    }
    let at = Gate { heat, cx, text: intent.plan.args.words() };
    let mut found = Vec::new();
    for effect in intent.plan.effects.iter() {
        let mut seen = match effect {
            Effect::Send { target } if intent.tool.as_str().starts_with("browser_") => {
                Some(at.form(target))
            }
            Effect::Send { target } => Some(at.whoever(target)),
            Effect::Actuate { target, guarded } => at.moved(target, *guarded),
            Effect::Spend { .. } => at.when_hot("spend", Scope::Session),
            Effect::Reach(_) | Effect::ReachPrivate(_) => at.when_leaking(),
            Effect::Command { script, .. } => at.when_dictated("command", script),
            Effect::Code { source, .. } => at.when_dictated("program", source),
            _ => None,
        };
        // Nobody is there: a rule that names the target was written for that, but not for private
        // text.
        if let (Some(seen), Effect::Send { target } | Effect::Actuate { target, .. }) =
            (&mut seen, effect)
            && !cx.attended
            && !cx.words.leaks(&at.text)
        {
            let deed = deeds.iter().find(|deed| deed.targets.contains(target));
            let rule = deed.and_then(|deed| approvals.permissions.allowing(deed, anchors));
            seen.waived = rule.map(Waiver::AllowRule);
        }
        found.extend(seen);
    }
    // Changes of skills are kept for a person to decide, by the tool itself.
    if intent.tool.as_str() != "skill_manage" && deeds.iter().any(writes_instructions) {
        found.extend(at.unless_own("instruction file"));
    }
    if deeds.iter().flat_map(|deed| &deed.steps).any(|step| fetches(&step.argv)) {
        found.extend(at.when_leaking());
    }
    let action = intent.plan.args.text("action").unwrap_or_default();
    found.extend(match (intent.tool.as_str(), action) {
        // Elsewhere the tool keeps them for a person to decide.
        ("memory", _) if cx.surface == Surface::Cli && cx.attended && keeps(intent) => {
            at.unless_own("memory")
        }
        ("cronjob", "create" | "update" | "resume") => at.unless_own("schedule"),
        _ => None,
    });
    if approvals.taint == Strangers::Warnings {
        for it in found.drain(..) {
            let text = format!("{}: {}", it.finding.key, it.finding.why);
            cx.events.emit(|| Event::Notice { text });
        }
    }
    found
}

/// Whether a call of `memory` keeps anything, alone or among others.
fn keeps(intent: &Intent<'_>) -> bool {
    let object = intent.plan.args.object();
    let several = object.get("operations").and_then(Value::as_array).into_iter().flatten();
    let words = several.map(|one| &one["action"]).chain(object.get("action"));
    words.into_iter().any(|word| matches!(word.as_str(), Some("add" | "replace")))
}

/// Whether the output of a call holds words from the network.
pub(super) fn reaches(intent: &Intent<'_>, commands: &[Vec<String>]) -> bool {
    let code = intent.plan.effects.iter().any(|effect| match effect {
        Effect::Code { source, .. } => {
            ["urllib", "requests.", "http.client", "httpx", "socket.", "fetch("]
                .iter()
                .any(|name| source.contains(name))
        }
        _ => false,
    });
    code || commands.iter().any(|argv| fetches(argv))
}

fn fetches(argv: &[String]) -> bool {
    let Some((program, arguments)) = argv.split_first() else { return false };
    let name = program.rsplit('/').next().unwrap_or_default();
    let clones =
        || arguments.iter().any(|word| matches!(word.as_str(), "clone" | "pull" | "fetch"));
    FETCHERS.contains(&name) || name == "git" && clones()
}

fn writes_instructions(deed: &Deed) -> bool {
    deed.touched.iter().filter(|touch| touch.access != Access::Read).any(|touch| {
        let path = touch.path.to_lowercase();
        let name = path.rsplit('/').next().unwrap_or_default();
        INSTRUCTIONS.split(' ').any(|known| known == name)
            || FOLDERS.iter().any(|folder| path.contains(folder))
    })
}

/// One call in one conversation.
struct Gate<'a> {
    heat: Heat,
    cx: &'a CallContext,
    /// All words of its arguments.
    text: String,
}

impl Gate<'_> {
    fn carried(&self) -> Vec<String> {
        self.cx.words.carried(&self.text, Carry::Anything)
    }

    fn when_hot(&self, deed: &str, widest: Scope) -> Option<Observed> {
        (self.heat == Heat::Hot).then(|| self.found(deed, &[], widest))
    }

    /// Later only when it repeats strangers' words.
    fn unless_own(&self, deed: &str) -> Option<Observed> {
        let carried = self.carried();
        let asks = self.heat == Heat::Hot || !carried.is_empty();
        asks.then(|| self.found(deed, &carried, Scope::Once))
    }

    /// Whoever is written to must have been agreed to; private text each time.
    fn whoever(&self, target: &str) -> Observed {
        let deed = format!("send to {target}");
        if self.cx.words.leaks(&self.text) {
            return self.found(&deed, &[LEAKS.to_owned()], Scope::Once);
        }
        self.found(&deed, &self.carried(), Scope::Session)
    }

    /// A thing in the world is moved, one that people are kept safe by also later.
    fn moved(&self, target: &str, guarded: bool) -> Option<Observed> {
        let widest = if guarded { Scope::Once } else { Scope::Session };
        let asks = guarded || self.heat == Heat::Hot;
        asks.then(|| self.found(&format!("move {target}"), &self.carried(), widest))
    }

    /// A form with what people keep to themselves, or to another host than the page's.
    fn form(&self, target: &str) -> Observed {
        let widest = if self.heat == Heat::Hot { Scope::Once } else { Scope::Session };
        self.found(&format!("form to {target}"), &self.carried(), widest)
    }

    fn when_leaking(&self) -> Option<Observed> {
        self.cx
            .words
            .leaks(&self.text)
            .then(|| self.found("private text in a request", &[LEAKS.to_owned()], Scope::Once))
    }

    /// A command line that strangers wrote.
    fn when_dictated(&self, deed: &str, text: &str) -> Option<Observed> {
        if self.heat != Heat::Hot {
            return None;
        }
        let carried = self.cx.words.carried(text, Carry::Phrases);
        (!carried.is_empty()).then(|| self.found(deed, &carried, Scope::Once))
    }

    fn found(&self, deed: &str, carried: &[String], widest: Scope) -> Observed {
        let sources: Vec<String> =
            self.cx.words.sources().iter().rev().take(3).map(ToString::to_string).collect();
        let when = if self.heat == Heat::Hot { "In this turn" } else { "Earlier" };
        let mut why = format!("{when} the model read: {}", sources.join(", "));
        if !carried.is_empty() {
            let words: Vec<String> = carried.iter().map(|words| format!("\"{words}\"")).collect();
            why = format!("{why}. Words taken from there: {}", words.join(", "));
        }
        let finding = finding(format!("words from outside: {deed}"), why, widest);
        let finding = Finding { kind: FindingKind::Tainted, ..finding };
        Observed::new(finding, Class::Tainted)
    }
}
