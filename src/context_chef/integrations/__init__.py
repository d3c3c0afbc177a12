"""ContextChef beside other libraries: one file for each, none of which is imported from here."""
