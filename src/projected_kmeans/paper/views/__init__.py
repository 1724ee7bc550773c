"""How stored documents are shown: tables, figures and the page that tells the story.

Renders what is stored; it measures nothing.
"""
