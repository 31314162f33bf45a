//! The build that this runner is part of. The build script finds out; this hands it on.

use record::Build;

/// Build of this workspace, as far as the build script could tell.
pub fn current() -> Build {
    let known = |value: Option<&str>| value.map(str::to_owned);
    Build {
        rustc: known(option_env!("OBSERVE_BUILD_RUSTC")),
        profile: known(option_env!("OBSERVE_BUILD_PROFILE")),
        opt_level: known(option_env!("OBSERVE_BUILD_OPT_LEVEL")),
        target: known(option_env!("OBSERVE_BUILD_TARGET")),
        package_version: known(Some(env!("CARGO_PKG_VERSION"))),
        git_revision: known(option_env!("OBSERVE_BUILD_REVISION")),
        dirty: option_env!("OBSERVE_BUILD_DIRTY").and_then(|word| word.parse().ok()),
        tokio: known(option_env!("OBSERVE_BUILD_TOKIO")),
    }
}

#[cfg(test)]
mod tests {
    use super::current;

    #[test]
    fn the_compiler_is_known() {
        let build = current();
        assert!(build.rustc.is_some_and(|rustc| rustc.starts_with("rustc ")));
        assert!(build.target.is_some() && build.opt_level.is_some());
    }
}
