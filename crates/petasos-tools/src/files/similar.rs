//! Names in a folder that look like one that is not there.

use std::path::{Path, PathBuf};

/// Enough to help, few enough to read.
const SHOWN_MAX: usize = 5;

/// Looking further in a huge folder would cost more than the help is worth.
const LOOKED_AT_MAX: usize = 10_000;

const SCORE_MIN: f64 = 0.7;

/// Up to five files beside a missing one, the most alike first.
pub(crate) fn beside(missing: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (missing.parent(), missing.file_name()) else {
        return Vec::new();
    };
    // A folder that cannot be listed has no help to give; the error itself is told anyway.
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let entries = entries.take(LOOKED_AT_MAX).filter_map(Result::ok).map(|entry| entry.file_name());
    let names: Vec<_> = entries.collect();
    let found = alike(&name.to_string_lossy(), names.iter().map(|name| name.to_string_lossy()));
    found.into_iter().map(|name| folder.join(&*name)).collect()
}

/// Up to five names like a missing one, the most alike first.
pub(crate) fn alike<T: AsRef<str> + Ord>(
    missing: &str,
    names: impl IntoIterator<Item = T>,
) -> Vec<T> {
    let wanted = missing.to_lowercase();
    let mut scored: Vec<(f64, T)> = names
        .into_iter()
        .take(LOOKED_AT_MAX)
        .map(|name| (score(&wanted, name.as_ref()), name))
        .filter(|(score, _)| *score >= SCORE_MIN)
        .collect();
    scored.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    scored.into_iter().take(SHOWN_MAX).map(|(_, name)| name).collect()
}

fn score(wanted: &str, name: &str) -> f64 {
    let name = name.to_lowercase();
    let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    if name == wanted {
        return 1.0;
    }
    if !stem(wanted).is_empty() && stem(&name) == stem(wanted) {
        return 0.95;
    }
    let is_part = wanted.len() > 2 && name.len() > 2;
    if is_part && (name.contains(wanted) || wanted.contains(&name)) {
        return 0.9;
    }
    strsim::normalized_damerau_levenshtein(wanted, &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_come_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["main.py", "MAIN.rs", "mian.rs", "domain.rs", "other.txt"] {
            std::fs::File::create(folder.path().join(name)).unwrap();
        }
        let found = beside(&folder.path().join("main.rs"));
        let names: Vec<_> =
            found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["MAIN.rs", "main.py", "domain.rs", "mian.rs"]);
        assert_eq!(beside(&folder.path().join("no/such")), Vec::<PathBuf>::new());
    }
}
