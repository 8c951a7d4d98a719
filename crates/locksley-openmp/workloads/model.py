"""Writes a language model with random weights, like Llama but small, 28 million: model.py FILE"""
import sys

import gguf
import numpy as np

EMBEDDING, LAYERS, FORWARD, VOCABULARY = 512, 8, 1536, 2000
KIND = gguf.GGMLQuantizationType.Q8_0

random = np.random.default_rng(1998)
model = gguf.GGUFWriter(sys.argv[1], "llama")


def add(name, rows, columns):
    weights = random.standard_normal((rows, columns), np.float32) / columns**0.5
    model.add_tensor(f"{name}.weight", gguf.quantize(weights, KIND), raw_dtype=KIND)


def add_norm(name):
    model.add_tensor(f"{name}.weight", np.ones(EMBEDDING, np.float32))


model.add_context_length(256)
model.add_embedding_length(EMBEDDING)
model.add_block_count(LAYERS)
model.add_feed_forward_length(FORWARD)
model.add_head_count(8)
model.add_layer_norm_rms_eps(1e-5)
model.add_vocab_size(VOCABULARY)
model.add_tokenizer_model("no_vocab")
add("token_embd", VOCABULARY, EMBEDDING)
add("output", VOCABULARY, EMBEDDING)
add_norm("output_norm")
for layer in range(LAYERS):
    for name in "attn_q", "attn_k", "attn_v", "attn_output":
        add(f"blk.{layer}.{name}", EMBEDDING, EMBEDDING)
    add(f"blk.{layer}.ffn_gate", FORWARD, EMBEDDING)
    add(f"blk.{layer}.ffn_up", FORWARD, EMBEDDING)
    add(f"blk.{layer}.ffn_down", EMBEDDING, FORWARD)
    add_norm(f"blk.{layer}.attn_norm")
    add_norm(f"blk.{layer}.ffn_norm")
model.write_header_to_file()
model.write_kv_data_to_file()
model.write_tensors_to_file()
model.close()
