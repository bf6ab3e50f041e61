// SPDX-License-Identifier: MIT
#include "files/file_bytes.hpp"

#include "../temporary_folder.hpp"

using timbre::Status;
using timbre::files::read_file_bytes;
using timbre::files::read_file_head;
using timbre::test::TemporaryFolder;

namespace {

std::string refusal(const std::string& path, Status status) {
  auto file = read_file_bytes(path);
  REQUIRE_FALSE(file);
  CHECK(file.error().status == status);
  return file.error().message;
}

}  // namespace

TEST_CASE("a file is read whole, also through a link", "[file_bytes]") {
  const TemporaryFolder folder;
  const std::string text(100'000, 'x');
  for (const std::string& path : {folder.write("a", text), folder.link("link", "a")}) {
    auto file = read_file_bytes(path);
    REQUIRE(file);
    CHECK(std::string(reinterpret_cast<const char*>(file->bytes.data()), file->bytes.size()) == text);
  }
}

TEST_CASE("what cannot be read is told by its path and why", "[file_bytes]") {
  const TemporaryFolder folder;
  const auto told = [](const std::string& path, Status status, const std::string& why) {
    CHECK(refusal(path, status) == path + ": " + why);
  };
  told(folder / "absent", Status::kNotFound, "No such file or directory");
  told(folder.link("broken", "../gone"), Status::kNotFound, "a broken link to ../gone");
  told(folder.link("circle", "circle"), Status::kIo, "Too many levels of symbolic links");
  told(folder.write("empty", ""), Status::kFormat, "the file is empty");
  told(folder.path(), Status::kIo, "not a regular file");
  told("/dev/zero", Status::kIo, "not a regular file");
  told(folder.zeros("huge", std::uint64_t{9} << 30U), Status::kFormat, "9663676416 bytes is too large for a model");
}

TEST_CASE("the beginning of a file is read, whatever its size", "[file_bytes]") {
  const TemporaryFolder folder;
  const auto head = [](const std::string& path) {
    auto read = read_file_head(path, 4);
    return read ? *read : read.error().message;
  };
  CHECK(head(folder.write("long", "abcdef")) == "abcd");
  CHECK(head(folder.write("short", "abc")) == "abc");
  CHECK(head(folder.write("empty", "")).empty());
  CHECK(head(folder.zeros("huge", std::uint64_t{9} << 30U)) == std::string(4, '\0'));
  CHECK(head(folder / "absent") == folder / "absent" + ": No such file or directory");
  CHECK(head("/dev/zero") == "/dev/zero: not a regular file");
}
