"""Names of countries and regions that people say, beside their codes and the names that the package `holidays` has."""

from typing import Final

_SAID: Final = """
AE: emirates, uae | AR: argentinian, argentine | AT: austrian | AU: australian | BE: belgian | BR: brazilian
CA: canadian | CH: swiss | CL: chilean | CN: chinese | CO: colombian | CZ: czech republic, czech | DE: german
DK: danish | EG: egyptian | ES: spanish | FI: finnish | FR: french | GB: uk, britain, great britain, british
GB-ENG: england, english | GB-NIR: northern ireland | GB-SCT: scotland, scottish | GB-WLS: wales, welsh | GR: greek
HK: hong kong | HU: hungarian | ID: indonesian | IE: irish | IL: israeli | IN: indian | IT: italian | JP: japanese
KR: korean, south korean | MX: mexican | NG: nigerian | NL: dutch, holland | NO: norwegian | NZ: kiwi
PH: filipino, philippine | PL: polish | PT: portuguese | RO: romanian | RU: russian | SE: swedish | SG: singaporean
TH: thai | TR: turkish, turkiye | TW: taiwanese | UA: ukrainian | VN: vietnamese | ZA: south african
US: us, usa, u.s, u.s., america, american, united states of america, the states
DE-BB: brandenburg | DE-BE: berlin | DE-BW: baden-wuerttemberg, baden-wurttemberg | DE-BY: bavaria, bavarian, bayern
DE-HB: bremen | DE-HE: hesse, hessen | DE-HH: hamburg | DE-MV: mecklenburg-vorpommern
DE-NI: lower saxony, niedersachsen | DE-NW: north rhine-westphalia, nordrhein-westfalen, nrw
DE-RP: rhineland-palatinate, rheinland-pfalz | DE-SH: schleswig-holstein | DE-SL: saarland | DE-SN: saxony, sachsen
DE-ST: saxony-anhalt, sachsen-anhalt | DE-TH: thuringia
US-AL: alabama | US-AK: alaska | US-AZ: arizona | US-AR: arkansas | US-CA: california | US-CO: colorado
US-CT: connecticut | US-DE: delaware | US-FL: florida | US-HI: hawaii | US-ID: idaho | US-IL: illinois
US-IN: indiana | US-IA: iowa | US-KS: kansas | US-KY: kentucky | US-LA: louisiana | US-ME: maine | US-MD: maryland
US-MA: massachusetts | US-MI: michigan | US-MN: minnesota | US-MS: mississippi | US-MO: missouri | US-MT: montana
US-NE: nebraska | US-NV: nevada | US-NH: new hampshire | US-NJ: new jersey | US-NM: new mexico | US-NY: new york
US-NC: north carolina | US-ND: north dakota | US-OH: ohio | US-OK: oklahoma | US-OR: oregon | US-PA: pennsylvania
US-RI: rhode island | US-SC: south carolina | US-SD: south dakota | US-TN: tennessee | US-TX: texas | US-UT: utah
US-VT: vermont | US-VA: virginia | US-WV: west virginia | US-WI: wisconsin | US-WY: wyoming
CA-AB: alberta | CA-BC: british columbia | CA-MB: manitoba | CA-NB: new brunswick | CA-NS: nova scotia
CA-ON: ontario | CA-QC: quebec | CA-SK: saskatchewan
AU-NSW: new south wales | AU-QLD: queensland | AU-SA: south australia | AU-TAS: tasmania | AU-VIC: victoria
AU-WA: western australia
GE, US-GA: georgia | US-WA, US-DC: washington | KR, KP: korea | CG, CD: congo
"""
# Names of several words that the package knows, so that they are known as one name in lower case too.
_OF_SEVERAL_WORDS: Final = (
    *("costa rica", "dominican republic", "el salvador", "ivory coast", "new zealand", "north macedonia"),
    *("papua new guinea", "puerto rico", "san marino", "saudi arabia", "south africa", "south korea", "sri lanka"),
    *("united arab emirates", "united kingdom", "united states"),
)


def _codes_by_name() -> dict[str, tuple[str, ...]]:
    rows = (row.split(":") for line in _SAID.strip().splitlines() for row in line.split(" | "))
    return {name.strip(): tuple(codes.strip().split(", ")) for codes, names in rows for name in names.split(",")}


CODES_BY_NAME: Final = _codes_by_name()
"""The code that a name in lower case stands for; several if it may be several places."""
KNOWN_NAMES: Final = frozenset((*CODES_BY_NAME, *_OF_SEVERAL_WORDS))
