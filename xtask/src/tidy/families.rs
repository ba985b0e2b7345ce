//! Every committed family index is exactly what its folder asks for.
//!
//! Build scripts describe their families with string literals; they are read from the text, so
//! that this check and the build use one description. The merge rule of the index is looked for
//! in `.gitattributes`.

use petasos_index::Family;

use crate::finding::Finding;
use crate::house::House;
use crate::source::{Source, closing, line_of};

/// Looks at every build script that keeps an index.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut found = Vec::new();
    for manifest in &house.manifests {
        let Some(script) = house.source(&format!("{}build.rs", manifest.folder())) else {
            continue;
        };
        for (at, _) in script.code.match_indices("Family {") {
            let line = line_of(&script.code, at);
            let complaint = one(house, manifest.folder(), script, at);
            found.extend(complaint.map(|(path, what, cure)| {
                let line = if path == script.path { line } else { 1 };
                Finding { path, line, check: "families", what, cure: cure.to_owned() }
            }));
        }
    }
    found
}

type Complaint = (String, String, &'static str);

fn one(house: &House, folder: &str, script: &Source, at: usize) -> Option<Complaint> {
    let fields = ["folder", "index", "item", "list", "imports", "check", "doc"];
    let values = fields.map(|field| literal(script, at, field));
    let [Some(members), Some(index), Some(item), Some(list), Some(imports), Some(check), Some(doc)] =
        values
    else {
        let what = "a family whose fields are not all plain string literals".to_owned();
        let cure = "this check reads them from the text: write each as `field: \"…\"`";
        return Some((script.path.clone(), what, cure));
    };
    let family = Family {
        folder: &members,
        index: &index,
        item: &item,
        list: &list,
        imports: &imports,
        check: &check,
        doc: &doc,
    };
    let path = format!("{folder}{index}");
    match family.is_fresh(&house.root.join(folder)) {
        Err(error) => Some((script.path.clone(), error.to_string(), "correct the build script")),
        Ok(false) => {
            let what = format!("the index is not in step with `{folder}{members}`");
            Some((path, what, "nobody edits it: build the crate, then commit the file"))
        }
        Ok(true) if !merges(house, &path) => {
            let what = "the index has no merge rule".to_owned();
            Some((path, what, "add it to .gitattributes with `merge=union`"))
        }
        Ok(true) => None,
    }
}

fn merges(house: &House, index: &str) -> bool {
    let attributes = house.texts.iter().find(|(path, _)| path == ".gitattributes");
    let mut lines = attributes.into_iter().flat_map(|(_, text)| text.lines());
    lines.any(|line| {
        let line = line.trim_start_matches('/');
        line.strip_prefix(index).is_some_and(|rest| rest.contains("merge=union"))
    })
}

/// The value of `field: "…"` in the struct expression that begins at `at`.
pub(super) fn literal(script: &Source, at: usize, field: &str) -> Option<String> {
    let open = at + script.code.get(at..)?.find('{')?;
    let end = closing(script.code.as_bytes(), open);
    let body = script.code.get(open..end)?;
    let mark = format!("{field}:");
    let places = body.match_indices(&mark).map(|(place, _)| place);
    let place = places.filter(|place| !body.get(..*place).is_some_and(ends_in_word)).last()?;
    let value = script.text.get(open + place + mark.len()..end)?.trim_start();
    unquote(value.strip_prefix('"')?)
}

fn ends_in_word(text: &str) -> bool {
    text.ends_with(crate::source::is_word)
}

/// The text of a string literal up to its closing quote.
fn unquote(rest: &str) -> Option<String> {
    let mut text = String::new();
    let mut letters = rest.chars().peekable();
    loop {
        match letters.next()? {
            '"' => return Some(text),
            '\\' => match letters.next()? {
                'n' => text.push('\n'),
                '\n' => while letters.next_if(|letter| letter.is_whitespace()).is_some() {},
                letter @ ('"' | '\\' | '\'') => text.push(letter),
                _ => return None,
            },
            letter => text.push(letter),
        }
    }
}
