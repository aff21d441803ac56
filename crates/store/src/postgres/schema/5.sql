-- The name of the agent whose tasks these are.
ALTER TABLE nuncio_schema ADD COLUMN agent text;
