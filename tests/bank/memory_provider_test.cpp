// SPDX-License-Identifier: MIT
//
// Where readings come from. Folders of the kernel's are made up here; one test reads the real ones.
#include "bank/memory_provider.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bank/kernel_file.hpp"
#include "bank/process_pressure.hpp"
#include "bank/scripted_memory.hpp"
#include "bank/system_memory.hpp"
#include "temporary_folder.hpp"
#include "timbre/device/host_device.hpp"
#include "timbre/device/host_pages.hpp"

using namespace timbre::bank;  // NOLINT: a test
using timbre::Error;
using timbre::Status;
using timbre::device::MemoryReading;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

std::string mib(std::uint64_t count) { return std::to_string(count * kMiB) + "\n"; }

/// Folders as the kernel's, of a machine of 8,000 MiB with 6,000 MiB available.
class KernelTree {
 public:
  KernelTree() { proc("meminfo", "MemTotal:        8192000 kB\nMemFree:    99 kB\nMemAvailable:    6144000 kB\n"); }

  void proc(const std::string& path, const std::string& text) const { write("proc/" + path, text); }
  void groups(const std::string& text) const { proc("self/cgroup", text); }
  void cgroup(const std::string& path, const std::string& text) const { write("cgroup/" + path, text); }

  [[nodiscard]] timbre::Result<MemoryReading> read() const {
    return SystemMemory({folder_ / "proc", folder_ / "cgroup"}).read();
  }
  /// In MiB.
  void check(std::uint64_t free, std::uint64_t total) const {
    const auto reading = read();
    INFO((reading ? std::string() : reading.error().message));
    REQUIRE(reading);
    CHECK(reading->free_bytes / kMiB == free);
    CHECK(reading->total_bytes / kMiB == total);
  }
  [[nodiscard]] std::string proc_folder() const { return folder_ / "proc"; }

 private:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder_ / path.c_str();
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }

  timbre::test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a device's memory is told as the device tells it", "[bank][memory]") {
  auto device = timbre::device::HostDevice::create({.capacity_bytes = kMiB});
  REQUIRE(device);
  DeviceMemory memory(**device);
  const auto first = memory.read();
  REQUIRE(first);
  CHECK(first->free_bytes == kMiB);
  CHECK(first->total_bytes == kMiB);
  const auto run = (*device)->allocate(2);
  REQUIRE(run);
  CHECK(memory.read()->free_bytes == kMiB - 2 * (*device)->properties().page_bytes);
  (*device)->free(*run, 2);
  (*device)->script().readings.push(Error{Status::kIo, "lost"});
  CHECK(memory.read().error().message == "lost");
}

TEST_CASE("a scripted memory answers what was pushed, then what stands, and fails without a script", "[bank][memory]") {
  ScriptedMemory memory;
  CHECK(memory.read().error().status == Status::kIo);
  memory.set(MemoryReading{5, 10});
  memory.readings().push(MemoryReading{1, 10});
  memory.readings().push(Error{Status::kUnsupported, "no"});
  CHECK(memory.read()->free_bytes == 1);
  CHECK(memory.read().error().status == Status::kUnsupported);
  CHECK(memory.read()->free_bytes == 5);
  CHECK(memory.read()->free_bytes == 5);
}

TEST_CASE("numbers and lines of the kernel's files are read whatever stands around them", "[bank][memory]") {
  std::uint64_t number = 7;
  CHECK(read_number("  42 kB", number));
  CHECK(number == 42);
  CHECK(read_number("\t18446744073709551616\n", number));  // 2^64
  CHECK(number == UINT64_MAX);
  for (const char* text : {"", "  ", "max", "-1", "4x"}) CHECK_FALSE(read_number(text, number));
  CHECK(line_of("MemTotalX: 1\nMemTotal: 2\n", "MemTotal") == " 2");
  CHECK(line_of("inactive_file 5", "inactive_file") == "5");
  CHECK(line_of("total_inactive_file 5\n", "inactive_file").empty());
  CHECK(line_of("inactive_file", "inactive_file").empty());
}

