"""Word lists of the offline judge: reviewable data, no logic."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = _words(
    """
    whether however itself himself herself themselves because since although though while still yes no okay
    a an the and or but nor so if then than that this these those of in on at by for from to into
    onto over under with without about as is are was were be been being am do does did have has had
    having it its he she they them their his her him i me my we our us you your who whom whose which
    what when where why how there here also just very more most such both each other another some
    any all not no never none will would can could may might must shall should up down out off after
    before during while between against through again once only own same too 's s t d ll re ve m say
    says said n't don't doesn't didn't isn't aren't wasn't weren't can't cannot couldn't won't
    wouldn't shouldn't hasn't haven't hadn't it's that's i'm you're they're we're
    """
)

# Without `one`, which is far more often a pronoun than a count.
NUMBER_WORDS = {
    "zero": "0", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14",
    "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19", "twenty": "20",
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70",
    "eighty": "80", "ninety": "90",
}  # fmt: skip

# Before a number these say that it is rounded, so another figure in the context does not contradict it.
ROUNDING_WORDS = _words("about around roughly approximately nearly almost over than least some up")

NEGATIONS = _words(
    """
    not no never none cannot without neither nor nobody nothing n't don't doesn't didn't isn't
    aren't wasn't weren't can't couldn't won't wouldn't shouldn't hasn't haven't hadn't
    """
)
# `not only`, `no longer`, `no. 1`: the negation does not deny the word that follows.
NOT_DENYING = _words("only just longer doubt matter sooner later")

# Words after which a sentence no longer denies what it denied before.
TURNS = _words("but however though although yet instead rather")

# What an answer about courses says around its facts; never credited to a course as a skill.
FRAME_WORDS = _words(
    """
    course courses become find looking class classes module modules subject subjects option options
    recommend recommended recommendation suggest suggested consider choose take taking teach teaches
    taught cover covers covering covered include includes including offer offers provide provides
    introduce introduces focus focuses focusing learn learns learning student students skill skills
    topic topics outcome outcomes knowledge understanding ability help helps helping great good
    excellent ideal perfect useful well suited relevant match matches matched fit fits fitting
    strong solid best first second third next finally additionally start begin gain gains gaining
    develop develops build builds building work working one two both these following here code name
    directly loosely partially partly related since because therefore want wants goal goals interest
    interested need needs make makes using use able apply practical important area areas field
    """
)

# Words by which an answer ties what it says to what the reader wants, by language.
REASON_WORDS: dict[str, tuple[str, ...]] = {
    "en": (
        "because", "since",
        "so that", "so you", "so your", "so this", "in order to", "therefore", "which means", "this means",
        "that means", "as you", "if you", "so you", "helps you", "help you", "helping you",
        "lets you", "allows you", "enables you", "enable you", "allow you", "prepares you",
        "prepare you", "gives you", "give you", "you will need", "you need", "you want",
        "your goal", "your interest", "your aim", "your question", "your need", "ideal for",
        "suited to", "suited for", "suitable for", "useful for", "relevant to", "relevant for",
        "fits", "matches your", "supports your", "aligns with", "directly addresses",
        "addresses your", "essential for", "essential to", "needed for", "needed to",
        "required for", "key to", "due to", "as a result", "that is why", "which is why",
        "this is why", "makes it", "foundation for", "step towards", "step toward",
    ),
    "de": ("weil", "da du", "da sie", "damit", "deshalb", "daher", "hilft", "passt", "eignet sich", "um zu"),
    "fr": ("parce que", "car ", "afin de", "afin que", "pour que", "vous aide", "convient", "c'est pourquoi"),
    "es": ("porque", "para que", "por eso", "te ayuda", "le ayuda", "adecuado", "ya que"),
    "th": ("เพราะ", "เนื่องจาก", "ดังนั้น", "ช่วยให้", "เหมาะ", "ทำให้", "สอดคล้อง", "ตรงกับ", "เพื่อ"),
    "ja": ("ので", "ため", "から、", "役立", "適して", "向いて", "なぜなら"),
    "zh": ("因为", "因此", "所以", "适合", "帮助你", "帮助您", "有助于", "以便", "因為", "適合"),
}  # fmt: skip
