-- Dump of a database of schema 5, written by the revision a8de03d: an ended task, a task that asks its client, and a task at work with a webhook.
PRAGMA application_id = 1316318819;
PRAGMA user_version = 5;
BEGIN TRANSACTION;
CREATE TABLE bodies (
    task INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    artifacts TEXT
) STRICT;
CREATE TABLE deleted (
    task INTEGER PRIMARY KEY
) STRICT;
CREATE TABLE events (
    key INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;
INSERT INTO "events" VALUES(8589934594,'[{"task":{"id":"asks","contextId":"context","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2026-11-29T23:13:41.445Z"},"history":[{"messageId":"m-ask","contextId":"context","taskId":"asks","role":"ROLE_USER","parts":[{"text":"input"}]}]}},{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"answer-1fd0","contextId":"context","taskId":"asks","role":"ROLE_AGENT","parts":[{"text":"what else?"}]},"timestamp":"2026-11-29T23:13:41.445Z"}}}]');
INSERT INTO "events" VALUES(12884901890,'[{"task":{"id":"runs","contextId":"context","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2026-11-29T23:13:41.457Z"},"history":[{"messageId":"m-run","contextId":"context","taskId":"runs","role":"ROLE_USER","parts":[{"text":"slow 600"}]}]}},{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2026-11-29T23:13:41.457Z"}}}]');
CREATE TABLE messages (
    scope INTEGER NOT NULL,
    id TEXT NOT NULL,
    task INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (scope, id)
) STRICT, WITHOUT ROWID;
INSERT INTO "messages" VALUES(1,'m-ask',2,1795994021445);
INSERT INTO "messages" VALUES(1,'m-done',1,1795994021436);
INSERT INTO "messages" VALUES(1,'m-run',3,1795994021458);
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
INSERT INTO "push_configs" VALUES(3,'hook','{"id":"hook","taskId":"runs","url":"http://127.0.0.1:9/hook"}',0,2,2,1795994024089,'error sending request: client error (Connect): tcp connect error: Connection refused (os error 111)',NULL);
CREATE TABLE scopes (
    scope INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    caller TEXT NOT NULL,
    UNIQUE (tenant, caller)
) STRICT;
INSERT INTO "scopes" VALUES(1,'','');
CREATE TABLE store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    openings INTEGER NOT NULL
, agent TEXT) STRICT;
INSERT INTO "store" VALUES(1,1,'Nuncio demo agent');
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
INSERT INTO "tasks" VALUES(1,'done',1,'context',3,1795994021436,0,4,1,0,0,NULL,4,'{"bare":true,"status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"answer-2bc9","role":"ROLE_AGENT","parts":[{"text":"echo: hello"}]},"timestamp":"2026-11-29T23:13:41.436Z"},"history":[{"messageId":"m-done","role":"ROLE_USER","parts":[{"text":"hello"}]}]}','[{"artifactId":"echo-1","name":"echo-1","parts":[{"text":"hello"}]}]');
INSERT INTO "tasks" VALUES(2,'asks',1,'context',6,1795994021445,0,2,1,0,0,1795994021445,2,'{"bare":true,"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"answer-1fd0","role":"ROLE_AGENT","parts":[{"text":"what else?"}]},"timestamp":"2026-11-29T23:13:41.445Z"},"history":[{"messageId":"m-ask","role":"ROLE_USER","parts":[{"text":"input"}]}]}',NULL);
INSERT INTO "tasks" VALUES(3,'runs',1,'context',2,1795994021457,0,2,1,1,1,NULL,2,'{"bare":true,"status":{"state":"TASK_STATE_WORKING","timestamp":"2026-11-29T23:13:41.457Z"},"history":[{"messageId":"m-run","role":"ROLE_USER","parts":[{"text":"slow 600"}]}]}',NULL);
CREATE TABLE totals (
    scope INTEGER NOT NULL,
    state INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (scope, state)
) STRICT, WITHOUT ROWID;
INSERT INTO "totals" VALUES(1,2,1);
INSERT INTO "totals" VALUES(1,3,1);
INSERT INTO "totals" VALUES(1,6,1);
CREATE INDEX tasks_by_state ON tasks (scope, state, updated, updated_rest, id);
CREATE INDEX tasks_by_context ON tasks (scope, context, state, updated, updated_rest, id);
CREATE INDEX tasks_running ON tasks (epoch, task) WHERE running;
CREATE INDEX tasks_released ON tasks (released) WHERE released IS NOT NULL;
CREATE INDEX push_configs_due ON push_configs (next_attempt, task, id) WHERE owed > delivered;
CREATE INDEX messages_by_time ON messages (at);
CREATE INDEX messages_by_task ON messages (task);
CREATE TRIGGER messages_go_with_their_task AFTER DELETE ON tasks BEGIN
    DELETE FROM messages WHERE task = OLD.task;
END;
CREATE INDEX tasks_parked ON tasks (state, updated, updated_rest, task)
    WHERE NOT running AND state <> 3 AND state <> 4 AND state <> 5 AND state <> 7;
COMMIT;
