//! Lines of the contract, of either side.
#![no_main]

#[path = "../../switchcost/tests/properties/invariants.rs"]
#[allow(dead_code, reason = "each target uses one of them")]
mod invariants;

libfuzzer_sys::fuzz_target!(|line: &[u8]| invariants::contract(line));
