// SPDX-License-Identifier: MIT
//
// A second process that really takes and returns memory, and this one's own memory after a trim.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bank/governor.hpp"
#include "bank/process_pressure.hpp"
#include "bank/system_memory.hpp"
#include "cache/short_form.hpp"
#include "governor_fixture.hpp"

using namespace timbre::bank;        // NOLINT: a test
using namespace timbre::bank::test;  // NOLINT: a test
using timbre::cache::BudgetReason;
using timbre::cache::Lease;
using timbre::cache::test::id_of;
using timbre::cache::test::is_whole;
using timbre::cache::test::kMiB;
using timbre::cache::test::kRow;

namespace {

/// A process that has as much memory resident as it is told, beside what it began with. It calls the system only, as
/// befits the child of a process that may have had threads.
class SecondProcess {
 public:
  SecondProcess() {
    std::array<int, 2> orders{};
    std::array<int, 2> answers{};
    REQUIRE(pipe(orders.data()) == 0);
    REQUIRE(pipe(answers.data()) == 0);
    process_ = fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      close(orders[1]);
      close(answers[0]);
      serve(orders[0], answers[1]);
    }
    close(orders[0]);
    close(answers[1]);
    orders_ = orders[1];
    answers_ = answers[0];
    hold(0);  // it runs, and has what it needs
  }
  ~SecondProcess() { end(); }
  SecondProcess(const SecondProcess&) = delete;
  SecondProcess& operator=(const SecondProcess&) = delete;

  [[nodiscard]] std::int64_t number() const { return process_; }

  /// Returns when the memory is resident, or gone.
  void hold(std::uint64_t bytes) const {
    REQUIRE(write(orders_, &bytes, sizeof bytes) == sizeof bytes);
    std::uint64_t answer = 0;
    REQUIRE(read(answers_, &answer, sizeof answer) == sizeof answer);
    REQUIRE(answer == bytes);
  }

  /// It ends when nobody gives orders any more.
  void end() {
    if (process_ <= 0) return;
    close(orders_);
    close(answers_);
    waitpid(std::exchange(process_, 0), nullptr, 0);
  }

 private:
  /// The plain system calls, which a sanitizer adds no memory of its own to.
  [[noreturn]] static void serve(int orders, int answers) {
    long held = 0;  // an address
    std::uint64_t held_bytes = 0;
    std::uint64_t bytes = 0;
    while (read(orders, &bytes, sizeof bytes) == sizeof bytes) {
      if (held_bytes > 0) syscall(SYS_munmap, held, held_bytes);
      if (bytes > 0) {
        held = syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
                       std::int64_t{0});
        if (held == -1) _exit(1);
      }
      held_bytes = bytes;
      if (write(answers, &bytes, sizeof bytes) != sizeof bytes) _exit(1);
    }
    _exit(0);
  }

  pid_t process_ = 0;
  int orders_ = -1;
  int answers_ = -1;
};

/// A memory with the second process and the cache in it: exact also where this process's own resident memory is not,
/// under the sanitizers.
class SharedMemory final : public MemoryProvider {
 public:
  SharedMemory(std::uint64_t total_bytes, std::int64_t process, const timbre::device::HostDevice& pools)
      : other_(total_bytes, {process}), pools_(pools) {}
  timbre::Result<timbre::device::MemoryReading> read() override {
    auto reading = other_.read();
    if (reading) reading->free_bytes -= std::min(reading->free_bytes, pools_.usage().live_pages * kUnit);
    return reading;
  }

 private:
  ProcessPressure other_;
  const timbre::device::HostDevice& pools_;
};

}  // namespace

