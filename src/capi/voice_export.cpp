// SPDX-License-Identifier: MIT
//
// c/voice.h: export by DLPack.
//
// Invariants
//   * An export holds a lease of its own, through which its bytes stay, whoever else lets go.
//   * READ_ONLY is a request that consumers may ignore: the row is summed up when it goes out and when it comes back,
//     and one that was written is used no more.
#include <array>

#include "capi/arguments.hpp"
#include "capi/dlpack.hpp"
#include "capi/lease_book.hpp"
#include "capi/voice_arguments.hpp"
#include "timbre/c/voice.h"

#define XXH_INLINE_ALL  // header-only: no library to load
#include <xxhash.h>

namespace timbre::capi {
namespace {

struct Export {
  dlpack::ManagedTensor managed{};
  std::array<std::int64_t, 4> shape{};
  std::array<std::int64_t, 4> strides{};
  timbre_lease lease{};
  std::uint64_t sum = 0;  // of the whole row when it went out
};

std::uint64_t sum_of(const bank::VoiceLease& lease) {
  return XXH3_64bits(reinterpret_cast<const void*>(lease.address()), lease.bytes());
}

dlpack::DataType type_of(voice::DType dtype) {
  switch (dtype) {
    case voice::DType::kF16:
      return {dlpack::TypeCode::kFloat, 16, 1};
    case voice::DType::kBF16:
      return {dlpack::TypeCode::kBfloat, 16, 1};
    case voice::DType::kI32:
      return {dlpack::TypeCode::kInt, 32, 1};
    case voice::DType::kI64:
      return {dlpack::TypeCode::kInt, 64, 1};
    default:
      return {dlpack::TypeCode::kFloat, 32, 1};
  }
}

/// On any thread, at any time, perhaps after the engine has gone.
void end_export(dlpack::ManagedTensor* managed) {
  static_cast<void>(guard([&]() -> Result<void> {
    const std::unique_ptr<Export> ended(static_cast<Export*>(managed->manager));
    Result<bank::VoiceLease> lease = LeaseBook::take(&ended->lease);
    if (!lease) return std::move(lease).error();
    if (sum_of(*lease) != ended->sum) {
      static_cast<LeaseBook*>(ended->lease.owner)->below().drop_written(std::string(lease->id()));
    }
    lease->release();
    LeaseBook::end(ended->lease);
    return {};
  }));
}

std::unique_ptr<Export> make_export(const bank::VoiceLease& lease, const voice::PackedTensor& place) {
  auto made = std::make_unique<Export>();
  std::int64_t stride = 1;
  for (std::size_t axis = place.shape.size(); axis-- > 0;) {
    made->shape[axis] = place.shape[axis];
    made->strides[axis] = stride;
    stride *= place.shape[axis];
  }
  dlpack::ManagedTensor& managed = made->managed;
  managed.version = {1, 0};
  managed.manager = made.get();
  managed.deleter = &end_export;
  managed.flags = dlpack::kReadOnly;
  managed.tensor.data = reinterpret_cast<void*>(lease.address() + place.offset);
  managed.tensor.device = {dlpack::kCpu, 0};
  managed.tensor.rank = static_cast<std::int32_t>(place.shape.size());
  managed.tensor.dtype = type_of(place.dtype);
  managed.tensor.shape = made->shape.data();
  managed.tensor.strides = made->strides.data();
  made->sum = sum_of(lease);
  return made;
}

}  // namespace
}  // namespace timbre::capi

using namespace timbre::capi;  // NOLINT: the C functions below are outside every namespace
using timbre::Result;

extern "C" {

timbre_status timbre_voice_dlpack(const timbre_lease* lease, const char* name, void** out_managed) {
  return guard([&]() -> Result<void> {
    if (out_managed == nullptr) return invalid("out_managed is NULL");
    *out_managed = nullptr;
    const Result<const timbre::bank::VoiceLease*> held = LeaseBook::find(lease);
    if (!held) return held.error();
    const Result<const timbre::voice::PackedTensor*> place = find_tensor(**held, name);
    if (!place) return place.error();
    std::unique_ptr<Export> made = make_export(**held, **place);
    const Result<timbre_lease> own = static_cast<LeaseBook*>(lease->owner)->give_again(**held);
    if (!own) return own.error();
    made->lease = *own;
    *out_managed = &made.release()->managed;
    return {};
  });
}

}  // extern "C"
