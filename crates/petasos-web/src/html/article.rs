//! The part of a document that people came for: three candidates, and the one that lost least.
//!
//! A: the block with the most running text. B: what the page itself marks as its main part. C: the
//! body without what every page has around its content.

use std::collections::{HashMap, HashSet};

use super::tree::{Id, Tree};

/// Shorter content is no content.
pub(super) const ENOUGH: usize = 250;
const DEPTH_MAX: usize = 512;
/// Shorter pieces are no running text.
const RUN: usize = 25;

/// What is written: some roots in order, and what is left out below them.
#[derive(Debug, Default)]
pub(super) struct Picked {
    pub(super) roots: Vec<Id>,
    pub(super) dropped: HashSet<Id>,
}

/// Words in classes and ids of what stands around content.
const AROUND: [&str; 38] = [
    "share",
    "social",
    "cookie",
    "consent",
    "newsletter",
    "subscribe",
    "subscription",
    "related",
    "recommend",
    "sidebar",
    "breadcrumb",
    "promo",
    "advert",
    "sponsor",
    "banner",
    "popup",
    "modal",
    "skip-link",
    "skiplink",
    "toolbar",
    "pagination",
    "pager",
    "site-header",
    "site-footer",
    "masthead",
    "menu",
    "navbar",
    "topbar",
    "outbrain",
    "taboola",
    "print-only",
    "sr-only",
    "visually-hidden",
    "screen-reader",
    "widget",
    "signup",
    "paywall",
    "gdpr",
];

/// Picks the content.
pub(super) fn pick(tree: &Tree) -> Picked {
    let Some(body) = tree.first("body") else { return Picked::default() };
    let hidden = hidden(tree, body);
    let around = around(tree, body, &hidden);
    let measure = Measure::new(tree, &around);
    let whole = measure.text(body);
    let main = marked(tree, &measure, &around);
    let dense = densest(tree, body, &measure, &around);
    let main_text = main.map_or(0, |id| measure.text(id));
    if let Some(dense) = dense {
        let text = measure.text(dense);
        let kept = |of: usize, share: usize| text * 100 >= of * share;
        let has_blocks = keeps_blocks(tree, body, dense, &around);
        if text >= ENOUGH && kept(whole, 35) && kept(main_text, 60) && has_blocks {
            // What the page marks as its main part holds it too, with its heading.
            let root =
                main.filter(|main| is_within(tree, dense, *main) && main_text * 100 <= text * 130);
            return Picked {
                roots: with_heading(tree, root.unwrap_or(dense), &around),
                dropped: around,
            };
        }
    }
    match main.filter(|_| main_text >= ENOUGH) {
        Some(main) => Picked { roots: with_heading(tree, main, &around), dropped: around },
        None => Picked { roots: vec![body], dropped: around },
    }
}

/// The main heading, when it stands before the content.
fn with_heading(tree: &Tree, root: Id, dropped: &HashSet<Id>) -> Vec<Id> {
    let inside = tree.below(root).any(|id| tree.name(id) == "h1" && !dropped.contains(&id));
    let heading = tree.all().find(|id| {
        tree.name(*id) == "h1" && !is_below_any(tree, *id, dropped) && !is_within(tree, *id, root)
    });
    match heading {
        Some(heading) if !inside && heading < root => vec![heading, root],
        Some(_) | None => vec![root],
    }
}

fn is_below_any(tree: &Tree, id: Id, set: &HashSet<Id>) -> bool {
    ancestors(tree, id).any(|it| set.contains(&it))
}

fn is_within(tree: &Tree, id: Id, root: Id) -> bool {
    ancestors(tree, id).any(|it| it == root)
}

/// The node itself and everything above it.
fn ancestors(tree: &Tree, id: Id) -> impl Iterator<Item = Id> + '_ {
    std::iter::successors(Some(id), |id| tree.parent(*id)).take(DEPTH_MAX)
}

/// What nobody sees. Where that is most of the page, it only waits for its scripts and is kept.
fn hidden(tree: &Tree, body: Id) -> HashSet<Id> {
    let found: HashSet<Id> = tree.below(body).filter(|id| is_hidden(tree, *id)).collect();
    let none = HashSet::new();
    let (all, seen) = (Measure::new(tree, &none).text(body), Measure::new(tree, &found).text(body));
    if seen * 2 < all && all >= ENOUGH { none } else { found }
}

