#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "attn/base/text.h"
#include "attn/report/training.h"
#include "attn/run/compare.h"
#include "attn/train/archive.h"
#include "attn/train/arrays.h"
#include "attn/train/checkpoints.h"
#include "attn/train/epoch_callbacks.h"
#include "attn/train/expected_losses.h"
#include "attn/train/fit.h"
#include "attn/train/state.h"
#include "attn/train/trial.h"
#include "attn/weights/save.h"
#include "options/command.h"
#include "output/common.h"
#include "output/interrupt.h"
#include "output/outputs.h"
#include "output/provenance.h"
#include "ranks/parallel_model.h"
#include "training/callback_options.h"
#include "training/log.h"
#include "training/options.h"
#include "training/prepared.h"

namespace attn::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct TrainCommand : TrainingOptions {
  [[nodiscard]] int run() {
    if (setup.resume && !target) target = setup.model;
    if (svg) refuse_page_on_terminal(Format::svg, svg, setup.model);
    refuse_binary_on_terminal(dump);
    refuse_binary_on_terminal(lora_output);
    if (const std::optional<ParallelWord> shared = ranks.asked()) return run_shared(*shared);
    expect_one_process("use --parallel data to share the work");
    PreparedTraining job;
    prepare(job, *this, nullptr, writes);
    return plans ? print_plan(job) : train_with(job, nullptr);
  }

  /// Trains on all ranks: rank 0 prints and writes. All ranks read the same files, and each computes its own rows.
  [[nodiscard]] int run_shared(const ParallelWord& word) const {
    Ranks world(ranks, word, common.console);
    if (!world.speaks()) {
      TrainCommand silent;
      static_cast<TrainingOptions&>(silent) = this->silent();
      silent.writes = false;
      return silent.run_as(world);
    }
    return run_as(world);
  }

  [[nodiscard]] int run_as(Ranks& world) const {
    PreparedTraining job;
    const auto ready = [&] {
      prepare(job, *this, &world.world(), writes);
      return fingerprints_of(job, *this);
    };
    return world.run_on_ranks(ready, [&] { return train_with(job, &world); });
  }

