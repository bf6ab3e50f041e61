// SPDX-License-Identifier: MIT
#include "capi/model_load.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>

#include "capi/front_end_choice.hpp"
#include "capi/guard.hpp"
#include "capi/plugins.hpp"
#include "capi/process.hpp"
#include "frontend/piper_front_end.hpp"
#include "speech/tone_synthesizer.hpp"

namespace timbre::capi {
namespace {

using Built = Result<std::unique_ptr<speech::Synthesizer>>;

/// What passes between the worker that builds and the thread that waits.
class LoadTask {
 public:
  /// Worker: tells how far it is. False when the load is to end.
  bool report(float fraction, const char* stage) {
    const std::lock_guard lock(mutex_);
    news_ = {fraction, stage};
    changed_.notify_all();
    return !cancelled_;
  }
  void finish(Built built) {
    const std::lock_guard lock(mutex_);
    built_ = std::move(built);
    changed_.notify_all();
  }
  /// The job was dropped: ends the wait, unless the worker had finished. Allocates nothing after finish().
  void drop() {
    const std::lock_guard lock(mutex_);
    if (!built_) built_ = Error{Status::kClosed, "the engine was destroyed"};
    changed_.notify_all();
  }
  /// Waiting thread: shows progress until the worker is finished.
  Built wait(const ProgressCallback& progress) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return built_ || news_; });
      if (news_ && progress) {
        const News news = *news_;
        news_.reset();
        lock.unlock();
        const bool go_on = progress(news.fraction, news.stage);
        lock.lock();
        if (!go_on) cancelled_ = true;
        continue;
      }
      news_.reset();
      if (built_ && cancelled_) return Error{Status::kCancelled, "the load was cancelled"};
      if (built_) return std::move(*built_);
    }
  }
  void cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
  }

 private:
  struct News {
    float fraction;
    const char* stage;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::optional<News> news_;
  std::optional<Built> built_;
  bool cancelled_ = false;
};

/// Ends the wait if the job is dropped without being run, as it is when the engine is destroyed.
class Ticket {
 public:
  explicit Ticket(std::shared_ptr<LoadTask> task) : task_(std::move(task)) {}
  ~Ticket() { task_->drop(); }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  LoadTask& task() { return *task_; }

 private:
  std::shared_ptr<LoadTask> task_;
};

Built build_on_worker(EngineState& engine, speech::Backend& backend, const speech::ModelFiles& files, bool warm_up,
                      LoadTask& task) {
  speech::Backend::LoadOptions options;
  options.warm_up = warm_up;
  options.progress = [&](float fraction, const char* stage) {
    return task.report(fraction, stage) && !engine.closed();
  };
  options.warning = [&](std::string line) { engine.log().add(LogLevel::kWarning, std::move(line)); };
  try {
    engine.enter_backend(backend);
    Built built = backend.load(files, options);
    renew_exit_handler();
    return built;
  } catch (const std::bad_alloc&) {
    return Error{Status::kOutOfMemory, "out of memory"};  // short enough to be made without an allocation
  } catch (const std::exception& error) {
    return Error{Status::kInternal, error.what()};
  }
}

Built build(EngineState& engine, const speech::ModelFiles& files, bool warm_up, const ProgressCallback& progress) {
  Result<speech::Backend*> backend = torch_backend();
  if (!backend) return std::move(backend).error();
  auto task = std::make_shared<LoadTask>();
  auto ticket = std::make_shared<Ticket>(task);
  engine.executor().post([&engine, &files, backend = *backend, warm_up, ticket = std::move(ticket)] {
    LoadTask& shared = ticket->task();
    shared.finish(build_on_worker(engine, *backend, files, warm_up, shared));
  });
  try {
    return task->wait(progress);
  } catch (...) {  // the callback threw: the worker still uses `files`, so it is waited for
    task->cancel();
    (void)task->wait(nullptr);
    throw;
  }
}

frontend::PhonemizerProvider phonemizer_of(EngineState& engine) {
  return [weak = engine.weak_from_this()]() -> Result<std::shared_ptr<frontend::Phonemizer>> {
    const std::shared_ptr<EngineState> state = weak.lock();
    if (!state) return Error{Status::kClosed, "the engine was destroyed"};
    return state->phonemizer();
  };
}

}  // namespace

Result<std::shared_ptr<const speech::Model>> load_model(EngineState& engine, const std::vector<ModelPart>& parts,
                                                        bool warm_up, const ProgressCallback& progress) {
  auto model = std::make_shared<speech::Model>();
  if (parts.size() == 1 && parts.front().name == "tone:") {
    const std::string config = speech::tone_config_json();
    Result<std::unique_ptr<frontend::FrontEnd>> front_end =
        frontend::make_piper_front_end(config, "tone:", phonemizer_of(engine));
    if (!front_end) return std::move(front_end).error();
    model->synthesizer = speech::make_tone_synthesizer();
    model->front_end = std::move(*front_end);
  } else {
    if (progress && !progress(0.0F, "read")) return Error{Status::kCancelled, "the load was cancelled"};
    Result<speech::ModelFiles> files = collect_model_files(parts);
    if (!files) return std::move(files).error();
    Result<std::unique_ptr<frontend::FrontEnd>> front_end = make_front_end(*files, phonemizer_of(engine));
    if (!front_end) return std::move(front_end).error();
    Built built = build(engine, *files, warm_up, progress);
    if (!built) return std::move(built).error();
    model->synthesizer = std::move(*built);
    model->front_end = std::move(*front_end);
  }
  if (progress && !progress(1.0F, "ready")) return Error{Status::kCancelled, "the load was cancelled"};
  if (engine.closed()) return Error{Status::kClosed, "the engine was destroyed"};
  engine.add(std::shared_ptr<const speech::Model>(model));
  if (warm_up) engine.voices().governor().set_warm(true);  // what the synthesizer takes is taken from here on
  return std::shared_ptr<const speech::Model>(std::move(model));
}

}  // namespace timbre::capi
