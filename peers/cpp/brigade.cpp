// A number travels through N tasks of C++, coroutines or threads; or N of them are created.
//
// One iteration, by --kind:
//   hop       the driver hands a number to the first task, each task adds one and hands it to the next, and
//             the last hands it to the driver: N + 1 hops. A coroutine leaves it in a slot and puts the
//             receiver into the executor's list; a thread wakes the receiver by std::atomic's notify_one
//   pipe      the same, a byte over pipes, for threads alone: they read it and write it
//   creation  N tasks are created, one after the other
//   sleepers  N tasks are created, each sleeps for --sleep, and all of them are awaited
//
// Timed: the whole trip; the N creations; all that sleepers do. Left out: the creation of a chain, the check
// of the numbers, and for `creation` the end of the tasks.
//
// Not to be taken for the coroutines of a library: C++ has no executor, and this one is a list of frames and
// a heap of timers, for one thread. Nor for a thread's sleep and wake-up alone: with GCC's library a thread
// that waits for a std::atomic looks and yields (sched_yield) some times before it sleeps.
//
// For `hold` the coroutines of `creation` have not begun yet, sleeping ones sleep, and threads wait at a gate.
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <coroutine>
#include <cstring>
#include <map>
#include <mutex>
#include <queue>
#include <regex>
#include <sstream>
#include <thread>
#include <utility>

using namespace std::chrono_literals;
using u64 = std::uint64_t;
using Clock = std::chrono::steady_clock;
using Failure = std::runtime_error;
using std::string, std::to_string, std::vector;

constexpr u64 kEnd = ~u64{0};  // The end, which runs along a chain.

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

// One run, as docs/CONTRACT.md has it. None of it is in a timed span; the longer functions are at the end.
struct Run {
  u64 tasks, warmup, settle, fault_at = kEnd, begun = 0, untimed = 0, timed = 0, count = 0, first = 0, setup = 0;
  string name, kind, fault, description, unread, cause;
  bool is_async, is_chain, is_hold = false, is_ready = false, is_timing = false;
  Clock::duration sleep{};
  Clock::time_point started, until, rested;
  vector<u64> samples = vector<u64>(10000, 1);  // Written, so that it is resident.
  std::array<long, 6> before, after;
  std::atomic<u64> passed{0};
  std::mutex lock;

  bool next();     // Answers for the last pass and begins the next one, or a `hold` that creates tasks.
  bool iterate();  // Begins the next iteration.
  void held();     // Answers for a `hold`, which lasts until the next request.
  bool has_line();
  string request();
  void record(Clock::duration elapsed) { samples[count] = u64(elapsed / 1ns), count += is_timing; }
  void check(u64 came, u64 expected) const {
    if (came == kEnd) throw Failure("the chain ended early");
    if (came != expected) throw Failure(to_string(came) + " came out, expected " + to_string(expected));
  }
  void check(vector<u64>& numbers) const {
    for (u64 k = 0; k < tasks; ++k) check(std::exchange(numbers[k], 0), k + 1);
  }
  u64 step(u64 k) const { return k != fault_at ? 1 : fault == "corrupt" ? 2 : 0; }
  void failed(u64 k, const char* why) {
    const std::lock_guard guard(lock);
    if (cause.empty()) cause = "task " + to_string(k) + ": " + why;
  }
} run;

u64 panic() { throw Failure("ends as --test-fault asks"); }

