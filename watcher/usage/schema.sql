-- Names are stored once, because there are many spans of each series.
CREATE TABLE series (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    namespace TEXT NOT NULL,
    resource TEXT NOT NULL,
    UNIQUE (tenant, namespace, resource)
);

-- A period with constant amounts. A span without an end lasts until the newest record, so while nothing
-- changes, only the time of the record is written. `share` is the recorded fraction of the span. It is below 1
-- if spans with gaps between them were merged.
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

-- One row: the time of the newest record, the latest time of any record (the clock may go back), and the time
-- up to which spans are merged into hours.
CREATE TABLE state (
    recorded_s INTEGER,
    latest_s INTEGER NOT NULL,
    merged_s INTEGER NOT NULL
);
INSERT INTO state VALUES (NULL, 0, 0);
