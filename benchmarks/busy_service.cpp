// SPDX-License-Identifier: MIT
//
// A busy service: 200 voices, 80 % of the requests for 20 % of them, room for 50 on the device, and a second process
// that takes and returns that memory meanwhile. The voice bank, alone and with a host tier, beside a dictionary of the
// 50 most used voices, on the same requests and over the same store, whose loads take 300 us.
//
//   busy_service [REQUESTS]     100,000 unless told otherwise; prints a table in Markdown
//
// Every byte of every answer is compared. Ends with 1 where a request failed or got a wrong byte, or where the bank's
// budget did not follow the second process.
//
// The device is RAM: a memory of 64 MiB that does not exist, but for the second process, which really takes its part,
// and the pools of the cache. It is 256 times smaller than one of 16 GiB, and so are the governor's numbers of bytes;
// its times are the defaults, in the service's own time (busy_trace.hpp).
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bank/governor.hpp"
#include "bank/process_pressure.hpp"
#include "bank/voice_bank.hpp"
#include "busy_trace.hpp"
#include "lfu_dictionary.hpp"
#include "second_process.hpp"
#include "store/scripted_store.hpp"
#include "timbre/device/host_device.hpp"

namespace timbre::bench {
namespace {

using bank::Clock;

constexpr std::uint64_t kVoiceBytes = 64 * 1024;  // a page of the device, so that room is counted in voices
constexpr std::uint64_t kMemoryBytes = 1024 * kVoiceBytes;
constexpr std::uint64_t kRoom = 50;
constexpr std::chrono::microseconds kLoadTime{300};

/// What the second process leaves of the memory from a second on.
struct Order {
  std::uint32_t second;
  std::optional<std::uint64_t> room;  ///< as much as lets the cache have so many voices; nothing: `left`
  std::uint64_t left;                 ///< in voices
};
constexpr Order kOrders[] = {{0, {}, 1024}, {40, 20, 0}, {80, {}, 40}, {100, {}, 1024}, {220, 30, 0}, {260, {}, 1024}};

cache::BudgetSettings settings() {
  constexpr std::uint64_t kSmaller = 256;
  cache::BudgetSettings settings;
  settings.cap_bytes = kRoom * kVoiceBytes;
  for (std::uint64_t* bytes : {&settings.headroom_bytes, &settings.low_water_bytes, &settings.high_water_bytes,
                               &settings.grow_bytes, &settings.blind_bytes}) {
    *bytes /= kSmaller;
  }
  return settings;
}

std::uint64_t taken_by_other(const Order& order) {
  if (!order.room) return kMemoryBytes - order.left * kVoiceBytes;
  // The formula of docs/budget.md, the other way round.
  const cache::BudgetSettings rule = settings();
  const double headroom =
      std::max(static_cast<double>(rule.headroom_bytes), rule.headroom_fraction * static_cast<double>(kMemoryBytes));
  const double left = (static_cast<double>(*order.room * kVoiceBytes) + headroom) / rule.warm_fraction;
  return kMemoryBytes - static_cast<std::uint64_t>(left) / kVoiceBytes * kVoiceBytes;
}

/// The memory with the second process in it.
struct SharedMemory {
  SecondProcess& other;
  std::uint64_t total_bytes;  ///< beside what the second process began with

  /// What is left for others, of kMemoryBytes.
  [[nodiscard]] std::uint64_t left() const {
    const auto reading = bank::ProcessPressure(total_bytes, {other.number()}).read();
    return reading ? reading->free_bytes : 0;
  }
};

/// As the governor reads it: with the pools of the cache in it as well.
class PoolsInMemory final : public bank::MemoryProvider {
 public:
  PoolsInMemory(const SharedMemory& memory, const device::HostDevice& pools)
      : other_(memory.total_bytes, {memory.other.number()}), pools_(pools) {}
  Result<device::MemoryReading> read() override {
    auto reading = other_.read();
    if (reading) reading->free_bytes -= std::min(reading->free_bytes, pools_.usage().live_pages * kVoiceBytes);
    return reading;
  }

 private:
  bank::ProcessPressure other_;
  const device::HostDevice& pools_;
};

std::string id_of(std::uint32_t number) { return std::string("npc/voice-").append(std::to_string(1000 + number)); }

/// The store, and what it must answer with.
class Library {
 public:
  Library() {
    for (std::uint32_t number = 0; number < kVoices; ++number) {
      std::vector<float> values(kVoiceBytes / sizeof(float));
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>((number * std::size_t{7919} + i * 31) % 65'521);
      }
      voice::VoiceRecord record;
      voice::Tensor& tensor = record.tensors.emplace_back();
      tensor.name.push_back('g');
      tensor.shape = {static_cast<std::int64_t>(values.size())};
      tensor.data.resize(kVoiceBytes);
      std::memcpy(tensor.data.data(), values.data(), kVoiceBytes);
      voices_.push_back(tensor.data);
      static_cast<void>(store.voices().put(id_of(number), std::move(record)));
    }
    store.set_latency(kLoadTime);
  }

