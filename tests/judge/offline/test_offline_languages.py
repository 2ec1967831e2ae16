"""A sample whose words cannot be compared ends in an error of its own, never in a constant score."""

import json

import pytest
from offline_samples import RUBRIC, judged

from synthesis.errors import LanguageError
from synthesis.judge.offline import judge, text

# language, context, a true answer, one with another number, an unrelated one
SEGMENTED = [
    (
        "thai",
        "สะพานท่าเรือเปิดในปี 2475 โดยนายกเทศมนตรี มีรถผ่านทุกวัน",
        "สะพานท่าเรือเปิดในปี 2475",
        "สะพานท่าเรือเปิดในปี 2490",
        "กล้วยสุกเร็วมากในฤดูร้อน",
    ),
    (
        "lao",
        "ຂົວທ່າເຮືອເປີດໃນປີ 1932 ໂດຍເຈົ້າເມືອງ",
        "ຂົວທ່າເຮືອເປີດໃນປີ 1932",
        "ຂົວທ່າເຮືອເປີດໃນປີ 1945",
        "ໝາກກ້ວຍສຸກໄວໃນລະດູຮ້ອນ",
    ),
    (
        "khmer",
        "ស្ពានកំពង់ផែបានបើកនៅឆ្នាំ 1932 ដោយអភិបាលក្រុង",
        "ស្ពានកំពង់ផែបានបើកនៅឆ្នាំ 1932",
        "ស្ពានកំពង់ផែបានបើកនៅឆ្នាំ 1945",
        "ចេកទុំលឿននៅរដូវក្តៅ",
    ),
    (
        "burmese",
        "ဆိပ်ကမ်းတံတားကို 1932 ခုနှစ်တွင် ဖွင့်ခဲ့သည်",
        "ဆိပ်ကမ်းတံတားကို 1932 ခုနှစ်တွင် ဖွင့်ခဲ့သည်",
        "ဆိပ်ကမ်းတံတားကို 1945 ခုနှစ်တွင် ဖွင့်ခဲ့သည်",
        "ငှက်ပျောသီး အလွန်ချိုသည်",
    ),
]
NAMES = [sample[0] for sample in SEGMENTED]


@pytest.fixture
def without_icu(monkeypatch):
    """As if the extra were not installed."""
    for module in (text, judge):
        monkeypatch.setattr(module, "can_segment", lambda: False)


@pytest.mark.parametrize(("language", "context", "true", "number", "unrelated"), SEGMENTED, ids=NAMES)
def test_words_are_found_by_a_dictionary(language, context, true, number, unrelated):
    pytest.importorskip("icu4py")
    said = [judged(answer, (context,)).axes["faithfulness"].score for answer in (true, number, unrelated)]
    assert said[0] == 5
    assert said[1] <= 2
    assert said[2] <= 2


def test_a_thai_paraphrase_is_between_a_copy_and_an_invention():
    pytest.importorskip("icu4py")
    context = ("ห้องสมุดเปิดเวลาเก้าโมงเช้าและปิดวันอาทิตย์",)
    answers = ("ห้องสมุดเปิดเวลาเก้าโมงเช้า", "ห้องสมุดปิดทุกวันอาทิตย์ตอนเช้า", "กล้วยสุกเร็วมากในฤดูร้อน")
    supports = [judged(answer, context).details["support"] for answer in answers]
    assert supports[0] > supports[1] > supports[2]


def test_missing_thai_text_is_shown_in_one_piece():
    pytest.importorskip("icu4py")
    claim = judged("กล้วยสุกเร็ว", ("INF101 สะพาน",)).details["claims"][0]
    assert claim["unsupported"] == ["กล้วยสุกเร็ว"]


@pytest.mark.usefixtures("without_icu")
@pytest.mark.parametrize(("context", "answer"), [(sample[1], sample[2]) for sample in SEGMENTED], ids=NAMES)
def test_without_a_dictionary_it_is_an_error_that_names_the_cure(context, answer):
    with pytest.raises(LanguageError, match=r"pip install 'synthesis-eval\[segmentation\]'") as caught:
        judged(answer, (context,))
    assert caught.value.kind == "language"


@pytest.mark.usefixtures("without_icu")
def test_a_stray_name_in_another_script_needs_no_dictionary():
    answer = "The harbour bridge, called สะพาน by the people who built it, was opened in 1932 by Mayor Anna Lind."
    assert judged(answer).axes["faithfulness"].score >= 3


@pytest.mark.usefixtures("without_icu")
def test_an_english_answer_is_compared_with_the_english_part_of_its_context():
    context = ("The harbour bridge was opened in 1932.", SEGMENTED[0][1])
    assert judged("The harbour bridge was opened in 1932.", context).axes["faithfulness"].score == 5


@pytest.mark.parametrize(
    ("answer", "context"),
    [
        ("港口大桥于1932年通车。", "The harbour bridge was opened in 1932."),
        ("The harbour bridge was opened in 1932.", "Мост в гавани был открыт в 1932 году."),
    ],
)
def test_an_answer_in_another_script_than_its_context_cannot_be_compared(answer, context):
    with pytest.raises(LanguageError, match="cannot translate"):
        judged(answer, (context,))


def test_chinese_and_japanese_are_not_constant():
    context = ("港口大桥于1932年通车。每天有四万辆汽车通过。维修计划在明年春天进行。",)
    answers = (
        "港口大桥于1932年通车。",
        "大桥每天通过四万辆汽车，明年春天维修。",
        "大桥由铁路公司在河边建造。",
        "香蕉含有丰富的钾。",
    )
    supports = [judged(answer, context).details["support"] for answer in answers]
    assert supports == sorted(supports, reverse=True)
    assert len(set(supports)) == 4
    assert len({judged(answer, context).axes["faithfulness"].score for answer in answers}) >= 3


def test_kana_and_han_are_one_family():
    assert judged("みなとのはしは1932年にひらきました。", ("港の橋は1932年に開通しました。",)).axes.keys() == {
        axis.name for axis in RUBRIC.axes
    }


def test_a_run_without_a_dictionary_stays_whole(monkeypatch):
    monkeypatch.setattr(text, "can_segment", lambda: False)
    assert [token.text for token in text.tokenise("a สะพาน b")] == ["a", "สะพาน", "b"]


def test_a_run_keeps_the_kind_and_ends_incomplete(cli):
    rows = [
        {"queryLogId": "q-1", "question": "When?", "answer": "It opened in 1932.", "context": ["It opened in 1932."]},
        {"queryLogId": "q-2", "question": "When?", "answer": "Мост открыт.", "context": ["It opened in 1932."]},
    ]
    (cli.folder / "set.json").write_text(json.dumps(rows), encoding="utf-8")
    outcome = cli("judge", "run", "set.json", "--root", "runs", "--output-dir", "one")
    assert outcome.code == 3, outcome.err
    [error] = json.loads((cli.folder / "runs/one/records/errors-iteration-1.json").read_text(encoding="utf-8"))
    assert (error["id"], error["kind"]) == ("q-2", "language")
    assert "cannot translate" in error["reason"]
    assert "not validated" in outcome.out
    assert cli("judge", "status", "one", "--root", "runs").code == 0
