//! Values of flags, and settings.
#![no_main]

#[path = "../../switchcost/tests/properties/invariants.rs"]
#[allow(dead_code, reason = "each target uses one of them")]
mod invariants;

libfuzzer_sys::fuzz_target!(|text: &str| {
    invariants::flag(text);
    invariants::setting(text);
});
