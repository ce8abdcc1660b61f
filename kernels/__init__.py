"""The numeric inner loops of the canvas posterior."""
