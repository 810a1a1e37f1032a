-- The names of each series. They are stored once, because a series has many spans.
CREATE TABLE series (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    namespace TEXT NOT NULL,
    resource TEXT NOT NULL,
    UNIQUE (tenant, namespace, resource)
);

-- A span is a period in which the amounts of a series did not change. A span without `end_s` lasts until the
-- newest record. So while the amounts do not change, a record writes only `state.recorded_s`. `share` is the
-- recorded fraction of the span. It is below 1 if spans with gaps between them were merged.
CREATE TABLE span (
    series INTEGER NOT NULL REFERENCES series (id),
    start_s INTEGER NOT NULL,
    end_s INTEGER,
    used REAL NOT NULL,
    hard REAL NOT NULL,
    share REAL NOT NULL DEFAULT 1.0,
    PRIMARY KEY (series, start_s)
) WITHOUT ROWID;
CREATE INDEX span_end ON span (end_s);

-- This table has one row. `recorded_s` is the time of the newest record. `latest_s` is the latest time of any
-- record. It is greater than `recorded_s` if the clock was set back. `merged_s` is the time up to which spans
-- are merged into hours.
CREATE TABLE state (
    recorded_s INTEGER,
    latest_s INTEGER NOT NULL,
    merged_s INTEGER NOT NULL
);
INSERT INTO state VALUES (NULL, 0, 0);
