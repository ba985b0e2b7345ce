//! How styles become colours: the terminal's own sixteen, a palette for dark or for light windows,
//! styles without colours, or nothing at all.

use crate::line::Colour;

/// The colours of a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Skin {
    /// No escape sequence is written; signs say what styles would.
    Bare,
    /// Bold, faint and underlined, without colours.
    Mono,
    /// The sixteen colours of the terminal's own theme.
    #[default]
    Terminal,
    /// For dark windows whose theme is hard to read.
    Dark,
    /// For light windows whose theme is hard to read.
    Light,
}

/// Places in the palette of 256 colours, which themes leave alone.
#[derive(Debug, Clone, Copy)]
struct Palette {
    /// In the order of [`Colour`].
    colours: [u8; 6],
    faint: u8,
}

const DARK: Palette = Palette { colours: [203, 114, 221, 111, 176, 80], faint: 247 };
const LIGHT: Palette = Palette { colours: [160, 22, 94, 26, 127, 23], faint: 242 };

impl Skin {
    /// The names that can be chosen.
    pub const NAMES: [&'static str; 4] = ["default", "dark", "light", "mono"];

    /// By its name in the configuration.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "default" => Some(Self::Terminal),
            "dark" => Some(Self::Dark),
            "light" => Some(Self::Light),
            "mono" => Some(Self::Mono),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bare => "none",
            Self::Mono => "mono",
            Self::Terminal => "default",
            Self::Dark => "dark",
            Self::Light => "light",
        }
    }

    /// Whether styles are shown at all.
    pub fn is_styled(self) -> bool {
        self != Self::Bare
    }

    fn palette(self) -> Option<Palette> {
        match self {
            Self::Dark => Some(DARK),
            Self::Light => Some(LIGHT),
            Self::Bare | Self::Mono | Self::Terminal => None,
        }
    }

    /// The place of a colour in the palette of 256, where the skin has one of its own.
    pub(crate) fn place(self, colour: Colour) -> Option<u8> {
        self.palette().and_then(|palette| palette.colours.get(colour as usize).copied())
    }

    /// The code that colours text.
    pub(crate) fn code(self, colour: Colour) -> Option<String> {
        match self {
            Self::Bare | Self::Mono => None,
            Self::Terminal => Some(format!("{}", 31 + colour as usize)),
            Self::Dark | Self::Light => self.place(colour).map(|place| format!("38;5;{place}")),
        }
    }

    /// The code of text that matters less and has no colour of its own.
    pub(crate) fn faint(self) -> String {
        self.palette().map_or_else(|| "2".to_owned(), |it| format!("38;5;{}", it.faint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The light of a place in the palette of 256, as WCAG 2 has it.
    fn light(place: u8) -> f64 {
        let steps = [0, 95, 135, 175, 215, 255];
        let (red, green, blue) = match usize::from(place) {
            at @ 16..=231 => {
                let at = at - 16;
                (steps[at / 36], steps[at / 6 % 6], steps[at % 6])
            }
            at @ 232..=255 => {
                let grey = 8 + 10 * (i32::try_from(at).unwrap() - 232);
                (grey, grey, grey)
            }
            _ => panic!("a colour that themes change"),
        };
        luminance(red, green, blue)
    }

    fn luminance(red: i32, green: i32, blue: i32) -> f64 {
        let linear = |channel: i32| {
            let part = f64::from(channel) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    fn contrast(one: f64, other: f64) -> f64 {
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn every_colour_is_legible_on_the_windows_it_is_for() {
        let dark = [(0, 0, 0), (0x1e, 0x1e, 0x1e), (0x28, 0x2c, 0x34), (0x00, 0x2b, 0x36)];
        let light_ones = [(255, 255, 255), (0xfd, 0xf6, 0xe3), (0xee, 0xee, 0xee)];
        for (palette, windows) in [(DARK, &dark[..]), (LIGHT, &light_ones[..])] {
            for place in palette.colours.into_iter().chain([palette.faint]) {
                for (red, green, blue) in windows {
                    let seen = contrast(light(place), luminance(*red, *green, *blue));
                    assert!(seen >= 4.5, "{place} on {red},{green},{blue}: {seen:.2}");
                }
            }
        }
    }

    #[test]
    fn a_skin_is_found_by_its_name() {
        for name in Skin::NAMES {
            assert_eq!(Skin::named(name).map(Skin::name), Some(name));
        }
        assert_eq!(Skin::named("ares"), None);
    }
}
