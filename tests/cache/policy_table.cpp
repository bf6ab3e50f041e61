// SPDX-License-Identifier: MIT
//
// The table of docs/cache-policies.md: every policy on every workload, and what no policy can exceed.
//
//   timbre_policy_table --write FILE   computes all rows and puts them between the markers in FILE
//   timbre_policy_table --check FILE   computes the short rows (the smaller traces) and looks for each in FILE
//
// The same rows come out on every machine: requests are recorded or made by integers, and what policies compute in
// floating point is rounded as IEEE 754 says.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "cache/ceiling.hpp"
#include "cache/simulated_entries.hpp"
#include "cache/traces.hpp"
#include "cache/workloads.hpp"

namespace timbre::cache {
namespace {

using Requests = std::vector<Request>;
constexpr char kBegin[] = "<!-- policy table: scripts/policy-table writes what follows -->\n";
constexpr char kEnd[] = "<!-- end of the policy table -->\n";
constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
constexpr std::size_t kMillion = 1'000'000;

struct Workload {
  const char* name;
  std::function<Requests()> make;
  std::vector<std::uint64_t> capacities;  // in entries, or in bytes where requests have sizes
  bool sized = false;
  bool apart = false;  // a quarter of the capacity for entries of 1,280 bytes, the rest for the large ones
  bool in_short = false;
};

Requests trace(const char* name) {
  return read_key_trace(std::string(TIMBRE_TRACE_FOLDER) + name + ".trace.xz", kMillion);
}

std::vector<Workload> workloads() {
  const std::vector<std::uint64_t> usual = {1000, 10'000};
  return {
      {"product pages (web07)", [] { return trace("web07"); }, {204, 2048}, false, false, true},
      {"nightly job (orm-night, first million)", [] { return trace("orm-night"); }, {400, 1000, 4000}},
      {"Zipf", [] { return zipf_requests(kMillion); }, {200, 1000, 10'000}},
      {"Zipf and scans", [] { return scan_requests(kMillion); }, usual},
      {"Zipf with drift", [] { return drift_requests(kMillion); }, usual},
      {"sessions", [] { return session_requests(kMillion); }, {200, 1000, 10'000}},
      {"flash crowd", [] { return flash_requests(kMillion); }, usual},
      {"one-hit flood", [] { return flood_requests(kMillion); }, usual},
      {"loop of 11,000 keys", [] { return loop_requests(kMillion); }, usual},
      {"uniform", [] { return uniform_requests(kMillion); }, usual},
      {"objects with sizes (adapt_size)",
       [] { return read_sized_trace(TIMBRE_TRACE_FOLDER "adapt_size.trace.xz"); },
       {4 * kMib, 32 * kMib},
       true,
       false,
       true},
      {"mixed sizes, one pool", [] { return mixed_requests(kMillion); }, {512 * kMib, 2048 * kMib}, true},
      {"mixed sizes, two pools", [] { return mixed_requests(kMillion); }, {512 * kMib, 2048 * kMib}, true, true},
  };
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

/// 1234567 as 1,234,567.
std::string grouped(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

/// Ends a row with one more cell: the rate and, with sizes, that of bytes.
void add_cell(std::string& line, const HitRate& rate, bool sized) {
  line.append(" ").append(number(rate.percent()));
  if (sized) line.append(" / ").append(number(rate.byte_percent()));
  line += " |";
}

HitRate run(PolicyKind kind, std::uint64_t capacity, const Requests& requests, bool apart) {
  SimulatedCache all(kind, capacity);
  SimulatedCache rows(kind, capacity / 4);
  SimulatedCache blobs(kind, capacity - capacity / 4);
  HitRate rate;
  for (const Request& request : requests) {
    SimulatedCache& pool = !apart ? all : request.weight > 1280 ? blobs : rows;
    rate.count(pool.request(request.key, request.weight), request.weight);
  }
  return rate;
}

std::string row(const Workload& workload, std::uint64_t capacity, const Requests& requests) {
  std::string line = "| ";
  line.append(workload.name).append(" | ").append(grouped(workload.sized ? capacity / kMib : capacity));
  line.append(workload.sized ? " MiB |" : " |");
  for (const PolicyKind kind :
       {PolicyKind::kLru, PolicyKind::kLfu, PolicyKind::kS3Fifo, PolicyKind::kGdsf, PolicyKind::kAuto}) {
    add_cell(line, run(kind, capacity, requests, workload.apart), workload.sized);
  }
  add_cell(line, workload.sized ? sized_ceiling(requests, capacity) : belady(requests, capacity), workload.sized);
  line += '\n';
  return line;
}

std::vector<std::string> rows(bool all) {
  std::vector<std::string> lines;
  for (const Workload& workload : workloads()) {
    if (!all && !workload.in_short) continue;
    const Requests requests = workload.make();
    for (const std::uint64_t capacity : workload.capacities) lines.push_back(row(workload, capacity, requests));
  }
  return lines;
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return text;
}

void write_table(const std::string& path) {
  std::string text = read(path);
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    throw std::runtime_error(path + ": the markers of the table are missing");
  }
  std::string table =
      "| workload | capacity | LRU | LFU, aged | S3-FIFO | GDSF | auto | ceiling |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const std::string& line : rows(true)) table += line;
  const std::size_t first = begin + sizeof kBegin - 1;
  text.replace(first, end - first, table);
  std::ofstream(path, std::ios::binary) << text;
}

int check_table(const std::string& path) {
  const std::string text = read(path);
  int missing = 0;
  for (const std::string& line : rows(false)) {
    if (text.find(line) != std::string::npos) continue;
    std::cout << path << ": this row is not there, run scripts/policy-table:\n" << line;
    ++missing;
  }
  return missing == 0 ? 0 : 1;
}

}  // namespace
}  // namespace timbre::cache

int main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  try {
    if (mode == "--check") return timbre::cache::check_table(argv[2]);
    if (mode == "--write") {
      timbre::cache::write_table(argv[2]);
      return 0;
    }
    std::cerr << "usage: timbre_policy_table --write FILE | --check FILE\n";
  } catch (const std::exception& failure) {
    std::cerr << "error: " << failure.what() << '\n';
  }
  return 1;
}
