//! Requests and flags that a program refuses.

use anyhow::{Context, anyhow, bail, ensure};
use contract::message::Answer;

use super::candidate::{Candidate, shown};
use crate::system::console::shortened;

/// Whatever is no request: one `failed` line, and status 1.
pub(super) fn requests(candidate: &Candidate) -> anyhow::Result<Option<String>> {
    let long = "x".repeat(100_000);
    let bad = ["run 10001", "run 0", "run -1", "run", "run 1 no-such-pass", "run 1 main x"];
    let bad = bad.into_iter().chain(["stop", "", "hold 1", "RUN 1", &long]);
    for request in bad.map(str::as_bytes).chain([&b"run \xff"[..]]) {
        let name = String::from_utf8_lossy(&request[..request.len().min(20)]);
        let mut session = candidate.ready()?;
        session.send([request, b"\n"].concat())?;
        let expected = format!(
            "request '{name}': expected a single line `failed` with a reason, and status 1"
        );
        // No program is silent for what is no request: only the text is kept.
        match session.answer().map_err(|e| anyhow!("{expected}: {e:#}"))? {
            Answer::Failed { error } => {
                ensure!(
                    (10..400).contains(&error.len()),
                    "{expected}: the error says nothing useful: {error}"
                );
            }
            answer => bail!("{expected}: the program followed the request: {}", shown(&answer)),
        }
        let ended = session.wait()?.expect(1).context(expected.clone())?;
        ensure!(ended.lines.is_empty(), "{expected}, and no further line: {ended}");
    }
    Ok(None)
}

/// Bad usage: one line on standard error, nothing on standard output, status 2. The modes take turns.
pub(super) fn flags(candidate: &Candidate) -> anyhow::Result<Option<String>> {
    let long = "9".repeat(100_000);
    let bad: [&[&str]; 10] = [
        &["--no-such-flag"],
        &["--tasks"],
        &["--tasks", "0"],
        &["--tasks", "-1"],
        &["--tasks", "three"],
        &["--tasks", "99999999999999999999"],
        &["--tasks", &long],
        &["--warmup", "-1"],
        &["a-word"],
        &["--x\x1b[2J\n\ry"],
    ];
    let modes: [&[&str]; 3] = [&[], &["--controlled"], &["--describe"]];
    for (flags, mode) in bad.into_iter().zip(modes.into_iter().cycle()) {
        let flags: Vec<String> = [mode, flags].concat().into_iter().map(str::to_owned).collect();
        let ended = candidate.start(&flags)?.finish()?;
        let sent = shortened(&flags.join(" ").escape_debug().to_string());
        let ended = ended.expect(2).with_context(|| format!("flags '{sent}'"))?;
        let words = &ended.words;
        let (said, lines) = (words.lines().count(), ended.lines.len());
        ensure!(
            lines == 0 && said == 1 && words.len() < 1000,
            "flags '{sent}': expected one line of less than 1,000 bytes on standard error and none on standard \
             output; there were {said} and {lines}: {ended}"
        );
    }
    Ok(None)
}
