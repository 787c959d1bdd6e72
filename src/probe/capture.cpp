#include "attn/probe/capture.h"

#include <algorithm>
#include <cmath>

#include "attn/base/error.h"

namespace attn::probe {
namespace {

/// Copies a row into a larger one: each axis of `from` is at most as long as that of `to`.
void place(const Tensor& from, const Tensor& to, std::int64_t row) {
  const Shape& small = from.shape();
  for (std::int64_t i = 0; i < from.size(); ++i) {
    std::int64_t rest = i, offset = 0, stride = 1;
    for (int axis = small.rank(); axis-- > 0;) {
      offset += (axis == 0 ? row : rest % small[axis]) * stride;
      rest /= small[axis];
      stride *= to.shape()[axis];
    }
    to.set(offset, from.at(i));
  }
}

}  // namespace

std::vector<NamedTensor> captured(const Subject& subject, std::span<const Prompt> prompts, const std::string& points) {
  std::vector<Point> wanted;
  std::vector<std::vector<Tensor>> rows;  // one list for each point, one array for each prompt
  std::int64_t longest = 0, shortest = std::ssize(prompts.front().ids);
  for (const Prompt& prompt : prompts) {
    const Lowered lowered = subject.lower(1, prompt);
    wanted = lowered.points.select(points);
    std::vector<graph::ValueId> ids;
    for (const Point& point : wanted) ids.push_back(point.value);
    const Values values = subject.run(lowered, prompt, ids);
    rows.resize(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Tensor& value = values.at(wanted[i].value);
      for (std::int64_t at = 0; at < value.size(); ++at)
        if (!std::isfinite(value.at(at)))
          throw Error(ExitCode::differs, fmt::format("{} has NaN or Inf, first at element {}", wanted[i].name, at));
      const bool half = value.dtype() == DType::float16 || value.dtype() == DType::bfloat16;
      rows[i].push_back(half ? value.cast(DType::float32) : value);
    }
    longest = std::max<std::int64_t>(longest, std::ssize(prompt.ids));
    shortest = std::min<std::int64_t>(shortest, std::ssize(prompt.ids));
  }
  std::vector<NamedTensor> out;
  const auto count = static_cast<std::int64_t>(prompts.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Shape shape = rows[i].front().shape();
    for (const Tensor& row : rows[i])
      for (int axis = 0; axis < shape.rank(); ++axis) shape[axis] = std::max(shape[axis], row.shape()[axis]);
    shape[0] = count;
    const Tensor all(rows[i].front().dtype(), shape);
    for (std::int64_t row = 0; row < count; ++row) place(rows[i][static_cast<std::size_t>(row)], all, row);
    out.push_back({wanted[i].name, all});
  }
  const Tensor ids(DType::int32, {count, longest}), lengths(DType::int32, {count});
  for (std::int64_t row = 0; row < count; ++row) {
    const std::vector<Id>& own = prompts[static_cast<std::size_t>(row)].ids;
    lengths.set(row, static_cast<double>(own.size()));
    for (std::size_t at = 0; at < own.size(); ++at) ids.set(row * longest + static_cast<std::int64_t>(at), own[at]);
  }
  out.push_back({"ids", ids});
  if (longest != shortest) out.push_back({"lengths", lengths});
  return out;
}

}  // namespace attn::probe
