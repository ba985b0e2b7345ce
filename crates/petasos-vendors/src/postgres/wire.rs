//! Messages of protocol 3: written, read within limits, and what they mean.

use petasos_net::Wire;
use serde_json::{Number, Value};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{PostgresError, Rows};

const VERSION: i32 = 196_608;
const ENCRYPTION: i32 = 80_877_103;
/// The longest message that is taken.
const MESSAGE_MAX: usize = 8 << 20;
/// So many bytes of rows are enough for anybody.
const ROWS_BYTES_MAX: usize = 4 << 20;
const SCRAM: &str = "SCRAM-SHA-256";

// Kinds of columns, as the server's catalogue numbers them.
const BOOL: u32 = 16;
const INT8: u32 = 20;
const INT2: u32 = 21;
const INT4: u32 = 23;
const JSON: u32 = 114;
const FLOAT4: u32 = 700;
const FLOAT8: u32 = 701;
const JSONB: u32 = 3802;

/// A column of an answer.
#[derive(Debug, Clone)]
pub(super) struct Column {
    name: String,
    kind: u32,
}

/// What the server says.
#[derive(Debug)]
pub(super) enum Answer {
    Welcome,
    WantsPassword,
    WantsScram,
    WantsOther(i32),
    ScramGoesOn(String),
    ScramEnds(String),
    Ready,
    Columns(Vec<Column>),
    NoRows,
    Row(Vec<Option<Vec<u8>>>),
    Done(String),
    Suspended,
    Other,
}

pub(super) struct Conversation {
    stream: Box<dyn Wire>,
}

impl From<std::io::Error> for PostgresError {
    fn from(error: std::io::Error) -> Self {
        Self::Protocol(format!("the connection broke off: {error}"))
    }
}

fn short() -> PostgresError {
    PostgresError::Protocol("a message is shorter than it says".to_owned())
}

/// Asks for encryption before anything else is said.
pub(super) async fn ask_for_encryption(
    mut stream: Box<dyn Wire>,
) -> Result<Box<dyn Wire>, PostgresError> {
    let mut message = Vec::from(8_i32.to_be_bytes());
    message.extend(ENCRYPTION.to_be_bytes());
    stream.write_all(&message).await?;
    let mut answer = [0_u8; 1];
    stream.read_exact(&mut answer).await?;
    if answer != *b"S" {
        let why = "the server does not encrypt; `sslmode=disable` in its address permits that";
        return Err(PostgresError::Auth(why.to_owned()));
    }
    Ok(stream)
}

/// A message that is being written.
struct Draft(Vec<u8>);

impl Draft {
    fn new(tag: u8) -> Self {
        Self(vec![tag, 0, 0, 0, 0])
    }

    fn text(mut self, text: &str) -> Result<Self, PostgresError> {
        if text.contains('\0') {
            return Err(PostgresError::Protocol("a text holds a zero byte".to_owned()));
        }
        self.0.extend(text.as_bytes());
        self.0.push(0);
        Ok(self)
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    fn short(self, number: usize) -> Result<Self, PostgresError> {
        let number = i16::try_from(number)
            .map_err(|_| PostgresError::Protocol("too many parameters".to_owned()))?;
        Ok(self.bytes(&number.to_be_bytes()))
    }

    fn long(self, number: usize) -> Result<Self, PostgresError> {
        let number = i32::try_from(number)
            .map_err(|_| PostgresError::Protocol("a value is too large".to_owned()))?;
        Ok(self.bytes(&number.to_be_bytes()))
    }

    fn finish(mut self) -> Vec<u8> {
        let length = i32::try_from(self.0.len() - 1).unwrap_or(i32::MAX);
        for (at, byte) in (1..).zip(length.to_be_bytes()) {
            if let Some(place) = self.0.get_mut(at) {
                *place = byte;
            }
        }
        self.0
    }
}

/// A message that is being read.
struct Reading<'a>(&'a [u8]);

impl<'a> Reading<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], PostgresError> {
        let (taken, left) = self.0.split_at_checked(count).ok_or_else(short)?;
        self.0 = left;
        Ok(taken)
    }

    fn long(&mut self) -> Result<i32, PostgresError> {
        let bytes: [u8; 4] = self.take(4)?.try_into().map_err(|_| short())?;
        Ok(i32::from_be_bytes(bytes))
    }

    fn short(&mut self) -> Result<usize, PostgresError> {
        let bytes: [u8; 2] = self.take(2)?.try_into().map_err(|_| short())?;
        usize::try_from(i16::from_be_bytes(bytes)).map_err(|_| short())
    }

    fn text(&mut self) -> Result<String, PostgresError> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or_else(short)?;
        let text = String::from_utf8_lossy(self.take(end)?).into_owned();
        self.take(1)?;
        Ok(text)
    }

    fn rest(&mut self) -> String {
        String::from_utf8_lossy(std::mem::take(&mut self.0)).into_owned()
    }
}

