//! The index of skills in the prompt: a line each, by category, within a budget. Equal skills give
//! equal bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use petasos_contract::CallContext;

use crate::discover::Skill;
use crate::places::PlaceKind;
use crate::scan::orders;
use crate::usage::Usage;

/// The most characters of the index.
const CHARS_MAX: usize = 8000;
const LINE_CHARS_MAX: usize = 60;
const HEADING: &str = "# Skills\nRead one with `skill_view` before work it is about:";

/// A text as one line that shows all that it says and gives no orders; `None` where it does.
pub(crate) fn cleaned(text: &str, most: usize) -> Option<String> {
    if orders::hides_characters(text) || !orders::ordered(text).is_empty() {
        return None;
    }
    let mut inside = false;
    let plain: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|c| match c {
            '<' => {
                inside = true;
                false
            }
            '>' if inside => {
                inside = false;
                false
            }
            _ => !inside,
        })
        .collect();
    // Without a closing bracket it was no tag.
    let plain = if inside { text.replace(['<', '\n', '\r'], " ") } else { plain };
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return Some(line);
    }
    let cut: String = line.chars().take(most.saturating_sub(1)).collect();
    Some(format!("{}…", cut.trim_end()))
}

/// How much of a skill the index shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Line,
    Name,
    Nothing,
}

/// The index; absent when there are no skills.
pub(crate) fn index(
    skills: &[Arc<Skill>],
    usage: &Usage,
    toolsets: Option<&[String]>,
    cx: &CallContext,
) -> Option<String> {
    let shown: Vec<&Arc<Skill>> = skills
        .iter()
        // What a plugin brings is read by name and not listed.
        .filter(|skill| skill.place != PlaceKind::Plugin)
        .filter(|skill| is_shown(skill, toolsets, cx))
        .collect();
    if shown.is_empty() {
        return None;
    }
    // A token is about four characters, and the index may have one in fifty.
    let share = cx.window.map(|tokens| usize::try_from(tokens * 4 / 50).unwrap_or(usize::MAX));
    let budget = share.map_or(CHARS_MAX, |share| share.min(CHARS_MAX));
    let mut details = vec![Detail::Line; shown.len()];
    let mut by_use: Vec<usize> = (0..shown.len()).collect();
    let weight = |at: usize| {
        let name = shown.get(at).map_or("", |skill| skill.name.as_str());
        (usage.get(name).map_or(0, crate::usage::Record::weight), std::cmp::Reverse(name))
    };
    by_use.sort_by(|a, b| weight(*a).cmp(&weight(*b)));
    let about = shelves(&shown);
    let mut text = written(&shown, &details, &about);
    for detail in [Detail::Name, Detail::Nothing] {
        // Halving finds how many of the least used must give way, without writing it for each.
        if text.chars().count() <= budget {
            break;
        }
        let (mut low, mut high) = (0, by_use.len());
        let full = details.clone();
        while low < high {
            let middle = usize::midpoint(low, high);
            details.clone_from(&full);
            lower(&mut details, &by_use, middle, detail);
            if written(&shown, &details, &about).chars().count() <= budget {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        details = full;
        lower(&mut details, &by_use, low, detail);
        text = written(&shown, &details, &about);
    }
    Some(text)
}

fn lower(details: &mut [Detail], by_use: &[usize], count: usize, to: Detail) {
    for at in by_use.iter().take(count) {
        if let Some(detail) = details.get_mut(*at) {
            *detail = to;
        }
    }
}

/// Whether the tools of the conversation are those that a skill is for.
fn is_shown(skill: &Skill, toolsets: Option<&[String]>, cx: &CallContext) -> bool {
    let conditions = &skill.checked.front.conditions;
    let tool = |name: &String| cx.grant.allows(name);
    // Where nothing was chosen, everything is there.
    let toolset = |name: &String| toolsets.is_none_or(|chosen| chosen.contains(name));
    conditions.requires_tools.iter().all(tool)
        && conditions.requires_toolsets.iter().all(toolset)
        && !conditions.fallback_for_tools.iter().any(tool)
        && !conditions.fallback_for_toolsets.iter().any(toolset)
}

/// What each category says of itself, in its `DESCRIPTION.md`.
fn shelves(shown: &[&Arc<Skill>]) -> BTreeMap<String, String> {
    let mut about = BTreeMap::new();
    for skill in shown.iter().filter(|skill| skill.category.is_some()) {
        let shelf = skill.shelf();
        if about.contains_key(shelf) {
            continue;
        }
        let file = skill.folder.parent().unwrap_or(Path::new("")).join("DESCRIPTION.md");
        let text = fs::read_to_string(file).ok().and_then(|text| {
            let (front, body) = crate::format::split(&text);
            let named = front
                .and_then(|front| front.lines().find_map(|line| line.strip_prefix("description:")));
            let body =
                || body.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
            let line = named.or_else(body)?.trim().trim_matches(['"', '\'']);
            cleaned(line, LINE_CHARS_MAX)
        });
        about.insert(shelf.to_owned(), text.unwrap_or_default());
    }
    about
}

fn written(shown: &[&Arc<Skill>], details: &[Detail], about: &BTreeMap<String, String>) -> String {
    let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut left_out = 0;
    for (skill, detail) in shown.iter().zip(details) {
        let line = match detail {
            Detail::Line => match cleaned(skill.description(), LINE_CHARS_MAX) {
                Some(line) => format!("- {}: {line}", skill.name),
                None => format!("- {0} (withheld: petasos skills check {0})", skill.name),
            },
            Detail::Name => format!("- {}", skill.name),
            Detail::Nothing => {
                left_out += 1;
                continue;
            }
        };
        lines.entry(skill.shelf()).or_default().push(line);
    }
    let mut text = HEADING.to_owned();
    let only_general = lines.keys().all(|shelf| *shelf == "general");
    for (shelf, lines) in lines {
        if !only_general {
            let shown = cleaned(shelf, LINE_CHARS_MAX).unwrap_or_default();
            let about = about.get(shelf).filter(|about| !about.is_empty());
            let about = about.map(|about| format!(" {about}")).unwrap_or_default();
            text = format!("{text}\n{shown}:{about}");
        }
        text = format!("{text}\n{}", lines.join("\n"));
    }
    if left_out > 0 {
        text = format!("{text}\n+{left_out} more (skills_list)");
    }
    text
}
