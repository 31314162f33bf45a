# The tables of docs/CLAIMS.md: claim, figure of its source, figure here, verdict. A verdict that is not typed is
# an error if its record does not bear it.
include "documents";

def claims(rows): table(["claim", "theirs", "here", "verdict"]; rows) | sub("---: \\|$"; "--- |");

def hop($row; $column): at("claims"; "Over socket"; $row; $column);
def channel($row): at("claims"; "Over channels"; $row; "unpinned");
def created($row): at("claims"; "Creation"; $row; "unpinned");
def resting($row): at("claims"; "Memory of a task at rest, with"; $row);
def pinned: "pinned to one CPU";
def bodies($row; $column): at("sleepers"; "Bodies"; $row; $column);
def million($row; $column): at("sleepers"; "A million"; $row; $column);
def outside($row; $column): at("blocking"; "Spawned from outside of the runtime: time per batch of o"; $row; $column);
def sleeping($row): at("blocking"; "Spawned from outside of the runtime: time per batch of 2"; $row; "a sleep");
def body($row; $column): at("body"; "16 bodies"; $row; $column);
def stream($row): at("peers"; "Stream"; $row);
def repeater($places; $flavor): stream("Tokio mpsc(\($places)), through a repeater to block_on, \($flavor)");

# Times of another machine prove nothing by themselves.
def time_row($claim; $theirs; figure): [$claim, $theirs, (figure | mean_interval), "–"];

def headlines: claims(
    ["\"the async advantage goes away\" on one CPU: threads ÷ tasks, socket pairs", "0.95",
        (hop("thread"; pinned) | times), (hop("thread"; pinned) | ratio | no_longer(0.95))],
    ["... on all CPUs", "1.48", (hop("thread"; "unpinned") | times), (hop("thread"; "unpinned") | ratio | about(1.48))],
    ["creating a thread ÷ creating a task", "57", (created("thread") | times), (created("thread") | ratio | about(57))],
    ["a thread holds 9.5 KiB of user memory", "9.5 KiB", (resting("thread") | mean_interval),
        (resting("thread") | interval | about(9.5 * 1024))],
    ["... and 10 KiB of the kernel's", "10 KiB", (resting("thread") | .kernel.line.slope | shown("bytes")),
        (resting("thread") | .kernel.line.slope | never_did(10 * 1024)) + ": the kernel stack alone has been 16 KiB since Linux 3.15"],
    ["a task holds 0.4 KiB", "0.4 KiB", (resting("task") | mean_interval),
        (resting("task") | interval | no_longer(0.4 * 1024)) + " since Tokio 1.29 and 1.32, which align tasks and descriptors to 128 bytes ([memory](findings/memory.md))"],
    ["a thread holds 20 times as much as a task (user memory)", "20", (resting("thread") | times),
        (resting("thread") | ratio | no_longer(20)) + ", for the same reason"]
);
