    )
END, (SELECT count(*) FROM page), NULL, NULL
