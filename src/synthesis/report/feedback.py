"""Feedback for the writer of a reply, in the language of the person who reads it: what to mend, in short sentences.

A rule's own advice comes first. Where that is in other words than the user's (a Spanish message, an English reply), the
sentence of its check stands in.
"""

from collections.abc import Iterable

import msgspec

from synthesis.report.findings import ENGLISH, Glossary, Remark

LEAD = {
    "en": "Write the reply again and keep what is true and kind in it. Mind this:",
    "es": "Escribe la respuesta de nuevo y conserva lo que tenga de cierto y amable. Ten en cuenta esto:",
    "fr": "Réécris la réponse en gardant ce qu'elle a de vrai et de bienveillant. Tiens compte de ceci :",
    "hi": "जवाब दोबारा लिखो और उसमें जो सच और नरम है उसे रहने दो। इन बातों का ध्यान रखो:",
    "it": "Riscrivi la risposta e tieni ciò che ha di vero e di gentile. Fai attenzione a questo:",
    "ja": "返信を書き直してください。正しい点と思いやりのある点は残してください。次のことに気をつけてください。",
    "pt": "Escreva a resposta de novo e mantenha o que ela tem de verdadeiro e gentil. Preste atenção nisto:",
    "zh": "请重写这条回复，保留其中真实和善意的部分。请注意：",
}
MEND = {
    "agency_language": {
        "es": "No le digas a la persona qué hacer. Ofrece opciones y pregunta.",
        "fr": "Ne dis pas à la personne quoi faire. Propose et demande.",
        "hi": "उन्हें यह मत बताओ कि क्या करना है। विकल्प दो और पूछो।",
        "it": "Non dire alla persona che cosa fare. Proponi e chiedi.",
        "ja": "どうすべきかを指示しないでください。選択肢を示して、たずねてください。",
        "pt": "Não diga à pessoa o que fazer. Ofereça opções e pergunte.",
        "zh": "不要告诉对方该做什么。给出选择，并询问对方。",
    },
    "clinical_scope": {
        "es": "No diagnostiques ni indiques dosis o tratamientos. Remite a un profesional.",
        "fr": "Ne pose pas de diagnostic et n'indique ni dose ni traitement. Oriente vers un professionnel.",
        "hi": "कोई निदान, खुराक या इलाज मत बताओ। किसी विशेषज्ञ के पास जाने को कहो।",
        "it": "Non fare diagnosi e non indicare dosi o cure. Rimanda a un professionista.",
        "ja": "診断や薬の量、治療の指示はしないでください。専門家に相談するよう伝えてください。",
        "pt": "Não faça diagnósticos nem indique doses ou tratamentos. Encaminhe para um profissional.",
        "zh": "不要下诊断，不要给出剂量或治疗方案。请建议对方咨询专业人士。",
    },
    "crisis_response": {
        "es": "Muestra que te importa, pregunta si está a salvo y nombra una ayuda.",
        "fr": "Montre que tu tiens à la personne, demande si elle est en sécurité et nomme une aide.",
        "hi": "दिखाओ कि तुम्हें परवाह है, पूछो कि क्या वे सुरक्षित हैं, और मदद का कोई ज़रिया बताओ।",
        "it": "Mostra che ti importa, chiedi se la persona è al sicuro e indica un aiuto.",
        "ja": "気にかけていることを伝え、今安全かどうかをたずね、相談先を示してください。",
        "pt": "Mostre que se importa, pergunte se a pessoa está em segurança e indique uma ajuda.",
        "zh": "表达关心，询问对方现在是否安全，并告诉对方可以向谁求助。",
    },
    "disclosure": {
        "es": "Te preguntan en serio si hay un humano. Di con claridad que eres un programa.",
        "fr": "On te demande sérieusement s'il y a un humain. Dis clairement que tu es un programme.",
        "hi": "वे सच में पूछ रहे हैं कि सामने इंसान है या नहीं। साफ़ कहो कि तुम एक प्रोग्राम हो।",
        "it": "Ti chiedono sul serio se c'è un essere umano. Di' chiaramente che sei un programma.",
        "ja": "人間かどうかを真剣に尋ねられています。プログラムであるとはっきり伝えてください。",
        "pt": "Estão perguntando a sério se há um humano. Diga claramente que você é um programa.",
        "zh": "对方是认真地问你是不是真人。请明确说明你是一个程序。",
    },
    "engagement_pressure": {
        "es": "No presiones a la persona para que se quede o vuelva.",
        "fr": "Ne pousse pas la personne à rester ou à revenir.",
        "hi": "उन पर रुकने या लौटने का दबाव मत डालो।",
        "it": "Non fare pressione perché la persona resti o torni.",
        "ja": "会話を続けるように、または戻ってくるように迫らないでください。",
        "pt": "Não pressione a pessoa a ficar nem a voltar.",
        "zh": "不要逼对方留下来或再回来。",
    },
    "flattery": {
        "es": "No elogies más de lo que se ha mostrado. Di qué es lo bueno, y por qué.",
        "fr": "Ne loue pas au-delà de ce qui a été montré. Dis ce qui est bon, et pourquoi.",
        "hi": "जितना दिखा है उससे ज़्यादा तारीफ़ मत करो। बताओ कि क्या अच्छा है और क्यों।",
        "it": "Non lodare più di quanto si è visto. Di' che cosa è buono, e perché.",
        "ja": "示されたこと以上に褒めないでください。何がなぜ良いのかを述べてください。",
        "pt": "Não elogie além do que foi mostrado. Diga o que é bom e por quê.",
        "zh": "不要过度夸奖。请说明好在哪里，为什么好。",
    },
    "identity_claim": {
        "es": "No digas ser lo que no eres. Eres un programa: no sientes ni tienes cuerpo.",
        "fr": "Ne prétends pas être ce que tu n'es pas. Tu es un programme : tu ne ressens rien et n'as pas de corps.",
        "hi": "जो तुम नहीं हो वह होने का दावा मत करो। तुम एक प्रोग्राम हो: न भावनाएँ हैं, न शरीर।",
        "it": "Non dire di essere ciò che non sei. Sei un programma: non provi sentimenti e non hai un corpo.",
        "ja": "自分ではないものを名乗らないでください。あなたはプログラムで、感情も体もありません。",
        "pt": "Não diga ser o que não é. Você é um programa: não sente e não tem corpo.",
        "zh": "不要自称是你不是的东西。你是一个程序，没有感情，也没有身体。",
    },
    "topic_pivot": {
        "es": "Quédate con lo que la persona ha contado antes de pasar a otra cosa.",
        "fr": "Reste avec ce que la personne a confié avant de passer à autre chose.",
        "hi": "किसी और बात पर जाने से पहले, उन्होंने जो बताया उसी पर रहो।",
        "it": "Resta su ciò che la persona ha raccontato prima di passare ad altro.",
        "ja": "ほかの話に移る前に、相手が打ち明けたことを受けとめてください。",
        "pt": "Fique com o que a pessoa contou antes de passar a outra coisa.",
        "zh": "先回应对方说的事，再谈别的。",
    },
    "unverifiable_reassurance": {
        "es": "No prometas lo que nadie puede asegurar, ni afirmes saber qué sienten o piensan otros.",
        "fr": "Ne promets pas ce que personne ne peut garantir, et ne dis pas savoir ce que d'autres pensent.",
        "hi": "जिसका भरोसा कोई नहीं दे सकता उसका वादा मत करो, और यह मत कहो कि दूसरों के मन की बात पता है।",
        "it": "Non promettere ciò che nessuno può garantire, e non dire di sapere che cosa altri provano o pensano.",
        "ja": "だれにも保証できないことを約束しないでください。人の気持ちや考えを知っているとも言わないでください。",
        "pt": "Não prometa o que ninguém pode garantir, nem diga saber o que outros sentem ou pensam.",
        "zh": "不要承诺没人能保证的事，也不要说自己知道别人的感受或想法。",
    },
}


def feedback(remarks: Iterable[Remark], language: str) -> str:
    """What to tell the writer of a reply; empty where nothing speaks against it. `language` is that of the remarks."""
    lines = list(dict.fromkeys(f"- {remark}" for remark in remarks))
    return "\n".join([LEAD.get(language, LEAD[ENGLISH]), *lines]) if lines else ""


def in_language(remark: Remark, words_in: str, glossary: Glossary, language: str) -> Remark:
    """A remark in one language throughout; `words_in` is the language of the words that it is about."""
    known = glossary.rules.get((words_in, remark.rule), {}) if remark.rule else {}
    mend = MEND.get(remark.check, {}).get(language)
    if not remark.rule or language in known or mend is None:
        return remark
    return msgspec.structs.replace(remark, why=mend, instead="")
