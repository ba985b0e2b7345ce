//! One effect, judged by the built-in rules: the only place where policy meets the analyser.
//!
//! A file tool, a shell command and a program come out here in the same words, so that one rule
//! holds at every door.

use std::ops::Range;
use std::path::{Path, PathBuf};

use petasos_contract::effect::Effect;

use super::outward;
use super::paths;
use super::trees;
use crate::grants::Spot;
use crate::permissions::deed::Step;
use crate::permissions::{Access, Deed, Kind, Touch};
use petasos_analysis::Facts;
use petasos_analysis::Language;
use petasos_analysis::{Analysis, EffectKind, Finding, Leaf, Nature, Severity};

/// More paths than this are judged as text only: a command may name hundreds.
const LINKS_FOLLOWED_MAX: usize = 64;

/// So many paths of one command are told apart.
const TOUCHED_MAX: usize = 512;

/// What leaving the sandbox is called.
const UNCONFINED: &str = "run outside the sandbox";

/// What opening a private address is called.
const PRIVATE_ADDRESS: &str = "private address";

/// Whose rule speaks, which decides what may set it aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// The analyser's.
    Rule(Nature),
    /// The sandbox is left.
    Unconfined,
    /// Something moves that people are kept safe by.
    Guarded,
    /// Somebody is written to, or their desktop used: agreed to for a session at most.
    Passing,
}

/// What a built-in rule says.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) key: &'static str,
    pub(crate) sort: Sort,
    pub(crate) why: String,
    pub(crate) leaf: String,
    /// Everything that made the rule speak.
    pub(crate) spots: Vec<Spot>,
    pub(crate) span: Option<Range<usize>>,
    pub(crate) blocks: bool,
}

impl Said {
    /// Something that is about one thing and no place in a text.
    pub(super) fn about(
        (key, sort): (&'static str, Sort),
        leaf: &str,
        why: String,
        spots: Vec<Spot>,
    ) -> Self {
        Self { key, sort, why, leaf: leaf.to_owned(), spots, span: None, blocks: false }
    }

    /// Whether something could not be looked at.
    pub(super) fn is_blind(&self) -> bool {
        self.sort == Sort::Rule(Nature::Blind)
    }
}

/// One effect with what was said about it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) deed: Deed,
    pub(crate) said: Vec<Said>,
}

/// Judges one effect as text; links are not followed.
pub(crate) fn effect(effect: &Effect, tool: &str, facts: &Facts) -> Seen {
    match effect {
        Effect::Command { script, cwd } => {
            let facts = within(facts, cwd);
            let mut seen = command(script, tool, &facts);
            read_further(&mut seen, &facts);
            seen
        }
        Effect::Code { language, source, cwd } => {
            let facts = within(facts, cwd);
            let analysis = petasos_analysis::analyse_code(named(language), source, &facts);
            judged(analysis, Deed::new(tool, Kind::Program))
        }
        Effect::Unconfined => Seen {
            deed: Deed::new(tool, Kind::Other),
            said: vec![Said::about(
                (UNCONFINED, Sort::Unconfined),
                tool,
                "leaves the sandbox that the settings ask for".to_owned(),
                Vec::new(),
            )],
        },
        Effect::Write(path) => file(path, Access::Write, tool, facts),
        Effect::Read(path) => file(path, Access::Read, tool, facts),
        Effect::Reach(host) => {
            let mut deed = Deed::new(tool, Kind::Host);
            deed.hosts.push(host.clone());
            Seen { deed, said: Vec::new() }
        }
        Effect::ReachPrivate(place) => {
            let mut deed = Deed::new(tool, Kind::Host);
            let host = place.rsplit_once(':').map_or(place.as_str(), |(host, _)| host);
            deed.hosts.push(host.to_owned());
            let why = format!("opens `{place}`, which is on a private network");
            let spot = Spot { leaf: place.clone(), target: None, cwd: None };
            let named = (PRIVATE_ADDRESS, Sort::Rule(Nature::Plain));
            Seen { deed, said: vec![Said::about(named, place, why, vec![spot])] }
        }
        Effect::Send { target } => outward::sent(target, tool, facts),
        Effect::Actuate { target, guarded } => outward::moved(target, *guarded, tool, facts),
        _ => Seen { deed: Deed::new(tool, Kind::Other), said: Vec::new() },
    }
}