  [[nodiscard]] bool is_whole(std::uint32_t number, const void* bytes) const {
    return std::memcmp(voices_[number].data(), bytes, kVoiceBytes) == 0;
  }

  store::ScriptedStore store;

 private:
  std::vector<std::vector<std::byte>> voices_;
};

enum class Answer { kWhole, kWrong, kFailed };

/// What became of one request.
struct Served {
  Answer answer = Answer::kFailed;
  std::chrono::nanoseconds wait{0};  ///< for a load; 0: it was there
};

/// A second of the service, when it had ended; in bytes.
struct Second {
  std::uint64_t budget = 0;
  std::uint64_t held = 0;
  std::uint64_t left = 0;  ///< by the second process
};

/// One of those that are compared.
class Service {
 public:
  Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  [[nodiscard]] virtual Served serve(std::uint32_t number) = 0;
  /// Once in each second, beside the requests.
  virtual void work(std::uint32_t /*second*/) {}
  [[nodiscard]] virtual std::uint64_t budget() = 0;
  [[nodiscard]] virtual std::uint64_t held() = 0;
  [[nodiscard]] virtual std::optional<bank::GovernorHealth> health() { return std::nullopt; }
};

std::unique_ptr<device::HostDevice> memory_of(std::uint64_t bytes) {
  device::HostDeviceOptions options;
  options.capacity_bytes = bytes;
  options.page_bytes = kVoiceBytes;
  return std::move(*device::HostDevice::create(options));
}

class BankService final : public Service {
 public:
  BankService(Library& library, const SharedMemory& memory, bool has_host_tier)
      : library_(library), device_(memory_of(kMemoryBytes)) {
    bank::BankOptions options;
    options.device.device = device_.get();
    if (has_host_tier) {
      host_ = memory_of(2 * kVoices * kVoiceBytes);
      options.host.device = host_.get();
      options.host.cache.budget_bytes = 2 * kVoices * kVoiceBytes;
    }
    bank_ = std::make_unique<bank::VoiceBank>(options, library.store);
    bank::GovernorOptions governor;
    governor.budget = settings();
    governor.clock = [this] { return Clock::time_point(std::chrono::seconds(second_ + 1)); };
    governor_ = std::move(*bank::Governor::create(bank_->device_tier().cache,
                                                  std::make_unique<PoolsInMemory>(memory, *device_), governor));
    governor_->set_warm(true);
  }

  [[nodiscard]] const char* name() const override { return host_ ? "bank with a host tier" : "bank"; }

  [[nodiscard]] Served serve(std::uint32_t number) override {
    const std::string id = id_of(number);
    Served served;
    bank::VoiceLease lease = bank_->find(id);
    if (!lease) {
      const Clock::time_point begin = Clock::now();
      Result<bank::VoiceLease> loaded = bank_->get(id, {.deadline = begin + std::chrono::seconds(30)});
      served.wait = Clock::now() - begin;
      if (!loaded) return served;
      lease = std::move(*loaded);
    }
    const bool good = lease.id() == id && lease.bytes() == kVoiceBytes &&
                      library_.is_whole(number, reinterpret_cast<const void*>(lease.address()));  // NOLINT: it is RAM
    served.answer = good ? Answer::kWhole : Answer::kWrong;
    return served;
  }

  void work(std::uint32_t second) override {
    second_ = second;
    governor_->tick();
    bank_->poll(Clock::now());
  }

  [[nodiscard]] std::uint64_t budget() override { return bank_->device_tier().cache.stats().budget_bytes; }
  [[nodiscard]] std::uint64_t held() override { return device_->usage().live_pages * kVoiceBytes; }
  [[nodiscard]] std::optional<bank::GovernorHealth> health() override { return governor_->health(); }

 private:
  Library& library_;
  std::unique_ptr<device::HostDevice> device_;
  std::unique_ptr<device::HostDevice> host_;
  std::unique_ptr<bank::VoiceBank> bank_;
  std::uint32_t second_ = 0;  // of the thread that calls work()
  std::unique_ptr<bank::Governor> governor_;
};

class DictionaryService final : public Service {
 public:
  explicit DictionaryService(Library& library) : library_(library) {}

