-- The last record that a push configuration has yet to receive had another name.
ALTER TABLE push_configs RENAME COLUMN owed TO pending;