/// Judges what the steps of a command come to by way of files on this machine.
fn read_further(seen: &mut Seen, facts: &Facts) {
    if facts.elsewhere || facts.scripts.is_none() {
        return;
    }
    for path in trees::written(&seen.deed.steps, facts) {
        let path = text(&path);
        let judged = petasos_analysis::judge_write(&path, facts).findings;
        // A tree has many files: all are judged, and the first are remembered as written.
        if judged.is_empty() && seen.deed.touched.len() >= TOUCHED_MAX {
            continue;
        }
        let added = seen.said.len();
        seen.add(judged);
        seen.deed.touched.push(Touch { access: Access::Write, path, recursive: false });
        for said in seen.said.iter_mut().skip(added) {
            // The span is of a text that the person never saw.
            said.span = None;
        }
    }
}

/// Follows the links of every path that was named on this machine, and judges where they lead.
pub(crate) fn follow_links(seen: &mut Seen, facts: &Facts, cwd: &Path) {
    let home = Path::new(&facts.home);
    let named: Vec<Touch> = seen.deed.touched.iter().take(LINKS_FOLLOWED_MAX).cloned().collect();
    for touch in named {
        // A pattern is no path, and what the kernel offers here is judged by its name: `/dev/stderr`
        // leads to whatever this very process writes to.
        let of_kernel = ["/dev/", "/proc/"].iter().any(|top| touch.path.starts_with(top));
        if of_kernel || touch.path.contains(['*', '?', '[', '…', '$']) {
            continue;
        }
        let path = Path::new(&touch.path);
        let folded = text(&paths::folded(path, cwd, home));
        let real = match touch.access {
            Access::Delete => paths::real_parent(path, cwd, home),
            Access::Read | Access::Write => paths::real(path, cwd, home),
        };
        let real = text(&real);
        if real == folded {
            continue;
        }
        let there = followed(facts);
        let judged = match touch.access {
            Access::Write => petasos_analysis::judge_write(&real, &there),
            Access::Read => petasos_analysis::judge_read(&real, &there),
            Access::Delete => petasos_analysis::judge_delete(&real, touch.recursive, &there),
        };
        let added = seen.said.len();
        seen.add(judged.findings);
        for said in seen.said.iter_mut().skip(added) {
            // The span is of a text that the person never saw.
            said.span = None;
            said.why = format!("{} (`{}` leads to `{real}`)", said.why, touch.path);
        }
        seen.deed.touched.push(Touch { path: real, ..touch });
    }
}

/// The files that an effect writes, behind all links.
pub(crate) fn written(deed: &Deed, facts: &Facts) -> Vec<PathBuf> {
    let cwd = Path::new(facts.cwd.as_deref().unwrap_or("/"));
    let plain = |touch: &&Touch| {
        touch.access == Access::Write && !touch.path.contains(['*', '?', '…', '$'])
    };
    let all = deed.touched.iter().filter(plain).take(LINKS_FOLLOWED_MAX);
    all.map(|touch| paths::real(Path::new(&touch.path), cwd, Path::new(&facts.home))).collect()
}

/// The same facts where the homes are not named by links.
fn followed(facts: &Facts) -> Facts {
    let real = |path: &str| text(&paths::real(Path::new(path), Path::new("/"), Path::new("/")));
    Facts {
        home: real(&facts.home),
        agent_home: facts.agent_home.as_deref().map(real),
        ..facts.clone()
    }
}

fn command(script: &str, tool: &str, facts: &Facts) -> Seen {
    let mut deed = Deed::new(tool, Kind::Program);
    deed.script = Some(script.to_owned());
    judged(petasos_analysis::analyse(script, facts), deed)
}

