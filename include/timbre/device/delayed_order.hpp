// SPDX-License-Identifier: MIT
//
// DelayedOrder: what DelayedDevice knows about the order of the work it was given. Plain bookkeeping, no lock, no
// thread.
//
// Each piece of work has a position in its stream: 1, 2, 3, ... An event is the position of its own record. From the
// events that streams wait for, and those that the caller has seen pass, follows which work is known to be over: as
// with vector clocks, one position per stream says it all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "timbre/device/device.hpp"

namespace timbre::device {

/// A position in each stream: all work up to there.
class Positions {
 public:
  [[nodiscard]] std::uint64_t of(std::size_t stream) const { return stream < at_.size() ? at_[stream] : 0; }
  void raise(std::size_t stream, std::uint64_t position) {
    if (at_.size() <= stream) at_.resize(stream + 1);
    at_[stream] = std::max(at_[stream], position);
  }
  void raise(const Positions& other) {
    for (std::size_t i = 0; i < other.at_.size(); ++i) raise(i, other.at_[i]);
  }
  [[nodiscard]] bool empty() const { return at_.empty(); }

 private:
  std::vector<std::uint64_t> at_;
};

/// Streams are counted from 0 in the order of their first use; at most 65,536 of them.
class DelayedOrder {
 public:
  struct Point {
    std::size_t stream = 0;
    std::uint64_t position = 0;
  };

  /// The number of a stream, given to it now if it is new.
  [[nodiscard]] std::size_t index_of(Stream stream) {
    const auto [found, is_new] = indices_.emplace(stream, streams_.size());
    if (is_new) streams_.emplace_back().handle = stream;
    return found->second;
  }
  [[nodiscard]] std::size_t count() const { return streams_.size(); }
  [[nodiscard]] Stream handle(std::size_t stream) const { return streams_[stream].handle; }

  /// Counts a piece of work in.
  void give(std::size_t stream) { ++streams_[stream].given; }
  /// The stream's next piece of work is over.
  void finish(std::size_t stream) { ++streams_[stream].done; }
  [[nodiscard]] bool is_idle(std::size_t stream) const { return streams_[stream].given == streams_[stream].done; }

  [[nodiscard]] Point last_given(std::size_t stream) const { return {stream, streams_[stream].given}; }

  /// The event of the last work given, which is its record.
  [[nodiscard]] Event record(std::size_t stream) {
    const std::uint64_t position = streams_[stream].given;
    const Positions& known = streams_[stream].known;
    if (!known.empty()) streams_[stream].recorded.emplace_back(position, known);
    return static_cast<Event>(position << kStreamBits | stream);
  }
  [[nodiscard]] static Point point(Event event) {
    const auto number = static_cast<std::uint64_t>(event);
    return {static_cast<std::size_t>(number & ((std::uint64_t{1} << kStreamBits) - 1)), number >> kStreamBits};
  }
  /// Whether record() ever returned such a number, or it is kPassed.
  [[nodiscard]] bool exists(Event event) const {
    const Point at = point(event);
    return event == Event::kPassed || (at.stream < streams_.size() && at.position <= streams_[at.stream].given);
  }
  [[nodiscard]] bool is_done(Event event) const {
    const Point at = point(event);
    return event == Event::kPassed || (at.stream < streams_.size() && at.position <= streams_[at.stream].done);
  }

  /// The stream goes on only after the event.
  void order_after(std::size_t stream, Event event) {
    const Point at = point(event);
    Positions& known = streams_[stream].known;
    known.raise(at.stream, at.position);
    const auto& recorded = streams_[at.stream].recorded;
    const auto after = first_after(recorded, at.position);
    if (after != recorded.begin()) known.raise(Positions(std::prev(after)->second));
  }

  /// The caller was told that the event has passed, and so all that came before it.
  void see(Event event) {
    if (event == Event::kPassed) return;
    const Point at = point(event);
    seen_.raise(at.stream, at.position);
    auto& recorded = streams_[at.stream].recorded;
    const auto after = first_after(recorded, at.position);
    if (after == recorded.begin()) return;
    seen_.raise(std::prev(after)->second);
    recorded.erase(recorded.begin(), after);
  }
  void see_all_done() {
    for (std::size_t i = 0; i < streams_.size(); ++i) seen_.raise(i, streams_[i].done);
  }

  [[nodiscard]] bool is_seen(Point work) const { return work.position <= seen_.of(work.stream); }
  [[nodiscard]] bool is_done(Point work) const { return work.position <= streams_[work.stream].done; }
  /// Whether `work` is over before whatever `stream` is given next begins, by order and not by chance.
  [[nodiscard]] bool is_before(Point work, std::size_t stream) const {
    return work.stream == stream || is_seen(work) || work.position <= streams_[stream].known.of(work.stream);
  }

 private:
  static constexpr unsigned kStreamBits = 16;
  using Recorded = std::deque<std::pair<std::uint64_t, Positions>>;

  struct StreamState {
    Stream handle = Stream::kDefault;
    std::uint64_t given = 0;
    std::uint64_t done = 0;
    Positions known;    // of other streams, from order_after()
    Recorded recorded;  // events not seen yet, with what the stream knew then
  };

  static Recorded::const_iterator first_after(const Recorded& recorded, std::uint64_t position) {
    return std::partition_point(recorded.begin(), recorded.end(),
                                [position](const auto& entry) { return entry.first <= position; });
  }

  std::map<Stream, std::size_t> indices_;
  std::vector<StreamState> streams_;
  Positions seen_;
};

}  // namespace timbre::device
