-- Dump of a database of schema 4, written by two nodes of the revision a8de03d: an ended task, a task that asks its client, and a task at work with a webhook, a message that waits and a command that the stopped owner has not read.
CREATE SCHEMA nuncio;
CREATE FUNCTION nuncio.owe(task text, sequence bigint, now bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE push_configs AS p SET
        owed = owe.sequence,
        next_attempt = CASE
            WHEN p.owed <= p.delivered THEN owe.now
            WHEN p.attempts = 0 THEN least(p.next_attempt, owe.now)
            ELSE p.next_attempt
        END
    WHERE p.task = owe.task;
    RETURN found;
END
$$;
CREATE TABLE nuncio.bodies (
    task text NOT NULL COLLATE pg_catalog."C",
    folded bigint NOT NULL,
    body text NOT NULL,
    artifacts text
)
WITH (fillfactor='85');
CREATE TABLE nuncio.deleted (
    task text NOT NULL COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_scale_factor='0.0', autovacuum_vacuum_threshold='1000');
CREATE TABLE nuncio.events (
    task text NOT NULL COLLATE pg_catalog."C",
    last bigint NOT NULL,
    body text NOT NULL
);
CREATE TABLE nuncio.letters (
    id text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    task text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    caller text NOT NULL COLLATE pg_catalog."C",
    body bytea NOT NULL,
    left_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    taken bigint,
    begun bigint,
    rested bigint,
    refused bytea
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');
ALTER TABLE nuncio.letters ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME nuncio.letters_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE nuncio.messages (
    tenant text NOT NULL COLLATE pg_catalog."C",
    caller text NOT NULL COLLATE pg_catalog."C",
    message text NOT NULL COLLATE pg_catalog."C",
    task text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02');
CREATE SEQUENCE nuncio.node_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE nuncio.nodes (
    node bigint DEFAULT nextval('nuncio.node_ids'::regclass) NOT NULL,
    expires timestamp with time zone NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE nuncio.nuncio_schema (
    one boolean DEFAULT true NOT NULL,
    version integer NOT NULL,
    CONSTRAINT nuncio_schema_one_check CHECK (one)
);
CREATE TABLE nuncio.push_configs (
    task text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    caller text NOT NULL COLLATE pg_catalog."C",
    config text NOT NULL,
    format text,
    delivered bigint NOT NULL,
    owed bigint NOT NULL,
    attempts integer NOT NULL,
    next_attempt bigint NOT NULL,
    claimant bigint,
    claimed_until timestamp with time zone,
    error text
)
WITH (fillfactor='60', autovacuum_vacuum_scale_factor='0.02');
CREATE TABLE nuncio.tasks (
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    caller text NOT NULL COLLATE pg_catalog."C",
    context text NOT NULL COLLATE pg_catalog."C",
    created timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    sequence bigint NOT NULL,
    epoch bigint NOT NULL,
    owner bigint,
    updated bigint NOT NULL,
    released bigint,
    updated_rest integer NOT NULL,
    state smallint NOT NULL,
    state_before smallint NOT NULL,
    pushed boolean NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE nuncio.totals (
    tenant text NOT NULL COLLATE pg_catalog."C",
    caller text NOT NULL COLLATE pg_catalog."C",
    state smallint NOT NULL,
    tasks bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.0', autovacuum_vacuum_threshold='1000');
INSERT INTO nuncio.bodies VALUES ('done', 4, '{"bare":true,"status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"answer-1375","role":"ROLE_AGENT","parts":[{"text":"echo: hello"}]},"timestamp":"2026-11-29T23:13:49.620Z"},"history":[{"messageId":"m-done","role":"ROLE_USER","parts":[{"text":"hello"}]}]}', '[{"artifactId":"echo-1","name":"echo-1","parts":[{"text":"hello"}]}]');
INSERT INTO nuncio.bodies VALUES ('asks', 2, '{"bare":true,"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"answer-29b6","role":"ROLE_AGENT","parts":[{"text":"what else?"}]},"timestamp":"2026-11-29T23:13:49.650Z"},"history":[{"messageId":"m-ask","role":"ROLE_USER","parts":[{"text":"input"}]}]}', NULL);
INSERT INTO nuncio.bodies VALUES ('runs', 2, '{"bare":true,"status":{"state":"TASK_STATE_WORKING","timestamp":"2026-11-29T23:13:49.684Z"},"history":[{"messageId":"m-run","role":"ROLE_USER","parts":[{"text":"slow 600"}]}]}', NULL);
INSERT INTO nuncio.events VALUES ('asks', 2, '[{"task":{"id":"asks","contextId":"context","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2026-11-29T23:13:49.650Z"},"history":[{"messageId":"m-ask","contextId":"context","taskId":"asks","role":"ROLE_USER","parts":[{"text":"input"}]}]}},{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"answer-29b6","contextId":"context","taskId":"asks","role":"ROLE_AGENT","parts":[{"text":"what else?"}]},"timestamp":"2026-11-29T23:13:49.650Z"}}}]');
INSERT INTO nuncio.events VALUES ('runs', 2, '[{"task":{"id":"runs","contextId":"context","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2026-11-29T23:13:49.684Z"},"history":[{"messageId":"m-run","contextId":"context","taskId":"runs","role":"ROLE_USER","parts":[{"text":"slow 600"}]}]}},{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2026-11-29T23:13:49.684Z"}}}]');
INSERT INTO nuncio.events VALUES ('runs', 3, '[{"waitingAs":[{"messageId":"m-taken","contextId":"context","taskId":"runs","role":"ROLE_USER","parts":[{"text":"second"}]},{"configuration":{"returnImmediately":true}}]}]');
INSERT INTO nuncio.letters OVERRIDING SYSTEM VALUE VALUES ('command', 2, 'runs', '', '', '\x7b226d657373616765223a7b2272657175657374223a7b226d657373616765223a7b226d6573736167654964223a226d2d7761697473222c22636f6e746578744964223a22636f6e74657874222c227461736b4964223a2272756e73222c22726f6c65223a22524f4c455f55534552222c227061727473223a5b7b2274657874223a227468697264227d5d7d2c22636f6e66696775726174696f6e223a7b2272657475726e496d6d6564696174656c79223a747275657d7d2c22657874656e73696f6e73223a5b5d7d7d', '2026-11-29 23:13:54.51379+00', NULL, NULL, NULL, NULL);
INSERT INTO nuncio.messages VALUES ('', '', 'm-done', 'done', 1795994029641);
INSERT INTO nuncio.messages VALUES ('', '', 'm-ask', 'asks', 1795994029655);
INSERT INTO nuncio.messages VALUES ('', '', 'm-run', 'runs', 1795994029685);
INSERT INTO nuncio.messages VALUES ('', '', 'm-taken', 'runs', 1795994031727);
INSERT INTO nuncio.nodes VALUES (1, '2000-01-01 00:00:00+00');
INSERT INTO nuncio.nodes VALUES (2, '2000-01-01 00:00:00+00');
INSERT INTO nuncio.nuncio_schema VALUES (true, 4);
INSERT INTO nuncio.push_configs VALUES ('runs', 'hook', '', '', '{"id":"hook","taskId":"runs","url":"http://127.0.0.1:9/hook"}', NULL, 0, 3, 3, 1795994036301, NULL, NULL, 'error sending request: client error (Connect): tcp connect error: Connection refused (os error 111)');
INSERT INTO nuncio.tasks VALUES ('done', '', '', 'context', '2026-11-29 23:13:49.640518+00', 4, 1, NULL, 1795994029620, NULL, 0, 3, 3, false);
INSERT INTO nuncio.tasks VALUES ('asks', '', '', 'context', '2026-11-29 23:13:49.654821+00', 2, 1, NULL, 1795994029650, 1795994029655, 0, 6, 6, false);
INSERT INTO nuncio.tasks VALUES ('runs', '', '', 'context', '2026-11-29 23:13:49.684554+00', 3, 1, 1, 1795994029684, NULL, 0, 2, 2, true);
INSERT INTO nuncio.totals VALUES ('', '', 3, 1);
INSERT INTO nuncio.totals VALUES ('', '', 6, 1);
INSERT INTO nuncio.totals VALUES ('', '', 2, 1);
SELECT pg_catalog.setval('nuncio.letters_number_seq', 2, true);
SELECT pg_catalog.setval('nuncio.node_ids', 2, true);
ALTER TABLE ONLY nuncio.bodies
    ADD CONSTRAINT bodies_pkey PRIMARY KEY (task);
ALTER TABLE ONLY nuncio.deleted
    ADD CONSTRAINT deleted_pkey PRIMARY KEY (task);
ALTER TABLE ONLY nuncio.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (task, last);
ALTER TABLE ONLY nuncio.letters
    ADD CONSTRAINT letters_pkey PRIMARY KEY (id);
ALTER TABLE ONLY nuncio.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (tenant, caller, message);
ALTER TABLE ONLY nuncio.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (node);
ALTER TABLE ONLY nuncio.nuncio_schema
    ADD CONSTRAINT nuncio_schema_pkey PRIMARY KEY (one);
ALTER TABLE ONLY nuncio.push_configs
    ADD CONSTRAINT push_configs_pkey PRIMARY KEY (task, id);
ALTER TABLE ONLY nuncio.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);
CREATE INDEX letters_by_age ON nuncio.letters USING btree (left_at);
CREATE INDEX letters_waiting ON nuncio.letters USING btree (task, number) WHERE ((taken IS NULL) AND (refused IS NULL));
CREATE INDEX messages_by_age ON nuncio.messages USING btree (at);
CREATE INDEX messages_by_task ON nuncio.messages USING btree (task);
CREATE INDEX push_configs_claimed ON nuncio.push_configs USING btree (claimed_until) WHERE (claimant IS NOT NULL);
CREATE INDEX push_configs_due ON nuncio.push_configs USING btree (next_attempt, task, id) WHERE (owed > delivered);
CREATE INDEX tasks_by_context ON nuncio.tasks USING btree (tenant, caller, context, state, updated, updated_rest, id);
CREATE INDEX tasks_by_owner ON nuncio.tasks USING btree (owner, created, id) WHERE (owner IS NOT NULL);
CREATE INDEX tasks_by_state ON nuncio.tasks USING btree (tenant, caller, state, updated, updated_rest, id);
CREATE INDEX tasks_parked ON nuncio.tasks USING btree (state, updated, updated_rest, id) WHERE ((owner IS NULL) AND (state <> ALL (ARRAY[3, 4, 5, 7])));
CREATE INDEX tasks_released ON nuncio.tasks USING btree (released) WHERE (released IS NOT NULL);
CREATE INDEX tasks_unowned ON nuncio.tasks USING btree (created, id) WHERE ((owner IS NULL) AND (state = ANY (ARRAY[1, 2])));
CREATE INDEX totals_by_scope ON nuncio.totals USING btree (tenant, caller);
