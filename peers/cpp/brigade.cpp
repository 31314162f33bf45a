// A number travels through N tasks of C++, coroutines or threads; or N of them are created.
// One iteration, by --kind:
//   hop       the driver hands a number to the first task, each task adds one and hands it to the next, and
//             the last hands it to the driver: N + 1 hops. A coroutine leaves it in a slot and tells the
//             executor that the receiver can run; a thread wakes the receiver by a condition variable
//   creation  N tasks are created, one after the other
//
// Timed: the whole trip; the N creations. Left out: the creation of a chain, the check of the numbers, and for
// `creation` what the coroutines do, and the end of the tasks.
// For `hold` threads of `creation` wait at a gate, and its coroutines have begun and are suspended.
//
// Not to be taken for the coroutines of a library: C++ has no executor, and this one is a ring of those that
// can run, for one thread. Threads do not wait for a std::atomic, since with GCC's library they would yield
// (sched_yield) some times before they sleep.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <regex>
#include <thread>
#include <utility>
using namespace std::chrono_literals;
using u64 = std::uint64_t;
using Clock = std::chrono::steady_clock;
using std::string, std::to_string, std::vector;
constexpr u64 kEnd = ~u64{0};  // The end, which runs along a chain.

// The flags, docs/CONTRACT.md.
u64 tasks, warmup;
bool are_coroutines, is_chain;
// One run.
u64 begun = 0, left = 0;               // Number of iterations so far, and to come.
Clock::time_point started, until;      // Beginning of building; no iteration begins later than `until`.
vector<u64> samples(10000, 1);         // Written, so that the room is resident.
std::atomic<u64> passed{0};            // Sum over the tasks of a chain that have ended.
std::atomic<int> gate{1};              // 0 where the tasks that an iteration creates are to be held.
std::atomic<int> received{0};          // Number of a signal.

void serve(const std::function<void()>& iterate);  // Follows requests; `iterate` makes all iterations of one.
void held();                                       // Answers `hold`, waits for the next request, opens the gate.
[[noreturn]] void fail(const string& error);
bool next() {
  if (left == 0 || received || Clock::now() > until) return false;
  ++begun;
  return left--;
}
void record(Clock::duration elapsed) { if (samples.size() < samples.capacity()) samples.push_back(elapsed / 1ns); }
void check(u64 came, u64 expected) {
  if (came != expected) fail(to_string(came) + " came out, expected " + to_string(expected));
}
void check(vector<u64>& numbers) { for (u64 k = 0; k < tasks; ++k) check(std::exchange(numbers[k], 0), k + 1); }

// Coroutines. Whoever resumes a frame or waits for it has its handle; it frees itself at its end.
using Handle = std::coroutine_handle<>;
struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  Handle handle;
};

struct Executor {
  vector<Handle> ring;  // Those that can run: room for all tasks, the driver, and a gap between the ends.
  u64 head = 0, tail = 0;
  u64 after(u64 place) const { return place + 1 == ring.size() ? 0 : place + 1; }
  void ready(Handle task) { ring[std::exchange(tail, after(tail))] = task; }
  void spawn(Task task) { ready(task.handle); }
  void step() { ring[std::exchange(head, after(head))].resume(); }
  void run() {  // Until none can run.
    while (head != tail) step();
  }
} executor;

struct Slot {
  u64 token = 0;  // 0 where there is none.
  Handle waiter;
  void put(u64 value) {
    token = value;
    if (waiter) executor.ready(std::exchange(waiter, nullptr));
  }
  bool await_ready() const { return token != 0; }
  void await_suspend(Handle task) { waiter = task; }
  u64 await_resume() { return std::exchange(token, 0); }
};

Task pass_on(Slot& from, Slot& to) {
  u64 count = 0;
  for (u64 token; (token = co_await from) != kEnd; ++count) to.put(token + 1);
  passed += count;
  to.put(kEnd);
}

Task drive(Slot& to, Slot& from) {
  while (next()) {
    const auto clock = Clock::now();
    to.put(begun);
    const u64 token = co_await from;
    record(Clock::now() - clock);
    check(token, begun + tasks);
  }
}

void chain_of_coroutines() {
  vector<Slot> links(tasks + 1);
  for (u64 k = 0; k < tasks; ++k) executor.spawn(pass_on(links[k], links[k + 1]));
  executor.run();
  serve([&] {
    executor.spawn(drive(links.front(), links.back()));
    executor.run();
  });
  links.front().put(kEnd);
  executor.run();
}

