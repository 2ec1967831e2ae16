"""An audit of conversations that somebody else can verify: counts and rates, no texts, and how to reproduce them.

    made = audit([Path("chats.jsonl")], ReadOptions(), AuditOptions(by=("app",)))
    write_audit(made.document, Path("audit"))

`counting` turns results into counts at constant memory, `stored` counts results of earlier runs, `document` computes
rates and hides small counts, `drawing` shows the document as a page or as Markdown, `making` puts it together.
"""
