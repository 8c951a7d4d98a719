//! The examples of the guide (`docs/guide`) are tests.

macro_rules! chapters {
    ($($name:ident: $file:literal),* $(,)?) => {
        $(#[doc = include_str!(concat!("../../../docs/guide/", $file, ".md"))] struct $name;)*
    };
}

chapters! {
    ForkJoin: "fork-join",
    Loops: "loops",
    Tasks: "tasks",
    Pools: "pools",
    Tokio: "tokio",
    Places: "places",
}
