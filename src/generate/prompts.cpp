#include "prompts.h"

#include <algorithm>

namespace attn::generate {

Prompts::Prompts(const Request& request) : request_(request), first_(request.max_length) {
  for (std::size_t i = 0; i < count(); ++i) {
    first_ = std::min(first_, length(i));
    end_ = std::max(end_, end_of(i));
  }
}

Dim Prompts::length(std::size_t sequence) const {
  return std::min<Dim>(std::ssize(request_.prompts[sequence]), request_.max_length);
}

Dim Prompts::end_of(std::size_t sequence) const {
  const Dim room = request_.max_length - length(sequence);
  return length(sequence) + std::min(room, request_.max_new_tokens);
}

Token Prompts::forced(std::size_t sequence, Dim position, Token token) const {
  return position < length(sequence) ? request_.prompts[sequence][static_cast<std::size_t>(position)] : token;
}

std::vector<Token> Prompts::begin_of(std::size_t sequence) const {
  const auto& prompt = request_.prompts[sequence];
  return {prompt.begin(), prompt.begin() + first_};
}

std::vector<Token> Prompts::begins() const {
  std::vector<Token> all;
  for (const auto& prompt : request_.prompts) all.insert(all.end(), prompt.begin(), prompt.begin() + first_);
  return all;
}

bool Prompts::is_stop(Token token) const {
  return std::ranges::find(request_.stop_token_ids, token) != request_.stop_token_ids.end();
}

Sequence Prompts::cut(std::size_t sequence, const std::vector<Token>& tokens) const {
  Sequence out;
  out.prompt_length = length(sequence);
  const Dim end = std::min<Dim>(end_of(sequence), std::ssize(tokens));
  for (Dim i = 0; i < end; ++i) {
    out.token_ids.push_back(tokens[static_cast<std::size_t>(i)]);
    if (i < out.prompt_length || !is_stop(out.token_ids.back())) continue;
    out.finish = Finish::stop;
    break;
  }
  return out;
}

bool Prompts::padding_stops() const {
  if (!request_.pad_token_id || !is_stop(*request_.pad_token_id)) return false;
  for (std::size_t i = 0; i < count(); ++i)
    if (length(i) == request_.max_length) return false;
  return true;
}

}  // namespace attn::generate
