"""Reading files: PDF, pictures, text, HTML and Word documents become pages of lines of words."""
