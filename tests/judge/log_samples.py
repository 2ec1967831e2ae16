"""Query-log rows and the ways to store them, for the tests of logs and of the command line."""

import csv
import json
import sqlite3

COURSES = [{"subjectCode": "A-1", "subjectName": "Drawing", "maxRelevanceScore": 3}]


def nested(name, day=1, status="COMPLETED", answer="Take Drawing.", question=None):
    return {
        "id": name,
        "question": question or f"What about {name}?",
        "status": status,
        "createdAt": f"2025-03-{day:02}T10:00:00Z",
        "steps": {
            "retrieval": {"output": {"rankedCourses": COURSES}, "duration": 7},
            "synthesis": {
                "output": {"answer": answer},
                "llmModel": "some-model",
                "promptVersion": "v3",
                "tokenUsage": [{"model": "some-model", "inputTokens": 10, "outputTokens": 4}],
                "duration": 120,
            },
        },
    }


def flat(name, day=1, status="COMPLETED"):
    return {
        "query_log_id": name,
        "question": f"What about {name}?",
        "status": status,
        "created_at": f"2025-03-{day:02} 10:00:00",
        "answer": "Take Drawing.",
        "ranked_courses": json.dumps(COURSES),
        "model": "some-model",
        "prompt_version": "v3",
        "token_usage": json.dumps([{"model": "some-model", "inputTokens": 10, "outputTokens": 4}]),
        "duration": "120",
    }


CASE_OF = {
    "answer": "Take Drawing.",
    "context": COURSES,
    "llmModel": "some-model",
    "promptVersion": "v3",
    "tokenUsage": [{"model": "some-model", "inputTokens": 10, "outputTokens": 4}],
    "duration": 120,
}


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def write_csv(path, rows):
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def write_parquet(path, rows):
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return str(path)


def write_sqlite(path, rows, table="logs"):
    names = list(rows[0])
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE {table} ({', '.join(names)})")
        marks = ", ".join("?" for _ in names)
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", [tuple(row.values()) for row in rows])
    connection.close()
    return f"sqlite:///{path}"
