//! A desktop under X11: its windows, its picture, its pointer and its keyboard.
//!
//! The protocol is spoken by `x11rb` over a socket of this machine; nothing is started. Everything
//! here blocks: callers use the blocking pool. Input goes through the XTEST extension, which acts
//! as the person's own pointer and keyboard would.

mod authority;
mod input;
pub mod keys;

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use x11rb::connection::Connection as _;
use x11rb::errors::{ConnectError, ConnectionError, ReplyError};
use x11rb::protocol::xproto::{
    AtomEnum, ClientMessageEvent, ConfigureWindowAux, ConnectionExt as _, EventMask, ImageFormat,
    ImageOrder, InputFocus, MapState, StackMode,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::{DefaultStream, RustConnection};

pub use input::{Button, Direction};

/// The longest property that is read.
const PROPERTY_MAX: u32 = 16 << 10;

/// Why a desktop did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum X11Error {
    /// There is no desktop to speak to.
    #[error("the display `{display}` cannot be used: {reason}")]
    Display {
        /// Its name.
        display: String,
        /// Why.
        reason: String,
    },
    /// The server refused or went away.
    #[error("the X server did not do it: {0}")]
    Server(String),
    /// It cannot be done here.
    #[error("{0}")]
    Unsupported(String),
}

impl From<ConnectionError> for X11Error {
    fn from(error: ConnectionError) -> Self {
        Self::Server(error.to_string())
    }
}

impl From<ReplyError> for X11Error {
    fn from(error: ReplyError) -> Self {
        Self::Server(error.to_string())
    }
}

/// Where a desktop is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// `:0`, `:1.0`, …
    pub display: String,
    /// The file with the keys of displays.
    pub authority: Option<PathBuf>,
}

impl Place {
    /// The number of the display and of the screen; only displays of this machine are spoken to.
    fn numbers(&self) -> Option<(u32, usize)> {
        let name = self.display.strip_prefix("unix").unwrap_or(&self.display);
        let name = name.strip_prefix(':')?;
        let (display, screen) = name.split_once('.').unwrap_or((name, "0"));
        Some((display.parse().ok()?, screen.parse().ok()?))
    }

    /// Whether a display of this machine is named and its socket is there. Opens nothing.
    pub fn is_there(&self) -> bool {
        self.numbers().is_some_and(|(number, _)| socket(number).exists())
    }
}

fn socket(number: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/.X11-unix/X{number}"))
}

/// A window that a person sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Its number.
    pub id: u32,
    /// The program: the second word of its class.
    pub app: String,
    /// Its title.
    pub title: String,
    /// Its process, where it says so.
    pub pid: Option<u32>,
    /// Where it is on the screen.
    pub x: i32,
    /// The same from the top.
    pub y: i32,
    /// How wide it is.
    pub width: u32,
    /// How high it is.
    pub height: u32,
}

impl Window {
    /// Whether a point is inside.
    pub fn holds(&self, x: i32, y: i32) -> bool {
        let far = |start: i32, size: u32| start.saturating_add_unsigned(size);
        (self.x..far(self.x, self.width)).contains(&x)
            && (self.y..far(self.y, self.height)).contains(&y)
    }

    /// Its middle.
    pub fn middle(&self) -> (i32, i32) {
        (
            self.x.saturating_add_unsigned(self.width / 2),
            self.y.saturating_add_unsigned(self.height / 2),
        )
    }
}

/// A picture of the screen or of a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// How wide.
    pub width: u32,
    /// How high.
    pub height: u32,
    /// The file.
    pub png: Vec<u8>,
}

/// A desktop that is spoken to.
pub struct Desktop {
    connection: RustConnection,
    root: u32,
    width: u32,
    height: u32,
}

