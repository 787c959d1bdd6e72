#include "arguments/run_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "arguments/shared_options.h"
#include "attn/backends/precision.h"
#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "attn/base/text.h"
#include "attn/communicators/launch.h"
#include "attn/io/tensor_file.h"
#include "attn/open/execution.h"
#include "attn/open/row_runner.h"
#include "attn/report/files_view.h"
#include "attn/shards/ledger.h"
#include "attn/shards/work_list.h"
#include "output/files_progress.h"
#include "output/interrupt.h"
#include "output/outputs.h"

namespace attn::cli {
namespace {

using shards::Schedule;
using shards::WorkItem;
using namespace std::chrono_literals;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns the options that change results, as text.
std::string options_text(const open::Execution& e) {
  const auto number = [](const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : "-"; };
  return fmt::format(
      "dtype {} seed {} seq-len {} batch {} device {} backend {} precision {} skip-padding {} compat {} "
      "keras-version {} input-shape {}",
      e.dtype.value_or("-"), e.seed, number(e.sequence_length), number(e.batch), e.device,
      e.backend.empty() ? "-" : e.backend, name_of(e.precision), e.skip_padding, e.as_keras_hub ? "keras-hub" : "none",
      e.keras_version ? keras::version_text(*e.keras_version) : "-", e.input_shape ? e.input_shape->str() : "-");
}

/// Returns everything that determines an output, so that a later run can compare it.
shards::RunSettings recipe_of(const std::optional<std::string>& model, const open::Execution& execution) {
  if (model && *model == "-")
    throw bad_usage("--output-dir requires a model file: a model from stdin cannot be recognized in a later run");
  std::string hash = model ? shards::fingerprint(*model) : "built-in";
  if (execution.weights) hash += " " + shards::fingerprint(*execution.weights);
  return {hash, options_text(execution), ATTN_VERSION};
}

/// Runs the files of this process, in their order.
class FilesRun {
 public:
  FilesRun(const FilesOptions& files, const std::optional<std::string>& model, const std::vector<std::string>& inputs,
           const open::Execution& execution, const Common& common)
      : files_(files),
        console_(common.console),
        items_(shards::work_list(inputs)),
        launch_(communicators::launched()),
        shard_(communicators::shard_of(files.shard.value_or(fmt::format("{}/{}", 0, 1)), launch_)),
        ledger_(*files.output_dir, recipe_of(model, execution)),
        model_(model),
        execution_(execution) {}

  report::FilesReport run() {
    const double from = seconds_now();
    for (const WorkItem& item : items_)
      if (are_one_file(ledger_.output_of(item), item.input))
        throw bad_usage("{}: the output in --output-dir would replace this input file; choose another folder",
                        printable(item.input));
    std::int64_t fit = 0;
    for (const WorkItem& item : items_) {
      const bool is_ours = files_.schedule == Schedule::claim || turn_++ % shard_.count == shard_.index;
      const auto why = files_.redo ? std::optional<std::string>("") : ledger_.why_do(item);
      fit += why ? 0 : 1;
      if (!is_ours) continue;
      if (!why) {
        ++report_.skipped;
        continue;
      }
      if (!why->empty()) {
        ++changed_;
        console_.note(
            fmt::format("{} is written again: it was made with another {}", printable(ledger_.output_of(item)), *why));
      }
      todo_.push_back(&item);
    }
    if (changed_ > 0)
      console_.warn(fmt::format(
          "{} outputs are written again: the model, options, input or attn version has changed (--verbose names them)",
          changed_));
    {
      const FilesProgress progress(console_, launch_.rank == 0 && shard_.index == 0, items_.size(),
                                   [this, fit] { return ledger_.tally(items_, fit); });
      if (files_.schedule == Schedule::claim)
        by_claims();
      else
        for (const WorkItem* item : todo_)
          if (!work_on(*item)) break;
    }
    ledger_.write_lists(items_);
    report_.folder = ledger_.folder();
    report_.files = static_cast<std::int64_t>(items_.size());
    report_.shard = shard_.index;
    report_.shards = shard_.count;
    report_.claims = files_.schedule == Schedule::claim;
    report_.seconds = seconds_now() - from;
    return report_;
  }

