//! Panics end in a message like any other error.

use std::any::Any;
use std::panic;
use std::sync::Mutex;

use anyhow::anyhow;

/// The first panic of the process, with its place: later ones mostly follow from it.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// Keeps the default hook from writing to standard error.
pub fn keep_quiet() {
    panic::set_hook(Box::new(|info| {
        let words = text(info.payload());
        let told = match info.location() {
            Some(place) => format!("{words} (a panic at {place})"),
            None => format!("{words} (a panic)"),
        };
        if let Ok(mut first) = FIRST.lock() {
            first.get_or_insert(told);
        }
    }));
}

/// What a thread or a task died of, from what its join returned.
pub fn error(payload: &(dyn Any + Send)) -> anyhow::Error {
    let first = FIRST.lock().ok().and_then(|first| first.clone());
    anyhow!("{}", first.unwrap_or_else(|| text(payload)))
}

/// What was said with a panic, on one line.
fn text(payload: &(dyn Any + Send)) -> String {
    let words = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or(payload.downcast_ref::<&str>().copied());
    words.unwrap_or("no word of why").replace('\n', " ")
}
