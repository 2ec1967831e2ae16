"""The document as something to read: a page that prints, and Markdown. Both draw the same sections."""
