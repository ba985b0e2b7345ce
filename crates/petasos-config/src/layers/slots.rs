//! One slot a key: who offers a value, who wins, and why the others do not.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use petasos_contract::settings::{Layered, Notice, Source};
use serde_json::{Map, Value};

use crate::keys::{self, Key};
use crate::strict::{Leaf, dotted};
use crate::tighten::{Outcome, decide};
use crate::variables::Wins;

/// How the reason starts when a section of the file silences variables.
const SECTION: &str = "config.yaml has a";

/// How the reason starts when a project may not set what it sets.
const IGNORED: &str = "ignored: ";

/// A value somebody offers.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) value: Value,
    pub(super) shown: Value,
    pub(super) source: Source,
    /// Why it cannot win, whoever else is there.
    pub(super) refused: Option<String>,
}

#[derive(Debug)]
struct Slot {
    path: Vec<String>,
    user: Option<Offer>,
    /// From the user's own file for this one key, which comes after config.yaml.
    own_file: Option<Offer>,
    project: Option<(Leaf, Source)>,
    /// The strongest first.
    variables: Vec<Offer>,
    wins: Wins,
    flag: Option<Offer>,
}

/// Every key that somebody offers a value for, in the order of the files.
#[derive(Debug, Default)]
pub(super) struct Slots {
    all: Vec<Slot>,
    index: HashMap<String, usize>,
    sections: BTreeSet<String>,
}

impl Slots {
    pub(super) fn user(&mut self, leaves: Vec<Leaf>, sections: &BTreeSet<String>, source: &Source) {
        self.sections.clone_from(sections);
        for leaf in leaves {
            let Leaf { path, value, shown } = leaf;
            let offer = Offer { value, shown, source: source.clone(), refused: None };
            self.slot(path).user = Some(offer);
        }
    }

    /// Takes what a file of the user's own says about the one key it is for.
    pub(super) fn own_file(&mut self, leaves: Vec<Leaf>, source: &Source) -> Vec<Notice> {
        let mut notices = Vec::new();
        for Leaf { path, value, shown } in leaves {
            let slot = self.slot(path);
            if slot.user.is_some() {
                let key = dotted(&slot.path);
                notices.push(Notice {
                    what: format!("{source} has no effect: config.yaml sets `{key}` itself"),
                    hint: "keep your rows in one of the two files".to_owned(),
                    key,
                });
            }
            slot.own_file = Some(Offer { value, shown, source: source.clone(), refused: None });
        }
        notices
    }

    /// Takes a project's values; how far it may set them is decided when everything else is known.
    pub(super) fn project(&mut self, leaves: Vec<Leaf>, file: &Path) {
        for leaf in leaves {
            let source = Source::Project { file: file.to_path_buf() };
            let slot = self.slot(leaf.path.clone());
            slot.project = Some((leaf, source));
        }
    }

    /// Offers come in the order of their strength.
    pub(super) fn variable(&mut self, path: Vec<String>, wins: Wins, offer: Offer) {
        let slot = self.slot(path);
        slot.wins = wins;
        slot.variables.push(offer);
    }

    pub(super) fn flag(&mut self, path: Vec<String>, offer: Offer) {
        self.slot(path).flag = Some(offer);
    }

    fn slot(&mut self, path: Vec<String>) -> &mut Slot {
        let index = *self.index.entry(dotted(&path)).or_insert_with(|| {
            self.all.push(Slot {
                path,
                user: None,
                own_file: None,
                project: None,
                variables: Vec::new(),
                wins: Wins::Variable,
                flag: None,
            });
            self.all.len() - 1
        });
        &mut self.all[index]
    }

    /// The merged tree, every candidate of every key, and what a project narrows.
    pub(super) fn settle(self, notices: &mut Vec<Notice>) -> Settled {
        let Self { all, index, sections } = self;
        let mut lines: Vec<(Vec<String>, Line)> =
            all.into_iter().map(|slot| slot.settle(&sections)).collect();
        part_of_another(&mut lines, &index);
        let mut settled = Settled::default();
        for (path, line) in lines {
            notices.extend(unheard(&path, &line));
            notices.extend(ignored(&path, &line));
            if let Some(value) = line.value {
                put(&mut settled.values, &path, value);
            }
            if let Some(limit) = line.limit {
                settled.limits.insert(dotted(&path), limit);
            }
            settled.sources.insert(dotted(&path), line.stack);
        }
        settled
    }
}

/// Everything decided.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    pub(crate) values: Map<String, Value>,
    pub(crate) sources: BTreeMap<String, Vec<Layered>>,
    pub(crate) limits: BTreeMap<String, Vec<String>>,
}

/// A slot that is decided.
struct Line {
    value: Option<Value>,
    /// The names that a project narrows the value to.
    limit: Option<Vec<String>>,
    /// How strong the winner's layer is.
    rank: u8,
    stack: Vec<Layered>,
}

impl Slot {
    fn settle(self, sections: &BTreeSet<String>) -> (Vec<String>, Line) {
        let Self { path, user, own_file, project, mut variables, wins, flag } = self;
        let files_first = match wins {
            Wins::Variable => false,
            Wins::File => true,
            Wins::Section(section) => {
                let has = sections.contains(section);
                if has {
                    for offer in &mut variables {
                        offer.refused.get_or_insert_with(|| {
                            format!("{SECTION} `{section}` section, which goes first")
                        });
                    }
                }
                has
            }
        };
        let mut stronger: Vec<Offer> = flag.into_iter().collect();
        let mut weaker: Vec<Offer> = [user, own_file].into_iter().flatten().collect();
        if files_first { &mut weaker } else { &mut stronger }.append(&mut variables);
        let mut limit = None;
        let project = project.map(|(leaf, source)| {
            let current = weaker.iter().find(|offer| offer.refused.is_none());
            let (offer, narrowed) = project_offer(leaf, source, current.map(|offer| &offer.value));
            let overruled = stronger.iter().any(|offer| offer.refused.is_none());
            limit = narrowed.filter(|_| !overruled);
            offer
        });
        stronger.extend(project);
        stronger.append(&mut weaker);
        let line = Line { limit, ..decide_line(&path, stronger) };
        (path, line)
    }
}

