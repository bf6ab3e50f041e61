// SPDX-License-Identifier: MIT
//
// UseSketch: which voices are used most, from a sample of the uses, with older uses fading.
//
// One use in 16, drawn at random by each thread for itself, is counted: in a count-min sketch of 4-bit counters (16 to
// a word of 8 bytes), and in a list of the kTop ids that were used most. An id enters the list when the sketch says
// more of it than the list of its last one. Sketch and list are halved after as many counted uses as the sketch has
// counters.
//
// Invariants
//   * A use that is not drawn writes nothing but the calling thread's own counter.
//   * Counting neither allocates nor waits; where two threads count at once, one of the uses may be lost.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "timbre/cache/entry_table.hpp"

namespace timbre::bank {

/// Thread safety: all members from any thread.
class UseSketch {
 public:
  static constexpr std::size_t kTop = 256;
  static constexpr std::uint32_t kOneIn = 16;

  /// @param voices  about how many voices there are: the sketch has four counters for each.
  explicit UseSketch(std::size_t voices);

  /// A use of this id.
  void use(std::string_view id) noexcept {
    if (draw()) count(id);
  }

  /// A use that is drawn for sure.
  void count(std::string_view id) noexcept;

  /// The `limit` ids that were used most, most used first; at most kTop.
  [[nodiscard]] std::vector<std::string> top(std::size_t limit) const;
  /// The same, with how often each was drawn, less what has faded.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint32_t>> counts(std::size_t limit) const;

  /// As if this id had been drawn `count` times.
  void seed(std::string_view id, std::uint32_t count) noexcept;

  /// About how often an id was drawn lately, 0..15.
  [[nodiscard]] std::uint32_t estimate(std::string_view id) const noexcept;

 private:
  static constexpr std::size_t kRows = 4;
  static constexpr std::uint64_t kCounter = 15;  // a 4-bit counter's largest value, and its mask

  struct Candidate {
    std::uint64_t hash = 0;
    std::uint32_t count = 0;
    std::uint16_t id_bytes = 0;
    std::array<char, cache::kMaxIdBytes> id;
  };

  static bool draw() noexcept;
  [[nodiscard]] std::size_t counter_of(std::uint64_t hash, std::size_t row) const noexcept;
  [[nodiscard]] std::uint32_t estimate_of(std::uint64_t hash) const noexcept;
  std::uint32_t add(std::uint64_t hash) noexcept;
  void offer(std::string_view id, std::uint64_t hash, std::uint32_t estimated) noexcept;
  void halve() noexcept;

  std::size_t counter_mask_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> words_;  // NOLINT: an array whose size is told at run time
  std::atomic<std::uint64_t> counted_{0};                // uses since the last halving
  std::atomic<std::uint32_t> entry_price_{0};            // what an id outside the list must have to enter it

  // What is below belongs to whoever has set it: an atomic flag and no mutex, as hits come here.
  mutable std::atomic_flag list_taken_;
  std::unique_ptr<Candidate[]> candidates_;   // NOLINT: too large for the object
  std::array<std::uint64_t, kTop> hashes_{};  // theirs, together, for the search
  std::size_t candidate_count_ = 0;
};

}  // namespace timbre::bank
