"""glibc keeps what many small objects took, when one above them lives: a step, and no leak.

Taken over: a million objects of 1032 bytes, freed below one that lives. Changed: 40 MB, once
before the fit.
"""

import ctypes

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="openxla/xla#2265",
    kind="native",
    unit="epoch",
    grows=(),
    expected="none",
    cause="free memory below the top of the heap is not given back",
    remedy="malloc_trim",
)

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
taken = [libc.malloc(1032) for _ in range(40_000)]
top = libc.malloc(1032)
for address in taken:
    ctypes.memset(address, 1, 1032)
    libc.free(address)
if corpus.FIXED:
    libc.malloc_trim(0)
x = np.random.rand(1000, 20).astype("float32")
kept = corpus.watch(each_epoch=True)
model = corpus.dense(20, 10)
model.fit(x, x[:, :10], epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
