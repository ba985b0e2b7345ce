//! Pictures inside a terminal: by kitty's protocol, by iTerm2's, or as sixels. Which one is decided
//! by the snapshot of settings and variables, before anything is drawn.

use std::fmt::Write as _;
use std::path::Path;

use base64::Engine as _;
use image::DynamicImage;
use petasos_contract::Settings;

use crate::fault::MediaError;
use crate::picture::{self, Fit, Picture};

/// Pixels of one cell, as most terminals have them; the terminal scales what differs.
const CELL: (u32, u32) = (10, 20);
/// Kitty takes no longer pieces.
const PIECE: usize = 4_096;
/// Shades of a part of a colour: six each make 216 colours.
const SHADES: u32 = 6;

/// How a terminal is given a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// kitty's, which others have, too.
    Kitty,
    /// iTerm2's, which `WezTerm` and others have, too.
    Iterm,
    /// Sixels.
    Sixel,
}

/// What the terminal of these settings understands. A multiplexer passes none of it on.
pub fn protocol(settings: &Settings) -> Option<Protocol> {
    let chosen = settings.text("display.inline_images").map(str::trim).unwrap_or_default();
    match chosen {
        "off" => return None,
        "kitty" => return Some(Protocol::Kitty),
        "iterm" => return Some(Protocol::Iterm),
        "sixel" => return Some(Protocol::Sixel),
        _ => {}
    }
    let variable = |name: &str| {
        settings.variable(name).map(|found| found.value.expose().to_lowercase()).unwrap_or_default()
    };
    let (term, program) = (variable("TERM"), variable("TERM_PROGRAM"));
    let is_inside = !variable("TMUX").is_empty()
        || ["screen", "tmux", "dumb"].iter().any(|inner| term.starts_with(inner));
    let other = variable("LC_TERMINAL");
    match () {
        () if is_inside => None,
        () if !variable("KITTY_WINDOW_ID").is_empty() || term.contains("kitty") => {
            Some(Protocol::Kitty)
        }
        () if program == "ghostty" || term.contains("ghostty") => Some(Protocol::Kitty),
        () if program == "iterm.app" || other == "iterm2" || program == "wezterm" => {
            Some(Protocol::Iterm)
        }
        () if program == "mintty" || term.contains("mlterm") || term.contains("sixel") => {
            Some(Protocol::Sixel)
        }
        () if term.starts_with("foot") || term.starts_with("contour") => Some(Protocol::Sixel),
        () => None,
    }
}

/// A file as what is written to a terminal of so many columns and rows. It is decoded within the
/// limits of every picture.
pub fn shown(
    file: &Path,
    protocol: Protocol,
    (columns, rows): (usize, usize),
) -> Result<String, MediaError> {
    let found = std::fs::metadata(file)
        .map_err(|error| MediaError::new("not_found", format!("{}: {error}", file.display())))?;
    if !found.is_file() || found.len() > picture::FILE_BYTES_MAX as u64 {
        return Err(MediaError::new("too_large", "no picture that is shown here"));
    }
    let bytes = std::fs::read(file)
        .map_err(|error| MediaError::new("not_found", format!("{}: {error}", file.display())))?;
    let survey = picture::survey(&bytes)?;
    // A picture takes at most two thirds of the window.
    let cells = |count: usize| u32::try_from(count).unwrap_or(80).max(4);
    let (wide, high) = (cells(columns) - 2, cells(rows) * 2 / 3);
    let side_max = (wide * CELL.0).clamp(64, 1_600);
    let fit = Fit { bytes_max: 2 << 20, side_max };
    let seen = picture::normalise(&bytes, survey, fit)?;
    let (columns, rows) = cells_of(&seen, (wide, high.max(1)));
    Ok(match protocol {
        Protocol::Kitty => kitty(&seen, (columns, rows))?,
        Protocol::Iterm => iterm(&seen, (columns, rows)),
        Protocol::Sixel => sixel(&seen, (columns, rows))?,
    })
}

/// The cells that a picture covers, its shape kept.
fn cells_of(seen: &Picture, most: (u32, u32)) -> (u32, u32) {
    let wide = seen.width.div_ceil(CELL.0).clamp(1, most.0);
    let high = (u64::from(wide) * u64::from(CELL.0) * u64::from(seen.height))
        .div_ceil(u64::from(seen.width.max(1)) * u64::from(CELL.1));
    let high = u32::try_from(high).unwrap_or(most.1).max(1);
    if high <= most.1 {
        return (wide, high);
    }
    let narrower = u64::from(wide) * u64::from(most.1) / u64::from(high);
    (u32::try_from(narrower).unwrap_or(1).max(1), most.1)
}

