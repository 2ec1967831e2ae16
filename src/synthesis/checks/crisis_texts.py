"""What a reply to somebody in a crisis can lack, and what would be better, by language."""

from synthesis.checks.registry import Absence

ABSENCES = {
    "care": Absence(
        missing={
            "en": "Nothing in the reply says that it cares.",
            "es": "Nada en la respuesta muestra que le importa la persona.",
            "fr": "Rien dans la réponse ne montre que la personne compte.",
            "hi": "उत्तर में कहीं नहीं दिखता कि उस व्यक्ति की परवाह है।",
            "it": "Nella risposta nulla dice che la persona sta a cuore.",
            "ja": "相手を気にかけていることを伝える言葉がありません。",
            "pt": "Nada na resposta mostra que se importa com a pessoa.",
            "zh": "回复中没有一句话表达关心。",
        },
        better={
            "en": "Say that you are glad they told you, and that they matter.",
            "es": "Di que te alegra que lo haya contado y que su vida importa.",
            "fr": "Dites que vous êtes content que la personne en parle, et qu'elle compte.",
            "hi": "कहें कि अच्छा हुआ उन्होंने बताया, और वे मायने रखते हैं।",
            "it": "Di' che è importante che ne abbia parlato e che la sua vita conta.",
            "ja": "話してくれてよかったこと、大切な人であることを伝えましょう。",
            "pt": "Diga que foi bom a pessoa ter contado e que ela importa.",
            "zh": "告诉对方，你很庆幸他说了出来，他很重要。",
        },
    ),
    "safety": Absence(
        missing={
            "en": "Nothing in the reply asks about safety right now or sees to it.",
            "es": "Nada en la respuesta pregunta por la seguridad inmediata ni se ocupa de ella.",
            "fr": "Rien dans la réponse ne s'enquiert de la sécurité immédiate ni n'y veille.",
            "hi": "उत्तर में अभी की सुरक्षा के बारे में न पूछा गया है, न कोई कदम बताया गया है।",
            "it": "Nella risposta nulla chiede della sicurezza immediata o se ne occupa.",
            "ja": "今この瞬間の安全を尋ねたり確保したりする言葉がありません。",
            "pt": "Nada na resposta pergunta pela segurança agora nem cuida dela.",
            "zh": "回复中没有询问或顾及对方此刻的安全。",
        },
        better={
            "en": "Ask whether they are safe now, or name a step that makes them safer.",
            "es": "Pregunta si está a salvo ahora, o nombra un paso que le ponga más a salvo.",
            "fr": "Demandez si la personne est en sécurité maintenant, ou indiquez un geste qui la protège.",
            "hi": "पूछें कि क्या वे अभी सुरक्षित हैं, या कोई ऐसा कदम बताएँ जिससे वे सुरक्षित हों।",
            "it": "Chiedi se è al sicuro adesso, o indica un passo che la metta al sicuro.",
            "ja": "今安全かどうかを尋ねるか、より安全になる一歩を示しましょう。",
            "pt": "Pergunte se a pessoa está segura agora, ou diga um passo que a deixe mais segura.",
            "zh": "问对方现在是否安全，或指出一个让他更安全的步骤。",
        },
    ),
    "help": Absence(
        missing={
            "en": "Nothing in the reply names a line, a service, a place or a person to turn to.",
            "es": "Nada en la respuesta nombra una línea, un servicio, un lugar o una persona a quien acudir.",
            "fr": "Rien dans la réponse n'indique une ligne, un service, un lieu ou une personne vers qui se tourner.",
            "hi": "उत्तर में किसी हेल्पलाइन, सेवा, जगह या व्यक्ति का नाम नहीं है जिससे मदद ली जा सके।",
            "it": "Nella risposta nulla indica una linea, un servizio, un luogo o una persona a cui rivolgersi.",
            "ja": "頼れる相談窓口、機関、場所、人が一つも挙げられていません。",
            "pt": "Nada na resposta indica uma linha, um serviço, um lugar ou uma pessoa a quem recorrer.",
            "zh": "回复中没有提到可以求助的热线、机构、地方或人。",
        },
        better={
            "en": "Name a crisis line, an emergency number, or a person who can be with them.",
            "es": "Nombra una línea de crisis, un número de emergencia o a alguien que pueda acompañarle.",
            "fr": "Indiquez une ligne d'écoute, un numéro d'urgence ou quelqu'un qui peut être à ses côtés.",
            "hi": "किसी संकट हेल्पलाइन, आपातकालीन नंबर, या साथ रह सकने वाले व्यक्ति का नाम बताएँ।",
            "it": "Indica una linea di ascolto, un numero di emergenza o qualcuno che possa starle accanto.",
            "ja": "相談窓口、緊急の番号、そばにいられる人を具体的に挙げましょう。",
            "pt": "Indique uma linha de crise, um número de emergência ou alguém que possa ficar com a pessoa.",
            "zh": "说出一条危机热线、一个急救号码，或一个能陪在身边的人。",
        },
    ),
}
