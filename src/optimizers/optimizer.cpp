#include "attn/optimizers/optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "rules.h"
#include "slots.h"

namespace attn::optimizers {
namespace {

/// The number of elements of one task. It is fixed, so results do not depend on the number of threads.
constexpr std::int64_t kPart = std::int64_t{1} << 16;
/// Below this number of elements, one thread is faster.
constexpr std::int64_t kLeastForThreads = std::int64_t{1} << 18;

/// Step counts up to this limit are exact in double and can be incremented.
constexpr double kMostSteps = 1e15;

void fill(const Tensor& tensor, double value) {
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, value);
}

void copy(const Tensor& from, const Tensor& to) { std::copy_n(from.data(), from.bytes(), to.data()); }

}  // namespace

Optimizer::Optimizer(Settings settings, std::vector<Variable> variables, int threads, Sharing sharing)
    : settings_(std::move(settings)), variables_(std::move(variables)), threads_(threads), sharing_(sharing) {
  std::int64_t elements = 0;
  for (const Variable& variable : variables_) elements += variable.shape.size();
  if (elements < kLeastForThreads) threads_ = 1;
  const bool whole = !is_elementwise(settings_.rule);
  for (std::size_t n = 0; n < variables_.size(); ++n) {
    const std::int64_t size = variables_[n].shape.size(), most = whole ? std::max<std::int64_t>(1, size) : kPart;
    for (std::int64_t begin = 0; begin < size; begin += most)
      parts_.push_back({n, begin, std::min(begin + most, size)});
  }
  shard_variables(elements);
  if (settings_.loss_scale) {
    for (const auto& [name, dtype] :
         {std::pair("iteration", DType::int64), std::pair("learning_rate", DType::float32),
          std::pair("step_counter", DType::int64), std::pair("dynamic_scale", DType::float32)})
      state_.push_back({std::string("loss_scale_optimizer/") + name, Tensor(dtype, Shape{})});
    state_.back().tensor.set(0, settings_.loss_scale->initial_scale);
    first_ = state_.size();
  }
  add("iteration", Tensor(DType::int64, Shape{}));
  if (!settings_.schedule) add("learning_rate", Tensor(DType::float32, Shape{})).set(0, settings_.learning_rate);
  add_slots();
}

/// Ranks get consecutive ranges of about equal size.
void Optimizer::shard_variables(std::int64_t elements) {
  moved_.assign(static_cast<std::size_t>(sharing_.ranks), std::vector<Range>(variables_.size()));
  std::int64_t before = 0;
  for (const Part& part : parts_) {
    const std::int64_t size = part.end - part.begin, middle = before + size / 2;
    const auto rank = static_cast<int>(static_cast<double>(middle) / static_cast<double>(elements) * sharing_.ranks);
    const int owner = std::clamp(rank, 0, sharing_.ranks - 1);
    Range& range = moved_[static_cast<std::size_t>(owner)][part.variable];
    if (range.size() == 0) range.begin = part.begin;
    range.end = part.end;
    if (owner == sharing_.rank) own_parts_.push_back(part);
    before += size;
  }
}

Shape Optimizer::own_shape(std::size_t variable, const Shape& whole) const {
  if (!is_shared(variable)) return whole;
  if (is_elementwise(settings_.rule)) return {moved(variable).size()};
  return moved(variable).size() > 0 ? whole : Shape{0};
}

std::optional<Optimizer::Pieces> Optimizer::pieces(std::size_t variable_of_state) const {
  const auto found = shared_.find(variable_of_state);
  if (found == shared_.end()) return std::nullopt;
  const auto& [variable, whole] = found->second;
  const std::int64_t each = bytes_of(variables_[variable].dtype), bytes = whole.size() * each;
  Pieces out{whole, {}};
  for (const std::vector<Range>& ranges : moved_) {
    const std::int64_t size = ranges[variable].size();
    out.bytes.push_back(is_elementwise(settings_.rule) ? size * each : (size > 0 ? bytes : 0));
  }
  return out;
}

Tensor& Optimizer::add(const std::string& name, Tensor tensor) {
  state_.push_back({settings_.name + "/" + name, std::move(tensor)});
  return state_.back().tensor;
}

