#include <utility>

#include <heed/optim/adamw.h>

namespace heed::optim {

AdamW::AdamW(nn::NamedTensors parameters, const AdamWOptions& options)
    : Adam("AdamW", std::move(parameters),
           {.lr = options.lr,
            .beta1 = options.beta1,
            .beta2 = options.beta2,
            .epsilon = options.epsilon,
            .weight_decay = options.weight_decay,
            .decoupled_decay = true}) {}

}  // namespace heed::optim
