//! Names that this line made stand for another place: links and bind mounts. What is done to the
//! name is done to the place, but for the link itself, which can be deleted alone.

use super::call::Call;
use super::engine::Engine;
use crate::path;

/// So many names are remembered, and so many are followed in a row.
const LINKS_MAX: usize = 64;
const STEPS_MAX: usize = 4;

/// A name and what it stands for.
#[derive(Debug)]
pub(crate) struct Linked {
    name: String,
    place: String,
    /// The name is the place itself: deleting it deletes what is there.
    mounted: bool,
}

impl Engine<'_> {
    /// The path that `text` names, through the links of this line.
    pub(crate) fn resolve(&self, text: &str) -> String {
        self.behind_links(self.entry(text))
    }

    /// The path that is deleted under the name `text`: a link goes alone.
    pub(super) fn resolve_entry(&self, text: &str) -> String {
        let entry = self.entry(text);
        let alone = |link: &Linked| !link.mounted && link.name == entry;
        if !text.ends_with('/') && self.links.iter().any(alone) {
            return entry;
        }
        self.behind_links(entry)
    }

    pub(super) fn entry(&self, text: &str) -> String {
        path::resolve(text, self.state.cwd.as_deref(), &self.home())
    }

    fn behind_links(&self, mut path: String) -> String {
        for _ in 0..STEPS_MAX {
            let behind = self.links.iter().rev().find_map(|link| {
                let rest = path.strip_prefix(link.name.as_str())?;
                let inside = rest.is_empty() || rest.starts_with('/');
                inside.then(|| format!("{}/{rest}", link.place))
            });
            let Some(behind) = behind else { break };
            path = path::resolve(&behind, None, "");
        }
        path
    }

    /// Remembers that `name` stands for `place`.
    pub(crate) fn link(&mut self, name: &str, place: &str, mounted: bool) {
        let name = self.entry(name);
        let place = self.resolve(place);
        if self.links.len() < LINKS_MAX && name != place && name != "." {
            self.links.push(Linked { name, place, mounted });
        }
    }

    /// Remembers what `ln`, `mount --bind` and their like make the same.
    pub(super) fn track_link(&mut self, call: &Call<'_>) {
        let mounted = match call.program {
            "ln" | "link" | "gln" => false,
            "cp" | "gcp" if call.flag('s') || call.flag('l') => false,
            "bindfs" | "mount_nullfs" => true,
            "mount" => {
                let bound = |value: &str| value.split(',').any(|word| word.ends_with("bind"));
                let option = call.values(&["-o", "--options"]).any(|value| bound(&value.text));
                if !(option
                    || call.flag('B')
                    || call.flag('R')
                    || call.long("--bind")
                    || call.long("--rbind"))
                {
                    return;
                }
                true
            }
            _ => return,
        };
        let operands = call.operands_past("-o -t -S --options");
        let [place, name] = operands.as_slice() else { return };
        let base = place.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let name = match name.text.as_str() {
            text if !mounted && (text.ends_with('/') || text == ".") => format!("{text}/{base}"),
            text => text.to_owned(),
        };
        // A relative link starts where it stands.
        let folder = name.rsplit_once('/').map(|(folder, _)| folder);
        let place = match folder {
            Some(folder) if !mounted && !place.text.starts_with(['/', '~']) => {
                format!("{folder}/{}", place.text)
            }
            _ => place.text.clone(),
        };
        self.link(&name, &place, mounted);
    }
}