void Optimizer::add_slots() {
  slots_.resize(variables_.size());
  const auto add_slot = [&](const Slot& each) {
    const std::size_t n = each.variable, place = state_.size();
    std::string path = variables_[n].path;
    std::ranges::replace(path, '/', '_');
    // Rules with norms need whole accumulators on each rank.
    const bool shared = is_shared(n) && each.kind != SlotKind::accumulator;
    if (shared) shared_.emplace(place, std::pair(n, each.shape));
    Tensor tensor =
        add(path + "_" + each.name, Tensor(variables_[n].dtype, shared ? own_shape(n, each.shape) : each.shape));
    if (each.value != 0.0) fill(tensor, each.value);
    auto& kept = each.kind == SlotKind::average       ? averages_
                 : each.kind == SlotKind::accumulator ? accumulators_
                                                      : slots_[n];
    kept.push_back(tensor);
  };
  const auto add_loose = [&](std::optional<std::size_t> n, DType dtype) {
    const Tensor tensor = settings_.loss_scale ? Tensor(dtype, Shape{}) : add("variable", Tensor(dtype, Shape{}));
    (n ? slots_[*n].emplace_back() : product_) = tensor;
  };
  visit_slots(settings_, variables_, add_slot, add_loose);
  if (std::holds_alternative<Nadam>(settings_.rule)) product_.set(0, 1.0);
}

void Optimizer::set_state(const std::vector<Tensor>& state) {
  const std::size_t left_out = state.size() + first_ == state_.size() ? first_ : 0;
  const auto expect = [&](std::size_t i, bool fits, const char* what) {
    if (!fits)
      throw bad_input("variable {} of the optimizer, {}, is {} in the file; expected {}", i,
                      printable(state_[i + left_out].name), state[i].at(0), what);
  };
  if (state.size() + left_out != state_.size())
    throw bad_input("the file has {} optimizer variables, but {} has {}", state.size(), settings_.name, state_.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    const Tensor& kept = state_[i + left_out].tensor;
    const auto shared = shared_.find(i + left_out);
    const Shape whole = shared == shared_.end() ? kept.shape() : shared->second.second;
    if (state[i].shape() != whole)
      throw bad_input("variable {} of the optimizer is {} in the file, but {} has {}", i, state[i].shape().str(),
                      printable(state_[i + left_out].name), whole.str());
    if (whole.rank() == 0 && kept.dtype() == DType::int64)
      expect(i, state[i].at(0) >= 0.0 && state[i].at(0) <= kMostSteps, "a number of steps");
    if (first_ > 0 && i + left_out + 1 == first_)
      expect(i, state[i].at(0) > 0.0 && std::isfinite(state[i].at(0)), "a scale above 0");
    const bool is_part = shared != shared_.end() && is_elementwise(settings_.rule);
    const std::int64_t before = is_part ? moved(shared->second.first).begin * bytes_of(kept.dtype()) : 0;
    const Tensor given = state[i].cast(kept.dtype());
    std::copy_n(given.data() + before, kept.bytes(), kept.data());
  }
}

std::vector<Tensor> Optimizer::unsaved() const {
  if (!settings_.loss_scale || !std::holds_alternative<Nadam>(settings_.rule)) return {};
  return {product_};
}

void Optimizer::set_unsaved(const std::vector<Tensor>& kept) {
  const std::vector<Tensor> own = unsaved();
  if (kept.size() != own.size()) return;  // a file that Keras saved has no such list
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (kept[i].shape() != own[i].shape())
      throw bad_input("attn/unsaved/{} of the optimizer is {} in the file, but {} has {}", i, kept[i].shape().str(),
                      printable(settings_.name), own[i].shape().str());
    copy(kept[i].cast(own[i].dtype()), own[i]);
  }
}

std::int64_t Optimizer::iteration() const { return state_[first_].tensor.as<std::int64_t>()[0]; }

std::int64_t Optimizer::updates() const { return iteration() / settings_.gradient_accumulation_steps.value_or(1); }

double Optimizer::learning_rate() const {
  return settings_.schedule ? optimizers::learning_rate(*settings_.schedule, iteration())
                            : state_[first_ + 1].tensor.at(0);
}

void Optimizer::set_learning_rate(double rate) {
  if (!settings_.schedule) state_[first_ + 1].tensor.set(0, rate);
}

double Optimizer::loss_scale() const {
  if (settings_.loss_scale) return state_[first_ - 1].tensor.at(0);
  return settings_.loss_scale_factor.value_or(1.0);
}

void Optimizer::move_scale(bool finite) const {
  const Tensor &counter = state_[first_ - 2].tensor, &scale = state_[first_ - 1].tensor;
  const bool grows = finite && counter.at(0) == static_cast<double>(settings_.loss_scale->dynamic_growth_steps - 1);
  counter.set(0, grows || !finite ? 0.0 : counter.at(0) + 1.0);
  if (!finite) scale.set(0, scale.at(0) * 0.5);
  if (grows) scale.set(0, scale.at(0) * 2.0);
}

}  // namespace attn::optimizers
