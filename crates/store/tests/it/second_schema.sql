PRAGMA application_id = 1316318819;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE bodies (
    task INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    artifacts TEXT
) STRICT;
INSERT INTO "bodies" VALUES(2,'{"status":{"state":"TASK_STATE_FAILED","timestamp":"2026-01-31T12:00:00Z"},"history":[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}]}','[{"artifactId":"a","parts":[{"text":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}]}]');
CREATE TABLE events (
    key INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;
INSERT INTO "events" VALUES(17179869185,'[{"task":{"id":"running","contextId":"context","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-31T12:00:00Z"},"history":[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}]}}]');
INSERT INTO "events" VALUES(17179869186,'[{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"one"}]},"append":true}}]');
INSERT INTO "events" VALUES(17179869187,'[{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"two"}]},"append":true}}]');
INSERT INTO "events" VALUES(21474836481,'[{"task":{"id":"owed","contextId":"context","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-31T12:00:00Z"},"history":[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}]}}]');
INSERT INTO "events" VALUES(21474836482,'[{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"one"}]},"append":true}}]');
INSERT INTO "events" VALUES(21474836483,'[{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"two"}]},"append":true}}]');
INSERT INTO "events" VALUES(21474836484,'[{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-31T12:00:09Z"}}}]');
CREATE TABLE push_configs (
    task INTEGER NOT NULL,
    id TEXT NOT NULL,
    config TEXT NOT NULL,
    delivered INTEGER NOT NULL,
    owed INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    next_attempt INTEGER NOT NULL,
    error TEXT, format TEXT,
    PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
INSERT INTO "push_configs" VALUES(4,'p','{"id":"p","taskId":"running","url":"https://example.org/hook","token":"token","authentication":{"scheme":"Bearer","credentials":"secret"}}',1,3,0,1795840868776,NULL,'a format');
INSERT INTO "push_configs" VALUES(5,'p','{"id":"p","taskId":"owed","url":"https://example.org/hook","token":"token","authentication":{"scheme":"Bearer","credentials":"secret"}}',0,4,0,1795840868773,NULL,NULL);
CREATE TABLE scopes (
    scope INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    caller TEXT NOT NULL,
    UNIQUE (tenant, caller)
) STRICT;
INSERT INTO "scopes" VALUES(1,'','');
INSERT INTO "scopes" VALUES(2,'tenant','=somebody');
CREATE TABLE store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    openings INTEGER NOT NULL
) STRICT;
INSERT INTO "store" VALUES(1,1);
CREATE TABLE tasks (
    task INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    scope INTEGER NOT NULL,
    context TEXT NOT NULL,
    state INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    updated_rest INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    running INTEGER NOT NULL,
    pushed INTEGER NOT NULL,
    released INTEGER,
    folded INTEGER NOT NULL,
    body TEXT,
    artifacts TEXT
) STRICT;
INSERT INTO "tasks" VALUES(1,'small',1,'context',3,1769860800000,0,1,1,0,0,NULL,1,'{"status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"s","role":"ROLE_AGENT","parts":[{"text":"done"}]},"timestamp":"2026-01-31T12:00:00Z"},"history":[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}],"metadata":{"k":null,"ü":[1.5,"x"]}}','[{"artifactId":"a","parts":[{"text":"x"},{"raw":"AP8="},{"data":3}]}]');
INSERT INTO "tasks" VALUES(2,'big',1,'context',4,1769860800000,0,1,1,0,0,NULL,1,NULL,NULL);
INSERT INTO "tasks" VALUES(3,'foreign',2,'context',6,1769860800000,0,1,1,0,0,NULL,1,'{"status":{"state":"TASK_STATE_INPUT_REQUIRED","timestamp":"2026-01-31T12:00:00Z"},"history":[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}]}',NULL);
INSERT INTO "tasks" VALUES(4,'running',1,'context',2,1769860800000,0,3,1,1,1,NULL,1,'{"status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-31T12:00:00Z"},"history":[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}]}',NULL);
INSERT INTO "tasks" VALUES(5,'owed',1,'context',3,1769860809000,0,4,1,0,1,NULL,4,'{"status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-31T12:00:09Z"},"history":[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}]}','[{"artifactId":"a","parts":[{"text":"one"},{"text":"two"}]}]');
CREATE TABLE totals (
    scope INTEGER NOT NULL,
    state INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (scope, state)
) STRICT, WITHOUT ROWID;
INSERT INTO "totals" VALUES(1,2,1);
INSERT INTO "totals" VALUES(1,3,2);
INSERT INTO "totals" VALUES(1,4,1);
INSERT INTO "totals" VALUES(2,6,1);
CREATE INDEX tasks_by_state ON tasks (scope, state, updated, updated_rest, id);
CREATE INDEX tasks_by_context ON tasks (scope, context, state, updated, updated_rest, id);
CREATE INDEX tasks_running ON tasks (epoch, task) WHERE running;
CREATE INDEX tasks_released ON tasks (released) WHERE released IS NOT NULL;
CREATE INDEX push_configs_due ON push_configs (next_attempt, task, id) WHERE owed > delivered;
COMMIT;