impl Conversation {
    pub(super) fn new(stream: Box<dyn Wire>) -> Self {
        Self { stream }
    }

    async fn send(&mut self, message: &[u8]) -> Result<(), PostgresError> {
        self.stream.write_all(message).await?;
        Ok(self.stream.flush().await?)
    }

    pub(super) async fn begin(&mut self, user: &str, database: &str) -> Result<(), PostgresError> {
        let mut draft = Draft(vec![0; 4]).bytes(&VERSION.to_be_bytes());
        for (name, value) in [
            ("user", user),
            ("database", database),
            ("client_encoding", "UTF8"),
            ("application_name", "petasos"),
        ] {
            draft = draft.text(name)?.text(value)?;
        }
        let mut message = draft.bytes(&[0]).0;
        let length = i32::try_from(message.len()).unwrap_or(i32::MAX);
        message.splice(..4, length.to_be_bytes());
        self.send(&message).await
    }

    pub(super) async fn password(&mut self, password: &str) -> Result<(), PostgresError> {
        self.send(&Draft::new(b'p').text(password)?.finish()).await
    }

    pub(super) async fn scram_begins(&mut self, first: &str) -> Result<(), PostgresError> {
        let draft = Draft::new(b'p').text(SCRAM)?.long(first.len())?;
        self.send(&draft.bytes(first.as_bytes()).finish()).await
    }

    pub(super) async fn scram_goes_on(&mut self, text: &str) -> Result<(), PostgresError> {
        self.send(&Draft::new(b'p').bytes(text.as_bytes()).finish()).await
    }

    /// A statement of ours whose answer nobody reads.
    pub(super) async fn simple(&mut self, sql: &str) -> Result<(), PostgresError> {
        self.send(&Draft::new(b'Q').text(sql)?.finish()).await?;
        while !matches!(self.answer().await?, Answer::Ready) {}
        Ok(())
    }

    /// Lets the server read the statement; gives the columns that it will have.
    pub(super) async fn prepare(&mut self, sql: &str) -> Result<Vec<Column>, PostgresError> {
        let mut message = Draft::new(b'P').text("")?.text(sql)?.short(0)?.finish();
        message.extend(Draft::new(b'D').bytes(b"S").text("")?.finish());
        message.extend(Draft::new(b'S').finish());
        self.send(&message).await?;
        let mut columns = Vec::new();
        loop {
            match self.answer().await? {
                Answer::Columns(found) => columns = found,
                Answer::Ready => return Ok(columns),
                _ => {}
            }
        }
    }

    /// Runs the statement that was read last.
    pub(super) async fn execute(
        &mut self,
        columns: &[Column],
        params: &[Value],
        most: usize,
    ) -> Result<Rows, PostgresError> {
        let mut bind = Draft::new(b'B').text("")?.text("")?.short(0)?.short(params.len())?;
        for value in params {
            bind = match value {
                Value::Null => bind.bytes(&(-1_i32).to_be_bytes()),
                Value::String(text) => bind.long(text.len())?.bytes(text.as_bytes()),
                other => {
                    let text = other.to_string();
                    bind.long(text.len())?.bytes(text.as_bytes())
                }
            };
        }
        let mut message = bind.short(0)?.finish();
        message.extend(Draft::new(b'E').text("")?.long(most.saturating_add(1))?.finish());
        message.extend(Draft::new(b'S').finish());
        self.send(&message).await?;
        let names = columns.iter().map(|column| column.name.clone()).collect();
        let mut found = Rows { columns: names, ..Rows::default() };
        let mut bytes = 0;
        loop {
            match self.answer().await? {
                Answer::Row(cells) => {
                    bytes += cells.iter().flatten().map(Vec::len).sum::<usize>();
                    if found.rows.len() == most || bytes > ROWS_BYTES_MAX {
                        found.truncated = true;
                        continue;
                    }
                    let row = columns.iter().zip(cells).map(|(column, cell)| shown(column, cell));
                    found.rows.push(row.collect());
                }
                Answer::Done(tag) => found.tag = tag,
                Answer::Suspended => found.truncated = true,
                Answer::Ready => return Ok(found),
                _ => {}
            }
        }
    }