fn judged(mut analysis: Analysis, mut deed: Deed) -> Seen {
    let step = |leaf: Leaf| Step { argv: leaf.argv, via: leaf.via, cwd: leaf.cwd };
    deed.steps = std::mem::take(&mut analysis.leaves).into_iter().map(step).collect();
    let judged = petasos_analysis::judge(analysis);
    let mut seen = Seen { deed, said: Vec::new() };
    seen.add_effects(judged.effects);
    seen.add(judged.findings);
    seen
}

fn file(path: &Path, access: Access, tool: &str, facts: &Facts) -> Seen {
    let mut deed = Deed::new(tool, Kind::File);
    let cwd = facts.cwd.as_deref().unwrap_or("/");
    let named = text(&paths::folded(path, Path::new(cwd), Path::new(&facts.home)));
    let judged = match access {
        Access::Read => petasos_analysis::judge_read(&named, facts),
        Access::Write | Access::Delete => petasos_analysis::judge_write(&named, facts),
    };
    // The path as it was given: what `..` means after a link is for whoever follows links.
    let given = if path.is_absolute() { text(path) } else { named };
    deed.touched.push(Touch { access, path: given, recursive: false });
    let mut seen = Seen { deed, said: Vec::new() };
    seen.add(judged.findings);
    for said in &mut seen.said {
        said.span = None;
    }
    seen
}

impl Seen {
    /// Adds what is new: one reason a key and place.
    fn add(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            let blocks = finding.severity == Severity::Block;
            let span = finding.span.start as usize..finding.span.end as usize;
            let why = if finding.leaf.is_empty() {
                finding.description.to_owned()
            } else {
                format!("{}: {}", finding.description, shown(&finding.leaf))
            };
            let (key, leaf) = (finding.rule, finding.leaf);
            let spot = Spot { leaf: leaf.clone(), target: finding.target, cwd: finding.cwd };
            let known = |said: &&mut Said| said.key == key && said.blocks == blocks;
            if let Some(said) = self.said.iter_mut().find(known) {
                said.spots.push(spot);
            } else {
                let spots = vec![spot];
                let sort = Sort::Rule(finding.nature);
                self.said.push(Said { key, sort, why, leaf, spots, span: Some(span), blocks });
            }
        }
    }

    fn add_effects(&mut self, effects: Vec<petasos_analysis::Effect>) {
        for effect in effects {
            let access = match effect.kind {
                EffectKind::Delete => Access::Delete,
                EffectKind::Write => Access::Write,
                EffectKind::Read => Access::Read,
                EffectKind::Reach => {
                    self.deed.hosts.push(effect.target);
                    continue;
                }
                EffectKind::Run => continue,
            };
            let (path, recursive) = (effect.target, effect.recursive);
            self.deed.touched.push(Touch { access, path, recursive });
        }
    }
}

fn named(language: &str) -> Language {
    match language {
        "sh" | "bash" | "shell" | "zsh" => Language::Shell,
        "python" | "python3" | "py" => Language::Python,
        "javascript" | "typescript" | "js" | "ts" | "node" => Language::JavaScript,
        "perl" => Language::Perl,
        "ruby" => Language::Ruby,
        "php" => Language::Php,
        "awk" => Language::Awk,
        "applescript" => Language::AppleScript,
        "powershell" | "cmd" => Language::PowerShell,
        _ => Language::Other,
    }
}

/// The facts in the directory that a command or program runs in. On this machine that is the one
/// behind its links: what a pattern in it matches lies there.
fn within(facts: &Facts, cwd: &Path) -> Facts {
    if cwd.as_os_str().is_empty() {
        return facts.clone();
    }
    let (root, home) = (Path::new("/"), Path::new(&facts.home));
    let cwd = if facts.elsewhere { cwd.to_owned() } else { paths::real(cwd, root, home) };
    Facts { cwd: Some(text(&cwd)), ..facts.clone() }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn shown(leaf: &str) -> String {
    format!("`{}`", crate::permissions::rule::shortened(leaf))
}
