        ORDER BY tenant, caller LIMIT 1
    )
    UNION ALL
    SELECT next.tenant, next.caller, scope.number + 1 FROM scope CROSS JOIN LATERAL (
        SELECT tenant, caller FROM tasks
        WHERE (tenant, caller) > (scope.tenant, scope.caller)