  [[nodiscard]] const char* name() const override { return "LFU dictionary of 50"; }

  [[nodiscard]] Served serve(std::uint32_t number) override {
    const std::string id = id_of(number);
    Served served;
    LfuDictionary::Value value = voices_.find(id);
    if (!value) {
      const Clock::time_point begin = Clock::now();
      value = load(id);
      served.wait = Clock::now() - begin;
      if (!value) return served;
    }
    served.answer = library_.is_whole(number, value->data()) ? Answer::kWhole : Answer::kWrong;
    return served;
  }

  [[nodiscard]] std::uint64_t budget() override { return kRoom * kVoiceBytes; }
  [[nodiscard]] std::uint64_t held() override { return voices_.size() * kVoiceBytes; }

 private:
  LfuDictionary::Value load(const std::string& id) {
    auto load = library_.store.begin_load(id);
    if (!load) return nullptr;
    auto found = (*load)->pump(Clock::time_point::max());
    if (!found || !*found) return nullptr;
    auto value = std::make_shared<const std::vector<std::byte>>((*found)->record->find("g")->data);
    voices_.put(id, value);
    return value;
  }

  Library& library_;
  LfuDictionary voices_{kRoom};
};

struct Report {
  std::string name;
  std::vector<Served> requests;
  std::vector<Second> seconds;
  std::uint64_t loads = 0;
  std::optional<bank::GovernorHealth> health;
  bool pressure_failed = false;

