"""Options of the searches, one package each: aspects of trials and their code."""
