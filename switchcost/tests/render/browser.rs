//! The page in a real browser, where there is one.

use std::fs;
use std::process::Command;

use super::{page, records, report, three_files};
use crate::support::is_installed;

/// Whether a page fits its frame and loads nothing.
const FITS: &str = r#"
const faults = [];
function fits(frame) {
  const page = frame.contentDocument, width = frame.clientWidth;
  const say = text => faults.push(width + " px: " + text);
  if (page.documentElement.scrollWidth > width)
    say("the page is " + page.documentElement.scrollWidth + " px wide");
  const loaded = frame.contentWindow.performance.getEntriesByType("resource");
  for (const entry of loaded) say("it loads " + entry.name);
  return say;
}
"#;

/// The same, and whether its plots can be read.
const LOOK: &str = r#"
function look(frame) {
  const page = frame.contentDocument, width = frame.clientWidth, say = fits(frame);
  const high = page.body.scrollHeight;
  if (width === 1200 && high > 5000) say("it is " + high + " px high before it is unfolded");
  for (const part of page.querySelectorAll("details")) part.open = true;
  const wide = page.documentElement.scrollWidth;
  if (wide > width) say("unfolded, the page is " + wide + " px wide");
  const shown = [...page.querySelectorAll("svg.plot")];
  if (shown.length !== 5) say(shown.length + " plots are shown");
  for (const plot of shown) {
    const title = plot.querySelector("title").textContent, box = plot.getBoundingClientRect();
    if (plot.getAttribute("role") !== "img" || !title) say("a plot has no role or no title");
    if (!plot.querySelector("desc").textContent) say(title + ": no description");
    const texts = [...plot.querySelectorAll("text")].map(text => text.textContent.trim());
    const has = pattern => texts.some(text => pattern.test(text));
    if (!has(/^(time|thread ÷ task)/))
      say(title + ": what?");
    if (!has(/^[\d.]+( ns| µs| [KM]iB|x)$/)) say(title + ": no unit");
    const isShown = text => text.getBoundingClientRect().height > 0;
    const labels = [...plot.querySelectorAll("text.muted")].filter(isShown);
    for (const [index, label] of labels.entries()) {
      const one = label.getBoundingClientRect(), rest = labels.slice(index + 1);
      for (const other of rest.map(label => label.getBoundingClientRect()))
        if (one.left < other.right && other.left < one.right && one.top < other.bottom - 2 && other.top + 2 < one.bottom)
          say(title + ": '" + label.textContent.trim() + "' overlaps another label");
    }
    for (const text of plot.querySelectorAll("text")) {
      if (!isShown(text)) continue;
      const at = text.getBoundingClientRect();
      if (at.left < box.left - 1 || at.right > box.right + 1 || at.bottom > box.bottom + 1)
        say(title + ": '" + text.textContent.trim() + "' leaves the plot");
      if (at.height < 11) say(title + ": text " + at.height + " px high");
      for (const mark of plot.querySelectorAll("path")) {
        const on = mark.getBoundingClientRect();
        if (on.left < at.right && at.left < on.right && on.top < at.bottom - 2 && at.top + 2 < on.bottom)
          say(title + ": a mark covers '" + text.textContent.trim() + "'");
      }
    }
  }
}
"#;

/// Looks at each frame, and writes the faults into the body's text.
const REPORT: &str = r#"
addEventListener("load", () => {
  for (const frame of document.querySelectorAll("iframe")) look(frame);
  document.body.textContent = "looked: " + (faults.join("; ") || "well");
});
"#;

/// Shows a page in frames of these widths to a script, which writes `looked: well` if it finds no fault.
fn look(page: &str, widths: &[u32], script: &str) {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let Some(chromium) = names.into_iter().find(|name| is_installed(name)) else {
        crate::support::skip("there is no chromium (apt-get install chromium)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let source = page.replace('&', "&amp;").replace('"', "&quot;");
    let frames = widths.iter().map(|width| {
        format!("<iframe srcdoc=\"{source}\" width={width} height=900 style=\"border:0\"></iframe>")
    });
    let frames: String = frames.collect();
    let looking = folder.path().join("look.html");
    let html = format!(
        "<!DOCTYPE html><meta charset=utf-8><body>{frames}<script>{FITS}{script}{REPORT}</script>"
    );
    fs::write(&looking, html).unwrap();
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
        .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
        .args(["--disable-component-update", "--enable-logging=stderr", "--dump-dom"])
        // Nothing reaches the network, the browser's own requests included.
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", looking.display()))
        .output()
        .unwrap();
    let seen = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(seen.contains("looked: well"), "{seen}\n{said}");
    assert!(!said.contains("CONSOLE"), "{said}");
}

#[test]
fn the_page_holds_up_in_a_browser() {
    look(&page(&records()), &[360, 390, 1200], LOOK);
}

#[test]
fn the_page_of_machines_fits() {
    let folder = tempfile::tempdir().unwrap();
    let files = three_files(folder.path());
    let [a, b, c] = files.each_ref().map(String::as_str);
    let page = report(&[a, b, c, "--html", "-"]).expect_quiet_success().stdout;
    look(&page, &[360, 390, 768, 1200], "const look = fits;");
}
