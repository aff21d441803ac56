-- The format of the deliveries to a webhook: a name that the dispatcher knows; NULL means the format of the protocol.
ALTER TABLE push_configs ADD COLUMN format TEXT;