  /// Of the requests of those seconds for which `counts` says so.
  template <typename Counts>
  [[nodiscard]] double hit_rate(Counts counts) const {
    std::size_t all = 0;
    std::size_t hits = 0;
    for (std::uint32_t second = 0; second < kSeconds; ++second) {
      if (!counts(seconds[second])) continue;
      const std::size_t end = first_of(second + 1, requests.size());
      for (std::size_t at = first_of(second, requests.size()); at < end; ++at, ++all) {
        hits += requests[at].wait.count() == 0 ? 1 : 0;
      }
    }
    return all == 0 ? 0 : 100.0 * static_cast<double>(hits) / static_cast<double>(all);
  }
  [[nodiscard]] std::size_t count(Answer answer) const {
    return static_cast<std::size_t>(
        std::count_if(requests.begin(), requests.end(), [&](const Served& s) { return s.answer == answer; }));
  }
  /// In microseconds, of the requests that waited.
  [[nodiscard]] double wait_us(double part) const {
    std::vector<std::int64_t> waits;
    for (const Served& served : requests) {
      if (served.wait.count() != 0) waits.push_back(served.wait.count());
    }
    if (waits.empty()) return 0;
    std::sort(waits.begin(), waits.end());
    return static_cast<double>(waits[static_cast<std::size_t>(part * static_cast<double>(waits.size() - 1))]) / 1000;
  }
  template <typename Counts>
  [[nodiscard]] std::size_t seconds_with(Counts counts) const {
    return static_cast<std::size_t>(std::count_if(seconds.begin(), seconds.end(), counts));
  }
};

Report run(Service& service, Library& library, const SharedMemory& memory, const std::vector<std::uint32_t>& trace) {
  Report report;
  report.name = service.name();
  report.requests.resize(trace.size());
  const std::uint64_t loads = library.store.begin_count();
  const auto each_second = [&](std::uint32_t second) {
    for (const Order& order : kOrders) {
      if (order.second != second) continue;
      if (!memory.other.hold(taken_by_other(order))) report.pressure_failed = true;
    }
    service.work(second);
  };
  play(
      trace.size(), [&](std::size_t at) { report.requests[at] = service.serve(trace[at]); }, each_second,
      [&](std::uint32_t) {
        report.seconds.push_back({service.budget(), service.held(), memory.left()});
      });
  report.loads = library.store.begin_count() - loads;
  report.health = service.health();
  return report;
}

/// The budget at the end of a second, in voices; roughly, as the kernel counts resident pages.
struct Expectation {
  std::uint32_t second;
  std::uint64_t least;
  std::uint64_t most;
  const char* what;
};
constexpr Expectation kExpected[] = {
    {39, 50, 50, "before the second process took memory"},
    {42, 12, 28, "two seconds after it took most of it"},
    {82, 0, 2, "two seconds after it took nearly all of it"},
    {125, 0, 2, "25 s after it gave it back: growth is slow"},
    {140, 50, 50, "40 s after it gave it back"},
    {222, 22, 38, "two seconds after it took a part again"},
    {299, 50, 50, "at the end"},
};

bool is_good(const Report& report) {
  bool good = !report.pressure_failed;
  if (!good) std::fprintf(stderr, "busy_service: the second process got no memory\n");
  if (report.count(Answer::kWhole) != report.requests.size()) {
    std::fprintf(stderr, "busy_service: %s: requests failed, or got wrong bytes\n", report.name.c_str());
    good = false;
  }
  if (!report.health) return good;
  for (const Expectation& expected : kExpected) {
    const std::uint64_t budget = report.seconds[expected.second].budget / kVoiceBytes;
    if (budget >= expected.least && budget <= expected.most) continue;
    std::fprintf(stderr, "busy_service: %s: budget for %" PRIu64 " voices %s, expected %" PRIu64 " to %" PRIu64 "\n",
                 report.name.c_str(), budget, expected.what, expected.least, expected.most);
    good = false;
  }
  return good;
}

std::string text(const char* form, double value) {
  char out[64];
  std::snprintf(out, sizeof out, form, value);
  return out;
}

std::string two(std::uint64_t first, const char* between, std::uint64_t second) {
  char out[64];
  std::snprintf(out, sizeof out, "%llu%s%llu", static_cast<unsigned long long>(first), between,
                static_cast<unsigned long long>(second));
  return out;
}

std::string budget_range(const Report& report) {
  const auto less = [](const Second& a, const Second& b) { return a.budget < b.budget; };
  const auto [least, most] = std::minmax_element(report.seconds.begin(), report.seconds.end(), less);
  return two(least->budget / kVoiceBytes, " to ", most->budget / kVoiceBytes);
}

void print(const std::vector<Report>& reports) {
  const auto row = [&reports](const char* what, auto value) {
    std::printf("| %s |", what);
    for (const Report& report : reports) std::printf(" %s |", value(report).c_str());
    std::printf("\n");
  };
  row("busy service", [](const Report& r) { return r.name; });
  std::printf("|---|");
  for (std::size_t i = 0; i < reports.size(); ++i) std::printf("---|");
  std::printf("\n");
  row("requests that failed / got a wrong byte",
      [](const Report& r) { return two(r.count(Answer::kFailed), " / ", r.count(Answer::kWrong)); });
  row("hit rate", [](const Report& r) { return text("%.1f %%", r.hit_rate([](const Second&) { return true; })); });
  row("hit rate in seconds with a budget of 50 voices", [](const Report& r) {
    return text("%.1f %%", r.hit_rate([](const Second& s) { return s.budget == kRoom * kVoiceBytes; }));
  });
  row("reads of the store", [](const Report& r) { return std::to_string(r.loads); });
  row("wait of a miss, median, us", [](const Report& r) { return text("%.0f", r.wait_us(0.5)); });
  row("wait of a miss, 99th percentile, us", [](const Report& r) { return text("%.0f", r.wait_us(0.99)); });
  row("budget, voices", budget_range);
  row("shrinks / grows of the budget",
      [](const Report& r) { return r.health ? two(r.health->shrinks, " / ", r.health->grows) : "-"; });
  row("seconds of 300 in which it held more than the second process had left",
      [](const Report& r) { return std::to_string(r.seconds_with([](const Second& s) { return s.held > s.left; })); });
}

int main_of(std::size_t requests) {
  Result<std::unique_ptr<SecondProcess>> other = SecondProcess::start();
  const Result<std::uint64_t> begun_with =
      other ? bank::resident_bytes_of((*other)->number()) : Result<std::uint64_t>(other.error());
  if (!begun_with) {
    std::fprintf(stderr, "busy_service: no second process: %s\n", begun_with.error().message.c_str());
    return 1;
  }
  const SharedMemory memory{**other, *begun_with + kMemoryBytes};
  const std::vector<std::uint32_t> trace = busy_trace(requests);
  Library library;
  std::vector<Report> reports;
  for (const bool has_host_tier : {false, true}) {
    BankService service(library, memory, has_host_tier);
    reports.push_back(run(service, library, memory, trace));
  }
  DictionaryService dictionary(library);
  reports.push_back(run(dictionary, library, memory, trace));
  std::printf("%zu requests in %u s of the service's time on %u threads; loads take %d us:\n\n", requests, kSeconds,
              kThreads, static_cast<int>(kLoadTime.count()));
  print(reports);
  bool good = true;
  for (const Report& report : reports) good = is_good(report) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace timbre::bench

int main(int argc, char** argv) {
  const std::size_t requests = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  if (argc > 2 || requests < timbre::bench::kSeconds) {
    std::fprintf(stderr, "usage: busy_service [REQUESTS]   at least %u\n", timbre::bench::kSeconds);
    return 2;
  }
  return timbre::bench::main_of(requests);
}
