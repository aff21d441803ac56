-- The name of the agent that owns the tasks.
ALTER TABLE nuncio_schema ADD COLUMN agent text;
