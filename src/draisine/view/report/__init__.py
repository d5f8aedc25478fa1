"""Reports: all that can be said about a model in one document, to be attached to a paper or handed to a colleague.

The folder's name is in the plural, since `draisine.report` is the verb.
"""
