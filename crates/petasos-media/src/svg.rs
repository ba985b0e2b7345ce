//! SVG: drawn by us, without script, network, files or pictures inside it.
//!
//! A short document can stand for a billion elements. What it would expand to is counted before
//! anything is built from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use image::{DynamicImage, RgbaImage};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{ImageHrefResolver, Options, Tree};

use crate::fault::MediaError;

const FILE_BYTES_MAX: usize = 4 << 20;
const DEPTH_MAX: usize = 100;
/// Elements, those behind references counted as often as they are drawn.
const ELEMENTS_MAX: u64 = 50_000;
/// The longer side of the drawing: icons grow, posters shrink.
const SIDE_LEAST: f32 = 512.0;
const SIDE_MOST: f32 = 2048.0;
/// The side that a survey tells: what a drawing comes to is decided here and not by its author.
const SIDE_TOLD: u32 = 2048;
/// Filters whose cost their attributes decide and not the size of the drawing.
const COSTLY: [&str; 3] = ["feTurbulence", "feMorphology", "feConvolveMatrix"];

/// Refuses a document that is not to be drawn; tells the most pixels that it becomes.
pub(crate) fn survey(bytes: &[u8]) -> Result<(u32, u32), MediaError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(MediaError::new("too_large", "the SVG text has more than 4 MB"));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|_| MediaError::new("bad_argument", "the SVG text is no UTF-8"))?;
    let expanded = Count::of(text)?.expanded();
    if expanded > ELEMENTS_MAX {
        let told = format!("the SVG comes to more than {ELEMENTS_MAX} elements: simplify it");
        return Err(MediaError::new("too_large", told));
    }
    Ok((SIDE_TOLD, SIDE_TOLD))
}

/// Draws a document that was surveyed.
pub(crate) fn draw(bytes: &[u8], notes: &mut Vec<String>) -> Result<DynamicImage, MediaError> {
    let mut options = Options {
        image_href_resolver: ImageHrefResolver {
            resolve_data: Box::new(|_, _, _| None),
            resolve_string: Box::new(|_, _| None),
        },
        ..Options::default()
    };
    Arc::make_mut(&mut options.fontdb).load_system_fonts();
    let broken = |error: &dyn std::fmt::Display| {
        MediaError::new("bad_argument", format!("the SVG picture is broken: {error}"))
    };
    let tree = Tree::from_data(bytes, &options).map_err(|error| broken(&error))?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let longer = width.max(height);
    let scale = longer.clamp(SIDE_LEAST, SIDE_MOST) / longer;
    let side = |length: f32| whole((length * scale).ceil()).clamp(1, SIDE_TOLD);
    let mut canvas = Pixmap::new(side(width), side(height))
        .ok_or_else(|| broken(&"it has no size that can be drawn"))?;
    canvas.fill(resvg::tiny_skia::Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut canvas.as_mut());
    if has_pictures(bytes) {
        notes.push("pictures inside the SVG are left out".to_owned());
    }
    let (width, height) = (canvas.width(), canvas.height());
    // The canvas was white before anything was drawn, so that no dot is transparent.
    RgbaImage::from_raw(width, height, canvas.take())
        .map(|image| DynamicImage::ImageRgb8(DynamicImage::ImageRgba8(image).into_rgb8()))
        .ok_or_else(|| broken(&"it was not drawn"))
}

/// A length as a count of dots; what is no number is one dot.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to what a u32 holds first"
)]
fn whole(length: f32) -> u32 {
    if length.is_finite() { length.clamp(1.0, SIDE_MOST) as u32 } else { 1 }
}

fn has_pictures(bytes: &[u8]) -> bool {
    bytes.windows(6).any(|word| word == b"<image")
}

/// What a document holds, counted without building it.
#[derive(Default)]
struct Count {
    /// Elements below each identity, itself included, and what they refer to.
    below: BTreeMap<String, (u64, Vec<String>)>,
    all: u64,
    refers: Vec<String>,
}

impl Count {
    fn of(text: &str) -> Result<Self, MediaError> {
        let mut reader = Reader::from_str(text);
        reader.config_mut().check_end_names = true;
        let broken =
            |error| MediaError::new("bad_argument", format!("the SVG picture is broken: {error}"));
        let (mut count, mut open) = (Self::default(), Vec::<Option<String>>::new());
        loop {
            match reader.read_event().map_err(broken)? {
                Event::Start(element) => {
                    let id = count.take(&element, &open)?;
                    open.push(id);
                    if open.len() > DEPTH_MAX {
                        let told = format!("the SVG nests more than {DEPTH_MAX} elements");
                        return Err(MediaError::new("too_large", told));
                    }
                }
                Event::Empty(element) => {
                    count.take(&element, &open)?;
                }
                Event::End(_) => {
                    open.pop();
                }
                Event::DocType(kind) if kind.contains('[') => {
                    let told = "the SVG defines entities of its own, which are not expanded";
                    return Err(MediaError::new("unsupported", told));
                }
                Event::Eof => return Ok(count),
                _ => {}
            }
            if count.all > ELEMENTS_MAX {
                return Ok(count);
            }
        }
    }

    /// Counts an element for everything that it is inside of; gives its identity.
    fn take(
        &mut self,
        element: &BytesStart<'_>,
        open: &[Option<String>],
    ) -> Result<Option<String>, MediaError> {
        let name = element.local_name().as_ref().to_owned();
        if COSTLY.contains(&name.as_str()) {
            let told = format!("the SVG uses {name}, which is not drawn here");
            return Err(MediaError::new("unsupported", told));
        }
        let (mut id, mut refers) = (None, Vec::new());
        for attribute in element.attributes().with_checks(false).flatten() {
            let value = attribute.value.into_owned();
            match attribute.key.local_name().as_ref() {
                "id" => id = Some(value),
                "href" => refers.extend(value.strip_prefix('#').map(str::to_owned)),
                _ => {
                    let inside =
                        value.split("url(#").skip(1).filter_map(|rest| rest.split(')').next());
                    refers.extend(inside.map(|name| name.trim().to_owned()));
                }
            }
        }
        self.all += 1;
        self.refers.extend(refers.iter().cloned());
        for known in open.iter().flatten().chain(id.as_ref()) {
            let (elements, inside) = self.below.entry(known.clone()).or_default();
            *elements += 1;
            inside.extend(refers.iter().cloned());
        }
        Ok(id)
    }

    /// Elements with every reference followed; a circle counts as endless.
    fn expanded(&self) -> u64 {
        let (mut known, mut path) = (BTreeMap::new(), BTreeSet::new());
        let far = self.refers.iter().map(|name| self.behind(name, &mut known, &mut path));
        far.fold(self.all, u64::saturating_add)
    }

    fn behind<'a>(
        &'a self,
        name: &'a str,
        known: &mut BTreeMap<&'a str, u64>,
        path: &mut BTreeSet<&'a str>,
    ) -> u64 {
        if let Some(known) = known.get(name) {
            return *known;
        }
        let Some((elements, refers)) = self.below.get(name) else { return 0 };
        if path.len() > DEPTH_MAX || !path.insert(name) {
            return u64::MAX;
        }
        let far = refers.iter().map(|name| self.behind(name, known, path));
        let all = far.fold(*elements, u64::saturating_add);
        path.remove(name);
        known.insert(name, all);
        all
    }
}
