-- The tenant that a transaction sees is looked up once per query, not once per row.
-- The tables are locked all together or not at all, because running processes lock them in any order.
DO $$
DECLARE
    name text;
BEGIN
    PERFORM set_config('lock_timeout', '100ms', true);
    LOOP
        BEGIN
            LOCK TABLE recollect.sessions, recollect.messages, recollect.records, recollect.items, recollect.words,
                recollect.vectors, recollect.jobs IN ACCESS EXCLUSIVE MODE;
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.1);
        END;
    END LOOP;
    PERFORM set_config('lock_timeout', '0', true);
    FOREACH name IN ARRAY ARRAY['sessions', 'messages', 'records', 'items', 'words', 'vectors', 'jobs'] LOOP
        EXECUTE format(
            'ALTER POLICY one_tenant ON recollect.%I USING (tenant = (SELECT current_setting(''recollect.tenant'', true))'
            ' OR (SELECT current_setting(''recollect.every_tenant'', true)) = ''on'')',
            name
        );
    END LOOP;
END $$;
DROP FUNCTION recollect.sees(text);
