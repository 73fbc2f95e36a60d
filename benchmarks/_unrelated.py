"""Questions that have nothing to do with what people talk about in the sets of conversations."""

UNRELATED = tuple(
    """
What is quantum entanglement?
How does nuclear fusion work?
What is the boiling point of ethanol?
Who was the third president of the United States?
How do I configure a BGP router?
What is the derivative of arctan?
Explain the Treaty of Westphalia
How do I compile the Linux kernel?
What is the half-life of carbon-14?
How are diamonds formed?
What does the mitochondrion do?
Who invented the printing press?
How do black holes evaporate?
What is the GDP of Brazil?
How do I solve a Rubik's cube?
When did the Roman Empire fall?
How long do I boil an egg?
What is the capital of Norway?
Which vaccines does a puppy need?
When does the train to Bergen leave?
How do I get red wine out of a carpet?
Who won the football match last night?
How much does a visa for Japan cost?
How do I prune roses?
Is it safe to take ibuprofen with alcohol?
What is the plot of Hamlet?
How far is the moon?
Which guitar strings are best for beginners?
Why is my cat sneezing?
What's the weather in Paris?
How do interest rates affect mortgages?
What are symptoms of the flu?
Which wine goes with salmon?
How do I descale a coffee machine?
Who painted the Mona Lisa?
How do I change a bicycle tyre?
What is the best season to visit Iceland?
How do I knit a scarf?
What is the tallest mountain?
How many calories does an apple have?
How does a diesel engine differ from a petrol engine?
What is the difference between a virus and a bacterium?
Who wrote the Brandenburg concertos?
How do I convert miles to kilometres?
What is an integral domain?
Which planets have rings?
How do I register a trademark?
What does a central bank do?
How is steel made?
When was the Suez canal opened?
""".strip().splitlines()
)
