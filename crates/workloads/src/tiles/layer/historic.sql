WITH pts AS (
    SELECT st_setsrid(
        ST_GeneratePoints(
            st_geomfromtext(
                'POLYGON ((
                    {west} {south}, {west} {north},
                    {east} {north}, {east} {south}, {west} {south}
                ))'
            ) , 2
        ), 4326
    ) AS rdpts
)
SELECT ST_AsMVT(a.*) FROM (
    SELECT ST_AsMVTGeom(
        st_segmentize(
            st_simplify(
                st_transform(c2.{geometry}, 4326), 0.001, false
            ), 0.01
        ),
        st_transform(
            st_envelope(
                st_transform(pts.rdpts, 3857)
            ), 4326
        ),
        extent=>4096,
        buffer=>256
    )
    FROM {table} c2, pts
    WHERE c2.{geometry} && st_envelope(st_transform(pts.rdpts, 3857))
) a;
