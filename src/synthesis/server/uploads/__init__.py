"""Uploaded case files: kept in a folder of their own each, evaluated one after the other in a process beside the
server, followed and cancelled through small files in their folder, so that any worker of the server can answer."""
