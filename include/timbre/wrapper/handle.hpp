// SPDX-License-Identifier: MIT
//
// Owns a handle of the C ABI. It moves and does not copy; an empty one (moved from) may only be destroyed or assigned
// to.
#pragma once

#include <utility>

#include "timbre/timbre.h"

namespace timbre {

namespace internal {

template <typename T, timbre_status (*Free)(T*)>
class Handle {
 public:
  explicit Handle(T* handle = nullptr) noexcept : handle_(handle) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      static_cast<void>(Free(handle_));
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Handle() { static_cast<void>(Free(handle_)); }  // Free allows NULL

  [[nodiscard]] T* get() const noexcept { return handle_; }

 private:
  T* handle_;
};

}  // namespace internal

}  // namespace timbre
