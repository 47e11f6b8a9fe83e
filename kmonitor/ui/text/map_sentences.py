"""What the estimator says in words, by form, so that the window can say it in its language."""

from typing import Final

from kmonitor.ui.text.language import later

MAP_SENTENCES: Final = (
    # How a map was found.
    later("rules of each class of layer; nothing ran"),
    later("rules scaled by {factor}, measured at batch {batch}"),
    later("rules scaled by {factor}, measured at batch {batch} on {device}"),
    later("measured at batches {sizes}"),
    later("measured at batches {sizes} on {device}"),
    later("no batch size was measured for {n} steps"),
    later("only one batch size was measured; a second one gives the law"),
    later(
        "the peak is that of applying the gradients, which does not depend on the batch: try"
        " a larger batch"
    ),
    # Notes on the whole.
    later("the run told its layers and weights, not how the layers are connected"),
    later("the slots of {name} are not known: Adam's were taken"),
    later("the model is not compiled: no optimizer and no gradients are counted"),
    later(
        "XLA decides by itself what it fuses: the rules were compared with its plans, not with an"
        " allocator, and on a CPU it takes up to three times as much; five watched steps correct"
        " that"
    ),
    later(
        "PyTorch's rules were not compared with an allocator; five watched steps on a GPU correct"
        " that"
    ),
    later(
        "16-bit precision was compared on a CPU alone, whose convolutions work on copies in 32"
        " bits: five watched steps correct that"
    ),
    later(
        "recurrent layers keep as many steps at once as the framework is ahead with: theirs were"
        " not compared with an allocator"
    ),
    later(
        "resident as the CPU's allocator counts it, which leaves out what is smaller than 256 KiB"
    ),
    later(
        "{n} MiB of what is resident are neither weights nor optimizer: data on the device,"
        " another model"
    ),
    # Notes on a layer.
    later("(variables of the model itself)"),
    later("weights counted at {layers}"),
    later("used {n} times, weights counted once"),
    later("frozen"),
    later("no weights, keeps nothing"),
    later("not used"),
    later("no weights"),
    # Advice.
    later("{policy} instead of {other}"),
    later("{name} instead of {other}; it trains differently"),
    later("batch {half} instead of {whole}; it changes how training goes"),
    later(
        "batch {half} with gradient_accumulation_steps={n}: gradients of {whole} examples,"
        " but batch normalization sees {seen}"
    ),
    # How a file is loaded.
    later("architecture, then load_weights"),
    later("architecture, compiled, then load_weights"),
    later("architecture alone, no weights"),
)
"""Forms of `memory_map` and `model_files`; `said` knows them with all others."""
