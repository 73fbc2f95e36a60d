"""Places that are known by name, for those who type them without a capital letter: "i live in oslo"."""

from __future__ import annotations

import re
from typing import Final

from recollect.flow.facts.wording import any_of

_COUNTRIES: Final = any_of(
    """afghanistan albania algeria angola argentina armenia australia austria azerbaijan bahrain bangladesh belarus
    belgium bolivia bosnia botswana brazil bulgaria cambodia cameroon canada chile china colombia costa_rica croatia
    cuba cyprus czechia denmark ecuador egypt england estonia ethiopia finland france germany ghana greece guatemala
    hungary iceland india indonesia iran iraq ireland israel italy ivory_coast jamaica japan kazakhstan kenya kosovo
    kuwait laos latvia lebanon libya lithuania luxembourg malaysia malta mexico moldova mongolia montenegro morocco
    mozambique myanmar namibia nepal netherlands new_zealand nicaragua nigeria north_macedonia northern_ireland norway
    oman pakistan panama paraguay peru philippines poland portugal puerto_rico qatar romania russia rwanda
    saudi_arabia scotland senegal serbia singapore slovakia slovenia somalia south_africa south_korea spain sri_lanka
    sudan sweden switzerland syria taiwan tanzania thailand tunisia uae uganda uk ukraine uruguay usa uzbekistan
    venezuela vietnam wales yemen zambia zimbabwe"""
)
_STATES: Final = any_of(
    """alabama alaska alberta arizona arkansas bavaria california colorado connecticut cornwall florida gujarat hawaii
    idaho illinois indiana iowa kansas kentucky kerala louisiana maine maryland massachusetts michigan minnesota
    mississippi missouri montana nebraska nevada new_hampshire new_jersey new_mexico north_carolina north_dakota ohio
    oklahoma ontario oregon pennsylvania punjab quebec queensland rajasthan rhode_island south_carolina south_dakota
    tasmania tennessee texas utah vermont virginia wisconsin wyoming"""
)
_CITIES: Final = any_of(
    """aberdeen abu_dhabi accra adelaide ahmedabad amsterdam ankara antwerp athens atlanta auckland austin baghdad
    baltimore bangalore bangkok barcelona basel bath beijing beirut belfast belgrade bengaluru bergen berlin bern
    birmingham bogota bologna bonn bordeaux boston brighton brisbane bristol brooklyn brussels bucharest budapest
    buenos_aires cairo calgary cambridge canberra cape_town cardiff casablanca charlotte chennai chicago cincinnati
    cleveland cologne colombo copenhagen cork coventry dallas delhi denver derby detroit dhaka doha dresden dubai dublin
    dundee durban durham dusseldorf edinburgh edmonton eindhoven exeter florence frankfurt galway gdansk geneva genoa
    ghent glasgow gothenburg graz gurgaon hamburg hanoi hanover helsinki hong_kong houston hyderabad istanbul jaipur
    jakarta jerusalem johannesburg kansas_city karachi kathmandu kiev kochi kolkata krakow kuala_lumpur kyiv kyoto lagos
    lahore las_vegas leeds leicester leipzig lille lima lisbon liverpool ljubljana london los_angeles lucknow lviv lyon
    madrid malmo manchester manila marseille melbourne memphis mexico_city miami milan milwaukee minneapolis montreal
    moscow mumbai munich nagpur nairobi nantes naples nashville new_delhi new_orleans new_york(?:_city)? newcastle noida
    norwich nottingham nuremberg nyc oakland odessa orlando osaka oslo ottawa oxford palermo paris perth philadelphia
    phoenix pittsburgh plymouth portland porto prague pretoria pune queens reading reykjavik riga rio_de_janeiro rome
    rotterdam sacramento salt_lake_city salzburg san_antonio san_diego san_francisco san_jose santiago sao_paulo
    sarajevo seattle seoul seville shanghai sheffield shenzhen skopje sofia southampton st_louis stavanger stockholm
    stuttgart surat swansea sydney tallinn tampa tbilisi tehran tel_aviv the_hague tokyo toronto toulouse trondheim
    tucson turin utrecht valencia vancouver venice vienna vilnius warsaw washington wellington winnipeg wroclaw york
    yerevan zagreb zurich"""
)
_ENDS: Final = (
    r"(?=\s*(?:[^\w\s'-]|$)|\s+"
    + any_of(
        """and but or so with for since now because at near right atm currently originally in on from last next this
        where while when which until till as too lol haha btw though tho if then before after again i my we"""
    )
    + r"\b)"
)
PLACE: Final = re.compile(rf"(?:the )?({_COUNTRIES}|{_STATES}|{_CITIES}|(?<=the )us){_ENDS}")
"""In small letters only: with a capital, any name may be one of a place."""
