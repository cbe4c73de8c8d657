//! The fuzz target of the script language over its corpus and a bounded number of inputs made from it.

#[path = "../../../../fuzz/mutate.rs"]
mod mutate;
mod script;

#[test]
fn scripts() {
    mutate::run("script", 5, 10_000, script::run);
}
