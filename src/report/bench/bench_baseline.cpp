// Parses an earlier benchmark.
#include <fmt/format.h>

#include <limits>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/report/bench/bench_view.h"
#include "attn/report/json.h"

namespace attn::report {
namespace {

// The deepest nesting of a benchmark is row, latencies, number. The JSON library copies and frees by recursion, so the
// depth is limited.
constexpr int kMaxDepth = 16;

bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

/// Thrown for a number that is not a count.
struct InvalidCount {};

/// Reads a count strictly: the library would also convert a fraction, true, and a number that exceeds 64 bits.
template <typename Count>
Count count_of(const Json& value) {
  const std::int64_t count = value.is_number_integer() ? value.get<std::int64_t>() : -1;  // negative also above 63 bits
  if (count < 0 || count > std::numeric_limits<Count>::max()) throw InvalidCount{};
  return static_cast<Count>(count);
}

}  // namespace

std::vector<BenchRow> parse_bench_json(const std::string& name, std::string_view text) {
  const std::string file = printable(name);
  if (too_deep(text)) throw bad_input("{}: not written by attn bench as JSON: it nests too deep", file);
  std::string place;  // location of the value being read
  const auto unfit = [&] {
    return bad_input(
        "{}: not written by attn bench as JSON: {}", file,
        place.empty() ? "it has no schema and rows" : place + " lacks a value, or has one of another kind");
  };
  try {
    const Json json = Json::parse(text);
    if (json.at("schema") != "attn.bench/1") throw bad_input("{}: not of the schema attn.bench/1", file);
    std::vector<BenchRow> rows;
    for (const Json& item : json.at("rows")) {
      place = fmt::format("/rows/{}", rows.size());
      BenchRow row;
      item.at("model").get_to(row.setting.model);
      item.at("device").get_to(row.setting.device);
      item.at("backend").get_to(row.setting.backend);
      item.at("dtype").get_to(row.setting.dtype);
      item.at("matmul_precision").get_to(row.setting.matmul_precision);
      row.setting.batch = count_of<std::int64_t>(item.at("batch"));
      if (!item.at("seq_len").is_null()) row.setting.seq_len = count_of<std::int64_t>(item.at("seq_len"));
      row.setting.threads = count_of<int>(item.at("threads"));
      // Older files lack members that were added later.
      if (item.contains("mean_length") && !item["mean_length"].is_null())
        row.setting.mean_length = item["mean_length"].get<double>();
      row.setting.test = item.value("test", std::string());
      row.setting.skip_padding = item.value("skip_padding", false);
      item.at("ms").at("median").get_to(row.ms.median);
      item.at("ms").at("p90").get_to(row.ms.p90);
      rows.push_back(std::move(row));
    }
    return rows;
  } catch (const Json::parse_error&) {
    throw bad_input("{}: not written by attn bench as JSON: it is not valid JSON", file);
  } catch (const Json::exception&) {
    throw unfit();
  } catch (const InvalidCount&) {
    throw unfit();
  }
}

}  // namespace attn::report
