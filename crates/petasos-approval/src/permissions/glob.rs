//! Patterns for texts, paths and hosts; nothing is looked up.

use std::path::Path;

use petasos_analysis::glob_fits;

/// A pattern over one text: `*`, `?` and `[...]`, where a star crosses everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    pattern: Vec<char>,
    text: String,
    folds: bool,
}

impl Glob {
    /// A pattern that tells cases apart.
    pub fn new(text: &str) -> Self {
        Self { pattern: text.chars().collect(), text: text.to_owned(), folds: false }
    }

    /// A pattern that does not, for refusals and hosts.
    pub fn ignoring_case(text: &str) -> Self {
        let pattern = text.chars().flat_map(char::to_lowercase).collect();
        Self { pattern, text: text.to_owned(), folds: true }
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the whole text fits.
    pub fn matches(&self, text: &str) -> bool {
        let subject: Vec<char> = if self.folds {
            text.chars().flat_map(char::to_lowercase).collect()
        } else {
            text.chars().collect()
        };
        glob_fits(&self.pattern, &subject)
    }
}

/// Whether a text has a sign that makes it a pattern.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Where a path pattern begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Root,
    Home,
    Workspace,
    Anywhere,
}

/// The directories that patterns may begin at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anchors<'a> {
    pub(crate) home: &'a Path,
    pub(crate) workspace: &'a Path,
}

/// Compares one name of a pattern with one name of a path.
type Fits<'a> = dyn Fn(&Glob, &str) -> bool + 'a;

/// A pattern over a path: `*` stays within a name, `**` crosses names, and what it matches includes
/// everything below.
#[derive(Debug, Clone)]
pub(crate) struct PathGlob {
    anchor: Anchor,
    parts: Vec<Glob>,
    text: String,
}

impl PathGlob {
    /// `/a` is absolute, `~/a` of the home, `a/b` of the workspace, `a` of any directory.
    pub(crate) fn new(text: &str) -> Self {
        let (anchor, rest) = if text == "~" {
            (Anchor::Home, "")
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Anchor::Home, rest)
        } else if text.starts_with('/') || text.starts_with("**") {
            (Anchor::Root, text)
        } else if let Some(rest) = text.strip_prefix("./") {
            (Anchor::Workspace, rest)
        } else if text == "." || text.trim_end_matches('/').contains('/') {
            (Anchor::Workspace, text)
        } else {
            (Anchor::Anywhere, text)
        };
        let parts = rest
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
            .map(Glob::new)
            .collect();
        Self { anchor, parts, text: text.to_owned() }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the path, or a directory that holds it, fits.
    pub(crate) fn matches(&self, path: &str, anchors: Anchors<'_>) -> bool {
        self.compare(path, anchors, &|part, name| part.matches(name))
    }

    /// The same where the path itself may be a pattern that the shell will expand.
    pub(crate) fn may_match(&self, path: &str, anchors: Anchors<'_>) -> bool {
        self.compare(path, anchors, &|part, name| {
            part.matches(name) || is_pattern(name) && Glob::new(name).matches(part.as_str())
        })
    }

    fn compare(&self, path: &str, anchors: Anchors<'_>, fits: &Fits<'_>) -> bool {
        let names: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match self.anchor {
            Anchor::Anywhere => (0..=names.len())
                .any(|from| self.parts_fit(names.get(from..).unwrap_or_default(), fits)),
            _ => self.below(&names, anchors, fits).is_some_and(|rest| self.parts_fit(rest, fits)),
        }
    }

    /// Whether something that fits may lie below the path, so that deleting it deletes that too.
    pub(crate) fn lies_below(&self, path: &str, anchors: Anchors<'_>) -> bool {
        let names: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let start = self.start(anchors);
        let literal = self.parts.iter().map(Glob::as_str).take_while(|part| !is_pattern(part));
        let full: Vec<&str> = start.iter().map(String::as_str).chain(literal).collect();
        self.anchor != Anchor::Anywhere && names.len() <= full.len() && full.starts_with(&names)
    }

    fn start(&self, anchors: Anchors<'_>) -> Vec<String> {
        let directory = match self.anchor {
            Anchor::Root | Anchor::Anywhere => return Vec::new(),
            Anchor::Home => anchors.home,
            Anchor::Workspace => anchors.workspace,
        };
        let text = directory.to_string_lossy();
        text.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    fn below<'a, 'n>(
        &self,
        names: &'a [&'n str],
        anchors: Anchors<'_>,
        fits: &Fits<'_>,
    ) -> Option<&'a [&'n str]> {
        let start = self.start(anchors);
        let same = |(part, name): (&String, &&str)| {
            part == name || is_pattern(name) && fits(&Glob::new(part), name)
        };
        let starts = start.len() <= names.len() && start.iter().zip(names).all(same);
        starts.then(|| names.get(start.len()..).unwrap_or_default())
    }

    fn parts_fit(&self, names: &[&str], fits: &Fits<'_>) -> bool {
        let (mut p, mut n) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match (self.parts.get(p), names.get(n)) {
                // The pattern is used up: the rest of the path lies below what it names.
                (None, _) => return true,
                (Some(part), _) if part.as_str() == "**" => {
                    // `a/**` is what lies below `a`, and also `a` itself.
                    retry = Some((p + 1, n));
                    p += 1;
                    continue;
                }
                (Some(part), Some(name)) if fits(part, name) => {
                    p += 1;
                    n += 1;
                    continue;
                }
                _ => {}
            }
            let Some((after, from)) = retry.filter(|(_, from)| *from < names.len()) else {
                return false;
            };
            retry = Some((after, from + 1));
            p = after;
            n = from + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_patterns_fit_whole_texts() {
        let cases = [
            ("podman *", "podman ps", true),
            ("podman *", "podman", false),
            ("git push*", "git push", true),
            ("*.example.com", "a.b.example.com", true),
            ("a?c", "abc", true),
            ("[a-c]x", "bx", true),
            ("[!a]x", "ax", false),
            ("[x", "[x", true),
            ("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ];
        for (pattern, text, fits) in cases {
            assert_eq!(Glob::new(pattern).matches(text), fits, "{pattern} {text}");
        }
        assert!(Glob::ignoring_case("GIT push*").matches("git PUSH -f"));
    }

    #[test]
    fn path_patterns_begin_where_they_say_and_include_what_lies_below() {
        let anchors = Anchors { home: Path::new("/home/ada"), workspace: Path::new("/project") };
        let cases = [
            ("~/secrets", "/home/ada/secrets/a/b", true),
            ("~/secrets", "/home/ada/secrets2", false),
            ("src/**", "/project/src/a.rs", true),
            ("src/*.rs", "/project/src/a/b.rs", false),
            ("src/**/*.rs", "/project/src/a/b.rs", true),
            (".env", "/anywhere/at/.env", true),
            ("**/.env", "/elsewhere/a/.env", true),
            ("/srv/*/data", "/srv/a/data/x", true),
            ("/srv/*/data", "/srv/a/b/data", false),
            (".", "/project/x", true),
            (".", "/other", false),
        ];
        for (pattern, path, fits) in cases {
            assert_eq!(PathGlob::new(pattern).matches(path, anchors), fits, "{pattern} {path}");
        }
        assert!(PathGlob::new("~/a/b/*").lies_below("/home/ada/a", anchors));
        assert!(!PathGlob::new("~/a/b").lies_below("/home/ada/c", anchors));
    }
}
