-- Which tenant a transaction sees is looked up once a query, not once a row.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['sessions', 'messages', 'records', 'items', 'words', 'vectors', 'jobs'] LOOP
        EXECUTE format(
            'ALTER POLICY one_tenant ON recollect.%I USING (tenant = (SELECT current_setting(''recollect.tenant'', true))'
            ' OR (SELECT current_setting(''recollect.every_tenant'', true)) = ''on'')',
            name
        );
    END LOOP;
END $$;
DROP FUNCTION recollect.sees(text);
