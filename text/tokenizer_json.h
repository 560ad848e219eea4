#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include <heed/text/bpe_tokenizer.h>
#include <heed/text/tokenizer.h>

// The functions of the same names for JSON that was parsed before: a vocabulary of a megabyte is parsed once.
namespace heed::text::detail {

BpeVocabulary bpe_from_huggingface(const nlohmann::json& root);
std::unique_ptr<Tokenizer> tokenizer_from_json(const nlohmann::json& root);

}  // namespace heed::text::detail
