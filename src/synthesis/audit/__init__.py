"""An audit of conversations that somebody else can check: counts and rates, nobody's words, and how they came about.

    document = audit_files(spec, AuditOptions(by=("app",)))
    write_audit(document, Path("audit"))

Layers: `reading` turns a result into what is counted of it, `tally` counts at constant memory, `rates` says how sure a
rate is, `cells` keeps small cells to itself, `document` puts it together, `drawing` shows it as a page or as Markdown.
"""
