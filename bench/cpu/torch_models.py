"""The workloads in idiomatic PyTorch, with the weights of a Keras model by their paths."""
import torch
import torch.nn.functional as F


def parameter(array):
    return torch.nn.Parameter(torch.from_numpy(array.copy()), requires_grad=False)


class Dense(torch.nn.Module):
    """Converts a Keras kernel (inputs…, outputs…) to PyTorch's layout (outputs, inputs)."""

    def __init__(self, weights, path, inputs=1):
        super().__init__()
        kernel = weights[path + "/kernel"]
        rows = 1
        for size in kernel.shape[:inputs]:
            rows *= size
        self.weight = parameter(kernel.reshape(rows, -1).T)
        self.bias = parameter(weights[path + "/bias"].reshape(-1))

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


class Norm(torch.nn.Module):
    def __init__(self, weights, path, epsilon):
        super().__init__()
        self.gamma, self.beta = parameter(weights[path + "/gamma"]), parameter(weights[path + "/beta"])
        self.epsilon = epsilon

    def forward(self, x):
        return F.layer_norm(x, self.gamma.shape, self.gamma, self.beta, self.epsilon)


class Attention(torch.nn.Module):
    """Query, key and value in one product, then scaled_dot_product_attention, or the scores if requested. `plain` uses
    three products and a softmax, the form that ONNX Runtime's optimizer recognizes."""

    def __init__(self, weights, path, scores=False, plain=False, causal=False):
        super().__init__()
        self.causal = causal
        parts = [Dense(weights, f"{path}/{name}") for name in ("query", "key", "value")]
        self.heads = weights[path + "/query/kernel"].shape[1]
        self.weight = torch.nn.Parameter(torch.cat([p.weight for p in parts]), requires_grad=False)
        self.bias = torch.nn.Parameter(torch.cat([p.bias for p in parts]), requires_grad=False)
        self.output = Dense(weights, path + "/attention_output", inputs=2)
        self.scores, self.parts = scores, torch.nn.ModuleList(parts) if plain else None
        self.packed = None  # replaces weight and bias if they are quantized

    def forward(self, x):
        batch, length, _ = x.shape
        if self.parts is not None:
            query, key, value = (p(x).view(batch, length, self.heads, -1).permute(0, 2, 1, 3) for p in self.parts)
            scores = torch.matmul(query, key.transpose(-1, -2)) / query.shape[-1] ** 0.5
            context = torch.matmul(torch.softmax(scores, -1), value).permute(0, 2, 1, 3).contiguous()
            return self.output(context.view(batch, length, -1))
        packed = self.packed(x) if self.packed else F.linear(x, self.weight, self.bias)
        packed = packed.view(batch, length, 3, self.heads, -1)
        query, key, value = (packed[:, :, i].transpose(1, 2) for i in range(3))
        if not self.scores:
            context = F.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        else:
            scores = torch.softmax(torch.matmul(query * query.shape[-1] ** -0.5, key.transpose(2, 3)), -1)
            context = torch.matmul(scores, value)
        y = self.output(context.transpose(1, 2).reshape(batch, length, -1))
        return (y, scores) if self.scores else y


def numbered(name, i):
    return name if i == 0 else f"{name}_{i}"


class EncoderLayer(torch.nn.Module):
    """The encoder of "Attention Is All You Need": norm(x + attention(x)), norm(x + ffn(x))."""

    def __init__(self, weights, i, activation, epsilon, plain):
        super().__init__()
        self.attention = Attention(weights, numbered("multi_head_attention", i), plain=plain)
        self.norm1 = Norm(weights, numbered("layer_normalization", 2 * i), epsilon)
        self.dense1 = Dense(weights, numbered("dense", 2 * i))
        self.dense2 = Dense(weights, numbered("dense", 2 * i + 1))
        self.norm2 = Norm(weights, numbered("layer_normalization", 2 * i + 1), epsilon)
        self.activation = {"relu": F.relu, "gelu": F.gelu}[activation]

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.dense2(self.activation(self.dense1(x))))


class Encoder(torch.nn.Module):
    def __init__(self, weights, config, plain=False):
        super().__init__()
        self.layers = torch.nn.ModuleList(
            [EncoderLayer(weights, i, config["activation"], config["layer_norm_epsilon"], plain)
             for i in range(config["num_layers"])])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def fast_encoder(weights, config):
    """nn.TransformerEncoder, whose inference uses PyTorch's fast path."""
    width, heads = config["input_shape"][1], config["num_heads"]
    layer = torch.nn.TransformerEncoderLayer(width, heads, config["intermediate_dim"], dropout=0.0,
                                             activation=config["activation"],
                                             layer_norm_eps=config["layer_norm_epsilon"], batch_first=True)
    model = torch.nn.TransformerEncoder(layer, config["num_layers"], enable_nested_tensor=False).eval()
    with torch.no_grad():
        for ours, theirs in zip(Encoder(weights, config).layers, model.layers):
            for to, of in ((theirs.self_attn.in_proj_weight, ours.attention.weight),
                           (theirs.self_attn.in_proj_bias, ours.attention.bias),
                           (theirs.self_attn.out_proj.weight, ours.attention.output.weight),
                           (theirs.self_attn.out_proj.bias, ours.attention.output.bias),
                           (theirs.linear1.weight, ours.dense1.weight), (theirs.linear1.bias, ours.dense1.bias),
                           (theirs.linear2.weight, ours.dense2.weight), (theirs.linear2.bias, ours.dense2.bias),
                           (theirs.norm1.weight, ours.norm1.gamma), (theirs.norm1.bias, ours.norm1.beta),
                           (theirs.norm2.weight, ours.norm2.gamma), (theirs.norm2.bias, ours.norm2.beta)):
                to.copy_(of)
    return model.requires_grad_(False)


