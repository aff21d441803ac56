-- Renames `owed` to `pending`: the number of the last record that a push configuration must still receive.
ALTER TABLE push_configs RENAME COLUMN owed TO pending;
