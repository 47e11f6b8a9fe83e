import numpy as np

from kmonitor.demo.digits import SIDE, draw_digits


def test_images_are_ink_on_paper_with_the_digits_in_turn():
    digits = draw_digits(40, seed=1)

    assert digits.images.shape == (40, SIDE, SIDE, 1)
    assert digits.images.min() >= 0.0
    assert digits.images.max() <= 1.0
    assert digits.labels.tolist() == list(range(10)) * 4


def test_the_same_seed_draws_the_same_and_another_draws_anew():
    first, again, other = (draw_digits(20, seed=seed).images for seed in (3, 3, 4))

    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_digits_can_be_told_apart_by_the_nearest_mean():
    known, unknown = draw_digits(600, seed=1), draw_digits(300, seed=2)
    means = np.stack([known.images[known.labels == d].mean(axis=0) for d in range(10)])

    distance = ((unknown.images[:, None] - means[None]) ** 2).sum(axis=(2, 3, 4))

    # Ten times better than chance is enough to say that something is to be learnt here.
    assert np.mean(distance.argmin(axis=1) == unknown.labels) > 0.6