struct Pause : std::suspend_always {  // A turn of the others.
  void await_suspend(Handle task) const { executor.ready(task); }
};

Task body(u64& place, u64 k) {
  co_await Pause{};
  place = k + 1;
}

void creation_of_coroutines() {
  vector<u64> numbers(tasks);
  serve([&] {
    while (next()) {
      const auto clock = Clock::now();
      for (u64 k = 0; k < tasks; ++k) executor.spawn(body(numbers[k], k));
      for (u64 k = 0; gate == 0 && k < tasks; ++k) executor.step();  // Each comes to its pause.
      if (gate == 0) held();
      record(Clock::now() - clock);
      executor.run();
      check(numbers);
    }
  });
}

// Threads.
struct alignas(64) Cell {
  std::mutex lock;
  std::condition_variable filled;
  bool is_full = false;
  u64 token = 0;
  void put(u64 value) {
    {
      const std::lock_guard guard(lock);
      token = value;
      is_full = true;
    }
    filled.notify_one();
  }
  u64 take() {
    std::unique_lock guard(lock);
    filled.wait(guard, [this] { return is_full; });
    is_full = false;
    return token;
  }
};

void pass_on_thread(Cell& from, Cell& to) {
  u64 count = 0;
  for (u64 token; (token = from.take()) != kEnd; ++count) to.put(token + 1);
  passed += count;
  to.put(kEnd);
}

void join_all(vector<std::thread>& threads) {
  for (auto& thread : threads) thread.join();
  threads.clear();
}

void chain_of_threads() {
  vector<Cell> links(tasks + 1);
  vector<std::thread> threads;
  for (u64 k = 0; k < tasks; ++k) threads.emplace_back(pass_on_thread, std::ref(links[k]), std::ref(links[k + 1]));
  serve([&] {
    while (next()) {
      const auto clock = Clock::now();
      links.front().put(begun);
      const u64 token = links.back().take();
      record(Clock::now() - clock);
      check(token, begun + tasks);
    }
  });
  links.front().put(kEnd);
  join_all(threads);
}

void thread_body(u64& place, u64 k) {
  gate.wait(0);
  place = k + 1;
}

void creation_of_threads() {
  vector<u64> numbers(tasks);
  vector<std::thread> threads;
  serve([&] {
    while (next()) {
      const auto clock = Clock::now();
      for (u64 k = 0; k < tasks; ++k) threads.emplace_back(thread_body, std::ref(numbers[k]), k);
      if (gate == 0) held();
      record(Clock::now() - clock);
      join_all(threads);
      check(numbers);
    }
  });
}

// The contract, docs/CONTRACT.md.
[[noreturn]] void leave(const string& message, int status) {  // At once, whatever the threads do.
  std::cerr << "cpp-brigade: " << message << std::endl;
  _exit(status);
}
void answer(const string& fields) {
  std::cout << "{" << fields << "}" << std::endl;
  if (!std::cout) leave("cannot answer the runner", 1);
}
void fail(const string& error) {
  answer(R"("at":"failed","error":")" + error + '"');
  _exit(1);
}
string field(const string& name, u64 value) { return ",\"" + name + "\":" + to_string(value); }
string pids() { return ",\"pids\":[" + to_string(getpid()) + "]"; }
constexpr u64 kSettle = 3;
string description() {
  const string own = are_coroutines ? R"(coroutines"},"claim":"user-switch")" : R"(threads"},"claim":"kernel-switch")";
  return R"("contract":1,"program":"cpp-brigade","version":"0.2.0")" + field("tasks", tasks) +
         (is_chain ? field("hops", tasks + 1) : "") + R"(,"passes":[{"name":"main")" + field("settle", kSettle) +
         R"(}],"runtime":{"name":"C++")" + field("workers", are_coroutines ? 1 : std::thread::hardware_concurrency()) +
         R"(,"version":")" __VERSION__ R"(","flavor":")" + own;
}

void held() {
  answer(R"("at":"held")" + pids());
  std::cin.peek();
  gate = 1;
  gate.notify_all();
}

