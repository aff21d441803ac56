-- Renames the table of commands to the node that owns a task, and its columns and indexes.
ALTER TABLE letters RENAME TO commands;
ALTER TABLE commands RENAME COLUMN taken TO acked;
ALTER TABLE commands RENAME COLUMN left_at TO enqueued_at;
ALTER INDEX letters_pkey RENAME TO commands_pkey;
ALTER INDEX letters_waiting RENAME TO commands_pending;
ALTER INDEX letters_by_age RENAME TO commands_by_age;
ALTER SEQUENCE letters_number_seq RENAME TO commands_number_seq;