fn is_hidden(tree: &Tree, id: Id) -> bool {
    if tree.attribute(id, "hidden").is_some() || tree.attribute(id, "aria-hidden") == Some("true") {
        return true;
    }
    let Some(style) = tree.attribute(id, "style") else { return false };
    let style: String =
        style.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
    let declared = |what: &str| {
        style.split(';').any(|rule| rule == what || rule == format!("{what}!important"))
    };
    [
        "display:none",
        "visibility:hidden",
        "opacity:0",
        "font-size:0",
        "font-size:0px",
        "height:0",
        "width:0",
    ]
    .iter()
    .any(|what| declared(what))
        || (style.contains("position:absolute") && style.contains(":-9999px"))
        || style.contains("clip:rect(0")
}

/// What stands around content, hidden parts included.
fn around(tree: &Tree, body: Id, hidden: &HashSet<Id>) -> HashSet<Id> {
    let mut found = hidden.clone();
    for id in tree.below(body) {
        let name = tree.name(id);
        let always = matches!(
            name,
            "script"
                | "style"
                | "noscript"
                | "nav"
                | "iframe"
                | "object"
                | "embed"
                | "svg"
                | "canvas"
                | "button"
                | "select"
                | "input"
                | "textarea"
                | "dialog"
                | "link"
                | "meta"
        );
        // A template is no content, unless it is the root of a component.
        let always = always || is_template(tree, id);
        let role = tree.attribute(id, "role").unwrap_or_default();
        let by_role = matches!(
            role,
            "navigation"
                | "banner"
                | "contentinfo"
                | "complementary"
                | "search"
                | "dialog"
                | "alertdialog"
                | "menu"
                | "menubar"
                | "toolbar"
        );
        let is_frame_part = matches!(name, "footer" | "aside" | "form")
            || (name == "header" && !holds(tree, id, "h1"));
        let has_content = holds(tree, id, "article") || holds(tree, id, "main");
        if always
            || ((by_role || is_frame_part || is_named_around(tree, id))
                && !has_content
                && name != "body")
        {
            found.insert(id);
        }
    }
    links(tree, body, &mut found);
    found
}

pub(super) fn is_template(tree: &Tree, id: Id) -> bool {
    tree.name(id) == "template" && tree.attribute(id, "shadowrootmode").is_none()
}

fn holds(tree: &Tree, id: Id, name: &str) -> bool {
    tree.below(id).any(|below| tree.name(below) == name)
}

fn is_named_around(tree: &Tree, id: Id) -> bool {
    if !matches!(
        tree.name(id),
        "div" | "section" | "ul" | "ol" | "p" | "span" | "header" | "aside" | "table" | "a"
    ) {
        return false;
    }
    let words = ["class", "id"]
        .map(|name| tree.attribute(id, name).unwrap_or_default())
        .join(" ")
        .to_ascii_lowercase();
    words.split_whitespace().any(|word| {
        AROUND.iter().any(|around| {
            let parts = word.split(['-', '_']);
            word == *around
                || parts.clone().any(|part| part == *around || part == format!("{around}s"))
        })
    })
}

/// Lists that are nothing but links.
fn links(tree: &Tree, body: Id, found: &mut HashSet<Id>) {
    let measure = Measure::new(tree, found);
    let lists: Vec<Id> = tree
        .below(body)
        .filter(|id| matches!(tree.name(*id), "ul" | "ol" | "div" | "section"))
        .filter(|id| !found.contains(id))
        .filter(|id| {
            let (text, linked) = (measure.text(*id), measure.linked(*id));
            let items =
                tree.children(*id).iter().filter(|child| !tree.name(**child).is_empty()).count();
            items >= 3
                && text > 0
                && text < 1500
                && linked * 100 > text * 60
                && !holds(tree, *id, "p")
        })
        .collect();
    let linked: usize = lists.iter().map(|id| measure.text(*id)).sum();
    // A page that is a list of links is read as one.
    if linked * 2 < measure.text(body) {
        found.extend(lists);
    }
}

/// What the page marks as its main part: the marked element with the most text.
fn marked(tree: &Tree, measure: &Measure, dropped: &HashSet<Id>) -> Option<Id> {
    let is_marked =
        |id: &Id| tree.name(*id) == "main" || tree.attribute(*id, "role") == Some("main");
    let fits = |id: &Id| !is_below_any(tree, *id, dropped);
    let main = tree.all().filter(is_marked).filter(fits).max_by_key(|id| measure.text(*id));
    let articles: Vec<Id> =
        tree.all().filter(|id| tree.name(*id) == "article").filter(fits).collect();
    let article = articles.iter().copied().max_by_key(|id| measure.text(*id));
    match (main, article) {
        (Some(main), Some(article)) => {
            // Several articles of one page are its content together.
            let is_alone = measure.text(article) * 100 >= measure.text(main) * 60;
            Some(if is_alone { article } else { main })
        }
        (main, article) => main.or(article.filter(|_| articles.len() == 1)),
    }
}