/// What a project offers, and what it narrows, given what holds without it.
fn project_offer(
    leaf: Leaf,
    source: Source,
    current: Option<&Value>,
) -> (Offer, Option<Vec<String>>) {
    let Leaf { mut path, value, shown } = leaf;
    let refused = |why: &str| Some(why.to_owned());
    match decide(keys::find(&path), current, &value) {
        Outcome::Used(joined) => {
            let shown =
                if joined == value { shown } else { crate::mask::masked(&mut path, &joined) };
            (Offer { value: joined, shown, source, refused: None }, None)
        }
        Outcome::Limits(names) => {
            let refused = refused("a project's list narrows what holds, and adds nothing to it");
            (Offer { value, shown, source, refused }, Some(names))
        }
        Outcome::Same => {
            (Offer { value, shown, source, refused: refused("it changes nothing") }, None)
        }
        Outcome::Ignored(why) => {
            let refused = Some(format!("{IGNORED}{why}"));
            (Offer { value, shown, source, refused }, None)
        }
    }
}

/// The first that may win does; the stack shows it first and keeps the order of the others.
fn decide_line(path: &[String], mut offers: Vec<Offer>) -> Line {
    let winner = offers.iter().position(|offer| offer.refused.is_none());
    let mut stack = Vec::with_capacity(offers.len());
    let mut value = None;
    let mut rank = 0;
    let mut first = "the built-in default goes first".to_owned();
    match winner {
        Some(index) => {
            let Offer { value: won, shown, source, .. } = offers.remove(index);
            rank = rank_of(&source);
            first = format!("{source} goes first");
            value = Some(won);
            stack.push(Layered { value: shown, source, passed_over: None });
        }
        None => {
            if let Some(default) = keys::find(path).and_then(Key::default_value) {
                stack.push(Layered { value: default, source: Source::Default, passed_over: None });
            }
        }
    }
    stack.extend(offers.into_iter().map(|offer| Layered {
        value: offer.shown,
        source: offer.source,
        passed_over: Some(offer.refused.unwrap_or_else(|| first.clone())),
    }));
    Line { value, limit: None, rank, stack }
}

/// A variable that a section silenced, though it says something else: somebody may count on it.
fn unheard(path: &[String], line: &Line) -> Option<Notice> {
    let holds = line.stack.first().filter(|first| first.passed_over.is_none());
    let unheard = line.stack.iter().find(|layer| {
        let silenced = layer.passed_over.as_deref().is_some_and(|why| why.starts_with(SECTION));
        silenced && holds.is_none_or(|holds| holds.value != layer.value)
    })?;
    let key = dotted(path);
    let why = unheard.passed_over.as_deref().unwrap_or_default();
    Some(Notice {
        what: format!("{} has no effect: {why}", unheard.source),
        hint: format!("set `{key}` in config.yaml instead"),
        key,
    })
}

/// A project's value that was not used, because it would have loosened or chosen something.
fn ignored(path: &[String], line: &Line) -> Option<Notice> {
    let (why, source) = line.stack.iter().find_map(|layer| {
        let why = layer.passed_over.as_deref()?.strip_prefix(IGNORED)?;
        Some((why, &layer.source))
    })?;
    let key = dotted(path);
    Some(Notice {
        what: format!("`{key}` in {source} is ignored: {why}"),
        hint: "put it into your own config.yaml if you want it".to_owned(),
        key,
    })
}

fn rank_of(source: &Source) -> u8 {
    match source {
        Source::Default => 0,
        Source::User { .. } => 1,
        Source::Project { .. } => 2,
        Source::DotEnv { .. } => 3,
        Source::Environment { .. } => 4,
        Source::Flag { .. } => 5,
    }
}

/// Where one layer has a word and another a map, the stronger layer decides which it is.
fn part_of_another(lines: &mut [(Vec<String>, Line)], index: &HashMap<String, usize>) {
    for below in 0..lines.len() {
        for length in 1..lines[below].0.len() {
            let Some(&above) = index.get(&dotted(&lines[below].0[..length])) else { continue };
            let both = lines[above].1.value.is_some() && lines[below].1.value.is_some();
            let empty_map =
                matches!(&lines[above].1.value, Some(Value::Object(map)) if map.is_empty());
            if !both || empty_map {
                continue;
            }
            let (winner, loser) = if lines[above].1.rank > lines[below].1.rank {
                (above, below)
            } else {
                (below, above)
            };
            let reason = format!("`{}` of a stronger layer replaces it", dotted(&lines[winner].0));
            let line = &mut lines[loser].1;
            line.value = None;
            if let Some(first) = line.stack.first_mut() {
                first.passed_over = Some(reason);
            }
        }
    }
}

fn put(values: &mut Map<String, Value>, path: &[String], value: Value) {
    let Some((last, around)) = path.split_last() else { return };
    let mut map = values;
    for name in around {
        let inner = map.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
        if !inner.is_object() {
            *inner = Value::Object(Map::new());
        }
        let Value::Object(next) = inner else { return };
        map = next;
    }
    let keeps = matches!(&value, Value::Object(new) if new.is_empty())
        && map.get(last).is_some_and(Value::is_object);
    if !keeps {
        map.insert(last.clone(), value);
    }
}