    /// Says goodbye; a server that hears nothing rolls back all the same.
    pub(super) async fn leave(&mut self) {
        if let Err(error) = self.send(&Draft::new(b'X').finish()).await {
            tracing::debug!(%error, "a database was left without a word");
        }
    }

    /// The next message that means something; an error of the server is an error here.
    pub(super) async fn answer(&mut self) -> Result<Answer, PostgresError> {
        loop {
            let mut head = [0_u8; 5];
            self.stream.read_exact(&mut head).await?;
            let [tag, length @ ..] = head;
            let length = usize::try_from(i32::from_be_bytes(length)).map_err(|_| short())?;
            let length = length.checked_sub(4).ok_or_else(short)?;
            if length > MESSAGE_MAX {
                let why = format!("a message of {length} bytes is too long");
                return Err(PostgresError::Protocol(why));
            }
            let mut body = vec![0; length];
            self.stream.read_exact(&mut body).await?;
            let mut reading = Reading(&body);
            return Ok(match tag {
                // What it remarks and how it is set does not concern us.
                b'N' | b'S' | b'K' => continue,
                b'R' => login(&mut reading)?,
                b'E' => return Err(refused(&mut reading)?),
                b'Z' => Answer::Ready,
                b'T' => Answer::Columns(columns(&mut reading)?),
                b'n' => Answer::NoRows,
                b'D' => Answer::Row(row(&mut reading)?),
                b'C' => Answer::Done(reading.text()?),
                b's' => Answer::Suspended,
                b'G' | b'H' | b'W' => {
                    let why = "COPY is not spoken; select the rows instead";
                    return Err(PostgresError::Protocol(why.to_owned()));
                }
                _ => Answer::Other,
            });
        }
    }
}

fn login(reading: &mut Reading<'_>) -> Result<Answer, PostgresError> {
    Ok(match reading.long()? {
        0 => Answer::Welcome,
        3 => Answer::WantsPassword,
        10 => {
            let mut names = Vec::new();
            while reading.0.first().is_some_and(|byte| *byte != 0) {
                names.push(reading.text()?);
            }
            if names.iter().any(|name| name == SCRAM) {
                Answer::WantsScram
            } else {
                Answer::WantsOther(10)
            }
        }
        11 => Answer::ScramGoesOn(reading.rest()),
        12 => Answer::ScramEnds(reading.rest()),
        other => Answer::WantsOther(other),
    })
}

fn refused(reading: &mut Reading<'_>) -> Result<PostgresError, PostgresError> {
    let (mut code, mut message) = (String::new(), String::new());
    while let Some((field @ 1.., rest)) = reading.0.split_first() {
        reading.0 = rest;
        let text = reading.text()?;
        match field {
            b'C' => code = text,
            b'M' => message = text,
            _ => {}
        }
    }
    Ok(match code.as_str() {
        "28P01" | "28000" => PostgresError::Auth(message),
        _ => PostgresError::Server { code, message },
    })
}

fn columns(reading: &mut Reading<'_>) -> Result<Vec<Column>, PostgresError> {
    let count = reading.short()?;
    let mut found = Vec::with_capacity(count);
    for _ in 0..count {
        let name = reading.text()?;
        reading.take(6)?;
        let kind = u32::from_be_bytes(reading.take(4)?.try_into().map_err(|_| short())?);
        reading.take(8)?;
        found.push(Column { name, kind });
    }
    Ok(found)
}

fn row(reading: &mut Reading<'_>) -> Result<Vec<Option<Vec<u8>>>, PostgresError> {
    let count = reading.short()?;
    let mut cells = Vec::with_capacity(count);
    for _ in 0..count {
        cells.push(match usize::try_from(reading.long()?) {
            Ok(length) => Some(reading.take(length)?.to_vec()),
            Err(_) => None,
        });
    }
    Ok(cells)
}

/// A cell as JSON: numbers, flags and JSON as themselves, everything else as the server writes it.
fn shown(column: &Column, cell: Option<Vec<u8>>) -> Value {
    let Some(cell) = cell else { return Value::Null };
    let text = String::from_utf8_lossy(&cell).into_owned();
    let known = match column.kind {
        BOOL => Some(Value::Bool(text == "t")),
        INT2 | INT4 | INT8 => text.parse::<i64>().ok().map(Value::from),
        FLOAT4 | FLOAT8 => text.parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number),
        JSON | JSONB => serde_json::from_str(&text).ok(),
        _ => None,
    };
    known.unwrap_or(Value::String(text))
}