  [[nodiscard]] int train_with(PreparedTraining& job, Ranks* world) const {
    train::Trainer& trainer = *job.trainer;
    train::State& state = job.state;
    const SaveEvery every = save_every_of(save_every);
    if (world != nullptr) world->world().reset_counts();
    std::optional<BrokenPipeGuard> pipes(std::in_place);
    const auto began = Clock::now();
    report::TrainingReport report = job.describe(setup.execution);
    TrainingLog log(log_targets(), job.options.epochs, common.console);
    log.start(report);
    const auto save = [&](const std::string& path, const std::vector<NamedTensor>& variables) {
      state.draws = trainer.draws();
      job.callbacks->keep(state);
      if (writes) train::write_archive(path, *job.loaded, job.compiled, trainer, variables, state);
    };
    const auto write = [&](const std::string& path, const std::vector<NamedTensor>& variables) {
      save(path, variables);
      if (writes) log.checkpoint(path, state.position.step);
    };
    const auto write_target = [&](const std::vector<NamedTensor>& variables) {
      if (!keep || !writes) return write(*target, variables);
      const std::int64_t step = state.position.step;
      train::write_and_keep(*target, step, *keep, state.kept, [&](const std::string& path) { save(path, variables); });
      log.checkpoint(train::checkpoint_path(*target, step), step);
    };
    std::optional<Error> last_failure, best_failure;  // the failure of the newest checkpoint, one for each kind
    const auto checkpoint = [&](bool is_best) {
      const std::vector<NamedTensor> variables = trainer.optimizer_state();
      std::optional<Error>& failure = is_best ? best_failure : last_failure;
      try {
        is_best ? write(*save_best, variables) : write_target(variables);
        failure.reset();
      } catch (const Error& error) {  // the previous checkpoint still exists
        if (!failure || std::string_view(failure->what()) != error.what())
          common.console.warn(
              fmt::format("{}; the training continues, and attn tries again at the next checkpoint", error.what()));
        failure.emplace(error);
      }
    };
    train::FitEvents events;
    events.begin = [&](std::int64_t epoch, std::int64_t batches) { log.begin_epoch(epoch, batches); };
    events.step = [&](const train::StepEvent& event) {
      log.step(event);
      if (!event.result.not_finite.empty()) {
        report.not_finite = event.result.not_finite;
        return;
      }
      report.points.push_back({event.position.step, event.result.loss, event.result.learning_rate});
      if (every.steps > 0 && event.position.step % every.steps == 0) checkpoint(false);
    };
    train::EpochVerdict verdict;
    events.judge = [&](const train::EpochEvent& event) {
      verdict = job.callbacks->end_of_epoch(event, trainer);
      return !verdict.stops;
    };
    events.epoch = [&](const train::EpochEvent& event) {
      for (const auto& [name, value] : verdict.logs) report.history[name].push_back(value);
      report.ends_of_epochs.push_back(state.position.step);
      log.epoch(event, verdict.logs);
      if (!verdict.message.empty()) log.print_line(verdict.message);
      if (verdict.is_best) checkpoint(true);
      if (every.epochs > 0 && event.epoch % every.epochs == 0 && event.epoch < job.options.epochs) checkpoint(false);
    };

    // Called if a step does not end after a signal: saves the state before that step, then the program ends.
    std::function<void()> keep_now;
    if (world == nullptr)
      keep_now = [&] {
        try {
          if (saves())
            train::write_at_end(*target, [&](const std::string& path) { write(path, trainer.optimizer_state()); });
          log.end(train::FitEnd::interrupted, state.position.step);
          common.console.warn(interrupted_after(state.position.step));
        } catch (const Error& error) {
          common.console.error(error.what());
        }
      };
    const std::int64_t steps_before = state.position.step;
    try {
      report.end = train_until(trainer, *job.rows, setup.validates() ? &*job.validation_rows : nullptr, job.options,
                               state, events, std::move(keep_now));
    } catch (const Error& error) {
      // A single rank does not have the optimizer state of the others, so it saves nothing.
      if (world != nullptr || !saves() || state.position.step == steps_before) throw;
      const std::string kept =
          save_trained_model([&](const std::string& path) { save(path, trainer.optimizer_state()); });
      throw Error(error.code(), fmt::format("after step {}: {}; {}", state.position.step, error.what(), kept))
          .about(error.field());
    }
    if (world != nullptr) report.parallel = shared_report(*world, report, began);
    OutputWriter outputs;
    if (dump ||
        setup.zero == 1) {  // with --zero 1, all ranks take part, because each has a shard of the optimizer state
      const std::vector<NamedTensor> variables = trainer.optimizer_state();
      if (dump) outputs.attempt([&] { train::write_dump(*dump, trainer, variables); });
    }
    if (report.end == train::FitEnd::epochs || report.end == train::FitEnd::listener) {
      trainer.finalize();
      job.callbacks->restore_best_weights(trainer);
    }
    // A non-finite step has changed nothing, so the state before it is saved. It does not overwrite an existing
    // checkpoint.
    const bool lost = report.end == train::FitEnd::not_finite;
    if (saves() && (!lost || state.position.step > steps_before)) {
      const std::string place =
          lost && std::filesystem::exists(*target) ? train::checkpoint_path(*target, state.position.step) : *target;
      const std::vector<NamedTensor> variables = trainer.optimizer_state();
      outputs.attempt([&] {
        train::write_at_end(place, [&](const std::string& path) { write(path, variables); });
        report.file = place;
      });
    }
    if (lora_output && !lost) outputs.attempt([&] { train::write_low_rank(*lora_output, trainer); });
    if (best_failure) outputs.fail(*best_failure);
    if (last_failure && keep) outputs.fail(*last_failure);
    report.epochs = state.position.epoch;
    report.steps = state.position.step;
    report.seconds = std::chrono::duration<double>(Clock::now() - job.start).count();
    log.end(report.end, report.steps);
    if (setup.overfit) report.learned = train::has_learned(report.points, report.end);
    if (svg) outputs.attempt([&] { write_result(report::render(Format::svg, report), svg, Formatting::exact); });
    if (const std::string failed = log.close(); !failed.empty()) outputs.fail(bad_input("{}", failed));
    pipes.reset();
    if (writes)
      outputs.attempt([&] { write_report(report::render(common.form(), report), common.console, takes_stdout()); });
    outputs.finish();
    const int code = exit_code(report, world);
    return code == static_cast<int>(ExitCode::done) ? checked(report, job.expected) : code;
  }

  /// Reports the memory of the training and the time of a step, after a few measured steps.
  [[nodiscard]] int print_plan(PreparedTraining& job) const {
    report::TrainingReport report = job.describe(setup.execution);
    const train::Position& position = job.state.position;
    report.epochs = position.epoch;
    report.steps = position.step;
    report.end = train::FitEnd::plan;
    report.plan = train::plan_of(*job.trainer, job.first_batch(), job.rows->rows(), job.options, position, job.memory);
    report.seconds = std::chrono::duration<double>(Clock::now() - job.start).count();
    write_report(report::render(common.form(), report), common.console, false);
    return static_cast<int>(ExitCode::done);
  }

