#include "attn/library/probe.h"

#include <string>

#include "attn/base/text.h"
#include "attn/open/session.h"
#include "model_parts.h"

namespace attn::library {
Probe::Probe(const Model& model, const RunOptions& options)
    : execution_(execution_of(options)),
      backend_(open::open_backend(execution_.device, execution_.backend, open::kSilent)),
      loaded_(loaded_for(model.parts_->source, execution_)),
      subject_(std::make_unique<probe::Subject>(loaded_, execution_, *backend_, open::kSilent)),
      prompts_(std::make_unique<ProbePrompts>(model.parts_->path, loaded_, true, true, open::kSilent)) {}

std::vector<report::ListedPoint> listed_points(const probe::Subject& subject) {
  const auto prompt_of = [](std::size_t count) {
    return probe::Prompt{std::vector<probe::Id>(count), std::vector<probe::Id>(count), {}};
  };
  const probe::Lowered some = subject.lower(2, prompt_of(3)), longer = subject.lower(2, prompt_of(5));
  std::vector<report::ListedPoint> out;
  for (const probe::Point& point : some.points.named) {
    const graph::Value& value = some.graph.value(point.value);
    const Shape& other_shape = longer.graph.value(point.value).shape;
    std::vector<std::string> sizes = {"B"};
    for (int axis = 1; axis < value.shape.rank(); ++axis)
      sizes.push_back(value.shape[axis] != other_shape[axis] ? "T" : std::to_string(value.shape[axis]));
    out.push_back({point.name, "(" + join(sizes, ", ") + ")", std::string(name_of(value.dtype))});
  }
  return out;
}

}  // namespace attn::library
