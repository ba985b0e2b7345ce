//! Properties of merging and editing over generated documents.

use petasos_config::{edit, load};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::Setting;

/// A document as a person could have written it.
#[derive(Debug, Clone)]
enum Tree {
    Word(u8),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = any::<u8>().prop_map(Tree::Word);
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Tree::List),
            prop::collection::btree_map("[a-e]", inner, 0..4)
                .prop_map(|map| Tree::Map(map.into_iter().collect())),
        ]
    })
}

/// Writes a tree in styles drawn from a seed, with numbered comments.
struct Pen {
    seed: u64,
    comments: usize,
    newline: &'static str,
}

const FLOW_WORDS: [&str; 9] =
    ["word", "12", "yes", "~", "'it''s'", "\"x: \\ty\"", "2.50", "a-b/c", "0x1F"];

fn flow(tree: &Tree) -> String {
    match tree {
        Tree::Word(word) => FLOW_WORDS[usize::from(*word) % FLOW_WORDS.len()].to_owned(),
        Tree::List(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Tree::Map(entries) => {
            let pairs = entries.iter().map(|(name, tree)| format!("{name}: {}", flow(tree)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

impl Pen {
    fn draw(&mut self, below: u64) -> u64 {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % below
    }

    fn comment(&mut self) -> String {
        if self.draw(3) > 0 {
            return String::new();
        }
        self.comments += 1;
        format!("  # c{};", self.comments)
    }

    fn word(&mut self, word: u8, indent: usize) -> String {
        let pad = " ".repeat(indent + 2);
        let end = self.newline;
        match word % 12 {
            0 => format!("{}{end}", self.comment()),
            1 => format!(" |{end}{pad}one{end}{end}{pad}two{end}"),
            2 => format!(" >-{end}{pad}one{end}{pad}two{end}"),
            _ => format!(
                " {}{}{end}",
                FLOW_WORDS[usize::from(word) % FLOW_WORDS.len()],
                self.comment()
            ),
        }
    }

    /// What follows a key.
    fn value(&mut self, tree: &Tree, indent: usize) -> String {
        let end = self.newline;
        let in_line = self.draw(4) == 0;
        match tree {
            Tree::Word(word) => self.word(*word, indent),
            Tree::List(items) if !items.is_empty() && !in_line => {
                let inner = if self.draw(2) == 0 { indent } else { indent + 2 };
                let mut text = format!("{}{end}", self.comment());
                for item in items {
                    let item = flow(item);
                    text.push_str(&format!("{}- {item}{}{end}", " ".repeat(inner), self.comment()));
                }
                text
            }
            Tree::Map(entries) if !entries.is_empty() && !in_line => {
                let step = 2 + usize::try_from(self.draw(3)).unwrap();
                format!("{}{end}{}", self.comment(), self.entries(entries, indent + step))
            }
            other => format!(" {}{}{end}", flow(other), self.comment()),
        }
    }

    fn entries(&mut self, entries: &[(String, Tree)], indent: usize) -> String {
        let mut text = String::new();
        for (name, tree) in entries {
            let pad = " ".repeat(indent);
            if self.draw(4) == 0 {
                self.comments += 1;
                text.push_str(&format!("{pad}# c{};{}", self.comments, self.newline));
            }
            let value = self.value(tree, indent);
            text.push_str(&format!("{pad}{name}:{value}"));
        }
        text
    }
}

/// Sections that take anything, so that every document is a configuration.
const SECTIONS: [&str; 4] = ["curator", "telegram", "voice", "goals"];

fn document() -> impl Strategy<Value = (String, usize)> {
    (prop::collection::vec(tree(), 0..4), any::<u64>(), any::<bool>(), any::<bool>()).prop_map(
        |(trees, seed, windows, cut)| {
            let entries: Vec<(String, Tree)> =
                SECTIONS.iter().map(|name| (*name).to_owned()).zip(trees).collect();
            let mut pen = Pen { seed, comments: 0, newline: if windows { "\r\n" } else { "\n" } };
            let mut text = pen.entries(&entries, 0);
            if cut {
                text.truncate(text.trim_end_matches(['\r', '\n']).len());
            }
            (text, pen.comments)
        },
    )
}

fn at<'a>(values: &'a Map<String, Value>, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(values.get(*first)?, |value, name| value.get(name))
}

fn put(values: &mut Map<String, Value>, path: &[&str], value: Value) {
    let (last, around) = path.split_last().unwrap();
    let mut map = values;
    for name in around {
        let inner = map.entry(*name).or_insert_with(|| json!({}));
        if !inner.is_object() {
            *inner = json!({});
        }
        map = inner.as_object_mut().unwrap();
    }
    map.insert((*last).to_owned(), value);
}

/// Without what says nothing, and without order.
fn bare(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept: std::collections::BTreeMap<&String, Value> = map
                .iter()
                .map(|(name, value)| (name, bare(value)))
                .filter(|(_, value)| !value.is_null())
                .collect();
            if kept.is_empty() { Value::Null } else { json!(kept) }
        }
        other => other.clone(),
    }
}

fn new_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        (-1.0e9..1.0e9_f64).prop_map(|number| json!(number)),
        "\\PC{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "y", "no", "12:30", "0o7", "~", "- a", "a: b", "#", "", " ", "\n"
        ])
        .prop_map(Value::from),
        prop::collection::vec("[a-z ]{0,5}", 0..3).prop_map(|items| json!(items)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn setting_a_key_changes_that_key_and_nothing_else(
        (text, comments) in document(),
        section in prop::sample::select(SECTIONS.to_vec()),
        below in prop::collection::vec("[a-e]", 0..3),
        value in new_value(),
    ) {
        let setting = Setting::new().user(&text);
        let before = load(&setting.inputs()).unwrap().values().clone();
        let path: Vec<&str> =
            std::iter::once(section).chain(below.iter().map(String::as_str)).collect();
        let blocked = (1..path.len()).any(|length| {
            at(&before, &path[..length]).is_some_and(|value| !value.is_object())
        });
        let outcome = edit::set(&setting.config(), &path.join("."), &value);
        let after_text = std::fs::read_to_string(setting.config()).unwrap();
        if blocked {
            prop_assert!(outcome.is_err());
            prop_assert_eq!(after_text, text);
            return Ok(());
        }
        prop_assert!(outcome.is_ok(), "{:?}\n{}", outcome, text);
        let after = load(&setting.inputs()).unwrap().values().clone();
        let mut wanted = before.clone();
        put(&mut wanted, &path, value);
        prop_assert_eq!(bare(&Value::Object(after)), bare(&Value::Object(wanted)), "{}\n---\n{}", text, after_text);
        // A map of nothing sets nothing, but it may have comments: look at the text.
        let written: Map<String, Value> = serde_saphyr::from_str(&text).unwrap_or_default();
        let replaced_whole = at(&written, &path).is_some_and(|old| old.is_object() || old.is_array());
        if !replaced_whole {
            for number in 1..=comments {
                let comment = format!("# c{number};");
                prop_assert!(after_text.contains(&comment), "{} is lost\n{}\n---\n{}", comment, text, after_text);
            }
        }
    }

    #[test]
    fn appending_and_removing_gives_the_same_values_again((text, comments) in document(), item in "\\PC{1,10}") {
        let setting = Setting::new().user(&text);
        let before = load(&setting.inputs()).unwrap().values().clone();
        let file = setting.config();
        prop_assert!(edit::append_to_list(&file, "command_allowlist", "first").unwrap());
        let changed = edit::append_to_list(&file, "command_allowlist", &item).unwrap();
        prop_assert_eq!(changed, item != "first");
        let middle = load(&setting.inputs()).unwrap();
        prop_assert!(middle.names("command_allowlist").unwrap().contains(&item));
        edit::remove_from_list(&file, "command_allowlist", &item).unwrap();
        edit::unset(&file, "command_allowlist").unwrap();
        let after = load(&setting.inputs()).unwrap().values().clone();
        prop_assert_eq!(before, after);
        let after_text = std::fs::read_to_string(&file).unwrap();
        for number in 1..=comments {
            let comment = format!("# c{number};");
            prop_assert!(after_text.contains(&comment));
        }
    }

    #[test]
    fn merging_is_deterministic_and_the_strongest_layer_wins(
        user in any::<bool>(), project in any::<bool>(), dotenv in any::<bool>(),
        old in any::<bool>(), ours in any::<bool>(), flag in any::<bool>(),
    ) {
        let mut setting = Setting::new();
        if user { setting = setting.user("agent: {max_turns: 6}\n"); }
        if project { setting = setting.project("agent: {max_turns: 5}\n"); }
        if dotenv { setting = setting.dotenv("HERMES_MAX_ITERATIONS=4\n"); }
        if old { setting = setting.variable("HERMES_MAX_ITERATIONS", "3"); }
        if ours { setting = setting.variable("PETASOS_MAX_ITERATIONS", "2"); }
        let mut inputs = setting.inputs();
        if flag { inputs = inputs.with_override("agent.max_turns", "1", "--max-turns"); }
        let (one, two) = (load(&inputs).unwrap(), load(&inputs).unwrap());
        prop_assert_eq!(one.fingerprint(), two.fingerprint());
        prop_assert_eq!(one.values(), two.values());
        prop_assert_eq!(one.sources(), two.sources());
        let layers = [user, project, dotenv, old, ours, flag];
        let strongest = layers.iter().rposition(|set| *set).map(|index| json!(6 - index));
        prop_assert_eq!(one.get("agent.max_turns"), strongest.as_ref());
        let offered = layers.iter().filter(|set| **set).count();
        prop_assert_eq!(one.explain("agent.max_turns").len(), offered);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,60}|[-:{}\\[\\],&*#?|>!%@` \n\ta]{0,40}") {
        let setting = Setting::new().user(&text).dotenv(&text);
        // Whatever it is, it is read or refused, and an edit changes one key or nothing.
        if load(&setting.inputs()).is_ok() {
            let outcome = edit::append_to_list(&setting.config(), "command_allowlist", "x");
            let after = std::fs::read_to_string(setting.config()).unwrap();
            prop_assert!(outcome.is_ok() || after == text);
            prop_assert!(load(&setting.inputs()).is_ok());
        }
    }
}
