"""Words that any talk holds, whatever it is about: one of them in common says nothing about a shared subject.

In Japanese and Chinese, which put no space between words, there are characters instead.
"""

_ENGLISH = """
able about actually after again ago ain aint all almost already also although always and another any anybody
anymore anyone anything anyway anyways are aren arent around away back bad basically because become been
before being believe best better big bit both bro but came can cannot cant come comes could couldn couldnt
damn day days definitely did didn didnt different does doesn doesnt doing don done dont down dude each
either else enough especially even ever every everybody everyday everyone everything exactly far feel
feeling feelings feels felt find first for forward from fuck fucked fucking full get gets getting give gives
goes going gone gonna good got great guess guy guys had happen happened happens hard has hasn hasnt have
havent having heard hell hello help helped helps her here hey him his honestly hope how idea idk ill im
important instead into isn isnt issue issues its itself ive just keep kind kinda know knows last lately
later least less let life like literally little lol long look looking looks lot made make makes making man
many matter may maybe mean means meh might mind moment months more most much must myself need needs never
new next nobody not nothing now off often ok okay old one ones only other others our out over own part
people perhaps person place please point possible pretty probably problem problems question quite rather
read real really reason remember right said same say saying says see seem seems sense she shit should
shouldn since sir situation small some somebody someone something sometimes soon sorry sort spend start
started still stop stuff such suppose sure take takes taking talk talking tbh tell than thank thanks that
thats the their them themselves then there these they thing things think thinking this those though thought
through time times today together told too took tried try trying turn two understand until use used using
usually very via wait want wanted wants was wasn wasnt way ways week weeks well went were what when where
which while who whole why will wish with without won wonder wont worse worst worth would wouldn wouldnt
wrong yea yeah year years yep yes yet you your youre yours yourself
"""
_SPANISH = """
acaba ahora algo alguien alguna algunas alguno algunos algún allí ante antes aquel aquella aquello aquí así aunque
ayer aún bastante bien buen buena bueno cada casi cierto claro como con contra cosa cosas creo cual cualquier cuando
cuanto cuenta cuento cuál cuándo cuánto cómo dar debe debes decir dejar del demás desde después dice dices dicho
digo donde dos durante día días dónde ella ellas ellos entonces entre era eran eres esa esas ese eso esos esta
estaba estar estas este esto estos estoy está están estás etc falta forma fue fuera fueron gente gracias gran grande
haber habla hablar había hace hacer haces hacia haciendo hago hasta hay haya hecho hola hora hoy ido igual incluso
jamás juntas juntos las les llega llegar lleva llevo los luego lugar mal manera mañana mejor menos mes meses
mientras mil mis misma mismo momento mucha muchas mucho muchos mundo muy más nada nadie ninguna ninguno ningún noche
nos nosotras nosotros nuestra nuestro nueva nuevo nunca otra otras otro otros para parece parte pasa pasado pasar
paso pensar pero persona personas piensa pienso poco poder podría pone poner por porque puede pueden puedes puedo
pues que queda querer quería quien quiere quieres quiero quizá quizás quién qué realmente sabe saber sabes sea
seguro según ser será sería sido siempre siente sientes siento sigo sigue sin sino sobre solo somos son soy suele
sus sólo tal también tampoco tan tanta tanto tarde tendría tener tengo tenía ti tiempo tiene tienen tienes toda
todas todavía todo todos tras tres tus una unas uno unos usted ustedes vale vamos van veces ver verdad vez vida
visto vive voy vuelve ya
"""
_FRENCH = """
afin ai aie ailleurs ainsi alors an année années ans après après-midi assez au aucun aucune aujourd aujourdhui
auquel aussi autant autre autres aux avais avait avant avec avez avoir avons beau beaucoup belle bien bon bonjour
bonne bonnes bons car ceci cela celle celles celui certain certaine certains ces cet cette ceux chaque chez chose
choses ci comme comment contre coup crois dans depuis dernier dernière derrière des deux devant devoir devrait dire
dis dit dois doit donc dont du désolé désolée elle elles encore enfin ensemble ensuite entre envers est et eu eux
faire fais fait faites fallait faut fois font gens grand grande heure heures hier hors hui ici il ils jamais je jour
journée jours jusqu juste la laquelle le lequel les leur leurs lors lorsque lui là ma maintenant mais mal malgré
merci mes mieux moi moins mois moment mon monde même mêmes ne ni non nos notre nous nouveau nouvelle nul on ont ou
oui où par parce pareil parfois parle parler part partie pas passe passé pendant pense penser peu peut peuvent peux
plus plusieurs plutôt pour pourquoi pourrait pouvez pouvoir prendre prends presque près puis puisque quand que quel
quelle quelles quelqu quelque quelques quels qui quoi rien sa sais sait sans savoir se selon sens sent ses seul
seule seulement si soi soir sois soit sommes son sont souvent suis sur surtout ta tant te tel telle tellement temps
tes toi ton toujours tous tout toute toutes trop trouve trouver très tu un une va vais vas venir vers veut veux vie
viens vient voici voilà voir vois voit vont vos votre voudrais voudrait voulez vouloir vous voyez vrai vraiment ya
étaient étais était étant été êtes être
"""
_ITALIAN = """
abbastanza abbia abbiamo ad adesso agli ai al alcuna alcune alcuni alcuno alla alle allo allora altra altre altri
altro anche ancora andare anni anno appena avanti avere avete aveva avevo avrebbe avrei bel bella bello ben bene
buon buona buono cara caro casa caso che chi ci ciao cioè ciò come comunque con contro cosa cose così credo cui da
dagli dai dal dalla dalle dallo davanti davvero degli dei del della delle dello dentro deve devi devo di dice dico
dietro dire dopo dove dovrebbe due dunque durante ecco ed era erano eri ero essere fa faccio fai fanno fare fatto
fin fino forse fosse fra fuori giorni giorno giusto già gli grande grazie ha hai hanno ho ieri il in infatti insieme
invece io la le lei li lo loro lui lungo là lì ma mai male mano me meglio meno mentre mese mesi mi mia mie miei mio
modo molta molte molti molto momento mondo nel nella nelle nello nessun nessuna nessuno niente no noi non nostra
nostro nulla nuova nuovo o oggi ogni ognuno oltre oppure ora ore parla parlare parte passa passato pensa pensare
penso per perché perciò perfino persona persone però pezzo piace più po poca poche pochi poco poi posso potrebbe
prima primo proprio puoi pur può qua qualche qualcosa qualcuno quale quali qualunque quando quanta quanto quasi
quella quelle quelli quello questa queste questi questo qui quindi sa sai sarebbe sarà se sei sembra sempre sente
senti sento senza sera si sia siamo siano siete solito solo sono sopra soprattutto sotto spesso sta stai stanno
stare stata stati stato stava stesso sto su sua subito sue sugli sui sul sulla sulle suo suoi sì tale tali tanta
tante tanti tanto te tempo ti tra tre troppo trova trovare tu tua tue tuo tuoi tutta tutte tutti tutto ultimo un una
uno va vai vanno vede vedere vedi vedo veramente verso vi via viene vieni vita voglio voi volta volte vorrei vostra
vostro vuoi vuole è
"""
_PORTUGUESE = """
acho agora ainda algo algum alguma algumas alguns alguém ali além antes ao aos apenas aquela aquele aqui aquilo
assim através atrás até bem boa bom cada casa certeza certo coisa coisas com como conta contra cuja cujo da dar das
de dela dele deles demais depois desde dessa desse desta deste deve devia dia dias disse disso diz dizer do dois dos
duas durante e ela elas ele eles em embora enquanto entre então era eram essa essas esse esses esta estamos estar
estas estava este estes estou está estão eu fala falar faz fazendo fazer feito fez fica ficar fico foi for fora
foram forma fosse gente grande haver hoje hora horas há ia ir isso isto jamais junto juntos já la lado lhe lhes lo
logo longe lugar lá mais mal mas me meio melhor menos meses mesma mesmo meu meus mim minha minhas momento muita
muitas muito muitos mundo mês na nada nas nem nenhum nenhuma nessa nesse nesta neste ninguém no noite nos nossa
nosso nova novo num numa nunca não nós obrigada obrigado oi onde ontem ou outra outras outro outros para parece
parte passa passado passar pela pelas pelo pelos pensa pensar penso per perto pessoa pessoas pode podem poder
poderia podia pois por porque porquê posso pouca pouco pouquinho pra pras precisa preciso primeiro pro próprio quais
qual qualquer quando quanto quase que quem quer querer quero questão quê realmente sabe saber sei seja sem semana
semanas sempre sendo sente sentir ser seria será seu seus si sido sim sinto sob sobre somos sou sua suas só tal
talvez também tanta tanto tarde te tem temos tempo tenha tenho ter teria teu teve ti tinha toda todas todo todos tou
três tu tua tudo tá tão têm tô um uma umas uns vai vais vamos vem ver verdade vez vezes vida vir você vocês vontade
vou vão último
"""
_HINDI = """
अगर अच्छा अच्छी अच्छे अपना अपनी अपने अब अभी आई आज आप आपका आपकी आपके आपको आपने आपसे आया आयी इतना इतनी इतने इन इस इसका
इसकी इसके इसको इसलिए इससे उन उनका उनकी उनके उनको उन्हें उन्होंने उस उसका उसकी उसके उसको उससे उसे एक ऐसा ऐसी ऐसे और
कब कभी कम कर करता करती करते करना करने करूँ करें करो कल कह कहना कहा कहाँ कहीं का काफ़ी काफी काम कि किया किस किसी की
कुछ के कैसा कैसी कैसे को कोई कौन क्या क्यों क्योंकि गई गए गया घर चल चला चाहता चाहती चाहते चाहिए चाहें जब जहाँ
ज़्यादा जा जाए जाता जाती जाते जाना जाने जितना जिस जी जैसा जैसे जो ज्यादा ठीक तक तब तरह तुम तुमने तुम्हारा तुम्हारी
तुम्हारे तुम्हें तू तो था थी थे थोड़ा थोड़ी दिन दिनों दिया दी दूसरा दूसरे दे देना दो नहीं ना ने पता पर पहले पास फिर
बस बहुत बात बातें बाद बार बारे बिना बिल्कुल बोल भर भी मगर मत मन मुझ मुझसे मुझे में मेरा मेरी मेरे मैं मैंने यदि यह
यहाँ या ये रह रहता रहती रहना रहा रही रहे लग लगता लगती लगा लगी लिए लिया ले लेकिन लेना लोग लोगों वह वहाँ वाला वाली
वाले वे वैसे वो शायद सकता सकती सकते सच सब सबको सबसे समय सा साथ साल सी से हम हमने हमारा हमारी हमारे हमें हर ही हुआ
हुई हुए हूँ हूं है हैं हो होगा होगी होता होती होते होना होने
"""
EVERYDAY = {
    "en": frozenset(_ENGLISH.split()),
    "es": frozenset(_SPANISH.split()),
    "fr": frozenset(_FRENCH.split()),
    "hi": frozenset(_HINDI.split()),
    "it": frozenset(_ITALIAN.split()),
    "pt": frozenset(_PORTUGUESE.split()),
}
EVERYDAY_CHARACTERS = {
    "ja": frozenset(
        "一二三四五六七八九十人日今何私僕俺君彼誰自分方時間年月週回度前後上下中外内間者事物所場合本当全部最近少多大小高低長"
        "良悪好言話聞見思考知感気持心行来出入帰使作成取続始終待手目口身体生活毎昨明朝夜夕午同違的性化様々皆共一緒無理"
        "必要大切丈夫例色番名意味問題答決選点面以次未不非"
    ),
    "zh": frozenset(
        "的了是我你您他她它们這这那哪个個些什么麼怎吗嗎呢吧啊呀哦很太真好不没沒有在就都也还還要会會能可以和跟与與把被让讓给給对對"
        "从從到去来來说說想知道看听聽做用为為因所而但如果只又再更最多少大小一二三几幾两兩次点點时時候天年月日现現今昨明后後前上下里裡"
        "中外人自己家事情感觉覺得着著过過起出回样樣种種每谁誰何吃喝其实實应應该該当當常非"
    ),
}
