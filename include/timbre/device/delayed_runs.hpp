// SPDX-License-Identifier: MIT
//
// DelayedRuns: the runs of pages that a DelayedDevice has handed out, and who used which of their bytes last. Plain
// bookkeeping, no lock, no thread.
//
// It finds, whatever the timing was: work on bytes of no run, work whose order with other work on the same bytes is
// left to chance, and runs freed before the caller has seen their last use pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "timbre/device/delayed_order.hpp"
#include "timbre/device/device.hpp"

namespace timbre::device {

/// How a caller broke the rules of a Device.
enum class ViolationKind : std::uint8_t {
  kNoSuchRun,     ///< work or free() for bytes that allocate() did not hand out, or not as one run
  kFreedInUse,    ///< free() before an event after the last use of the run was seen to pass
  kUseAfterFree,  ///< work was still waiting when its run was freed; it was not done
  kUnordered,     ///< two pieces of work on the same bytes, one of them writing, on streams that nothing orders
};

struct Violation {
  ViolationKind kind = ViolationKind::kNoSuchRun;
  std::string text;  ///< one line: which work, which bytes, which streams
};

class DelayedRuns {
 public:
  struct Bytes {
    Address begin = 0;
    std::size_t count = 0;
    bool writes = false;
  };
  struct Use {
    Bytes bytes;
    DelayedOrder::Point work;
  };
  struct Run {
    std::size_t page_count = 0;
    std::size_t byte_count = 0;
    std::uint64_t serial = 0;  // never repeats
    std::vector<Use> uses;     // those not seen to be over; beyond kUsesKept the finished ones are forgotten
    Positions last_use;
  };

  void add(Address run, std::size_t page_count, std::size_t byte_count) {
    runs_[run] = {page_count, byte_count, ++last_serial_, {}, {}};
  }

  /// The run that holds all of these bytes, or null.
  [[nodiscard]] Run* find(Address begin, std::size_t count) {
    auto after = runs_.upper_bound(begin);
    if (after == runs_.begin()) return nullptr;
    auto& [start, run] = *std::prev(after);
    const std::size_t offset = begin - start;
    return offset <= run.byte_count && count <= run.byte_count - offset ? &run : nullptr;
  }
  [[nodiscard]] bool is_live(Address begin, std::uint64_t serial) {
    const Run* run = find(begin, 0);
    return run != nullptr && run->serial == serial;
  }

  /// Notes a use of `run` by work that `order` has just counted in. Returns earlier work that it collides with.
  [[nodiscard]] std::optional<DelayedOrder::Point> use(Run& run, const Use& next, const DelayedOrder& order) {
    std::erase_if(run.uses, [&](const Use& earlier) { return order.is_seen(earlier.work); });
    if (run.uses.size() > kUsesKept) {
      std::erase_if(run.uses, [&](const Use& earlier) { return order.is_done(earlier.work); });
    }
    run.last_use.raise(next.work.stream, next.work.position);
    run.uses.push_back(next);
    for (const Use& earlier : run.uses) {
      const bool overlaps = earlier.bytes.begin < next.bytes.begin + next.bytes.count &&
                            next.bytes.begin < earlier.bytes.begin + earlier.bytes.count;
      if (overlaps && (earlier.bytes.writes || next.bytes.writes) && !order.is_before(earlier.work, next.work.stream)) {
        return earlier.work;
      }
    }
    return std::nullopt;
  }

  /// A use of the run that the caller has not seen to be over, if there is one.
  [[nodiscard]] static std::optional<DelayedOrder::Point> unseen_use(const Run& run, const DelayedOrder& order) {
    for (std::size_t i = 0; i < order.count(); ++i) {
      const DelayedOrder::Point last{i, run.last_use.of(i)};
      if (!order.is_seen(last)) return last;
    }
    return std::nullopt;
  }

  /// Takes the run that begins here out of the table; nothing when there is none of this length.
  [[nodiscard]] std::optional<Run> remove(Address begin, std::size_t page_count) {
    const auto found = runs_.find(begin);
    if (found == runs_.end() || found->second.page_count != page_count) return std::nullopt;
    Run run = std::move(found->second);
    runs_.erase(found);
    return run;
  }

  [[nodiscard]] const std::map<Address, Run>& all() const { return runs_; }

 private:
  static constexpr std::size_t kUsesKept = 256;

  std::map<Address, Run> runs_;
  std::uint64_t last_serial_ = 0;
};

}  // namespace timbre::device
