-- What every GeoPackage holds (OGC 12-128r17, version 1.3: tables of annex C), one table of features, and the table
-- in which QGIS keeps styles.
PRAGMA application_id = 0x47504B47;
PRAGMA user_version = 10300;

CREATE TABLE gpkg_spatial_ref_sys (
    srs_name                 TEXT NOT NULL,
    srs_id                   INTEGER NOT NULL PRIMARY KEY,
    organization             TEXT NOT NULL,
    organization_coordsys_id INTEGER NOT NULL,
    definition               TEXT NOT NULL,
    description              TEXT
);
INSERT INTO gpkg_spatial_ref_sys VALUES
    ('Undefined Cartesian SRS', -1, 'NONE', -1, 'undefined', 'undefined Cartesian coordinate reference system'),
    ('Undefined geographic SRS', 0, 'NONE', 0, 'undefined', 'undefined geographic coordinate reference system'),
    ('WGS 84 geodetic', 4326, 'EPSG', 4326, 'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]],AUTHORITY["EPSG","6326"]],PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]],AUTHORITY["EPSG","4326"]]', 'longitude/latitude coordinates in decimal degrees on the WGS 84 spheroid'),
    ('WGS 84 / Pseudo-Mercator', 3857, 'EPSG', 3857, 'PROJCS["WGS 84 / Pseudo-Mercator",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]],AUTHORITY["EPSG","6326"]],PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]],AUTHORITY["EPSG","4326"]],PROJECTION["Mercator_1SP"],PARAMETER["central_meridian",0],PARAMETER["scale_factor",1],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1,AUTHORITY["EPSG","9001"]],AXIS["X",EAST],AXIS["Y",NORTH],EXTENSION["PROJ4","+proj=merc +a=6378137 +b=6378137 +lat_ts=0 +lon_0=0 +x_0=0 +y_0=0 +k=1 +units=m +nadgrids=@null +wktext +no_defs"],AUTHORITY["EPSG","3857"]]', 'the web map''s');

CREATE TABLE gpkg_contents (
    table_name  TEXT NOT NULL PRIMARY KEY,
    data_type   TEXT NOT NULL,
    identifier  TEXT UNIQUE,
    description TEXT DEFAULT '',
    last_change DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    min_x       DOUBLE,
    min_y       DOUBLE,
    max_x       DOUBLE,
    max_y       DOUBLE,
    srs_id      INTEGER,
    CONSTRAINT fk_gc_r_srs_id FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys (srs_id)
);

CREATE TABLE gpkg_geometry_columns (
    table_name         TEXT NOT NULL,
    column_name        TEXT NOT NULL,
    geometry_type_name TEXT NOT NULL,
    srs_id             INTEGER NOT NULL,
    z                  TINYINT NOT NULL,
    m                  TINYINT NOT NULL,
    CONSTRAINT pk_geom_cols PRIMARY KEY (table_name, column_name),
    CONSTRAINT uk_gc_table_name UNIQUE (table_name),
    CONSTRAINT fk_gc_tn FOREIGN KEY (table_name) REFERENCES gpkg_contents (table_name),
    CONSTRAINT fk_gc_srs FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys (srs_id)
);

CREATE TABLE tiles (
    fid          INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    geom         POLYGON,
    workload     TEXT,
    -- Levels of what is not compared: `clients 4`.
    factors      TEXT,
    arm          TEXT,
    layer        TEXT,
    zoom         INTEGER,
    x            INTEGER,
    y            INTEGER,
    cached       BOOLEAN,
    requests     INTEGER,
    mean_ms      DOUBLE,
    max_ms       DOUBLE,
    bytes        DOUBLE,
    -- Of the same tile of the base, and how much longer it took here.
    base_mean_ms DOUBLE,
    change_pct   DOUBLE
);

CREATE TABLE layer_styles (
    id                INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    f_table_catalog   TEXT(256),
    f_table_schema    TEXT(256),
    f_table_name      TEXT(256),
    f_geometry_column TEXT(256),
    styleName         TEXT(30),
    styleQML          TEXT,
    styleSLD          TEXT,
    useAsDefault      BOOLEAN,
    description       TEXT,
    owner             TEXT(30),
    ui                TEXT(30),
    update_time       DATETIME DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);
-- QGIS finds the table only where it is listed.
INSERT INTO gpkg_contents (table_name, data_type, identifier, description, srs_id)
    VALUES ('layer_styles', 'attributes', 'layer_styles', 'Styles of the views, for QGIS', 0);
