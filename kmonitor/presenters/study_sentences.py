"""What a study says of its folds in words, by form, so that it is translated."""

from typing import Final

from kmonitor.presenters.language import later

STUDY_SENTENCES: Final = (
    later("its processes held {held}, more than memory={bound}"),
    later("the kernel killed in it at its memory bound"),
    later("the kernel killed it at its memory bound"),
    later("it gave up for want of memory, as it printed"),
    later("this host had {left} left, and the fold held {held}, the most of all"),
    later("it took longer than {n} s, by the folds that finished"),
    later("it took longer than {n} s"),
    later("no step for {n} s at its begin; the longest pause there was {longest} s or less"),
    later("no step for {n} s within an epoch; the longest pause there was {longest} s or less"),
    later("no step for {n} s between epochs; the longest pause there was {longest} s or less"),
    later("no step for {n} s after a fit; the longest pause there was {longest} s or less"),
    later("SIGINT, sent to the fold alone"),
    later("the study was interrupted"),
)
