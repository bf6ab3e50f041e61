// SPDX-License-Identifier: MIT
//
// make_policy: the one place that knows every policy by its kind.
#pragma once

#include <memory>

#include "timbre/cache/auto_policy.hpp"
#include "timbre/cache/gdsf.hpp"
#include "timbre/cache/lfu.hpp"
#include "timbre/cache/lru.hpp"
#include "timbre/cache/policy.hpp"
#include "timbre/cache/s3_fifo.hpp"

namespace timbre::cache {

/// A policy over the entries of one pool, which must outlive it. Throws std::bad_alloc.
inline std::unique_ptr<Policy> make_policy(PolicyKind kind, PolicyEntries& entries) {
  switch (kind) {
    case PolicyKind::kLru:
      return std::make_unique<Lru>(entries);
    case PolicyKind::kLfu:
      return std::make_unique<Lfu>(entries);
    case PolicyKind::kS3Fifo:
      return std::make_unique<S3Fifo>(entries);
    case PolicyKind::kGdsf:
      return std::make_unique<Gdsf>(entries);
    case PolicyKind::kAuto:
      break;
  }
  return std::make_unique<AutoPolicy>(entries);
}

}  // namespace timbre::cache
