// The values of options with a syntax of their own. The first byte selects the option.
#include "arguments/parsed_values.h"
#include "arguments/range_list.h"
#include "attn/base/name_pattern.h"
#include "attn/report/bench/bench_view.h"
#include "attn/report/summary.h"
#include "attn/report/terminal.h"
#include "model.h"

namespace {

using namespace attn;

void parse(std::uint8_t which, const std::string& text) {
  const auto refuses = [](auto&& act) { fuzz::accepts(act, ExitCode::usage); };
  switch (which % 7) {
    case 0:
      return refuses([&] { static_cast<void>(cli::parse_range_list("--batch-size", text)); });
    case 1:
      return refuses([&] { static_cast<void>(cli::parse_shape(text)); });
    case 2:
      return refuses([&] { static_cast<void>(cli::parse_version(text)); });
    case 3: {
      const std::size_t half = text.size() / 2;
      static_cast<void>(matches(text.substr(0, half), text.substr(half)));
      return;
    }
    case 4:
      return refuses([&] {
        report::SummaryOptions options;
        options.layer_range = report::LayerRange{text, text};
        static const keras::Model model = keras::Model::read("encoder", keras::Model::builtin_encoder());
        fuzz::check_printable(report::render(report::Format::table, model.summary(), options), "a table");
      });
    case 5: {
      // The arguments of `attn get-config CLASS key=value`: the first line is the class.
      const std::vector<std::string> lines = split(text, '\n');
      std::vector<std::pair<std::string, std::string>> arguments;
      for (std::size_t i = 1; i < lines.size() && i < 20; ++i) {
        const std::size_t equals = std::min(lines[i].find('='), lines[i].size());
        arguments.emplace_back(lines[i].substr(0, equals), lines[i].substr(std::min(equals + 1, lines[i].size())));
      }
      fuzz::accepts([&] { fuzz::show(keras::Model::make_layer(lines.front(), arguments)); });
      return;
    }
    default:
      static_cast<void>(report::folded_tables(text, 40));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 4096) return 0;
  parse(data[0], std::string(fuzz::text_of(data + 1, size - 1)));
  return 0;
}
