//! Properties of everything that parses: no input makes it panic, and what is written is read back
//! as it was.
//!
//! The inputs are drawn from a fixed seed, so that a change is judged by the same ones on every
//! machine; `PROPTEST_RNG_SEED=N` and `PROPTEST_CASES=N` draw others, and more of them. A failing
//! input is not kept in a file of seeds, which would mean another input after any change of its
//! strategy: it belongs in an ordinary test, as text.

/// Flags: lists of CPUs, sizes, ranges, and quantities as people read them.
mod flags;
/// Files of the kernel.
mod kernel;
/// Plans.
mod plans;
use proptest::test_runner::{Config, RngSeed};

/// So many inputs, always the same ones unless the environment asks for others.
fn inputs(cases: u32) -> Config {
    let of_environment = Config::default();
    let is_set = |name: &str| std::env::var_os(name).is_some();
    Config {
        cases: match is_set("PROPTEST_CASES") {
            true => of_environment.cases,
            false => cases,
        },
        rng_seed: match is_set("PROPTEST_RNG_SEED") {
            true => of_environment.rng_seed,
            false => RngSeed::Fixed(20_240_229),
        },
        failure_persistence: None,
        ..of_environment
    }
}

/// Numbers at which arithmetic goes wrong, among those at which it does not.
fn number() -> impl proptest::strategy::Strategy<Value = u64> {
    use proptest::prelude::*;
    prop_oneof![
        any::<u64>(),
        0..20_u64,
        Just(u64::MAX),
        Just(u64::MAX - 1),
        Just(1 << 63),
        Just(u64::from(u32::MAX)),
        Just(1 << 53),
    ]
}