 private:
  /// Claims and runs files until some process has done each of them.
  void by_claims() {
    shards::Claims claims(ledger_.folder());
    const double opened = seconds_now();
    // Each process starts at a different file, so that two processes seldom try to claim the same one.
    if (!todo_.empty())
      std::rotate(todo_.begin(),
                  todo_.begin() + shard_.index * static_cast<std::ptrdiff_t>(todo_.size()) / std::max(1, shard_.count),
                  todo_.end());
    while (!todo_.empty()) {
      bool any = false;
      std::vector<const WorkItem*> left;
      for (std::size_t i = 0; i < todo_.size(); ++i) {
        const WorkItem& item = *todo_[i];
        throw_if_stopped();
        const bool again = files_.redo && !ledger_.is_new(item);
        if (ledger_.has_failed(item) || (!again && !ledger_.why_do(item))) continue;
        if (!claims.take(item)) {
          left.push_back(&item);
          continue;
        }
        any = true;
        const bool is_done = !(files_.redo && !ledger_.is_new(item)) && !ledger_.why_do(item);
        const bool goes_on = is_done || ledger_.has_failed(item) || work_on(item);
        claims.release();
        if (!goes_on) return;
      }
      todo_ = std::move(left);
      if (!any && !todo_.empty())
        std::this_thread::sleep_for(std::chrono::milliseconds(seconds_now() - opened < 5 ? 50 : 500));
    }
  }

  /// Runs one file. Returns false if the whole run has to end.
  bool work_on(const WorkItem& item) {
    if (!runner_) runner_ = std::make_unique<open::RowRunner>(model_, execution_, console_);
    const double from = seconds_now();
    try {
      const open::RowRunner::Result result = runner_->run(item.input);
      ledger_.begin(item);
      io::write_tensors(ledger_.output_of(item), result.outputs.numbers, result.outputs.texts);
      ledger_.finish(item, result.rows, seconds_now() - from);
      report_.rows += result.rows;
      ++report_.done;
      return true;
    } catch (const Error& error) {
      const bool is_the_file =
          error.code() == ExitCode::bad_input || error.code() == ExitCode::usage || error.code() == ExitCode::no_memory;
      if (!is_the_file) throw;
      ledger_.fail(item, error.what());
      console_.warn(error.what());
      report_.failures.push_back({item.input, error.what()});
      return !files_.fail_fast;
    }
  }

  const FilesOptions& files_;
  const Console& console_;
  std::vector<WorkItem> items_;
  communicators::Launch launch_;
  communicators::Shard shard_;
  shards::Ledger ledger_;
  std::optional<std::string> model_;
  open::Execution execution_;
  std::unique_ptr<open::RowRunner> runner_;
  std::vector<const WorkItem*> todo_;
  std::int64_t turn_ = 0, changed_ = 0;
  report::FilesReport report_;
};

}  // namespace

void FilesOptions::declare(Options& options) {
  const OptionGroupGuard group(options, OptionGroup::files);
  options.output("--output-dir", output_dir, "FOLDER",
                 "run each --input file separately ('in/*.npz', @LIST) and write FOLDER/NAME.npz");
  options.add("--shard", shard, "I/N", "with --output-dir: run only shard I of N, counted from 0, or auto");
  options.choice(
      "--schedule", schedule, {{"static", Schedule::static_}, {"claim", Schedule::claim}}, "HOW",
      "with --output-dir: give each process every N-th file (static), or let it claim the next one (default static)");
  options.flag("--redo", redo, "with --output-dir: run finished files again");
  options.flag("--fail-fast", fail_fast, "with --output-dir: stop at the first file that fails");
}

void FilesOptions::check() const {
  if (output_dir) return;
  const auto needs = [](std::string_view option) { return bad_usage("{} requires --output-dir FOLDER", option); };
  if (shard) throw needs("--shard");
  if (schedule != Schedule::static_) throw needs("--schedule claim");
  if (redo) throw needs("--redo");
  if (fail_fast) throw needs("--fail-fast");
}

int run_files(const FilesOptions& files, const std::optional<std::string>& model,
              const std::vector<std::string>& inputs, const open::Execution& execution, const Common& common) {
  if (inputs.empty()) throw bad_usage("--output-dir requires --input with files: 'shards/*.npz'");
  const Interrupt interrupt;
  try {
    const report::FilesReport report = FilesRun(files, model, inputs, execution, common).run();
    write_result(report::render(common.form(), report), std::nullopt);
    return static_cast<int>(report.failures.empty() ? ExitCode::done : ExitCode::differs);
  } catch (const Stopped&) {
    common.console.warn("interrupted: finished files are kept, and the same command continues with the others");
    return Interrupt::exit_code();
  }
}

}  // namespace attn::cli
