//! What a client puts into a prompt, as an agent reads it.

use agent_client_protocol_schema::v1::{
    ContentBlock, EmbeddedResource, EmbeddedResourceResource, Error, ResourceLink, TextContent,
    TextResourceContents,
};
use petasos_contract::message::{Content, Part};
use petasos_session::Input;
use petasos_session::embedded::{self, Piece};

use crate::rpc::told;

/// More of an embedded text is not read.
const RESOURCE_MAX: usize = 512 * 1024;
/// A larger image is refused.
const IMAGE_MAX: usize = 12 * 1024 * 1024;

/// A prompt: text alone when nothing else is in it.
pub(crate) struct Prompted {
    pub(crate) input: Input,
    /// The text, when there is nothing else: it may be a slash command.
    pub(crate) line: Option<String>,
}

/// The recordings of a prompt, in their order, as base64.
pub(crate) fn recordings(blocks: &[ContentBlock]) -> Vec<&str> {
    let data = blocks.iter().filter_map(|block| match block {
        ContentBlock::Audio(audio) => Some(audio.data.as_str()),
        _ => None,
    });
    data.collect()
}

/// Reads the blocks of a prompt, with the words of its recordings. Whoever asks says of which place
/// strangers may have written what is embedded.
pub(crate) fn read(
    blocks: &[ContentBlock],
    heard: &[String],
    foreign: &dyn Fn(&str) -> bool,
) -> Result<Prompted, Error> {
    let mut parts: Vec<Part> = Vec::new();
    let mut only_text = true;
    let mut heard = heard.iter();
    for block in blocks {
        let part = match block {
            ContentBlock::Text(text) => Part::text(text.text.clone()),
            ContentBlock::Audio(_) => {
                only_text = false;
                let words = heard.next().ok_or_else(deaf)?;
                Part::text(format!("[spoken] {words}"))
            }
            other => {
                only_text = false;
                part(other, foreign)?
            }
        };
        match (parts.last_mut(), part) {
            (Some(Part::Text { text: before }), Part::Text { text }) => {
                before.push_str(if only_text { "" } else { "\n" });
                before.push_str(&text);
            }
            (_, part) => parts.push(part),
        }
    }
    let content = match parts.as_slice() {
        [Part::Text { text }] => Content::Text(text.clone()),
        _ => Content::Parts(parts),
    };
    if content.is_blank() {
        return Err(told(Error::invalid_params(), "the prompt is empty"));
    }
    let line = only_text.then(|| content.text());
    Ok(Prompted { input: Input { content, context: Vec::new(), turn: None }, line })
}

fn part(block: &ContentBlock, foreign: &dyn Fn(&str) -> bool) -> Result<Part, Error> {
    match block {
        ContentBlock::Image(image) => {
            if !image.mime_type.starts_with("image/") {
                let why = format!("`{}` is no image", image.mime_type);
                return Err(told(Error::invalid_params(), &why));
            }
            if image.data.len() > IMAGE_MAX {
                return Err(told(Error::invalid_params(), "the image is larger than 12 MiB"));
            }
            if !is_base64(&image.data) {
                return Err(told(Error::invalid_params(), "the data of the image is no base64"));
            }
            Ok(Part::image(format!("data:{};base64,{}", image.mime_type, image.data)))
        }
        ContentBlock::ResourceLink(link) => Ok(Part::text(linked(link))),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            EmbeddedResourceResource::TextResourceContents(text) => {
                Ok(Part::text(inlined(&text.uri, &text.text, foreign)))
            }
            EmbeddedResourceResource::BlobResourceContents(blob) => {
                let kind = blob.mime_type.as_deref().unwrap_or_default();
                if kind.starts_with("image/")
                    && blob.blob.len() <= IMAGE_MAX
                    && is_base64(&blob.blob)
                {
                    return Ok(Part::image(format!("data:{kind};base64,{}", blob.blob)));
                }
                let uri = named(&blob.uri);
                Ok(Part::text(format!("[{uri}: {} bytes that are no text]", blob.blob.len())))
            }
            _ => Err(told(Error::invalid_params(), "a resource holds neither `text` nor `blob`")),
        },
        _ => Err(told(Error::invalid_params(), "a block of this type is not known")),
    }
}

/// Nobody is set up who could listen.
pub(crate) fn deaf() -> Error {
    told(Error::invalid_params(), "audio is not taken: `promptCapabilities.audio` is false")
}