  [[nodiscard]] report::ParallelReport shared_report(Ranks& world, const report::TrainingReport& report,
                                                     Clock::time_point began) const {
    const communicators::Counts counts = world.world().counts();
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    const parallel::Shared rows{"the batch", "rows",
                                parallel::shares(std::min(setup.batch_size, report.rows), world.world().size())};
    return parallel_report(world, {rows}, counts, seconds, report.setting.threads);
  }

  bool writes = true;  ///< false on all ranks but one

 private:
  /// Checks --overfit and --expect-loss after a completed training.
  [[nodiscard]] int checked(const report::TrainingReport& report,
                            const std::optional<train::ExpectedLosses>& expected) const {
    bool fails = false;
    const auto fail = [&](const std::string& message) {
      fails = true;
      if (writes) common.console.error(message);
    };
    if (report.learned == false) fail(train::why_not_learned(report.points));
    const run::Tolerance usual;
    if (expected)
      if (const auto differing = train::differing_losses(*expected, losses_of(report), rtol.value_or(usual.rtol),
                                                         atol.value_or(usual.atol), *expected_losses))
        fail(*differing);
    return static_cast<int>(fails ? ExitCode::differs : ExitCode::done);
  }

  [[nodiscard]] static train::ActualLosses losses_of(const report::TrainingReport& report) {
    std::vector<double> epochs;
    if (const auto losses = report.history.find("loss"); losses != report.history.end())
      for (const std::vector<double>& loss : losses->second) epochs.push_back(loss.front());
    return {report.points, std::move(epochs), report.epochs};
  }

  static train::FitEnd train_until(train::Trainer& trainer, const train::Data& rows, const train::Data* validation_rows,
                                   const train::FitOptions& options, train::State& state,
                                   const train::FitEvents& events, std::function<void()> keep_now) {
    const StateChangeGuard changing;
    std::optional<Interrupt> interrupt;
    if (keep_now) {
      interrupt.emplace(std::move(keep_now));
    } else {
      interrupt.emplace(Interrupt::WaitForWork());
    }
    try {
      return train::fit(trainer, rows, validation_rows, options, state.position, events);
    } catch (const Stopped&) {
      take_back_stop();
    }
    return train::FitEnd::interrupted;
  }

  /// Saves the state before a failure, and returns a text that names the file.
  [[nodiscard]] std::string save_trained_model(const std::function<void(const std::string&)>& write) const {
    try {
      train::write_at_end(*target, write);
    } catch (const Error& error) {
      return error.what();
    }
    return fmt::format("the trained model is in {}; resume it with: {}", printable(*target),
                       resume_command(setup.model, *target));
  }

  [[nodiscard]] std::string how_to_resume() const {
    return saves() ? "resume with: " + resume_command(setup.model, *target) : "nothing was written";
  }
  [[nodiscard]] std::string interrupted_after(std::int64_t step) const {
    return fmt::format("interrupted after step {}; {}", step, how_to_resume());
  }

  [[nodiscard]] int exit_code(const report::TrainingReport& report, Ranks* world) const {
    if (report.end == train::FitEnd::not_finite) {
      if (writes)
        common.console.error(fmt::format("step {} is not finite, first in {}; {}", report.steps + 1, report.not_finite,
                                         written_files(report)));
      return static_cast<int>(ExitCode::differs);
    }
    if (report.end == train::FitEnd::interrupted) {
      common.console.warn(interrupted_after(report.steps));
      return world == nullptr ? Interrupt::exit_code() : Interrupt::exit_code(first_signal(*world));
    }
    if (report.end == train::FitEnd::deadline)
      common.console.warn(fmt::format("time limit reached after step {}; {}", report.steps, how_to_resume()));
    return static_cast<int>(ExitCode::done);
  }

  /// Describes what exists after a training that ended with a non-finite step.
  [[nodiscard]] std::string written_files(const report::TrainingReport& report) const {
    if (!saves()) return "nothing was written";
    const bool is_kept = std::filesystem::exists(*target);
    if (report.file.empty()) return is_kept ? printable(*target) + " is unchanged" : "nothing was trained";
    const std::string before = fmt::format("the model before this step is in {}", printable(report.file));
    return report.file == *target ? before : fmt::format("{}, and {} is unchanged", before, printable(*target));
  }

  /// Returns the signal that some rank has received.
  [[nodiscard]] static int first_signal(Ranks& world) {
    return static_cast<int>(std::ranges::max(gather_numbers(world.world(), Interrupt::signal())));
  }
};

}  // namespace

Command train_command() { return command_of<TrainCommand>("train", "train a model, like Keras's fit()"); }

}  // namespace attn::cli
