#include <cstring>
#include <unordered_set>

#include <fmt/format.h>

#include <heed/core/arguments.h>
#include <heed/core/elements.h>
#include <heed/train/distributed/communicator.h>
#include <heed/train/distributed/gradient_reducer.h>

namespace heed::train::distributed {
namespace {

std::byte* at(const Tensor& bucket, std::int64_t element) {
  return bucket.storage()->data() + element * static_cast<std::int64_t>(size_of(bucket.dtype()));
}

std::size_t size_in_bytes(const Tensor& x) {
  return static_cast<std::size_t>(x.numel()) * size_of(x.dtype());
}

void set_flag(const Tensor& bucket, std::int64_t element, bool value) {
  visit_floating(bucket.dtype(), [&]<class T>(std::type_identity<T>) {
    reinterpret_cast<T*>(bucket.storage()->data())[element] = value ? T{1} : T{0};
  });
}

bool flag_is_set(const Tensor& bucket, std::int64_t element) {
  return visit_floating(bucket.dtype(),
                        [&]<class T>(std::type_identity<T>) { return bucket.data<T>()[element] > T{0}; });
}

}  // namespace

GradientReducer::GradientReducer(const nn::NamedTensors& parameters, const World& world,
                                 const ReducerOptions& options)
    : world_(world), overlap_(options.overlap) {
  check_value(options.bucket_bytes >= 1, "GradientReducer", "bucket_bytes", options.bucket_bytes,
              "at least 1");
  if (world.size() == 1) return;
  plan(parameters, options.bucket_bytes);
  for (Entry& entry : entries_) {
    entry.hook = entry.parameter.register_stored_hook([this, &entry](const Tensor&) {
      if (!begun_) return;
      if (entry.filled) {
        fail<GradError>("GradientReducer", "a second backward came before finish", {},
                        "one between begin and finish");
      }
      fill(entry);
      if (overlap_) send_full_ones();
    });
  }
}

GradientReducer::~GradientReducer() {
  for (Entry& entry : entries_) entry.hook.remove();
}

// Assigns parameters to buckets, from the last to the first. After its gradients, a bucket has one flag for
// each, which is 1 if the gradient is there.
void GradientReducer::plan(const nn::NamedTensors& parameters, std::int64_t bucket_bytes) {
  std::unordered_set<const TensorImpl*> seen;
  for (auto it = parameters.rbegin(); it != parameters.rend(); ++it) {
    const Tensor& parameter = it->second;
    if (!seen.insert(parameter.impl()).second) continue;
    const auto width = static_cast<std::int64_t>(size_of(parameter.dtype()));
    const bool fits = !buckets_.empty() && buckets_.back().dtype == parameter.dtype() &&
                      (buckets_.back().elements + parameter.numel()) * width <= bucket_bytes;
    if (!fits) buckets_.push_back({.dtype = parameter.dtype()});
    Bucket& bucket = buckets_.back();
    bucket.entries.push_back(entries_.size());
    entries_.push_back({parameter, buckets_.size() - 1, bucket.elements, 0});
    bucket.elements += parameter.numel();
  }
  for (Bucket& bucket : buckets_) {
    for (const std::size_t i : bucket.entries) entries_[i].flag = bucket.elements++;
    bucket.own = empty({bucket.elements}, bucket.dtype);
    bucket.sum = empty({bucket.elements}, bucket.dtype);
    bucket.missing = bucket.entries.size();
  }
}

void GradientReducer::fill(Entry& entry) {
  Bucket& bucket = buckets_[entry.bucket];
  const Tensor gradient = entry.parameter.grad();
  std::byte* const to = at(bucket.own, entry.offset);
  if (gradient.defined()) {
    const Tensor whole = gradient.is_contiguous() ? gradient : copy_of(gradient);
    std::memcpy(to, at(whole, whole.offset()), size_in_bytes(whole));
  } else {
    std::memset(to, 0, size_in_bytes(entry.parameter));
  }
  set_flag(bucket.own, entry.flag, gradient.defined());
  entry.filled = true;
  --bucket.missing;
}

void GradientReducer::send_full_ones() {
  for (; sent_ < buckets_.size() && buckets_[sent_].missing == 0; ++sent_) {
    const Bucket& bucket = buckets_[sent_];
    world_.communicator_->start_sum(bucket.own.storage()->data(), bucket.sum.storage()->data(),
                                    bucket.elements, bucket.dtype);
  }
}

void GradientReducer::take(const Entry& entry) {
  const Tensor& sum = buckets_[entry.bucket].sum;
  if (!flag_is_set(sum, entry.flag)) return;
  Tensor parameter = entry.parameter;
  Tensor gradient = parameter.grad();
  parameter.set_grad({});
  // The stored gradient may be a view, or shared with another parameter; then a new one is made.
  if (!gradient.defined() || !gradient.owns_storage_alone() || !gradient.is_contiguous()) {
    gradient = empty(parameter.shape(), parameter.dtype());
  }
  std::memcpy(at(gradient, gradient.offset()), at(sum, entry.offset), size_in_bytes(gradient));
  parameter.set_grad(std::move(gradient));
}

void GradientReducer::begin() { begun_ = true; }

void GradientReducer::finish() {
  if (entries_.empty()) return;
  for (Entry& entry : entries_) {
    if (!entry.filled) fill(entry);
  }
  send_full_ones();
  world_.communicator_->finish_sums();
  for (Entry& entry : entries_) {
    take(entry);
    entry.filled = false;
  }
  for (Bucket& bucket : buckets_) bucket.missing = bucket.entries.size();
  sent_ = 0;
  begun_ = false;
}

}  // namespace heed::train::distributed