string ran(const rusage& a, const rusage& b) {
  const auto ns = [](timeval time) { return (time.tv_sec * 1000000 + time.tv_usec) * 1000; };
  string times;
  for (const u64 sample : samples) times += (times.empty() ? "" : ",") + to_string(sample);
  return R"("at":"ran","samples_ns":[)" + times + R"(],"usage":{"user_ns":)" +
         to_string(ns(b.ru_utime) - ns(a.ru_utime)) + field("system_ns", ns(b.ru_stime) - ns(a.ru_stime)) +
         field("voluntary_switches", b.ru_nvcsw - a.ru_nvcsw) +
         field("involuntary_switches", b.ru_nivcsw - a.ru_nivcsw) +
         field("minor_faults", b.ru_minflt - a.ru_minflt) + field("major_faults", b.ru_majflt - a.ru_majflt) + "}";
}

void serve(const std::function<void()>& iterate) {
  const auto pass = [&](u64 iterations, Clock::time_point end = Clock::time_point::max()) {
    samples.clear();
    left = iterations, until = end;
    iterate();
  };
  const u64 setup = (Clock::now() - started) / 1ns;
  pass(warmup);
  const string first = samples.empty() ? "" : field("first_ns", samples[0]);
  answer(R"("at":"ready")" + pids() + field("setup_ns", setup) + first + "," + description());
  std::cmatch parts;
  char line[1024];
  while (!std::cin.getline(line, sizeof line).eof() && !received && line != string("end")) {
    if (std::regex_match(line, parts, std::regex("run ([1-9][0-9]{0,3}|10000)( main)?"))) {
      rusage before, after;
      pass(kSettle, Clock::now() + 5ms);
      getrusage(RUSAGE_SELF, &before);  // It cannot fail.
      pass(std::stoul(parts[1]));
      getrusage(RUSAGE_SELF, &after);
      answer(ran(before, after));
    } else if (line == string("hold")) {
      gate = 0;
      is_chain ? held() : pass(1);
    } else {
      fail("cannot follow a request: write run N [main] with N from 1 to 10000, hold or end");
    }
  }
}

bool read_flags(char** words) {  // True for --describe.
  std::map<string, std::pair<string, string>> flags{  // What may follow each, and its default.
      {"--tasks", {"[1-9][0-9]{0,8}", "500"}}, {"--warmup", {"[0-9]{1,18}", "100"}},
      {"--kind", {"hop|creation", "hop"}}, {"--tasks-are", {"coroutines|threads", "coroutines"}},
      {"--describe", {"", "no"}}, {"--controlled", {"", "no"}}};
  for (; *words; ++words) {
    const string flag = *words;
    if (!flags.contains(flag))
      leave("unexpected argument '" + std::regex_replace(flag.substr(0, 80), std::regex("[^ -~]"), "?") + "'", 2);
    auto& [pattern, value] = flags[flag];
    value = pattern.empty() || !words[1] ? "" : *++words;
    if (!std::regex_match(value, std::regex(pattern))) leave(flag + ": write " + pattern, 2);
  }
  const auto value = [&](const char* flag) { return flags[flag].second; };
  if (value("--describe") == value("--controlled")) leave("write --describe or --controlled, or `switchcost stat`", 2);
  tasks = std::stoul(value("--tasks"));
  warmup = std::stoul(value("--warmup"));
  are_coroutines = value("--tasks-are") == "coroutines";
  is_chain = value("--kind") == "hop";
  return value("--describe").empty();
}

// A read that the first thread waits in begins again, and fails: this is taken for the end of file.
void stop(int number) {
  if (gettid() != getpid()) tgkill(getpid(), getpid(), number);  // It came to another thread.
  else if (received.exchange(number) == 0) close(STDIN_FILENO);
}

int main(int, char** words) {
  signal(SIGPIPE, SIG_IGN);
  if (read_flags(words + 1)) return answer(description()), 0;
  std::set_terminate([] {  // An exception of the library, before the stack that threads use is unwound.
    samples = vector<u64>();  // The message takes memory.
    fail("memory or threads run out: see `switchcost limits cpp-brigade --tasks " + to_string(tasks) + "`");
  });
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, stop);
  started = Clock::now();
  if (are_coroutines) executor.ring.resize(tasks + 2);
  if (is_chain) are_coroutines ? chain_of_coroutines() : chain_of_threads();
  else are_coroutines ? creation_of_coroutines() : creation_of_threads();
  check(passed, is_chain ? tasks * begun : 0);
  answer(R"("at":"ended")");
  return received ? 128 + received : 0;
}