class LstmAttention(torch.nn.Module):
    def __init__(self, weights):
        super().__init__()
        kernel, recurrent = weights["lstm/lstm_cell/kernel"], weights["lstm/lstm_cell/recurrent_kernel"]
        self.lstm = torch.nn.LSTM(kernel.shape[0], recurrent.shape[0], batch_first=True)
        with torch.no_grad():  # both keep the gates in the order i, f, c, o
            self.lstm.weight_ih_l0.copy_(torch.from_numpy(kernel.T.copy()))
            self.lstm.weight_hh_l0.copy_(torch.from_numpy(recurrent.T.copy()))
            self.lstm.bias_ih_l0.copy_(torch.from_numpy(weights["lstm/lstm_cell/bias"]))
            self.lstm.bias_hh_l0.zero_()
        self.lstm.requires_grad_(False)
        self.attention = Attention(weights, "multi_head_attention", scores=True)
        self.norm = Norm(weights, "layer_normalization", 1e-3)
        self.dense = Dense(weights, "dense")

    def forward(self, x):
        x = self.lstm(x)[0]
        y, scores = self.attention(x)
        return self.dense(self.norm(x + y)[:, -1]), scores


class VitBlock(torch.nn.Module):
    def __init__(self, weights, path):
        super().__init__()
        self.norm1, self.norm2 = Norm(weights, path + "/ln_1", 1e-6), Norm(weights, path + "/ln_2", 1e-6)
        self.attention = Attention(weights, path + "/mha")
        self.dense1, self.dense2 = Dense(weights, path + "/mlp/dense_1"), Dense(weights, path + "/mlp/dense_2")

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.dense2(F.gelu(self.dense1(self.norm2(x))))


class Vit(torch.nn.Module):
    """Images are (batch, height, width, channels), as Keras has them."""

    def __init__(self, weights, layers):
        super().__init__()
        path = "vit_patching_and_embedding/"
        self.kernel = parameter(weights[path + "patch_embedding/kernel"].transpose(3, 2, 0, 1))
        self.bias = parameter(weights[path + "patch_embedding/bias"])
        self.token = parameter(weights[path + "class_token"])
        self.positions = parameter(weights[path + "position_embedding/embeddings"])
        self.blocks = torch.nn.ModuleList(
            [VitBlock(weights, f"vit_encoder/transformer_block_{i + 1}") for i in range(layers)])
        self.norm = Norm(weights, "vit_encoder/ln", 1e-6)

    def forward(self, x):
        x = F.conv2d(x.permute(0, 3, 1, 2), self.kernel, self.bias, stride=self.kernel.shape[2:])
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x.flatten(2).transpose(1, 2)], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class Gpt2Block(torch.nn.Module):
    def __init__(self, weights, path):
        super().__init__()
        self.norm1 = Norm(weights, path + "/self_attention_layer_norm", 1e-5)
        self.attention = Attention(weights, path + "/self_attention", causal=True)
        self.norm2 = Norm(weights, path + "/feedforward_layer_norm", 1e-5)
        self.dense1 = Dense(weights, path + "/feedforward_intermediate_dense")
        self.dense2 = Dense(weights, path + "/feedforward_output_dense")

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.dense2(F.gelu(self.dense1(self.norm2(x)), approximate="tanh"))


class Gpt2(torch.nn.Module):
    """Maps tokens (batch, length) to logits, by the embedding table."""

    def __init__(self, weights, layers):
        super().__init__()
        self.tokens = parameter(weights["token_embedding/embeddings"])
        self.positions = parameter(weights["position_embedding/embeddings"])
        self.blocks = torch.nn.ModuleList([Gpt2Block(weights, f"transformer_layer_{i}") for i in range(layers)])
        self.norm = Norm(weights, "layer_norm", 1e-5)

    def forward(self, tokens):
        x = F.embedding(tokens, self.tokens) + self.positions[:tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tokens)


def make(kind, weights, config):
    if kind == "encoder":
        return Encoder(weights, config)
    if kind in ("attention", "attention_scores"):
        return Attention(weights, "multi_head_attention", scores=kind == "attention_scores")
    if kind == "lstm_attention":
        return LstmAttention(weights)
    if kind == "gpt2":
        return Gpt2(weights, config["config"]["backbone"]["config"]["num_layers"])
    return Vit(weights, config["config"]["num_layers"])
