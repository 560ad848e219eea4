#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <heed/check/isolation.h>
#include <heed/core/factory.h>
#include <heed/core/random.h>
#include <heed/nn/causal_lm.h>
#include <heed/nn/multi_head_attention.h>

// Models for the provers, right and wrong: small, and as people write them.
namespace heed::test::zoo {

constexpr std::int64_t samples = 2;
constexpr std::int64_t positions = 6;
constexpr std::int64_t width = 8;
constexpr std::int64_t vocabulary = 11;

/// A model that no prover may accuse.
struct Honest {
  std::string name;
  check::SequenceModel model;
  Tensor x = {};
  check::IsolationOptions options = {};
  bool causal = true;     ///< asked by check_causal; then what lies behind a length is never heard either
  bool warns = false;     ///< passes with the warning: closed places are read with weight zero
  Tensor lengths = {};    ///< of check_padding, if the model knows them
  Tensor documents = {};  ///< of check_documents, if the model knows them
  bool isolates_batch = true;  ///< asked by check_batch_isolation
};

enum class Prover { causal, batch, padding, documents };

/// A model that a prover must accuse, with the operation that leaks and the end of its module's path.
struct Leaky {
  std::string name;
  check::SequenceModel model;
  std::string op;
  check::IsolationFinding finding = check::IsolationFinding::derivative;
  Prover prover = Prover::causal;
  std::string scope = {};
  Tensor x = {};
  check::IsolationOptions options = {};
};

std::vector<Honest> honest_attention();
std::vector<Honest> honest_layouts();
std::vector<Honest> honest_mixers();
std::vector<Leaky> leaky_attention();
std::vector<Leaky> leaky_mixers();
std::vector<Leaky> leaky_statistics();
std::vector<Leaky> leaky_tokens();

/// [samples, positions, width], random.
Tensor sequence(DType dtype = DType::f64);
/// [samples, 2 heads, positions, 4].
Tensor heads(DType dtype = DType::f64);
/// [samples, positions], random below `vocabulary`.
Tensor tokens();
/// {3, positions}.
Tensor lengths();
/// [positions]: three documents.
Tensor documents();

/// f64, embed_dim `width`, 2 heads unless given.
std::shared_ptr<nn::MultiHeadAttention> attention_module(nn::MultiHeadAttentionOptions options = {});
std::shared_ptr<nn::CausalLM> language_model(nn::CausalLMOptions options = {});
/// [rows, columns] of random normal numbers, a parameter.
Tensor parameter(std::int64_t rows, std::int64_t columns, std::uint64_t seed = 3);
/// [n, n] boolean, true on and below the diagonal.
Tensor lower_triangle(std::int64_t n);
/// x one position later, zeros first: y_t = x_{t−1}.
Tensor later(const Tensor& x);
/// x one position earlier, zeros last: y_t = x_{t+1}.
Tensor earlier(const Tensor& x);
/// Vectors of tokens [.., C], looked up in the order of the sorted tokens and gathered from there.
Tensor gathered_vectors(const Tensor& table, const Tensor& tokens);
/// Position by position: tanh(x W).
Tensor dense(const Tensor& x);

}  // namespace heed::test::zoo
