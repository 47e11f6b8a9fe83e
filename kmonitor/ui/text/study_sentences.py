"""What a study says of its folds in words, by form, so that it is translated."""

from typing import Final

from kmonitor.ui.text.language import later

STUDY_SENTENCES: Final = (
    later("its processes held more than memory={bound}"),
    later("the kernel killed one of its processes at memory={bound}"),
    later("the kernel killed it at memory={bound}"),
    later("it gave up for want of memory, as its output says"),
    later("this host had {left} left, and the fold held the most, {held}"),
    later("this host had {left} left, and the trial held the most, {held}"),
    later("it took longer than the {n} s that the finished folds let expect"),
    later("it took longer than timeout_s={n}"),
    later("no step for {n} s at its begin, where the longest pause was {longest} s"),
    later("no step for {n} s within an epoch, where the longest pause was {longest} s"),
    later("no step for {n} s between epochs, where the longest pause was {longest} s"),
    later("no step for {n} s after a fit, where the longest pause was {longest} s"),
    later("steps are made again, after {n} s without one"),
    later("SIGINT, sent to it alone"),
    later(
        "it returned, but its process did not leave within {n} s (a thread that is no daemon?)"
        " and was ended"
    ),
    later("the study was interrupted"),
)
