// SPDX-License-Identifier: MIT
//
// The files are the system's own, with another table of methods; so locks and shared memory work as ever.
#include "power_loss_vfs.hpp"

#include <sqlite3.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

namespace timbre::store::test {
namespace {

struct Change {
  bool is_truncation = false;
  sqlite3_int64 offset = 0;  ///< or the size
  std::string bytes;
};

struct Disk {
  std::map<std::string, std::string> synced;  ///< by path
  std::map<std::string, std::vector<Change>> unsynced;
  std::map<sqlite3_file*, std::string> open;
  std::map<const sqlite3_io_methods*, sqlite3_io_methods> methods;  ///< ours, by the system's
  std::map<sqlite3_file*, const sqlite3_io_methods*> own;
  std::uint64_t writes_left = UINT64_MAX;
  std::uint64_t lost = 0;
  bool is_cut = false;
};

Disk* disk = nullptr;
sqlite3_vfs vfs;

void apply(std::string& content, const Change& change) {
  const auto at = static_cast<std::size_t>(change.offset);
  if (change.is_truncation) return content.resize(at);
  if (content.size() < at + change.bytes.size()) content.resize(at + change.bytes.size());
  std::memcpy(content.data() + at, change.bytes.data(), change.bytes.size());
}

bool count_write() {
  if (disk->is_cut) return false;
  if (disk->writes_left-- > 0) return true;
  disk->is_cut = true;
  return false;
}

int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  if (!count_write()) return SQLITE_IOERR_WRITE;
  const std::string content(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
  disk->unsynced[disk->open[file]].push_back({false, offset, content});
  return disk->own[file]->xWrite(file, bytes, size, offset);
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (!count_write()) return SQLITE_IOERR_TRUNCATE;
  disk->unsynced[disk->open[file]].push_back({true, size, {}});
  return disk->own[file]->xTruncate(file, size);
}

int sync(sqlite3_file* file, int) {
  if (disk->is_cut) return SQLITE_IOERR_FSYNC;
  const std::string& path = disk->open[file];
  for (const Change& change : disk->unsynced[path]) apply(disk->synced[path], change);
  disk->unsynced.erase(path);
  return SQLITE_OK;
}

int close(sqlite3_file* file) {
  const sqlite3_io_methods* own = disk->own[file];
  disk->open.erase(file);
  disk->own.erase(file);
  file->pMethods = own;
  return own->xClose(file);
}

int open(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  if (disk->is_cut) return SQLITE_CANTOPEN;
  sqlite3_vfs* system = sqlite3_vfs_find("unix");
  const int code = system->xOpen(system, path, file, flags, out_flags);
  if (code != SQLITE_OK || path == nullptr) return code;
  const sqlite3_io_methods* own = file->pMethods;
  sqlite3_io_methods& ours = disk->methods[own];
  ours = *own;
  ours.xWrite = write;
  ours.xTruncate = truncate;
  ours.xSync = sync;
  ours.xClose = close;
  disk->own[file] = own;
  disk->open[file] = path;
  file->pMethods = &ours;
  return code;
}

/// Lasting at once: SQLite syncs the folder where that matters to it.
int remove(sqlite3_vfs*, const char* path, int sync_folder) {
  if (!count_write()) return SQLITE_IOERR_DELETE;
  disk->synced.erase(path);
  disk->unsynced.erase(path);
  sqlite3_vfs* system = sqlite3_vfs_find("unix");
  return system->xDelete(system, path, sync_folder);
}

}  // namespace

PowerLossVfs::PowerLossVfs() {
  disk = new Disk;  // NOLINT: its address is known to C callbacks
  vfs = *sqlite3_vfs_find("unix");
  vfs.zName = name();
  vfs.xOpen = open;
  vfs.xDelete = remove;
  vfs.pNext = nullptr;
  sqlite3_vfs_register(&vfs, 0);
}

PowerLossVfs::~PowerLossVfs() {
  sqlite3_vfs_unregister(&vfs);
  delete disk;  // NOLINT
  disk = nullptr;
}

void PowerLossVfs::cut_after(std::uint64_t writes) { disk->writes_left = writes; }
bool PowerLossVfs::is_cut() const { return disk->is_cut; }
std::uint64_t PowerLossVfs::lost_writes() const { return disk->lost; }

void PowerLossVfs::restore(std::uint64_t seed) {
  for (const auto& [path, changes] : disk->unsynced) disk->synced[path];
  for (auto& [path, content] : disk->synced) {
    for (const Change& change : disk->unsynced[path]) {
      seed = seed * 6364136223846793005U + 1442695040888963407U;
      if (seed >> 63U != 0) {
        apply(content, change);
      } else {
        ++disk->lost;
      }
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    if (path.ends_with("-wal")) std::filesystem::remove(path.substr(0, path.size() - 4) + "-shm");
  }
}

}  // namespace timbre::store::test
