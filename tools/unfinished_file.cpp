// SPDX-License-Identifier: MIT
#include "unfinished_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstdio>

namespace timbre::tools {
namespace {

// What the handler reads. The path is written before `armed` is set (release) and never freed, so that a signal on
// another thread never meets half of it.
std::array<char, PATH_MAX> path_to_remove{};
std::atomic<bool> armed{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void remove_and_end(int signal) {
  if (armed.exchange(false, std::memory_order_acquire)) ::unlink(path_to_remove.data());
  std::raise(signal);  // SA_RESETHAND: now with its default action, once this handler returns
}

void handle(int signal) {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
  now.sa_handler = remove_and_end;
  now.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(signal, &now, nullptr);
}

}  // namespace

UnfinishedFile::UnfinishedFile(std::string path) : path_(std::move(path)) {
  if (path_.size() >= path_to_remove.size()) return;
  std::ranges::copy(path_, path_to_remove.begin());
  path_to_remove.at(path_.size()) = '\0';
  armed.store(true, std::memory_order_release);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) handle(signal);
}

UnfinishedFile::~UnfinishedFile() {
  if (!finished_ && armed.exchange(false)) std::remove(path_.c_str());
}

void UnfinishedFile::finish() {
  finished_ = true;
  armed.store(false);
}

}  // namespace timbre::tools