/// PNG in base64, in pieces.
fn kitty(seen: &Picture, (columns, rows): (u32, u32)) -> Result<String, MediaError> {
    let png =
        if seen.mime == "image/png" { seen.bytes.clone() } else { picture::png(&decoded(seen)?)? };
    let data = base64::engine::general_purpose::STANDARD.encode(png);
    let pieces: Vec<&[u8]> = data.as_bytes().chunks(PIECE).collect();
    let mut text = String::new();
    for (at, piece) in pieces.iter().enumerate() {
        let more = u8::from(at + 1 < pieces.len());
        let head = if at == 0 {
            format!("a=T,f=100,q=2,c={columns},r={rows},m={more}")
        } else {
            format!("m={more}")
        };
        // Base64 is text.
        let piece = std::str::from_utf8(piece).unwrap_or_default();
        write!(text, "\u{1b}_G{head};{piece}\u{1b}\\").map_err(unwritten)?;
    }
    Ok(text)
}

fn iterm(seen: &Picture, (columns, rows): (u32, u32)) -> String {
    let data = base64::engine::general_purpose::STANDARD.encode(&seen.bytes);
    format!(
        "\u{1b}]1337;File=inline=1;size={};width={columns};height={rows};preserveAspectRatio=1:\
         {data}\u{7}",
        seen.bytes.len()
    )
}

/// Six rows of dots at a time, one colour after the other.
fn sixel(seen: &Picture, (columns, rows): (u32, u32)) -> Result<String, MediaError> {
    let size = (columns * CELL.0, rows * CELL.1);
    let scaled = decoded(seen)?.thumbnail(size.0, size.1).into_rgba8();
    let (width, height) = scaled.dimensions();
    let mut text = format!("\u{1b}Pq\"1;1;{width};{height}");
    for colour in 0..SHADES.pow(3) {
        let percent = |shade: u32| shade * 100 / (SHADES - 1);
        let parts = [colour / (SHADES * SHADES), colour / SHADES % SHADES, colour % SHADES];
        let [red, green, blue] = parts.map(percent);
        write!(text, "#{colour};2;{red};{green};{blue}").map_err(unwritten)?;
    }
    let shade = |part: u8| (u32::from(part) * (SHADES - 1) + 127) / 255;
    for top in (0..height).step_by(6) {
        let mut bands: std::collections::BTreeMap<u32, Vec<u8>> = std::collections::BTreeMap::new();
        for (row, y) in (top..height.min(top + 6)).enumerate() {
            for x in 0..width {
                let [red, green, blue, alpha] = scaled.get_pixel(x, y).0;
                if alpha < 128 {
                    continue;
                }
                let colour = (shade(red) * SHADES + shade(green)) * SHADES + shade(blue);
                let band = bands.entry(colour).or_insert_with(|| vec![0; width as usize]);
                if let Some(dots) = band.get_mut(x as usize) {
                    *dots |= 1 << row;
                }
            }
        }
        for (colour, dots) in bands {
            write!(text, "#{colour}").map_err(unwritten)?;
            repeated(&dots, &mut text)?;
            text.push('$');
        }
        text.push('-');
    }
    text.push_str("\u{1b}\\");
    Ok(text)
}

/// Dots with runs made short.
fn repeated(dots: &[u8], text: &mut String) -> Result<(), MediaError> {
    for run in dots.chunk_by(|one, other| one == other) {
        let sign = char::from(63 + run.first().copied().unwrap_or_default());
        match run.len() {
            length @ 4.. => write!(text, "!{length}{sign}").map_err(unwritten)?,
            length => text.extend(std::iter::repeat_n(sign, length)),
        }
    }
    Ok(())
}

fn decoded(seen: &Picture) -> Result<DynamicImage, MediaError> {
    // It was written by us a moment ago, within limits.
    image::load_from_memory(&seen.bytes)
        .map_err(|error| MediaError::new("bad_argument", format!("the picture is broken: {error}")))
}

fn unwritten(error: std::fmt::Error) -> MediaError {
    MediaError::new("upstream", error.to_string())
}
