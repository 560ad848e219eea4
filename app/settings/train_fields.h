#pragma once

#include <heed/app/settings/train_options.h>

namespace heed::app {

/// The group of those settings that say how a run is watched and kept, and change none of its steps.
inline constexpr const char* run_group = "The run";

template <class Options, class Field>
void each_text_field(Options& o, Field&& field) {
  const char* const data = "The text";
  field("--data", o.data, data,
        "What to learn: files and folders of text, each file a document, a file of tokenize, or .bin files "
        "of tokens");
  field("--source", o.source, data,
        "What to learn without --data: tales, or induction, documents that can be told only by copying");
  field("--split", o.split, data,
        "What validates: the tail, the last tenth of the text, or whole documents, a tenth of it");
  field("--pack", o.pack, data, "Rows full of documents, each seen by itself, in place of windows");
  field("--tokenizer", o.tokenizer, data,
        "What a token is: a char, a byte, a piece that bpe learns, or as a tokenizer.json says");
  field("--vocab-size", o.vocab_size, data, "Tokens that bpe may learn, the 256 bytes included");
  field("--token-bytes", o.token_bytes, data,
        "Bytes of a token in .bin files without a header: 2 or 4; 0: 2 for up to 65536 tokens, else 4");
  field("--threads", o.threads, run_group, "Processor threads; 0 takes all there are");
  field("--eval-every", o.eval_every, run_group,
        "Steps between looks at the validation loss; 0 looks at the end alone");
  field("--checkpoint-every", o.checkpoint_every, run_group,
        "Steps between checkpoints under --out, from which --resume goes on; 0 writes one only when "
        "interrupted");
  field("--keep", o.keep, run_group, "Checkpoints to keep, the newest; the best one stays besides");
}

template <class Options, class Field>
void each_model_field(Options& o, Field&& field) {
  const char* const model = "The model";
  field("--preset", o.preset, run_group, "A model and a recipe by name; every flag below overrides it");
  field("--layers", o.layers, model, "Transformer blocks, one on top of the other");
  field("--heads", o.heads, model, "Attention heads in each block; they share the width evenly");
  field("--embd", o.embd, model, "Width: numbers that stand for one token");
  field("--context", o.context, model, "Tokens the model can look back on");
  field("--dropout", o.dropout, model, "Share of activations set to zero while training");
  field("--bias", o.bias, model, "Give linear layers and norms a bias");
  field("--style", o.style, model,
        "gpt: learned positions, layer norm, gelu; llama: RoPE, RMS norm, a gated MLP of silu");
  field("--kv-heads", o.kv_heads, model,
        "Heads of keys and values, which query heads share; 0: as many as heads");
}

template <class Options, class Field>
void each_recipe_field(Options& o, Field&& field) {
  const char* const recipe = "The recipe";
  field("--batch", o.batch, recipe, "Windows of text in each step");
  field("--accumulate", o.accumulate, recipe, "Batches whose gradients make one step together");
  field("--steps", o.steps, recipe, "Steps of training");
  field("--optimizer", o.optimizer, recipe, "The rule of a step");
  field("--schedule", o.schedule, recipe, "The course of the learning rate over the run");
  field("--lr", o.lr, recipe, "Learning rate after the warm-up");
  field("--min-lr", o.min_lr, recipe, "Learning rate at the end");
  field("--warmup", o.warmup, recipe, "Steps in which the learning rate rises from nothing");
  field("--decay", o.decay, recipe, "Last steps in which warmup-stable-decay falls");
  field("--beta1", o.beta1, recipe, "Memory of the mean gradient");
  field("--beta2", o.beta2, recipe, "Memory of the mean square");
  field("--momentum", o.momentum, recipe, "Memory of sgd and rmsprop");
  field("--weight-decay", o.weight_decay, recipe, "Pull of the weights towards zero, on matrices alone");
  field("--clip", o.clip, recipe, "Longest gradient; a longer one is scaled down. 0 switches it off");
  field("--spike-factor", o.spike_factor, recipe,
        "Skip steps whose loss or gradient is so many times its usual size; 0 switches it off");
  field("--ema", o.ema, recipe,
        "Memory of averaged weights, which are then what is judged and kept; 0 switches it off");
  field("--patience", o.patience, run_group,
        "Stop after so many looks at a validation loss that did not fall; 0: never");
  field("--seed", o.seed, recipe, "Start of all random numbers: the same seed, the same run");
}

/// Every setting that a file of settings holds, once: field(flag, member, group, help).
template <class Options, class Field>
void each_field(Options& o, Field&& field) {
  each_text_field(o, field);
  each_model_field(o, field);
  each_recipe_field(o, field);
}

}  // namespace heed::app
