from kmonitor.ui.text.language import language_tag, tr, use_translation


def test_texts_are_english_until_a_translation_is_in_use():
    assert tr("Training") == "Training"

    use_translation({"Training": "训练中"}.__getitem__, "zh-CN")
    try:
        assert tr("Training") == "训练中"
        assert language_tag() == "zh-CN"
    finally:
        use_translation(str)
    assert language_tag() == "en"
