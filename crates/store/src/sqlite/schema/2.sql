-- How a webhook wants to be written to: a word for who delivers, NULL for the protocol's own way.
ALTER TABLE push_configs ADD COLUMN format TEXT;
