"""A sample whose words cannot be compared ends in an error of its own, never in a constant score."""

import json

import pytest
from offline_samples import BRIDGE, RUBRIC, judged, told

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


KNOWN = [
    (
        "en",
        "Pets are not allowed. The rent is 1,250 euros a month.",
        "Pets are allowed.",
        "The rent is 1250 euros a month.",
    ),
    (
        "de",
        "In unserem Haus sind Haustiere nicht erlaubt. Die Miete beträgt 1.250 Euro im Monat.",
        "Haustiere sind erlaubt.",
        "Die Miete beträgt 1250 Euro im Monat.",
    ),
    (
        "es",
        "En el edificio no se permiten mascotas. El alquiler es de 1.250 euros al mes.",
        "El alquiler es de 1350 euros al mes.",
        "El alquiler es de 1250 euros al mes.",
    ),
    (
        "th",
        "สะพานท่าเรือเปิดในปี 2475 โดยนายกเทศมนตรี มีรถผ่านทุกวัน",
        "สะพานท่าเรือเปิดในปี 2490",
        "สะพานท่าเรือเปิดในปี 2475",
    ),
]


@pytest.mark.parametrize(("language", "context", "false", "true"), KNOWN, ids=[row[0] for row in KNOWN])
def test_languages_that_are_known_are_compared_part_by_part(language, context, false, true):
    pytest.importorskip("icu4py")
    assert told(false, (context,))[0] == "contradicted"
    assert told(true, (context,)) == ("supported", None)
    assert judged(true, (context,)).details["language"] == language


@pytest.mark.parametrize(
    ("context", "copied", "changed"),
    [
        (
            "Le musée est ouvert de 9 h à 17 h. Il est fermé le lundi.",
            "Il est fermé le lundi.",
            "Il est fermé le mardi.",
        ),
        ("Il museo è aperto dalle 9 alle 17. È chiuso il lunedì.", "È chiuso il lunedì.", "È chiuso il martedì."),
        *((context, context, changed) for _, context, _, changed, _ in SEGMENTED[1:]),
    ],
)
def test_in_other_languages_only_whole_sentences_that_are_copied_can_be_told(context, copied, changed):
    pytest.importorskip("icu4py")
    assert told(copied, (context,)) == ("supported", None)
    verdict = judged(changed, (context,))
    assert verdict.axes["faithfulness"].score is None
    assert "English, German, Spanish, Thai" in verdict.axes["faithfulness"].reasoning


def test_an_answer_in_another_language_than_its_context_cannot_be_told():
    verdict = judged("Die Brücke im Hafen wurde im Jahr 1932 eröffnet und ist noch immer in Betrieb.")
    assert verdict.axes["faithfulness"].score is None
    assert "different languages" in verdict.axes["faithfulness"].reasoning


@pytest.mark.usefixtures("without_icu")
@pytest.mark.parametrize(("context", "answer"), [(sample[1], sample[2]) for sample in SEGMENTED], ids=NAMES)
def test_without_a_dictionary_it_is_an_error_that_names_the_cure(context, answer):
    with pytest.raises(LanguageError, match=r"pip install 'synthesis-eval\[segmentation\]'") as caught:
        judged(answer, (context,))
    assert caught.value.kind == "language"


@pytest.mark.usefixtures("without_icu")
def test_a_stray_name_in_another_script_needs_no_dictionary():
    answer = "The harbour bridge, called สะพาน by the people who built it, was opened in 1932 by Mayor Anna Lind."
    assert told(answer, BRIDGE)[0] != "contradicted"


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
