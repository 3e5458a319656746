"""Gradients and Hessians of section 4.4 in plain NumPy, and LightGBM's generator."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax


class NativeRandom:
    """LightGBM's `Random`, a draw at a time."""

    def __init__(self, seed):
        self.x = seed

    def next_float(self):
        self.x = (214013 * self.x + 2531011) % 2**32
        return np.float32((self.x >> 16) & 0x7FFF) / np.float32(32768)


def newton(s, phi, terms=2):
    """The numerator of (I + S + S^2) D^-1 gradient, by matrices, and D."""
    rho = softmax(s)
    D = rho * (1 - rho)
    S = rho[None, :] / (1 - rho[:, None])
    np.fill_diagonal(S, 0)
    step = gradient = (rho - phi) / D
    for _ in range(terms):
        step = S @ step
        gradient = gradient + step
    return gradient * D, D


def xendcg_target(y, gamma):
    gains = 2.0**y - gamma
    return gains / gains.sum()


def cross_entropy(s, phi):
    return float(-phi @ np.log(softmax(s)))
