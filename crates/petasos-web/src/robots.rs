//! What a site asks of programs that come by themselves (RFC 9309).

/// Our name in such a file.
const NAME: &str = "petasos";

/// The rules of one site for us.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rules(Vec<(bool, String)>);

impl Rules {
    /// Nothing is allowed: the file could not be read for a while.
    pub(crate) fn closed() -> Self {
        Self(vec![(false, "/".to_owned())])
    }

    /// Reads the group that names us, else the one for everybody.
    pub(crate) fn parse(text: &str) -> Self {
        let (mut ours, mut all): (Option<Self>, Self) = (None, Self::default());
        let (mut names, mut in_rules): (Vec<String>, bool) = (Vec::new(), false);
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            let allows = match key.as_str() {
                "user-agent" => {
                    if std::mem::take(&mut in_rules) {
                        names.clear();
                    }
                    names.push(value.to_ascii_lowercase());
                    if value.eq_ignore_ascii_case(NAME) {
                        ours.get_or_insert_default();
                    }
                    continue;
                }
                "allow" => true,
                "disallow" => false,
                _ => continue,
            };
            in_rules = true;
            for name in &names {
                let group = match name.as_str() {
                    NAME => ours.get_or_insert_default(),
                    "*" => &mut all,
                    _ => continue,
                };
                // An empty `disallow` forbids nothing.
                if !value.is_empty() {
                    group.0.push((allows, value.to_owned()));
                }
            }
        }
        ours.unwrap_or(all)
    }

    /// Whether a path may be fetched: the longest rule counts, and of two the kinder one.
    pub(crate) fn allows(&self, path: &str) -> bool {
        let fitting = self.0.iter().filter(|(_, pattern)| fits(path, pattern));
        let best = fitting.max_by_key(|(allows, pattern)| (pattern.len(), *allows));
        best.is_none_or(|(allows, _)| *allows)
    }
}

/// A beginning of a path, with `*` for anything and `$` for its end.
fn fits(path: &str, pattern: &str) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut pieces = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(pieces.next().unwrap_or_default()) else {
        return false;
    };
    let pieces: Vec<&str> = pieces.collect();
    for (at, piece) in pieces.iter().enumerate() {
        let is_last = at + 1 == pieces.len();
        if is_whole && is_last {
            return rest.ends_with(piece);
        }
        match rest.split_once(piece) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    !is_whole || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_of_the_nearest_group_counts() {
        let text = "User-agent: *\nDisallow: /\n\nUser-agent: other\nuser-agent: Petasos # us\nDisallow: /private/\nAllow: /private/open$\nDisallow: /*.pdf$\nDisallow:\n";
        let rules = Rules::parse(text);
        for (path, wanted) in [
            ("/", true),
            ("/private/", false),
            ("/private/open", true),
            ("/private/open/x", false),
            ("/a/b.pdf", false),
            ("/a/b.pdf?x", true),
        ] {
            assert_eq!(rules.allows(path), wanted, "{path}");
        }
        assert!(!Rules::parse("User-agent: *\nDisallow: /\n").allows("/x"));
        assert!(Rules::parse("").allows("/x") && !Rules::closed().allows("/x"));
    }
}
