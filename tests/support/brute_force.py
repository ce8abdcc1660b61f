"""Every canvas over a tiny vocabulary, one by one: the specification that the posterior must meet."""

import itertools

import numpy as np

PAD, END = 0, 1


def accepts(grammar, data):
    """Bytes that are no UTF-8 are no text."""
    try:
        return grammar.accepts(data.decode())
    except UnicodeDecodeError:
        return False


def completes(grammar, pieces, data, budget):
    """Whether at most `budget` more tokens can make `data` a member."""
    if accepts(grammar, data):
        return True
    return budget > 0 and any(completes(grammar, pieces, data + piece, budget - 1) for piece in pieces)


def valid_canvases(grammar, vocabulary, length, remaining, *, prefix=b""):
    """All canvases that a constraint allows after `prefix`, as (tokens, positions up to and with the end token)."""
    limit = length + min(remaining, 0)
    pieces = [piece for piece in vocabulary.tokens if piece]
    found = []
    for tokens in itertools.product(range(len(vocabulary)), repeat=length):
        body = list(itertools.takewhile(lambda t: t != END, tokens))
        tail = tokens[len(body) + 1 :]
        if len(body) > limit or not all(vocabulary.tokens[t] for t in body) or not set(tail) <= {PAD, END}:
            continue
        data = prefix + b"".join(vocabulary.tokens[t] for t in body)
        if len(body) < length:
            if accepts(grammar, data):
                found.append((tokens, len(body) + 1))
        elif completes(grammar, pieces, data, max(remaining, 0)):
            found.append((tokens, length))
    return found


class Enumerated:
    """log Z, marginals, entropies and mode by summing over `valid_canvases`."""

    def __init__(self, canvases, logits, tail):
        logits = np.asarray(logits, np.float64)
        top = logits.max(1, keepdims=True)
        log_p = logits - top - np.log(np.exp(logits - top).sum(1, keepdims=True))
        length = len(logits)
        tail_mass = np.logaddexp(log_p[:, PAD], log_p[:, END])
        self.canvases = np.array([tokens for tokens, _ in canvases])
        weights = log_p[np.arange(length), self.canvases].sum(1)
        best = weights.copy()
        if tail == "unscored":
            # after the end token the law is p itself, restricted to the tail tokens, and costs nothing
            weights -= [tail_mass[end:].sum() for _, end in canvases]
            best -= [log_p[np.arange(end, length), tokens[end:]].sum() for tokens, end in canvases]
        self.log_z = np.logaddexp.reduce(weights)
        self.probability = np.exp(weights - self.log_z)
        self.marginals = np.zeros_like(log_p)
        for tokens, share in zip(self.canvases, self.probability, strict=True):
            self.marginals[np.arange(length), tokens] += share
        logs = np.log(np.where(self.marginals > 0, self.marginals, 1))
        self.entropy = -(self.marginals * logs).sum(1)
        self.best_score = best.max()
        self.scores = dict(zip(map(tuple, self.canvases.tolist()), best, strict=True))