TEST_CASE("the cache makes room for a second process within two seconds, and takes it back slowly when that ends",
          "[bank][governor][process]") {
  // A memory of 1,024 units; in the long form these are 1 GiB.
  const std::uint64_t unit = timbre::cache::long_test("KiB in a unit of memory", 1024, 256) * 1024;
  SecondProcess other;
  const std::uint64_t total = *resident_bytes_of(other.number()) + 1024 * unit;  // beside what it has already
  auto pools = timbre::cache::test::host(total);
  auto provider = std::make_unique<SharedMemory>(total, other.number(), *pools);
  MemoryProvider& memory = *provider;
  Governed tier(plain(100 * unit, unit), std::move(provider), std::move(pools));
  tier.tick();
  CHECK(tier.budget() == 100 * unit);
  tier.load(0, 100, unit);
  std::vector<Lease> leases;
  for (std::uint64_t number = 0; number < 10; ++number) leases.push_back(tier.cache.lookup(id_of(number)));
  CHECK(tier.held() == 100 * unit);

  other.hold(900 * unit);  // 24 units are left, 60 with what the cache has to give
  tier.ticks(2);
  CHECK(tier.held() <= 62 * unit);  // the kernel counts resident pages roughly
  CHECK(tier.held() >= 50 * unit);
  CHECK(memory.read()->free_bytes >= 60 * unit);
  CHECK(tier.reason() != BudgetReason::kLeases);

  other.hold(1024 * unit);  // nothing is left: all goes but what is in use
  tier.ticks(2);
  CHECK(tier.held() == 10 * unit);
  CHECK(tier.governor->health().leased_bytes == 10 * unit);
  CHECK(tier.reason() == BudgetReason::kLeases);
  for (std::uint64_t number = 0; number < 10; ++number) CHECK(is_whole(*tier.device, leases[number], number));
  tier.load(500, 5, unit);  // served all the same

  const bool ends = GENERATE(false, true);
  ends ? other.end() : other.hold(0);
  tier.ticks(30);
  CHECK(tier.budget() == 10 * unit);
  std::uint64_t before = tier.budget();
  for (std::uint64_t round = 0; round < 8; ++round) {
    tier.tick();
    CHECK(tier.budget() <= before + total / 64);
    before = tier.budget();
    tier.load(1000 + round * 100, 30, unit);
    CHECK(tier.held() <= before);
  }
  CHECK(tier.budget() == 100 * unit);
  CHECK(tier.held() == 100 * unit);
}

TEST_CASE("after a trim this process has less memory resident", "[bank][governor][process]") {
  Governed tier(plain(24 * kMiB), std::make_unique<SystemMemory>());
  tier.tick();
  REQUIRE(tier.budget() == 24 * kMiB);  // on any machine that runs this test
  tier.load(0, 16, kMiB);
  for (std::uint64_t number = 0; number < 5000; ++number) {
    REQUIRE(timbre::cache::test::load(tier.cache, *tier.device, 100'000 + number, 1, kRow));
  }
  CHECK(tier.held() >= 22 * kMiB);
  const std::uint64_t before = *resident_bytes_of(getpid());
  CHECK(tier.governor->trim(16 * kMiB) >= 16 * kMiB);
  const std::uint64_t after = *resident_bytes_of(getpid());
  CHECK(after + 15 * kMiB <= before);
  // What is left is good.
  for (const auto& entry : tier.cache.coldest(timbre::cache::Pool::kRows, SIZE_MAX)) {
    const Lease lease = tier.cache.lookup(entry.id);
    CHECK(lease.version() == entry.version);
    CHECK(is_whole(*tier.device, lease, lease.version().checksum));
  }
}

TEST_CASE("with the processor as the device one tier of RAM is sized by the system's memory", "[bank][governor]") {
  const auto machine = SystemMemory().read();
  REQUIRE(machine);
  Governed tier(timbre::cache::BudgetSettings{}, std::make_unique<SystemMemory>());
  tier.tick();
  CHECK(tier.budget() <= machine->total_bytes / 2);
  const GovernorHealth health = tier.governor->health();
  CHECK(health.reading->total_bytes == machine->total_bytes);
  CHECK(health.failed_readings == 0);
  CHECK(health.headroom_bytes == std::max(512 * kMiB, machine->total_bytes / 20));
}
