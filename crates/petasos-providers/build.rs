//! Keeps the indexes of the providers and of the dialects in step with their folders.

use petasos_index::{Error, Family};

fn main() -> Result<(), Error> {
    Family {
        folder: "src/rows",
        index: "src/rows.rs",
        item: "ROW",
        list: "pub static ROWS: &[&Row]",
        imports: "use crate::row::Row;",
        check: "",
        doc: "Index of the providers.",
    }
    .sync()?;
    Family {
        folder: "src/transports",
        index: "src/transports.rs",
        item: "TRANSPORT",
        list: "pub static TRANSPORTS: &[&TransportDef]",
        imports: "use crate::transport::TransportDef;",
        check: "",
        doc: "Index of the dialects.",
    }
    .sync()
}