impl std::fmt::Debug for Desktop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desktop").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Desktop {
    /// Begins to speak to it.
    pub fn open(place: &Place) -> Result<Self, X11Error> {
        let refused = |reason: String| X11Error::Display { display: place.display.clone(), reason };
        let (number, screen) = place
            .numbers()
            .ok_or_else(|| refused("it is no display of this machine".to_owned()))?;
        let stream =
            UnixStream::connect(socket(number)).map_err(|error| refused(error.to_string()))?;
        let (stream, _) =
            DefaultStream::from_unix_stream(stream).map_err(|error| refused(error.to_string()))?;
        let (name, data) = authority::find(place.authority.as_deref(), number).unwrap_or_default();
        let connected =
            RustConnection::connect_to_stream_with_auth_info(stream, screen, name, data);
        let connection = connected.map_err(|error: ConnectError| refused(error.to_string()))?;
        let shown = connection.setup().roots.get(screen);
        let (root, width, height) = shown
            .map(|it| (it.root, u32::from(it.width_in_pixels), u32::from(it.height_in_pixels)))
            .ok_or_else(|| refused(format!("it has no screen {screen}")))?;
        let desktop = Self { connection, root, width, height };
        desktop.connection.xtest_get_version(2, 2)?.reply().map_err(|_| {
            X11Error::Unsupported(
                "the X server has no XTEST extension, so nothing can be moved".to_owned(),
            )
        })?;
        Ok(desktop)
    }

    /// How wide and high the screen is.
    pub fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    fn atom(&self, name: &str) -> Result<u32, X11Error> {
        Ok(self.connection.intern_atom(false, name.as_bytes())?.reply()?.atom)
    }

    fn property(&self, window: u32, atom: u32) -> Result<Vec<u8>, X11Error> {
        let any = u32::from(AtomEnum::ANY);
        let asked = self.connection.get_property(false, window, atom, any, 0, PROPERTY_MAX)?;
        Ok(asked.reply()?.value)
    }

    fn numbers(&self, window: u32, atom: u32) -> Result<Vec<u32>, X11Error> {
        let any = u32::from(AtomEnum::ANY);
        let asked =
            self.connection.get_property(false, window, atom, any, 0, PROPERTY_MAX)?.reply()?;
        Ok(asked.value32().map(Iterator::collect).unwrap_or_default())
    }

    /// The windows that a person sees, the topmost last.
    pub fn windows(&self) -> Result<Vec<Window>, X11Error> {
        let stacked = self.numbers(self.root, self.atom("_NET_CLIENT_LIST_STACKING")?)?;
        let ids = if stacked.is_empty() {
            self.connection.query_tree(self.root)?.reply()?.children
        } else {
            stacked
        };
        let (title, pid) = (self.atom("_NET_WM_NAME")?, self.atom("_NET_WM_PID")?);
        // A window may go away while it is looked at.
        Ok(ids.into_iter().filter_map(|id| self.window(id, title, pid).ok().flatten()).collect())
    }

    fn window(&self, id: u32, title: u32, pid: u32) -> Result<Option<Window>, X11Error> {
        let kind = self.connection.get_window_attributes(id)?.reply()?;
        if kind.map_state != MapState::VIEWABLE || kind.override_redirect {
            return Ok(None);
        }
        let size = self.connection.get_geometry(id)?.reply()?;
        let at = self.connection.translate_coordinates(id, self.root, 0, 0)?.reply()?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_matches('\0').to_owned();
        let class = text(self.property(id, u32::from(AtomEnum::WM_CLASS))?);
        let app = class.split('\0').next_back().unwrap_or_default().to_owned();
        let named = text(self.property(id, title)?);
        let named = if named.is_empty() {
            text(self.property(id, u32::from(AtomEnum::WM_NAME))?)
        } else {
            named
        };
        Ok(Some(Window {
            id,
            app,
            title: named,
            pid: self.numbers(id, pid)?.first().copied(),
            x: i32::from(at.dst_x),
            y: i32::from(at.dst_y),
            width: u32::from(size.width),
            height: u32::from(size.height),
        }))
    }

    /// The window that keys go to.
    pub fn focused(&self) -> Result<Option<Window>, X11Error> {
        let focus = self.connection.get_input_focus()?.reply()?.focus;
        let windows = self.windows()?;
        if let Some(found) = windows.iter().find(|window| window.id == focus) {
            return Ok(Some(found.clone()));
        }
        let active = self.numbers(self.root, self.atom("_NET_ACTIVE_WINDOW")?)?;
        let is_active = |window: &&Window| active.contains(&window.id);
        if let Some(found) = windows.iter().find(is_active) {
            return Ok(Some(found.clone()));
        }
        // Without a window manager keys go to what the pointer is over.
        let pointer = self.connection.query_pointer(self.root)?.reply()?;
        let (x, y) = (i32::from(pointer.root_x), i32::from(pointer.root_y));
        Ok(windows.into_iter().rev().find(|window| window.holds(x, y)))
    }

    /// Brings a window to the front and gives it the keys.
    pub fn focus(&self, window: u32) -> Result<(), X11Error> {
        let active = self.atom("_NET_ACTIVE_WINDOW")?;
        if !self.numbers(self.root, self.atom("_NET_CLIENT_LIST")?)?.is_empty() {
            let message = ClientMessageEvent::new(32, window, active, [2, 0, 0, 0, 0]);
            let mask = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
            self.connection.send_event(false, self.root, mask, message)?.check()?;
            return self.sync();
        }
        let above = ConfigureWindowAux::new().stack_mode(StackMode::ABOVE);
        self.connection.configure_window(window, &above)?.check()?;
        self.connection
            .set_input_focus(InputFocus::PARENT, window, x11rb::CURRENT_TIME)?
            .check()?;
        self.sync()
    }

    /// Waits until the server has done what it was told.
    fn sync(&self) -> Result<(), X11Error> {
        self.connection.get_input_focus()?.reply()?;
        Ok(())
    }

    /// A picture of the screen, or of the part that a window covers.
    pub fn picture(&self, window: Option<&Window>) -> Result<Picture, X11Error> {
        let (x, y, width, height) = match window {
            None => (0, 0, self.width, self.height),
            Some(window) => {
                let (left, top) = (window.x.max(0), window.y.max(0));
                let most = |start: i32, size: u32, whole: u32| {
                    size.min(whole.saturating_sub(start.unsigned_abs()))
                };
                (
                    left,
                    top,
                    most(left, window.width, self.width),
                    most(top, window.height, self.height),
                )
            }
        };
        if width == 0 || height == 0 {
            return Err(X11Error::Unsupported("the window is not on the screen".to_owned()));
        }
        let short = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
        let place = |number: i32| i16::try_from(number).unwrap_or(i16::MAX);
        let format = ImageFormat::Z_PIXMAP;
        let asked = self.connection.get_image(
            format,
            self.root,
            place(x),
            place(y),
            short(width),
            short(height),
            u32::MAX,
        )?;
        let image = asked.reply()?;
        let setup = self.connection.setup();
        let bits = setup.pixmap_formats.iter().find(|format| format.depth == image.depth);
        if bits.is_none_or(|format| format.bits_per_pixel != 32) {
            let why = format!("a screen of depth {} cannot be pictured; 24 can", image.depth);
            return Err(X11Error::Unsupported(why));
        }
        let is_little = setup.image_byte_order == ImageOrder::LSB_FIRST;
        let pixels = image.data.chunks_exact(4).flat_map(|pixel| match (pixel, is_little) {
            ([blue, green, red, _], true) | ([_, red, green, blue], false) => [*red, *green, *blue],
            _ => [0, 0, 0],
        });
        let png = encode(width, height, &pixels.collect::<Vec<u8>>())?;
        Ok(Picture { width, height, png })
    }
}

fn encode(width: u32, height: u32, pixels: &[u8]) -> Result<Vec<u8>, X11Error> {
    let failed = |error: png::EncodingError| X11Error::Server(error.to_string());
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_displays_of_this_machine_are_named() {
        let numbers = |name: &str| Place { display: name.to_owned(), authority: None }.numbers();
        assert_eq!(numbers(":99"), Some((99, 0)));
        assert_eq!(numbers("unix:1.2"), Some((1, 2)));
        for other in ["", "host:0", "127.0.0.1:0", ":", ":x", ":1.x"] {
            assert_eq!(numbers(other), None, "{other}");
        }
    }
}
