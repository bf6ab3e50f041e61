// SPDX-License-Identifier: MIT
//
// timbre: speech from the command line. Audio and answers go to standard output, everything else to standard error.
// Exit codes: 0 success, 1 failure, 2 wrong usage.
#include <fmt/core.h>

#include <exception>

#include "options.hpp"
#include "timbre/timbre.hpp"

namespace {

int run(int argc, char** argv) {
  timbre::tools::Options options;
  if (const auto code = timbre::tools::parse(argc, argv, options)) return *code;
  switch (options.command) {
    case timbre::tools::Command::kTokenize:
      return timbre::tools::tokenize(options);
    case timbre::tools::Command::kInfo:
      return timbre::tools::info(options);
    case timbre::tools::Command::kBench:
      return timbre::tools::bench(options);
    case timbre::tools::Command::kSay:
      break;
  }
  return timbre::tools::say(options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const timbre::Exception& error) {
    fmt::print(stderr, "timbre: {} ({})\n", error.what(), error.status_name());
  } catch (const std::exception& error) {
    fmt::print(stderr, "timbre: {}\n", error.what());
  }
  return timbre::tools::kFailure;
}
