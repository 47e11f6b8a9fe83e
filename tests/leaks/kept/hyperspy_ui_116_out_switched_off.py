"""A console's Out kept closed data alive; with its cache switched off it does not.

Taken over: do_full_cache = False. Changed: a cell with a fit and a prediction.
"""

import os
import tempfile

os.environ.setdefault("IPYTHONDIR", tempfile.mkdtemp())

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="hyperspy/hyperspyUI#116",
    kind="notebooks",
    unit="fit",
    grows=(),
    expected="none",
    cause="nothing is kept but the last result",
    remedy="none needed",
    fixed="",
    needs=("IPython",),
)

shell = corpus.require("IPython.core.interactiveshell").InteractiveShell.instance()
shell.history_manager.enabled = False
shell.displayhook.do_full_cache = False
shell.displayhook.write_format_data = lambda *_: None
shell.displayhook.write_output_prompt = lambda *_: None
shell.user_ns["model"] = corpus.dense(20, 50)
shell.user_ns["x"] = np.random.rand(20_000, 20).astype("float32")
shell.user_ns["y"] = np.zeros((20_000, 50), "float32")
shell.user_ns["watch"] = corpus.watch

CELL = """
model.fit(x, y, 1000, verbose=0, callbacks=watch())
model.predict(x, verbose=0)
"""
for index in range(corpus.units(LEAK)):
    shell.run_cell(CELL, store_history=True).raise_error()
    corpus.unit(index)
