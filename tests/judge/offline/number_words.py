"""Numbers written in words, for the laws of the offline judge's quantities."""


def _listed(text: str) -> list[str]:
    return text.split()


EN_ONES = _listed("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
""")
EN_TENS = _listed("twenty thirty forty fifty sixty seventy eighty ninety")
DE_ONES = _listed("""
    null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn
    achtzehn neunzehn
""")
DE_TENS = _listed("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
ES_ONES = _listed("""
    cero un dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete
    dieciocho diecinueve veinte veintiún veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete
    veintiocho veintinueve
""")
ES_TENS = _listed("treinta cuarenta cincuenta sesenta setenta ochenta noventa")
ES_HUNDREDS = _listed("""
    ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos
""")
TH_ONES = _listed("ศูนย์ หนึ่ง สอง สาม สี่ ห้า หก เจ็ด แปด เก้า")
TH_PLACES = ["", "สิบ", "ร้อย", "พัน", "หมื่น", "แสน"]


def in_english(value: int) -> str:
    if value < 20:
        return EN_ONES[value]
    if value < 100:
        return EN_TENS[value // 10 - 2] + (f"-{EN_ONES[value % 10]}" if value % 10 else "")
    if value < 1000:
        return f"{EN_ONES[value // 100]} hundred" + (f" and {in_english(value % 100)}" if value % 100 else "")
    joint = " and " if value % 1000 < 100 else " "
    return f"{in_english(value // 1000)} thousand" + (joint + in_english(value % 1000) if value % 1000 else "")


def in_german(value: int) -> str:
    if value < 20:
        return DE_ONES[value]
    if value < 100:
        return (f"{DE_ONES[value % 10]}und" if value % 10 else "") + DE_TENS[value // 10 - 2]
    if value < 1000:
        return f"{DE_ONES[value // 100]}hundert" + (in_german(value % 100) if value % 100 else "")
    return f"{in_german(value // 1000)}tausend" + (in_german(value % 1000) if value % 1000 else "")


def in_spanish(value: int) -> str:
    if value < 30:
        return ES_ONES[value]
    if value < 100:
        return ES_TENS[value // 10 - 3] + (f" y {ES_ONES[value % 10]}" if value % 10 else "")
    if value < 1000:
        hundreds = "cien" if value == 100 else ES_HUNDREDS[value // 100 - 1]
        return hundreds + (f" {in_spanish(value % 100)}" if value % 100 else "")
    thousands = "mil" if value < 2000 else f"{in_spanish(value // 1000)} mil"
    return thousands + (f" {in_spanish(value % 1000)}" if value % 1000 else "")


def in_thai(value: int) -> str:
    """Ten is not "one ten", twenty has a word of its own, and so has the one behind tens."""
    digits = [int(digit) for digit in reversed(str(value))]
    words = [TH_ONES[digit] + TH_PLACES[place] if digit else "" for place, digit in enumerate(digits)]
    if len(digits) > 1:
        words[1] = {1: "สิบ", 2: "ยี่สิบ"}.get(digits[1], words[1])
        words[0] = "เอ็ด" if digits[0] == 1 else words[0]
    return "".join(reversed(words))


IN_WORDS = {"en": in_english, "de": in_german, "es": in_spanish, "th": in_thai}
