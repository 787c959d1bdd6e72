#include "attn/shards/ledger.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/communicators/launch.h"
#include "attn/io/atomic_file.h"
#include "attn/io/file.h"
#include "attn/io/json_text.h"
#include "attn/io/sha256.h"
#include "status.h"

namespace attn::shards {
namespace {

namespace fs = std::filesystem;
using Record = nlohmann::ordered_json;

/// Replaces bytes of a path that are not UTF-8, which JSON cannot hold.
std::string one_line(const Record& record) {
  return record.dump(-1, ' ', false, Record::error_handler_t::replace) + "\n";
}

void write(const std::string& path, const std::string& text) {
  io::AtomicFile file(path);
  file.write(text);
  file.commit();
}

/// Returns the record at `path`; nothing if it is missing or incomplete.
std::optional<nlohmann::json> read(const std::string& path) {
  if (!status_of(path)) return std::nullopt;
  try {
    const io::Bytes bytes = io::read_file(path);
    nlohmann::json record = io::parse_json(bytes.text(), printable(path));
    if (record.is_object()) return record;
  } catch (const Error&) {  // lost by the disk, or removed by another process meanwhile
  }
  return std::nullopt;
}

bool is(const nlohmann::json& record, const char* key, const nlohmann::json& expected) {
  const auto found = record.find(key);
  return found != record.end() && *found == expected;
}

std::string input_of(const WorkItem& item) {
  const auto status = status_of(item.input);
  return status ? fmt::format("{} bytes, {} ns", status->bytes, status->modified) : "none";
}

/// Repeats until no other process has added records meanwhile, so that the last writer's list is complete.
void write_list(const std::string& path, const std::function<std::string()>& lines_now) {
  std::string lines = lines_now();
  for (bool written = false; !written;) {
    if (lines.empty())
      ::unlink(path.c_str());
    else
      write(path, lines);
    const std::string again = lines_now();
    written = again == lines;
    lines = again;
  }
}

}  // namespace

Ledger::Ledger(std::string folder, RunSettings recipe) : folder_(std::move(folder)), recipe_(std::move(recipe)) {
  while (folder_.size() > 1 && folder_.ends_with('/')) folder_.pop_back();
  for (const char* inner : {"/.done", "/.failed"}) make_folder(folder_ + inner);
  opened_ = now_in(folder_ + "/.done");
}

std::string Ledger::output_of(const WorkItem& item) const { return folder_ + "/" + item.stem + ".npz"; }

std::optional<std::string> Ledger::why_do(const WorkItem& item) const {
  const auto output = status_of(output_of(item));
  const auto record = read(done_record(item));
  if (!output || !record) return "";
  std::vector<std::string> others;
  if (!is(*record, "model", recipe_.model)) others.emplace_back("model");
  if (!is(*record, "options", recipe_.options)) others.emplace_back("options");
  if (!is(*record, "attn", recipe_.attn)) others.emplace_back("attn");
  if (!is(*record, "input", input_of(item))) others.emplace_back("input");
  if (!is(*record, "output_bytes", output->bytes)) others.emplace_back("output's size");
  if (others.empty()) return std::nullopt;
  return join(others, ", ");
}

bool Ledger::is_new(const WorkItem& item) const {
  const auto status = status_of(done_record(item));
  return status && status->modified >= opened_;
}

bool Ledger::has_failed(const WorkItem& item) const {
  const auto status = status_of(failed_record(item));
  return status && status->modified >= opened_;
}

void Ledger::begin(const WorkItem& item) const { ::unlink(done_record(item).c_str()); }

void Ledger::finish(const WorkItem& item, std::int64_t rows, double seconds) const {
  const auto output = status_of(output_of(item));
  const Record record = {{"file", item.input},
                         {"output", item.stem + ".npz"},
                         {"rows", rows},
                         {"seconds", seconds},
                         {"host", communicators::host_name()},
                         {"input", input_of(item)},
                         {"output_bytes", output ? output->bytes : 0},
                         {"model", recipe_.model},
                         {"options", recipe_.options},
                         {"attn", recipe_.attn}};
  write(done_record(item), one_line(record));
  ::unlink(failed_record(item).c_str());
}

void Ledger::fail(const WorkItem& item, const std::string& error) const {
  const Record record = {{"file", item.input}, {"error", error}, {"host", communicators::host_name()}};
  write(failed_record(item), one_line(record));
}

FileCounts Ledger::tally(std::span<const WorkItem> items, std::int64_t fit) const {
  FileCounts tally{fit, 0};
  for (const WorkItem& item : items) {
    if (is_new(item))
      ++tally.done;
    else if (has_failed(item))
      ++tally.failed;
  }
  return tally;
}

void Ledger::write_lists(std::span<const WorkItem> items) const {
  const auto done = [&] {
    std::string lines;
    for (const WorkItem& item : items)
      if (const auto record = read(done_record(item))) lines += one_line(*record);
    return lines;
  };
  const auto failed = [&] {
    std::string lines;
    for (const WorkItem& item : items) {
      if (status_of(done_record(item))) continue;  // another process finished it
      if (const auto record = read(failed_record(item)))
        lines += one_line({{"file", record->value("file", "")}, {"error", record->value("error", "")}});
    }
    return lines;
  };
  write_list(folder_ + "/manifest.jsonl", done);
  write_list(folder_ + "/failed.jsonl", failed);
}

std::string fingerprint(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return io::sha256(io::read_file(path).span());
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(path, error)) {
    const auto status = status_of(entry.path().string());
    if (status && entry.is_regular_file())
      names.push_back(fmt::format("{} {} {}\n", entry.path().string(), status->bytes, status->modified));
  }
  std::ranges::sort(names);
  const std::string text = join(names, "");
  return io::sha256(std::as_bytes(std::span(text)));
}

}  // namespace attn::shards
