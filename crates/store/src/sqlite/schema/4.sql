-- The ids of received messages, to recognize duplicates: the task that received the message, and the time (milliseconds
-- since 1970).
CREATE TABLE messages (
    scope INTEGER NOT NULL,
    id TEXT NOT NULL,
    task INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (scope, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX messages_by_time ON messages (at);
CREATE INDEX messages_by_task ON messages (task);
CREATE TRIGGER messages_go_with_their_task AFTER DELETE ON tasks BEGIN
    DELETE FROM messages WHERE task = OLD.task;
END;
