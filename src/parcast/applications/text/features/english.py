"""Words of English whose part of speech the word list of 1992 lacks or gives only in part.

The words of the closed classes have one tag wherever they stand, and no rule may change it.
"""


def _words(tag: str, text: str) -> dict[str, str]:
    """Give one tag to every word of a text."""
    return dict.fromkeys(text.split(), tag)


def _set(text: str) -> frozenset[str]:
    """Words of a text."""
    return frozenset(text.split())


FIXED: dict[str, str] = (  # small letters -> Penn tag
    _words("DT", "the a an every no")
    | _words(
        "IN",
        "of in at by for with from into onto within without between among amid during against"
        " upon through throughout toward towards under beneath beside besides despite unlike than"
        " via per w/o b/c because although though unless whereas if while whether until",
    )
    | _words("RP", "up out off down")
    | _words("CC", "and or nor but")
    | _words(
        "PRP",
        "i you he she it we they me him us them myself yourself himself herself itself ourselves"
        " yourselves themselves oneself somebody someone something anybody anyone anything nobody"
        " nothing everybody everyone everything none",
    )
    | _words("PRP$", "my your its our their")
    | _words("WP", "who whom whose what whoever whatever")
    | _words("WDT", "which")
    | _words("WRB", "when where why how whenever wherever")
    | _words("MD", "could may might must shall should will would 'll ca wo can cannot 'd")
    | _words("VBP", "are 're am 'm 've")
    | _words("VBD", "was were did")
    | _words("VBZ", "is does")
    | _words("VB", "be")
    | _words("VBN", "been")
    | _words("VBG", "being")
    | _words("NOT", "not n't")
    | _words("CD", "one two three four five six seven eight nine ten eleven twelve twenty thirty")
    | _words("UH", "hi hello hey okay ok oh yeah yes please")
    | _words("FW", "et al. ibid. viz. vs.")
    | _words(
        "RB",
        "also always almost already e.g. i.e. etc. cf. ever never often once only quite"
        " rather seldom soon still then too very again ago here now therefore thus"
        " hence however moreover nevertheless otherwise instead meanwhile somewhat away together",
    )
    | _words("NN", "p.m. a.m. °c °f °k percent no.")
    | _words("JJ", "northern southern eastern western other such own same several many few")
)

ADJECTIVES = _set(  # participles that dictionaries list as adjectives
    "accomplished advanced aged armed attached automated balanced broken closed complicated"
    " connected continued controlled dedicated detailed determined developed distributed"
    " divided educated embedded established estimated expected experienced extended fixed"
    " given hidden improved increased integrated interested involved isolated known learned"
    " limited linked lost married mixed organized organised planned preferred prepared"
    " proposed qualified reduced related required retired shared sophisticated specialized"
    " specified supposed tired united unexpected unknown unlimited unprecedented unused used"
    " varied wanted written amazing boring challenging charming confusing convincing"
    " corresponding demanding disappointing encouraging exciting fascinating following"
    " interesting leading leading living missing misleading ongoing outgoing outstanding"
    " overwhelming promising remaining striking surprising surrounding underlying upcoming"
    " willing"
)
ACTIVITIES = _set(  # -ing forms that name the purpose or the subject of the noun they precede
    "accounting advertising banking boarding boiling booking breeding building camping"
    " clustering computing cooking decision-making dining drinking driving engineering farming"
    " filing fishing funding gardening heating hiking housing hunting imaging landing learning"
    " lending lighting living manufacturing marketing measuring meeting melting mining"
    " modeling modelling monitoring operating packing parking parsing planning pricing"
    " printing processing programming publishing queueing queuing rating reading recording"
    " recycling reporting riding routing sailing sampling scheduling sewing shipping shopping"
    " smoking sporting starting steering storing swimming teaching testing timing trading"
    " training turning voting walking washing wedding working writing"
)
MONTHS_AND_DAYS = _set(
    "January February March April May June July August September October November December"
    " Jan. Feb. Mar. Apr. Jun. Jul. Aug. Sep. Sept. Oct. Nov. Dec. Monday Tuesday Wednesday"
    " Thursday Friday Saturday Sunday Mon. Tue. Wed. Thu. Fri."
)
ABBREVIATIONS = (
    "Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Gov|Sen|Rep|Pres|Inc|Ltd|Co|Corp|Bros|"
    "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Mon|Tue|Tues|Wed|Thu|Thurs|Fri|"
    "[Ff]igs?|[Ee]qs?|[Rr]ef|[Rr]efs|[Ss]ect?|[Cc]h|[Vv]ol|[Nn]os?|pp?|[Ee]ds?|[Vv]ers|[Dd]ept|[Uu]niv|"
    "al|etc|vs|cf|viz|approx|resp|max|min|est|Ave|Blvd|Rd|Mt"
)
ENDING_ABBREVIATIONS = _set("p.m. a.m. etc. Inc. Ltd. Co. Corp. al. Jr. U.S.")  # of a sentence
STARTERS = _set(  # words that hardly follow an abbreviation with a capital letter otherwise
    "The A An This That These Those It He She They We You In On At For From But And If When"
    " As While After Before Since However There His Her Its Their Our Please No Not What Why"
    " How"
)
POSSESSIVES = _set("my your his her its our their whose 's")
QUANTIFIERS = _set("this that these those some all both each another either neither any")
BEFORE_NUMBERS = _set("about over around nearly roughly approximately")  # about 25
CLITIC_HOSTS = _set("he she it that there here what who where how this let")  # 's is a verb
WISHES = _set("'d would should could not n't to do did")  # before the verb "like"
