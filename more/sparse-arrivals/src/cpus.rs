//! CPUs of the generator and of what serves.

use std::fs;

use threads::allowed_cpus;

#[derive(Clone, Debug)]
pub(crate) struct Cpus {
    /// The generator's own; `None` if it shares those of what serves.
    pub(crate) generator: Option<usize>,
    pub(crate) serving: Vec<usize>,
}

impl Cpus {
    /// Those that this process may use. Under a load the last one of several is the generator's.
    pub(crate) fn new(is_loaded: bool) -> anyhow::Result<Self> {
        let mut serving = allowed_cpus()?;
        let generator = if is_loaded && serving.len() > 1 { serving.pop() } else { None };
        Ok(Cpus { generator, serving })
    }

    /// Time in which those that serve were not idle, in ns: of all programs, and what the host took. `None` if the
    /// kernel does not tell.
    pub(crate) fn busy(&self) -> Option<f64> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        self.serving.iter().map(|cpu| busy(&text, *cpu)).sum()
    }
}

/// Time in which a CPU was not idle by /proc/stat, in ns.
fn busy(stat: &str, cpu: usize) -> Option<f64> {
    /// USER_HZ is 100 wherever Rust's Linux is.
    const TICK: f64 = 1e7;
    let name = format!("cpu{cpu} ");
    let counts = stat.lines().find_map(|line| line.strip_prefix(&name))?.split_ascii_whitespace();
    let ticks: Vec<f64> = counts.map(str::parse).collect::<Result<_, _>>().ok()?;
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user.
    Some(TICK * (ticks.get(..3)?.iter().sum::<f64>() + ticks.get(5..8)?.iter().sum::<f64>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_busy_in_all_but_its_idle_time() {
        let stat = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 1 2 4 100 200 8 16 32 64 128\ncpu10 1 1 1 1\n";
        assert_eq!(busy(stat, 1), Some(63.0 * 1e7));
        assert_eq!([busy(stat, 0), busy(stat, 10), busy("", 0)], [None; 3]);
    }
}
