#include "output/outputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>

#include "attn/base/system_error.h"
#include "attn/base/text.h"
#include "attn/communicators/launch.h"
#include "attn/io/atomic_file.h"

namespace attn::cli {
namespace {

namespace fs = std::filesystem;

/// Returns whether this process writes: in a parallel command, only rank 0 does.
bool writes() {
  try {
    return communicators::launched().rank == 0;
  } catch (const Error&) {  // a launcher's variable is not a number; the command itself reports that
    return false;
  }
}

void check_folder(const std::string& path) {
  std::error_code failed;
  fs::path known = fs::absolute(path, failed);
  while (!failed && !fs::exists(known, failed) && !failed && known.has_relative_path()) known = known.parent_path();
  if (!failed && !fs::is_directory(known, failed)) failed = std::make_error_code(std::errc::not_a_directory);
  if (failed) throw system_error(printable(path), "cannot be created", failed.value());
  if (::access(known.c_str(), W_OK | X_OK) != 0) throw system_error(printable(path), "cannot be written", errno);
}

/// Returns whether a second writer would replace the file. Devices and pipes accept several writers.
bool is_plain(const OutputPath& output) {
  std::error_code ignored;
  return !output.is_folder && (!fs::exists(output.path, ignored) || fs::is_regular_file(output.path, ignored));
}

/// Returns whether two options cannot both write to one path.
bool are_exclusive(const OutputPath& a, const OutputPath& b) {
  return a.is_folder != b.is_folder || (is_plain(a) && is_plain(b));
}

/// Returns whether the output would replace the input file, given as FILE or as NAME=FILE.
bool replaces(const OutputPath& output, const std::string& input) {
  if (output.path == "-" || !is_plain(output)) return false;
  const auto sign = input.find('=');
  return are_one_file(output.path, input) ||
         (sign != std::string::npos && are_one_file(output.path, input.substr(sign + 1)));
}

}  // namespace

bool are_one_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return fs::weakly_canonical(a, ignored) == fs::weakly_canonical(b, ignored) || fs::equivalent(a, b, ignored);
}

void check_outputs(std::span<const OutputPath> outputs, std::span<const std::string> inputs) {
  if (!writes()) return;
  for (const OutputPath& output : outputs)
    output.is_folder ? check_folder(output.path) : io::check_file_target(output.path);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (are_exclusive(outputs[i], outputs[j]) && are_one_file(outputs[i].path, outputs[j].path))
        throw bad_usage("{}: two options write to this file; give each its own",
                        outputs[i].path == "-" ? "stdout" : printable(outputs[i].path));
  for (const OutputPath& output : outputs)
    if (!output.path.ends_with(".keras") &&
        std::ranges::any_of(inputs, [&](const std::string& input) { return replaces(output, input); }))
      throw bad_usage("{}: cannot write to the input file; give the result another name", printable(output.path));
}

void OutputWriter::fail(const Error& error) {
  if (!failure_) {
    failure_.emplace(error);
    return;
  }
  const ExitCode code = failure_->code();
  failure_.emplace(code, fmt::format("{}; {}", failure_->what(), error.what()));
}

}  // namespace attn::cli
