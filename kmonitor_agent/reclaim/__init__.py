"""Save, collect and reload: exact state on disk, checkpoints, the record of each action.

`clear_session()` does not free what Keras leaks. Each trace of a step on TensorFlow stays in a
registry of the process, and with it the graph and the variables that it captured. So a collect
removes those entries, and only those whose graph is a step function that no living model needs:
a function of the user's that is differentiated later would fail without its own.

A reload runs on the training thread, between two steps. `fit` reads its step function again each
time and keeps its data iterator, so the functions can be replaced while the fit goes on. State is
written to disk and read back before anything is dropped, because only then does a failure leave
the model as it was. Values are assigned to the variables that exist: new ones would leave the old
ones captured elsewhere, and memory would grow with each reload.

Neither returns pages that TensorFlow keeps for later use. They stop the growth; only a new process
gives everything back. Each action is therefore measured, and one that gave nothing back is not
repeated for the same cause.
"""