/// The element whose own paragraphs hold the most running text.
fn densest(tree: &Tree, body: Id, measure: &Measure, dropped: &HashSet<Id>) -> Option<Id> {
    let mut scores: HashMap<Id, usize> = HashMap::new();
    let mut running: HashMap<Id, usize> = HashMap::new();
    for id in tree.below(body) {
        if !is_running(tree.name(id)) || is_below_any(tree, id, dropped) {
            continue;
        }
        let text = measure.text(id);
        if text < RUN {
            continue;
        }
        let score = 10 + (text / 10).min(60);
        for (above, id) in ancestors(tree, id).skip(1).enumerate() {
            if above < 3 {
                *scores.entry(id).or_default() += score / (above + 1);
            }
            *running.entry(id).or_default() += text;
        }
    }
    let weigh = |id: Id, score: usize| {
        let (text, linked) = (measure.text(id).max(1), measure.linked(id));
        score * text.saturating_sub(linked) / text
    };
    let best = scores.iter().map(|(id, score)| (weigh(*id, *score), *id)).max()?;
    // Text is often spread over siblings, such as a question and its answers: what holds them
    // together is the content when it has clearly more running text, however deep they are wrapped.
    let mut content = best.1;
    let run = |id: &Id| running.get(id).copied().unwrap_or_default();
    for above in ancestors(tree, best.1).skip(1) {
        if above == body || tree.name(above) == "html" || tree.name(above).is_empty() {
            break;
        }
        if run(&above) * 100 > run(&content) * 115 {
            content = above;
        }
    }
    Some(content)
}

fn is_running(name: &str) -> bool {
    matches!(name, "p" | "pre" | "td" | "blockquote" | "li" | "dd")
}

/// Whether at least half of the code and of the table cells is inside.
fn keeps_blocks(tree: &Tree, body: Id, root: Id, dropped: &HashSet<Id>) -> bool {
    ["pre", "td"].iter().all(|name| {
        let count = |from: Id| {
            tree.below(from)
                .filter(|id| tree.name(*id) == *name && !is_below_any(tree, *id, dropped))
                .count()
        };
        count(root) * 2 >= count(body)
    })
}

/// Whether the page is an empty frame for scripts.
pub(super) fn is_shell(tree: &Tree, html: &str) -> bool {
    let roots = ["root", "app", "__next", "__nuxt", "main-app"];
    let has_root =
        tree.all().any(|id| tree.attribute(id, "id").is_some_and(|id| roots.contains(&id)));
    let says_so = html.to_ascii_lowercase().contains("enable javascript");
    let scripts: usize = tree
        .all()
        .filter(|id| tree.name(*id) == "script")
        .flat_map(|id| tree.children(id))
        .filter_map(|id| tree.text_of(*id))
        .map(str::len)
        .sum();
    has_root || says_so || scripts * 10 > html.len() * 8
}

/// How much text there is below each element, and how much of it is in links.
struct Measure {
    text: HashMap<Id, (usize, usize)>,
}

impl Measure {
    fn new(tree: &Tree, dropped: &HashSet<Id>) -> Self {
        let mut text: HashMap<Id, (usize, usize)> = HashMap::new();
        for id in tree.all() {
            let Some(words) = tree.text_of(id) else { continue };
            let length =
                words.split_whitespace().map(|word| word.chars().count() + 1).sum::<usize>();
            let above: Vec<Id> = ancestors(tree, id).skip(1).collect();
            let is_out = above.iter().any(|id| {
                dropped.contains(id)
                    || matches!(tree.name(*id), "script" | "style" | "noscript")
                    || is_template(tree, *id)
            });
            if length == 0 || is_out {
                continue;
            }
            let is_linked = above.iter().any(|id| tree.name(*id) == "a");
            for id in above {
                let sums = text.entry(id).or_default();
                sums.0 += length;
                sums.1 += if is_linked { length } else { 0 };
            }
        }
        Self { text }
    }

    fn text(&self, id: Id) -> usize {
        self.text.get(&id).map_or(0, |sums| sums.0)
    }

    fn linked(&self, id: Id) -> usize {
        self.text.get(&id).map_or(0, |sums| sums.1)
    }
}