// Coroutines. A frame lies in the list of those that can run, or where it waits, and frees itself at its end.
struct Task {
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;
  struct promise_type {
    promise_type* next = nullptr;
    ~promise_type();
    Task get_return_object() { return {Handle::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  Handle handle;
};
using Frame = Task::promise_type;

struct Executor {
  using Timer = std::pair<Clock::time_point, Frame*>;
  Frame *first = nullptr, *last = nullptr;
  u64 alive = 0;
  std::priority_queue<Timer, vector<Timer>, std::greater<>> timers;

  void ready(Frame& frame) {
    frame.next = nullptr;
    (first ? last->next : first) = &frame;
    last = &frame;
  }
  void spawn(Task task) { ++alive, ready(task.handle.promise()); }
  void run_ready() {
    while (Frame* const frame = first) {
      first = frame->next;
      Task::Handle::from_promise(*frame).resume();
    }
  }
  void wake_up_to(Clock::time_point due) {
    for (; !timers.empty() && timers.top().first <= due; timers.pop()) ready(*timers.top().second);
  }
  void run(u64 left) {  // Until no more than so many are alive.
    for (run_ready(); alive > left; run_ready()) {
      if (timers.empty()) throw Failure("no task can run");
      std::this_thread::sleep_until(timers.top().first);
      wake_up_to(Clock::now());
    }
  }
} executor;

Frame::~promise_type() { --executor.alive; }

struct Slot {
  u64 token = 0;
  bool is_full = false;
  Frame* waiter = nullptr;

  void put(u64 value) {
    token = value, is_full = true;
    if (waiter) executor.ready(*std::exchange(waiter, nullptr));
  }
  bool await_ready() const { return is_full; }
  void await_suspend(Task::Handle task) { waiter = &task.promise(); }
  u64 await_resume() { return is_full = false, token; }
};

Task pass_on(Slot& from, Slot& to, u64 k) {
  u64 count = 0;
  try {
    const u64 step = run.step(k);  // 1, where no test asks for a fault.
    for (u64 token; (token = co_await from) != kEnd; ++count) to.put(token + (step ? step : panic()));
  } catch (const std::exception& error) {
    run.failed(k, error.what());
  }
  run.passed += count;
  to.put(kEnd);
}

Task drive(Slot& to, Slot& from) {
  while (run.iterate()) {
    const auto clock = Clock::now();
    to.put(run.begun);
    const u64 token = co_await from;
    run.record(Clock::now() - clock);
    run.check(token, run.begun + run.tasks);
  }
}

void chain_of_coroutines() {
  vector<Slot> links(run.tasks + 1);
  for (u64 k = 0; k < run.tasks; ++k) executor.spawn(pass_on(links[k], links[k + 1], k));
  executor.run_ready();
  while (run.next()) {
    executor.spawn(drive(links.front(), links.back()));
    executor.run(run.tasks);
  }
  links.front().put(kEnd);
  executor.run(0);
}

struct Sleep {
  Clock::time_point due;
  bool await_ready() const { return false; }
  void await_suspend(Task::Handle task) { executor.timers.emplace(due, &task.promise()); }
  void await_resume() const {}
};

Task body(u64& place, u64 k) {
  place = k + 1;
  co_return;
}

Task sleeping_body(u64& place, u64 k, Clock::duration time) {
  co_await Sleep{Clock::now() + time};
  place = k + 1;
}

void creation_of_coroutines() {
  vector<u64> numbers(run.tasks);
  while (run.next()) {
    if (run.is_hold) {
      for (u64 k = 0; k < run.tasks; ++k)
        executor.spawn(run.sleep > 0s ? sleeping_body(numbers[k], k, 24h) : body(numbers[k], k));
      if (run.sleep > 0s) executor.run_ready();
      run.held();
      executor.wake_up_to(Clock::time_point::max());
      executor.run(0);
    }
    while (!run.is_hold && run.iterate()) {
      const auto clock = Clock::now();
      for (u64 k = 0; k < run.tasks; ++k)
        executor.spawn(run.sleep > 0s ? sleeping_body(numbers[k], k, run.sleep) : body(numbers[k], k));
      if (run.sleep > 0s) executor.run(0);
      run.record(Clock::now() - clock);
      executor.run(0);
      run.check(numbers);
    }
  }
}

// Threads. What they use is never freed: after a failure the process ends while they still run.
struct alignas(64) Cell {
  static constexpr u64 kMask = ~u64{0};
  std::atomic<int> is_full{0};
  u64 token = 0;

  void put(u64 value) {
    token = value;
    is_full.store(1, std::memory_order_release);
    is_full.notify_one();
  }
  u64 take() {
    is_full.wait(0, std::memory_order_acquire);
    const u64 came = token;
    is_full.store(0, std::memory_order_relaxed);
    return came;
  }
};

struct Pipe {
  static constexpr u64 kMask = 255;
  int ends[2];

  Pipe() { if (pipe(ends) < 0) fail("cannot make a pipe"); }
  void put(u64 token) const {
    const auto byte = static_cast<unsigned char>(token);
    if (token == kEnd) close(ends[1]);
    else if (write(ends[1], &byte, 1) != 1) fail("cannot write into a pipe");
  }
  u64 take() const {
    unsigned char byte;
    const auto came = read(ends[0], &byte, 1);
    if (came < 0) fail("cannot read a pipe");
    return came == 0 ? kEnd : byte;
  }
};

template <class Link> void pass_on_thread(Link& from, Link& to, u64 k) {
  u64 count = 0;
  try {
    const u64 step = run.step(k);
    for (u64 token; (token = from.take()) != kEnd; ++count) to.put(token + (step ? step : panic()));
  } catch (const std::exception& error) {
    run.failed(k, error.what());
  }
  run.passed += count;
  to.put(kEnd);
}

void join_all(vector<std::thread>& threads) {
  for (auto& thread : threads) thread.join();
  threads.clear();
}

template <class Link> void chain_of_threads() {
  auto& links = *new vector<Link>(run.tasks + 1);
  auto& threads = *new vector<std::thread>;
  for (u64 k = 0; k < run.tasks; ++k)
    threads.emplace_back(pass_on_thread<Link>, std::ref(links[k]), std::ref(links[k + 1]), k);
  while (run.next())
    while (run.iterate()) {
      const auto clock = Clock::now();
      links.front().put(run.begun);
      const u64 token = links.back().take();
      run.record(Clock::now() - clock);
      run.check(token, (run.begun + run.tasks) & Link::kMask);
    }
  links.front().put(kEnd);
  join_all(threads);
}

void thread_body(u64& place, u64 k) {
  if (run.sleep > 0s) std::this_thread::sleep_for(run.sleep);
  place = k + 1;
}

void creation_of_threads() {
  auto& numbers = *new vector<u64>(run.tasks);
  auto& threads = *new vector<std::thread>;
  while (run.next()) {
    if (run.is_hold) {
      auto& gate = *new std::atomic<int>(0);
      for (u64 k = 0; k < run.tasks; ++k) threads.emplace_back([&gate] { gate.wait(0); });
      run.held();
      gate = 1, gate.notify_all();
      join_all(threads);
    }
    while (!run.is_hold && run.iterate()) {
      const auto clock = Clock::now();
      for (u64 k = 0; k < run.tasks; ++k) threads.emplace_back(thread_body, std::ref(numbers[k]), k);
      if (run.sleep > 0s) join_all(threads);
      run.record(Clock::now() - clock);
      join_all(threads);
      run.check(numbers);
    }
  }
}

// The contract.
int wake[2];                   // A signal writes into it, so that no wait for a request misses it.
std::atomic<int> received{0};  // Number of the first signal.

void stop(int number) {
  const int before = errno;
  if (int none = 0; received.compare_exchange_strong(none, number) && write(wake[1], "", 1) < 0) _exit(128 + number);
  errno = before;
}

void write_all(int file, string text) {
  while (!text.empty()) {
    const auto sent = write(file, text.data(), text.size());
    if (sent < 0 && errno != EINTR) fail("cannot answer the runner");
    text.erase(0, sent < 0 ? 0 : sent);
  }
}

[[noreturn]] void leave(string message, int status) {  // At once, whatever the threads do.
  for (char& c : message) c = c >= ' ' && c < 127 ? c : '?';
  write_all(2, run.name + ": " + message.substr(0, 400) + "\n");
  _exit(status);
}

void answer(const string& fields) { write_all(1, "{" + fields + "}\n"); }

string quoted(const string& text) { return '"' + text + '"'; }
string field(const string& key, u64 value) { return quoted(key) + ":" + to_string(value) + ","; }
string pids() { return "\"pids\":[" + to_string(getpid()) + "]"; }

std::array<long, 6> used() {
  rusage u;
  if (getrusage(RUSAGE_SELF, &u) < 0) fail("cannot read the usage");
  const auto ns = [](timeval time) { return (time.tv_sec * 1000000 + time.tv_usec) * 1000; };
  return {ns(u.ru_utime), ns(u.ru_stime), u.ru_nvcsw, u.ru_nivcsw, u.ru_minflt, u.ru_majflt};
}

bool Run::iterate() {
  const bool is_settling = untimed > 0 && Clock::now() < until;
  if (begun == 1 && !is_ready) first = samples[0];
  if (received || (!is_settling && timed == 0)) return after = used(), false;
  untimed = is_settling ? untimed - 1 : 0, timed -= !is_settling, ++begun;
  if (!is_settling && !std::exchange(is_timing, true)) before = used();
  return true;
}

bool Run::next() {
  if (setup == 0) {
    setup = (Clock::now() - started) / 1ns, untimed = warmup, until = Clock::time_point::max();
    return true;
  }
  if (!std::exchange(is_ready, true)) {
    const string first_ns = warmup > 0 ? field("first_ns", first) : "";
    answer("\"at\":\"ready\"," + field("setup_ns", setup) + first_ns + pids() + "," + description);
  } else if (!is_hold) {
    const char* names[] = {"user_ns", "system_ns", "voluntary_switches", "involuntary_switches", "minor_faults",
                           "major_faults"};
    string times, usage;
    for (u64 k = 0; k < count; ++k) times += to_string(samples[k]) + ",";
    for (int k = 0; k < 6 && is_timing; ++k) usage += field(names[k], after[k] - before[k]);
    times = times.substr(0, times.size() - !times.empty()), usage = usage.substr(0, usage.size() - !usage.empty());
    answer("\"at\":\"ran\",\"samples_ns\":[" + times + "]" + (is_timing ? ",\"usage\":{" + usage + "}" : ""));
  }
  static const std::regex run_request("run ([1-9][0-9]{0,3}|10000)( main)?");
  is_hold = is_timing = false, count = 0;
  for (string line = request(); line != "end"; line = request()) {
    if (std::smatch parts; std::regex_match(line, parts, run_request)) {
      untimed = settle, timed = std::stoul(parts[1]), until = Clock::now() + 5ms;
      return true;
    }
    if (line != "hold") throw Failure("cannot follow a request: write run N [main] with N from 1 to 10000, hold or end");
    if (!is_chain) return is_hold = true;
    held();
  }
  rested = Clock::now();
  return false;
}

void Run::held() { answer("\"at\":\"held\"," + pids()), has_line(); }

bool Run::has_line() {  // Waits for a line; false at the end of file or a signal.
  while (!received && unread.find('\n') == string::npos) {
    if (unread.size() >= 1024) throw Failure("a request is longer than 1023 bytes");
    pollfd inputs[] = {{0, POLLIN, 0}, {wake[0], POLLIN, 0}};
    if (poll(inputs, 2, -1) < 0 || !inputs[0].revents) continue;
    char bytes[1024];
    const auto came = read(0, bytes, sizeof bytes);
    if (came < 0) fail("cannot read a request");
    if (came == 0) return false;
    unread.append(bytes, came);
  }
  return !received;
}

string Run::request() {
  if (!has_line()) return "end";
  const auto end = unread.find('\n');
  std::istringstream words(unread.substr(0, end));
  string line, word;
  while (words >> word) line += (line.empty() ? "" : " ") + word;
  unread.erase(0, end + 1);
  return line;
}

bool read_flags(char** words) {
  std::map<string, std::pair<const char*, string>> flags{  // What may follow each, and its default.
      {"--tasks", {"[1-9][0-9]{0,8}", "500"}}, {"--warmup", {"[0-9]{1,18}", "100"}},
      {"--kind", {"hop|pipe|creation|sleepers", "hop"}}, {"--tasks-are", {"coroutines|threads", "coroutines"}},
      {"--sleep", {"([1-9][0-9]{0,4})(us|ms|s)", "1s"}}, {"--test-fault", {"(corrupt|panic)@([0-9]{1,9})", ""}},
      {"--describe", {"", ""}}, {"--controlled", {"", ""}}};
  const auto text = [&](const char* flag) -> string& { return flags[flag].second; };
  std::smatch parts;
  for (; *words; ++words) {
    const string flag = *words;
    if (!flags.contains(flag)) leave("unexpected argument '" + flag.substr(0, 80) + "'", 2);
    auto& [pattern, value] = flags[flag];
    value = !*pattern ? "yes" : words[1] ? *++words : "";
    if (*pattern && (value.size() > 20 || !std::regex_match(value, std::regex(pattern))))
      leave(flag + ": write " + pattern + (value == "queue" ? ": C++ has no queue between tasks" : ""), 2);
  }
  if (text("--describe") == text("--controlled"))
    leave("write --describe or --controlled; `switchcost stat` measures and prints text", 2);
  run.kind = text("--kind"), run.is_async = text("--tasks-are") == "coroutines";
  run.is_chain = run.kind == "hop" || run.kind == "pipe", run.settle = run.kind == "sleepers" ? 0 : 3;
  run.tasks = std::stoul(text("--tasks")), run.warmup = std::stoul(text("--warmup"));
  if (run.kind == "pipe" && run.is_async) leave("--kind pipe: it needs --tasks-are threads", 2);
  if (std::regex_match(text("--sleep"), parts, std::regex(flags["--sleep"].first)) && run.kind == "sleepers")
    run.sleep = std::stoul(parts[1]) * (parts[2] == "s" ? 1s : parts[2] == "ms" ? Clock::duration(1ms) : 1us);
  if (std::regex_match(text("--test-fault"), parts, std::regex(flags["--test-fault"].first)))
    run.fault = parts[1], run.fault_at = std::stoul(parts[2]);
  return text("--describe") == "yes";
}

string need(const char* what, u64 fixed, u64 each) {
  return quoted(what) + ":{" + field("fixed", fixed) + quoted("each") + ":" + to_string(each) + "}";
}

string describe() {
  const bool is_pipe = run.kind == "pipe";
  string needs = need("descriptors", 8, is_pipe ? 2 : 0) + "," +
                 need("bytes", 5 << 20, run.is_async ? 192 : is_pipe ? 56 << 10 : 46 << 10);
  if (!run.is_async)  // With the C library's usual stacks of 8 MiB, and its arenas.
    needs += "," + need("threads", 0, 1) + "," + need("maps", 64, 2) + "," + need("space", 1 << 30, 8 << 20);
  return field("contract", 1) + "\"program\":" + quoted(run.name) + ",\"version\":\"0.2.0\"," + field("tasks", run.tasks) +
         (run.is_chain ? field("hops", run.tasks + 1) : "") + (is_pipe ? field("bytes", 1) : "") +
         "\"claim\":" + quoted(run.is_async ? "user-switch" : "kernel-switch") + ",\"passes\":[{" +
         field("settle", run.settle) + "\"name\":\"main\"}],\"needs\":{" + needs + "},\"runtime\":{" +
         field("workers", run.is_async ? 1 : std::thread::hardware_concurrency()) + "\"name\":\"C++\",\"version\":" +
         quoted(__VERSION__) + ",\"flavor\":" + quoted(run.is_async ? "coroutines" : "threads") + "}";
}

int main(int, char** words) try {
  run.name = string(*words).substr(string(*words).rfind('/') + 1);
  const bool is_describing = read_flags(words + 1);
  run.description = describe();
  signal(SIGPIPE, SIG_IGN);
  if (is_describing) return answer(run.description), 0;
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) files.rlim_cur = files.rlim_max, setrlimit(RLIMIT_NOFILE, &files);
  if (pipe(wake) < 0) fail("cannot make a pipe");
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    if (signal(number, stop) == SIG_IGN) signal(number, SIG_IGN);
  run.started = Clock::now();
  if (run.is_async) run.is_chain ? chain_of_coroutines() : creation_of_coroutines();
  else if (run.is_chain) run.kind == "pipe" ? chain_of_threads<Pipe>() : chain_of_threads<Cell>();
  else creation_of_threads();
  run.check(run.passed, run.is_chain ? run.tasks * run.begun : 0);
  if (!run.cause.empty()) throw Failure(run.cause);
  answer("\"at\":\"ended\",\"teardown_ns\":" + to_string((Clock::now() - run.rested) / 1ns));
  _exit(received ? 128 + received : 0);
} catch (const std::exception& error) {
  string text = run.cause.empty() ? error.what() : run.cause;
  text[0] = std::tolower(text[0]);
  if (dynamic_cast<const std::bad_alloc*>(&error) || (dynamic_cast<const std::system_error*>(&error) && run.cause.empty()))
    text += ": lower --tasks, or see `switchcost limits " + run.name + " --tasks " + to_string(run.tasks) + "`";
  try { answer("\"at\":\"failed\",\"error\":" + quoted(text)); }
  catch (const std::exception& lost) { leave(lost.what(), 1); }
  _exit(1);
}
