//! Keeps the index of the cloud browsers in step with `src/clouds/`.

fn main() -> Result<(), petasos_index::Error> {
    petasos_index::Family {
        folder: "src/clouds",
        index: "src/clouds.rs",
        item: "CLOUD",
        list: "pub(crate) static CLOUDS: &[&CloudDef]",
        imports: "use crate::cloud::{CloudDef, some};",
        check: "const _: () = some(CLOUDS);",
        doc: "Index of the cloud browsers.",
    }
    .sync()
}
