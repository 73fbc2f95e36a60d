"""Forenames that are not also other words, for users who type theirs without a capital letter: "hi im dave"."""

from __future__ import annotations

from typing import Final

from recollect.flow.facts.wording import word_set

FORENAMES: Final = word_set(
    """aaliyah aaron abby abdul abdullah abigail adam adrian adriana agnes ahmad ahmed aisha ajay alan alberto
    alejandra alejandro alex alexander alexandra alexis ali alice alicia alina alison allison amanda amara amber
    amelia amina amir amit amy ana anastasia andre andrea andreas andrei andrew andy angela anika anil anita anjali
    ankit ann anna anne annie anthony anton antonio anya arjun arthur arun ashley asif astrid audrey ayesha barbara
    beatriz becky ben benjamin bernard beth bianca bjorn bob bobby brandon brenda brian bruno bryan caitlin camila
    carla carlos carmen carol carolina caroline catherine cathy cecilia charlie charlotte chloe chris christina
    christine christopher claire clara claudia colin connor craig cynthia daisuke damian dan daniel daniela
    danielle danny dave david debbie deborah deepak deepika denise dennis derek diana diego dimitri dmitri dominic
    donna doris dorothy duncan dylan eddie edgar eduardo edward eileen elaine elena eli elias elif elijah elizabeth
    ella ellen emeka emil emilia emily emma enrique eric erik erika erin ernesto esther ethan eva evan evelyn
    fabian farah farhan fatima felicia felipe felix fernanda fernando fiona francesca francesco francisco fred
    freddie freya gabriel gabriela gareth gary gavin geoff george gerald gina giulia giuseppe gloria gonzalo graham
    greg gregory greta guillermo gustavo hamza hana hannah hans harold hassan hector heidi helen helena henrik
    henry hiroshi howard hugo hussein ian ibrahim ingrid irene irina isaac isabel isabella isabelle ivan ivana
    jacob jacqueline jake jakub jamal james jamie jane janet janine jared jasmin jason javier jeff jeffrey jen
    jenna jennifer jenny jeremy jerome jessica jim jimmy joan joanna joe joel johan johanna johannes john johnny
    jon jonas jonathan jorge jose joseph josephine josh joshua juan judith julia julian juliana julie juliet justin
    justine kaitlyn karen karim karin karl kate katherine kathleen kathryn kathy katie katrina kavita kayla keiko
    keisha keith kelly kelsey ken kenji kenneth kevin khalid kieran kiran klaus kofi kristen kristina kyle lars
    latoya laura lauren laurence leah leila lena leo leon leonard leonardo leticia liam lila linda lindsay lisa liz
    lorenzo louis louise luca lucas lucia lucy luis luisa lukas luke luna lydia lynn madeleine madison mahmoud
    malik manuel marcel marco marcus margaret maria mariam marie marina mario martha martin martina mary mateo
    mathias matteo matthew maureen megan mehmet mei melanie melissa mia michael michelle miguel mike mikhail
    mina miriam mohamed mohammad mohammed monica monika morgan muhammad mustafa nadia nancy naomi natalia natalie
    natasha nathan nathaniel neha neil ngozi nia niamh nicholas nick nicola nicolas nicole nigel nikhil nikita nina
    noah noel nora norman olga oliver olivia olu oluwaseun omar oscar owen pablo pamela patricia patrick paul paula
    paulo pedro peggy peter phil philip philippa pierre piotr pooja prakash pranav priya rachel rafael rahul raj
    rajesh ralph ramon raquel rashid raul raymond rebecca renata rhys ricardo richard rick rita robert roberto
    robin rodrigo rohan roland ronald rosa rosie roxanne ruben ruth ryan sabrina sadia sally salma sam samantha
    samir samira samuel sandeep sandra sanjay santiago sara sarah sasha saskia scott sean sebastian selena
    sergei sergio shane shannon sharon sheila shreya silvia simon simone sinead siobhan sofia sonia sophia sophie
    stacey stefan stefano stella stephanie stephen steve steven stuart sue sunil suresh susan susanna suzanne
    sven svetlana sylvia tamara tania tanya tariq tatiana ted teresa terry theo theodore theresa thomas tiffany tim
    timothy tina tobias todd tom tomas tommy toni tony tracy trevor tristan tyler uma ursula valentina valeria
    vanessa vera veronica victor vijay vikram vincent vivek vladimir walter wei wendy wilhelm william xavier yara
    yasmin yolanda yuki yusuf yvonne zach zachary zahra zainab zara zeynep zoe"""
)
