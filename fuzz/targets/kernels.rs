//! Files of a kernel.
#![no_main]

#[path = "../../switchcost/tests/properties/invariants.rs"]
#[allow(dead_code, reason = "each target uses one of them")]
mod invariants;

libfuzzer_sys::fuzz_target!(|files: &[u8]| invariants::system(files));
