// SPDX-License-Identifier: MIT
#include "store/change_watcher.hpp"

#include <utility>

namespace timbre::store {

Result<std::unique_ptr<ChangeWatcher>> ChangeWatcher::make(std::unique_ptr<Connection> connection,
                                                           std::int64_t writer) {
  std::unique_ptr<ChangeWatcher> watcher(new ChangeWatcher(std::move(connection), writer));
  const std::pair<Statement*, const char*> statements[] = {
      {&watcher->data_version_, "PRAGMA data_version"},
      {&watcher->state_, "SELECT sequence, trimmed FROM state"},
      {&watcher->changes_, "SELECT DISTINCT id FROM changes WHERE sequence > ?1 AND writer != ?2"}};
  for (const auto& [statement, sql] : statements) {
    Result<Statement> made = Statement::make(*watcher->connection_, sql);
    if (!made) return std::move(made).error();
    *statement = std::move(*made);
  }
  // In this order: a change between the two is told.
  const Result<std::int64_t> version = watcher->data_version();
  if (!version) return version.error();
  const Result<State> now = watcher->state();
  if (!now) return now.error();
  watcher->last_data_version_ = *version;
  watcher->last_sequence_ = now->sequence;
  return watcher;
}

Result<Changes> ChangeWatcher::look() {
  const std::lock_guard lock(mutex_);
  const Result<std::int64_t> version = data_version();
  if (!version) return version.error();
  if (*version == last_data_version_) return Changes{};
  Result<Transaction> snapshot = Transaction::begin(*connection_, "BEGIN");
  if (!snapshot) return std::move(snapshot).error();
  const Result<State> now = state();
  if (!now) return now.error();
  Result<Changes> changes = read(*now);
  if (!changes) return changes;
  // What is committed after `version` was asked changes it again, so that the next look finds it.
  last_data_version_ = *version;
  last_sequence_ = now->sequence;
  return changes;
}

Result<Changes> ChangeWatcher::read(const State& now) {
  Changes changes;
  changes.is_everything = now.trimmed > last_sequence_ || now.sequence < last_sequence_;
  if (changes.is_everything) return changes;
  Statement::Run run(changes_);
  run.bind(1, last_sequence_).bind(2, writer_);
  while (true) {
    const Result<bool> row = run.step();
    if (!row) return row.error();
    if (!*row) return changes;
    changes.ids.push_back(run.text(0));
  }
}

Result<std::int64_t> ChangeWatcher::data_version() {
  Statement::Run run(data_version_);
  const Result<bool> row = run.step();
  if (!row) return row.error();
  return run.number(0);
}

Result<ChangeWatcher::State> ChangeWatcher::state() {
  Statement::Run run(state_);
  const Result<bool> row = run.step();
  if (!row) return row.error();
  return State{run.number(0), run.number(1)};
}

}  // namespace timbre::store
