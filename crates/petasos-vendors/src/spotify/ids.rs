//! Names of things at Spotify: bare ids, URIs and links.

use crate::fault::VendorError;
use crate::text::cut;

/// What a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A track.
    Track,
    /// An album.
    Album,
    /// An artist.
    Artist,
    /// A playlist.
    Playlist,
    /// An episode of a show.
    Episode,
    /// A show.
    Show,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Track, Self::Album, Self::Artist, Self::Playlist, Self::Episode, Self::Show];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Track => "track",
            Self::Album => "album",
            Self::Artist => "artist",
            Self::Playlist => "playlist",
            Self::Episode => "episode",
            Self::Show => "show",
        }
    }
}

/// One thing by its kind and id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its kind.
    pub kind: Kind,
    /// Its id.
    pub id: String,
}

impl Named {
    /// Reads a name; a bare id is of the first kind that fits here, any other must be of one.
    pub fn read(text: &str, fits: &[Kind]) -> Result<Self, VendorError> {
        let text = text.trim();
        let words: Vec<&str> = fits.iter().map(|kind| kind.word()).collect();
        let bad = |why: &str| {
            let text = cut(text, 80);
            VendorError::argument(format!(
                "`{text}` {why}: give the id, URI or link of a {}",
                words.join(" or ")
            ))
        };
        let spelled = text.strip_prefix("spotify:").and_then(|rest| rest.split_once(':'));
        let link = text
            .strip_prefix("https://open.spotify.com/")
            .map(|rest| rest.split(['?', '#']).next().unwrap_or(rest))
            // Links may name a language first.
            .map(|rest| {
                rest.strip_prefix("intl-").and_then(|it| it.split_once('/')).map_or(rest, |it| it.1)
            })
            .and_then(|rest| rest.split_once('/'));
        let (kind, id) = match spelled.or(link) {
            Some((word, id)) => {
                let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word);
                (kind.ok_or_else(|| bad("names nothing that is known"))?, id.trim_end_matches('/'))
            }
            None => (fits.first().copied().ok_or_else(|| bad("fits nowhere"))?, text),
        };
        if !fits.contains(&kind) {
            return Err(bad(&format!("is a {}", kind.word())));
        }
        let is_id = id.len() == 22 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_id {
            return Err(bad("is no name at Spotify"));
        }
        Ok(Self { kind, id: id.to_owned() })
    }

    /// Its URI.
    pub fn uri(&self) -> String {
        format!("spotify:{}:{}", self.kind.word(), self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E19 152: id forms.
    #[test]
    fn ids_uris_and_links_name_the_same_thing() {
        let id = "4uLU6hMCjMI75M1A2tKUQC";
        for text in [
            id.to_owned(),
            format!("spotify:track:{id}"),
            format!("https://open.spotify.com/track/{id}?si=x"),
            format!(" https://open.spotify.com/intl-de/track/{id} "),
        ] {
            let named = Named::read(&text, &[Kind::Track, Kind::Episode]).unwrap();
            assert_eq!(named.uri(), format!("spotify:track:{id}"), "{text}");
        }
        for text in
            ["", "short", "spotify:track:x", "https://evil.test/track/4uLU6hMCjMI75M1A2tKUQC"]
        {
            assert!(Named::read(text, &[Kind::Track]).is_err(), "{text}");
        }
        let album = format!("spotify:album:{id}");
        assert!(Named::read(&album, &[Kind::Track]).unwrap_err().message.contains("is a album"));
    }
}