TEST_CASE("without control groups the machine's memory counts", "[bank][memory]") {
  const KernelTree tree;
  tree.check(6000, 8000);
  tree.groups("0::/\n");
  tree.check(6000, 8000);
  tree.groups("4:memory:/\n2:cpu,cpuacct:/x\n0::/nowhere\nnonsense\n");
  tree.check(6000, 8000);
}

TEST_CASE("a machine that does not tell is an error with the file's name", "[bank][memory]") {
  const KernelTree tree;
  tree.proc("meminfo", "MemTotal: 100 kB\nMemFree: 5 kB\n");
  CHECK(tree.read().error().status == Status::kFormat);
  CHECK_THAT(tree.read().error().message, Catch::Matchers::Contains("meminfo: no number for 'MemAvailable'"));
  tree.proc("meminfo", "MemTotal: many kB\nMemAvailable: 5 kB\n");
  CHECK_THAT(tree.read().error().message, Catch::Matchers::Contains("'MemTotal'"));
  tree.proc("meminfo", std::string(70'000, 'x'));
  CHECK(tree.read().error().status == Status::kFormat);
  const auto nowhere = SystemMemory({"nowhere", "nowhere"}).read();
  CHECK(nowhere.error().status == Status::kNotFound);
  CHECK_THAT(nowhere.error().message, Catch::Matchers::Contains("nowhere/meminfo"));
  // As many KiB as fit are more bytes than fit.
  tree.proc("meminfo", "MemTotal: 18446744073709551615 kB\nMemAvailable: 5 kB\n");
  CHECK(tree.read()->total_bytes == UINT64_MAX);
}

TEST_CASE("version 2: the group's limit and what it uses, with files that nobody needs taken as free",
          "[bank][memory][cgroup]") {
  const KernelTree tree;
  tree.groups("0::/service\n");
  tree.cgroup("service/memory.max", mib(1000));
  tree.cgroup("service/memory.current", mib(700));
  tree.check(300, 1000);
  tree.cgroup("service/memory.stat", "anon 5\nfile 9\ninactive_anon 77\ninactive_file " + mib(200) + "active_file 1\n");
  tree.check(500, 1000);
  tree.cgroup("service/memory.high", mib(900));  // the process is slowed down above it
  tree.check(400, 900);
  tree.cgroup("service/memory.high", "max\n");
  tree.check(500, 1000);
  tree.cgroup("service/memory.current", mib(1500));  // above the limit: it was lowered
  tree.check(0, 1000);
  tree.cgroup("service/memory.current", mib(100));  // less than the file pages: read at another moment
  tree.check(1000, 1000);
  tree.cgroup("service/memory.max", "max\n");
  tree.check(6000, 8000);
  tree.cgroup("service/memory.max", mib(9000));  // more than there is
  tree.check(6000, 8000);
  tree.cgroup("service/memory.max", "0\n");
  tree.check(0, 0);
}

TEST_CASE("version 2: the machine may have less than the group is allowed", "[bank][memory][cgroup]") {
  const KernelTree tree;
  tree.groups("0::/service\n");
  tree.cgroup("service/memory.max", mib(7900));
  tree.cgroup("service/memory.current", mib(100));
  tree.check(6000, 7900);
}

TEST_CASE("version 2: the tightest group from the process up to the root counts", "[bank][memory][cgroup]") {
  const KernelTree tree;
  tree.groups("0::/slice/service/worker\n");
  tree.cgroup("slice/memory.max", mib(5000));
  tree.cgroup("slice/memory.current", mib(4800));  // others use most of it
  tree.cgroup("slice/service/memory.max", mib(1000));
  tree.cgroup("slice/service/memory.current", mib(100));
  tree.cgroup("slice/service/worker/memory.max", "max\n");
  tree.check(200, 1000);
  tree.cgroup("slice/service/worker/memory.max", mib(150));
  tree.cgroup("slice/service/worker/memory.current", mib(90));
  tree.check(60, 150);
}

TEST_CASE("version 2: a container sees its own group as the root, under any path", "[bank][memory][cgroup]") {
  const KernelTree tree;
  tree.cgroup("memory.max", mib(1000));
  tree.cgroup("memory.current", mib(100));
  const std::string path = GENERATE("/", "/outside/that/is/not/there", "/../..", "");
  tree.groups("0::" + path + "\n");
  tree.check(900, 1000);
}

TEST_CASE("version 1: the group's limit, with its own names", "[bank][memory][cgroup]") {
  const KernelTree tree;
  tree.groups("12:cpu,cpuacct:/a\n11:hugetlb,memory:/docker/3f\n0::/elsewhere\n");
  tree.cgroup("memory/docker/3f/memory.limit_in_bytes", mib(1000));
  tree.cgroup("memory/docker/3f/memory.usage_in_bytes", mib(700));
  tree.cgroup("memory/docker/3f/memory.stat", "inactive_file " + mib(10) + "total_inactive_file " + mib(50));
  tree.check(350, 1000);
  tree.cgroup("memory/memory.limit_in_bytes", "9223372036854771712\n");  // what no limit looks like
  tree.cgroup("memory/memory.usage_in_bytes", mib(7000));
  tree.check(350, 1000);
  tree.cgroup("memory/docker/memory.limit_in_bytes", mib(2000));
  tree.cgroup("memory/docker/memory.usage_in_bytes", mib(1900));
  tree.check(100, 1000);
}

TEST_CASE("both versions at once: the tighter one counts", "[bank][memory][cgroup]") {
  const KernelTree tree;
  tree.groups("4:memory:/old\n0::/new\n");
  tree.cgroup("memory/old/memory.limit_in_bytes", mib(1000));
  tree.cgroup("memory/old/memory.usage_in_bytes", mib(100));
  tree.cgroup("unified/cgroup.controllers", "memory pids\n");
  tree.cgroup("unified/new/memory.max", mib(1500));
  tree.cgroup("unified/new/memory.current", mib(1400));
  tree.cgroup("new/memory.max", mib(1));  // not where version 2 lies
  tree.check(100, 1000);
}

TEST_CASE("a limit that is no number is an error with the file's name", "[bank][memory][cgroup]") {
  const KernelTree tree;
  tree.groups("0::/service\n");
  tree.cgroup("service/memory.max", "plenty\n");
  const auto reading = tree.read();
  CHECK(reading.error().status == Status::kFormat);
  CHECK_THAT(reading.error().message,
             Catch::Matchers::EndsWith("service/memory.max: expected a number of bytes or 'max', found 'plenty'"));
}

TEST_CASE("what processes have resident is not free", "[bank][memory]") {
  const KernelTree tree;
  const std::uint64_t page = timbre::device::HostPages::page_bytes();
  tree.proc("7/statm", "9000 100 5 1 0 50 0\n");
  tree.proc("8/statm", "9000 23 5 1 0 50 0\n");
  CHECK(*resident_bytes_of(7, tree.proc_folder()) == 100 * page);
  CHECK(resident_bytes_of(9, tree.proc_folder()).error().status == Status::kNotFound);
  const auto reading = ProcessPressure(200 * page, {7, 8, 9}, tree.proc_folder()).read();
  REQUIRE(reading);
  CHECK(reading->total_bytes == 200 * page);
  CHECK(reading->free_bytes == 77 * page);  // 9 has ended
  CHECK(ProcessPressure(99 * page, {7}, tree.proc_folder()).read()->free_bytes == 0);
  tree.proc("8/statm", "9000\n");
  const auto garbage = ProcessPressure(200 * page, {8}, tree.proc_folder()).read();
  CHECK(garbage.error().status == Status::kFormat);
  CHECK_THAT(garbage.error().message, Catch::Matchers::EndsWith("8/statm: expected numbers of pages, found '9000'"));
}

TEST_CASE("this process and this machine tell what is likely", "[bank][memory]") {
  const auto before = resident_bytes_of(getpid());
  REQUIRE(before);
  CHECK(*before > 100'000);
  auto pages = timbre::device::HostPages::reserve(64 * kMiB);
  REQUIRE(pages);
  REQUIRE(pages->commit(0, 64 * kMiB));
  std::memset(pages->data(), 1, 64 * kMiB);
  CHECK(*resident_bytes_of(getpid()) >= *before + 60 * kMiB);
  const auto machine = SystemMemory().read();
  REQUIRE(machine);
  CHECK(machine->total_bytes >= 64 * kMiB);
  CHECK(machine->free_bytes > 0);
  CHECK(machine->free_bytes <= machine->total_bytes);
}
