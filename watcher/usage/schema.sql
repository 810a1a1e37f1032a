-- Names stand once: there are many spans of each.
CREATE TABLE series (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    namespace TEXT NOT NULL,
    resource TEXT NOT NULL,
    UNIQUE (tenant, namespace, resource)
);

-- A time with one figure. Without an end it lasts until the newest record: while nothing changes, nothing is
-- written but that record's time.
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

-- One row: when the newest record was made, the latest time that any was made for (a clock may go back), and
-- up to when spans are merged into hours.
CREATE TABLE state (
    recorded_s INTEGER,
    latest_s INTEGER NOT NULL,
    merged_s INTEGER NOT NULL
);
INSERT INTO state VALUES (NULL, 0, 0);
