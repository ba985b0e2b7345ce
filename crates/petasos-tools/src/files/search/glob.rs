//! Name patterns: without a slash they mean the file's name, with one the end of its path.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// A compiled name pattern.
#[derive(Debug, Clone)]
pub(crate) struct Glob {
    matcher: GlobMatcher,
    on_path: bool,
    is_negated: bool,
}

impl Glob {
    /// Compiles a pattern; a leading `!` turns it round, a leading `/` ties it to the root.
    pub(crate) fn new(pattern: &str) -> Result<Self, globset::Error> {
        let (is_negated, pattern) =
            pattern.strip_prefix('!').map_or((false, pattern), |rest| (true, rest));
        let pattern = pattern.trim_start_matches("./");
        let on_path = pattern.contains('/');
        let whole = match pattern.strip_prefix('/') {
            Some(tied) => tied.to_owned(),
            None if on_path && !pattern.starts_with("**/") => format!("**/{pattern}"),
            None => pattern.to_owned(),
        };
        let glob = GlobBuilder::new(&whole).literal_separator(true).build()?;
        Ok(Self { matcher: glob.compile_matcher(), on_path, is_negated })
    }

    /// Judges a path that is relative to the root of the search.
    pub(crate) fn matches(&self, inside: &Path) -> bool {
        let found = if self.on_path {
            self.matcher.is_match(inside)
        } else {
            inside.file_name().is_some_and(|name| self.matcher.is_match(Path::new(name)))
        };
        found != self.is_negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_names_or_paths() {
        for (pattern, path, expected) in [
            ("*.rs", "a/b/c.rs", true),
            ("*.rs", "a/b/c.rsx", false),
            ("*.{ts,tsx}", "a/b.tsx", true),
            ("main.?s", "src/main.rs", true),
            ("b/*.rs", "a/b/c.rs", true),
            ("b/*.rs", "a/b/d/c.rs", false),
            ("b/**/*.rs", "a/b/d/c.rs", true),
            ("/a/*", "a/x", true),
            ("/b/*", "a/b/x", false),
            ("./b/*", "a/b/x", true),
            ("!*.md", "a.rs", true),
            ("!*.md", "a.md", false),
        ] {
            assert_eq!(Glob::new(pattern).unwrap().matches(Path::new(path)), expected, "{pattern}");
        }
        assert!(Glob::new("[").is_err());
    }
}
