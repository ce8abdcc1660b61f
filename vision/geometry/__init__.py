"""What pixels and lines of text show by themselves: colours, rectangles, pictures, sizes of letters."""