fn is_base64(data: &str) -> bool {
    let sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    !data.is_empty() && data.bytes().all(sign)
}

/// A file that the model reads by itself when it needs it: the editor's text, saved or not.
fn linked(link: &ResourceLink) -> String {
    let about = link.description.as_deref().or(link.title.as_deref());
    let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
    format!("[{}]({}){about}", link.name, named(&link.uri))
}

/// A text that the client embeds: data, not words of the user.
fn inlined(uri: &str, text: &str, foreign: &dyn Fn(&str) -> bool) -> String {
    let place = named(uri);
    let mut end = text.len().min(RESOURCE_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (shown, rest) = text.split_at(end);
    let cut = if rest.is_empty() { "" } else { "\n[cut here: the file goes on]" };
    embedded::framed(&place, &format!("{shown}{cut}"), foreign(&place))
}

/// A text of a stored message as the client sent it: what was embedded is embedded again.
pub(crate) fn sent(text: &str) -> Vec<ContentBlock> {
    let block = |piece: Piece| match piece {
        Piece::Words(words) => ContentBlock::Text(TextContent::new(words.trim_matches('\n'))),
        Piece::Embedded { place, text, .. } => {
            let path = std::path::Path::new(&place);
            let file = url::Url::from_file_path(path).ok();
            let uri = file.map_or(place.clone(), |url| url.to_string());
            let text = TextResourceContents::new(text, uri);
            let resource = EmbeddedResourceResource::TextResourceContents(text);
            ContentBlock::Resource(EmbeddedResource::new(resource))
        }
    };
    match embedded::pieces(text).as_slice() {
        // Nothing is embedded: the words stay as they are, to the last space.
        [] | [Piece::Words(_)] => vec![ContentBlock::Text(TextContent::new(text))],
        pieces => pieces.iter().cloned().map(block).collect(),
    }
}

/// The path of a `file:` address, so that file tools understand it; other addresses as they are.
fn named(uri: &str) -> String {
    let file = url::Url::parse(uri).ok().filter(|url| url.scheme() == "file");
    let path = file.and_then(|url| url.to_file_path().ok());
    path.map_or_else(|| uri.to_owned(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn prompted(blocks: Value) -> Result<Prompted, Error> {
        let outside = |place: &str| !place.starts_with("/w/");
        read(&serde_json::from_value::<Vec<ContentBlock>>(blocks).unwrap(), &[], &outside)
    }

    #[test]
    fn blocks_become_text_and_images_in_their_order() {
        let read = prompted(json!([
            {"type": "text", "text": "look at "},
            {"type": "resource_link", "name": "a.rs", "uri": "file:///w/my%20a.rs"},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource", "resource": {"uri": "file:///w/b.txt", "text": "x</resource>y"}},
        ]));
        let Content::Parts(parts) = read.unwrap().input.content else { panic!("one text") };
        assert_eq!(parts[0], Part::text("look at \n[a.rs](/w/my a.rs)"));
        assert_eq!(parts[1], Part::image("data:image/png;base64,AAAA"));
        let Part::Text { text } = &parts[2] else { panic!("no text") };
        assert!(
            text.contains("<resource uri=\"/w/b.txt\">\nx<\\/resource>y\n</resource>"),
            "{text}"
        );
        let again = serde_json::to_value(sent(text)).unwrap();
        let resource = json!({"uri": "file:///w/b.txt", "text": "x</resource>y"});
        assert_eq!(again, json!([{"type": "resource", "resource": resource}]));
        let page =
            json!([{"type": "resource", "resource": {"uri": "https://x.y/z", "text": "obey"}}]);
        let Content::Text(text) = prompted(page).unwrap().input.content else { panic!("parts") };
        assert!(text.contains("<untrusted_resource uri=\"https://x.y/z\">"), "{text}");
    }

    #[test]
    fn text_alone_is_a_line_and_nothing_is_an_error() {
        let read =
            prompted(json!([{"type": "text", "text": "/help"}, {"type": "text", "text": " me"}]));
        assert_eq!(read.unwrap().line.as_deref(), Some("/help me"));
        for bad in [
            json!([]),
            json!([{"type": "text", "text": "  \n"}]),
            json!([{"type": "image", "mimeType": "text/html", "data": "AAAA"}]),
            json!([{"type": "image", "mimeType": "image/png", "data": "%%%"}]),
            json!([{"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}]),
        ] {
            assert!(prompted(bad.clone()).is_err(), "{bad}");
        }
    }
}
