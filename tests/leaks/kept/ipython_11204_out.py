"""A cell of a notebook ends with an array: Out keeps each result, whatever the variable is set to.

Taken over: the same cell run again and again, an array as its last line. Changed: it is a
prediction of 4 MB, and a fit is in the cell too; IPython without a terminal.
"""

import os
import tempfile

os.environ.setdefault("IPYTHONDIR", tempfile.mkdtemp())

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="ipython/ipython#11204",
    also=("jupyter/notebook#3713", "ipython/ipython#14129", "scipp/scipp#2737"),
    kind="notebooks",
    unit="fit",
    grows=("anonymous", "malloc"),
    expected="leak",
    named=("kept",),
    cause="IPython's Out holds the last expression of each cell",
    remedy="InteractiveShell.cache_size = 0, or no array as the last line of a cell",
    needs=("IPython",),
)

interactive = corpus.require("IPython.core.interactiveshell").InteractiveShell
shell = interactive.instance()
shell.history_manager.enabled = False
shell.displayhook.do_full_cache = not corpus.FIXED
shell.user_ns["model"] = corpus.dense(20, 50)
shell.user_ns["x"] = np.random.rand(20_000, 20).astype("float32")
shell.user_ns["y"] = np.zeros((20_000, 50), "float32")
shell.user_ns["watch"] = corpus.watch
shell.display_formatter.active_types = []
shell.displayhook.write_format_data = lambda *_: None
shell.displayhook.write_output_prompt = lambda *_: None

CELL = """
model.fit(x, y, 1000, verbose=0, callbacks=watch()); predicted = model.predict(x, verbose=0)
predicted
"""
for index in range(corpus.units(LEAK)):
    shell.run_cell(CELL, store_history=True).raise_error()
    corpus.unit(index)
